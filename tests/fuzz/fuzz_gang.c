/* What the members of a gang hear from the network, and where a claim says that they are. */
#include "fuzz.h"

#include "base/cleanup.h"
#include "gang/gang_poke.h"
#include "storage/gangs/gang_join_name.h"

#define NONCE "0123456789abcdef0123456789abcdef"

static void read_datagram(const uint8_t *data, size_t size)
{
	unsigned char wanted[GANG_POKE_SIZE];

	gang_poke_encode(7, NONCE, wanted);
	CHECK(gang_poke_is_for(data, size, 7, NONCE) ==
	      (size == sizeof(wanted) && memcmp(data, wanted, size) == 0));
}

static void read_address(const char *text)
{
	union gang_address address;
	char again[GANG_ADDRESS_TEXT];

	if (gang_address_parse(text, &address) == 0)
		return;
	gang_address_format(&address, again);
	CHECK(strcmp(again, text) == 0);
}

static void read_join(const char *text)
{
	struct gang_join join, same;
	auto_free char *name = NULL;

	if (!gang_join_parse(text, &join))
		return;
	name = gang_join_format(&join);
	CHECK(gang_join_parse(name, &same));
	CHECK(same.member == join.member && same.members == join.members);
	CHECK(strcmp(same.nonce, join.nonce) == 0 && strcmp(same.address, join.address) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_free char *text = fuzz_text(data, size);

	read_datagram(data, size);
	read_address(text);
	read_join(text);
	return 0;
}
