/* SHA-256 against the vectors of FIPS 180-4. */
#include "base/digest.h"
#include "base/text.h"

#include "unit.h"

#include <string.h>

static void digests_the_known_messages(void **state)
{
	const struct {
		const char *message, *hex;
	} rows[] = {
		{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t digest[DIGEST_SIZE];
		char hex[2 * DIGEST_SIZE + 1];

		digest_sha256(rows[i].message, strlen(rows[i].message), digest);
		text_hex(digest, sizeof(digest), hex);
		assert_string_equal(hex, rows[i].hex);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(digests_the_known_messages)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
