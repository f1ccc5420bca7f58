/* A job's command, of which secrets are not kept: one word, and a script. */
#include "fuzz.h"

#include "base/cleanup.h"
#include "telemetry/telemetry.h"

/* Where its place tells a secret, nothing before it may hide it. */
static void check_planted(const char *before)
{
	auto_free char *url = text_format("%s https://u:S3CRETvalue@host/x", before);
	auto_free char *kept = redact_script(url);

	CHECK(!strstr(kept, "S3CRET"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_free char *word = fuzz_line(&data, &size);
	auto_free char *script = fuzz_text(data, size);
	char *command[] = {word, script, NULL};
	auto_free char *kept = redact_argument(command, 1), *whole = redact_script(script);
	json_t *words = redact_command(command);

	CHECK(kept && whole && json_array_size(words) == 2);
	json_decref(words);
	if (!strstr(word, "S3CRET"))
		check_planted(word);
	return 0;
}
