/* How the joins of a gang are called in the store. */
#include "fuzz.h"

#include "base/cleanup.h"
#include "storage/gangs/gang_records.h"

static void read_join(const char *text)
{
	struct gang_join join, same;
	auto_free char *name = NULL;

	if (!gang_join_parse(text, &join))
		return;
	name = gang_join_format(&join);
	CHECK(gang_join_parse(name, &same));
	CHECK(same.member == join.member && same.members == join.members);
	CHECK(strcmp(same.nonce, join.nonce) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_free char *text = fuzz_text(data, size);

	read_join(text);
	return 0;
}
