/* What of a command line is kept, by a table. */
#include "telemetry/redact.h"

#include "base/cleanup.h"
#include "base/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

static void test_masked(void **state)
{
	static const struct {
		const char *before, *word, *kept;
	} rows[] = {
		/* both forms of an option, and a variable */
		{"--api-key", "ARGSECRET", "***"},
		{"--API_KEY", "a b", "***"},
		{"--token", "s", "***"},
		{"-hf_token", "s", "***"},
		{"--password", "s", "***"},
		{"--db-passwd", "s", "***"},
		{"--client-secret", "s", "***"},
		{"++model.access_key", "s", "s"},
		{NULL, "--api-key=ARGSECRET", "--api-key=***"},
		{NULL, "--password=two words", "--password=***"},
		{NULL, "--token=", "--token=***"},
		{"env", "WANDB_API_KEY=s", "WANDB_API_KEY=***"},
		{"env", "HF_TOKEN=s=t", "HF_TOKEN=***"},
		{"env", "DB_PASSWORD_FILE=s", "DB_PASSWORD_FILE=***"},
		{"env", "PASSWORD=two words", "PASSWORD=***"},
		{"x.py", "model.apikey=s", "model.apikey=***"},
		{"x.py", "+model.api_key=s", "+model.api_key=***"},
		{"srun", "--export=ALL,HF_TOKEN=s", "--export=ALL,HF_TOKEN=***"},
		{"docker", "--env=HF_TOKEN=s", "--env=HF_TOKEN=***"},
		/* scripts */
		{"-c", "HF_TOKEN=s python a.py --lr 3 --api-key=t --secret u; ls",
		 "HF_TOKEN=*** python a.py --lr 3 --api-key=*** --secret ***; ls"},
		{"-lc", "export A_KEY='s t' B=2 && run", "export A_KEY=*** B=2 && run"},
		{"-c", "ssh host 'C_SECRET=s run' \"x\"", "ssh host 'C_SECRET=*** run' \"x\""},
		{"host", "cd /a && HF_TOKEN=s run", "cd /a && HF_TOKEN=*** run"},
		{"-c", " it's --token s ", " it's --token *** "},
		/* what is none */
		{NULL, "python", "python"},
		{"--tokenizer", "llama", "llama"},
		{"--max-tokens", "512", "512"},
		{"--token", "--verbose", "--verbose"},
		{"--token=x", "y", "y"},
		{"--key", "name", "name"},
		{"train.py", "key=name", "key=name"},
		{"train.py", "monkey=1", "monkey=1"},
		{NULL, "--lr=3e-4", "--lr=3e-4"},
		{"token", "x", "x"},
		{"-c", "import torch; print(1)", "import torch; print(1)"},
		{"-c", "echo 'a b' \"\" '", "echo 'a b' \"\" '"},
		{"-c", "", ""},
		{"--data", "two words", "two words"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_free char *kept = redact_word(rows[i].before, rows[i].word);
		auto_free char *again = redact_word(rows[i].before, kept);

		assert_string_equal(kept, rows[i].kept);
		assert_string_equal(again, rows[i].kept);
	}
}

static void test_command(void **state)
{
	char *const command[] = {"train", "--api-key", "s3cret", "\xff", NULL};
	auto_json json_t *words = redact_command(command);
	auto_free char *text = json_dumps(words, JSON_COMPACT);

	(void)state;
	assert_string_equal(text, "[\"train\",\"--api-key\",\"***\",\"(not UTF-8)\"]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_masked),
		cmocka_unit_test(test_command),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
