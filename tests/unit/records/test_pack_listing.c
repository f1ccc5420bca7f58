/* Which listings cover the packs of a manifest, and what a listing says of them. */
#include "storage_fixture.h"

#include "storage/records/records.h"

#define MOST 8

/* Of a manifest that names these packs. */
static struct manifest manifest_of(struct manifest_pack *packs, const char *const *keys)
{
	struct manifest manifest = {.packs = packs};

	for (; manifest.pack_count < MOST && keys[manifest.pack_count]; manifest.pack_count++)
		packs[manifest.pack_count] =
			(struct manifest_pack){(char *)keys[manifest.pack_count], 10};
	return manifest;
}

/* As narrow as PACK_LISTINGS_MOST listings can be. */
static void test_prefixes(void **state)
{
	static const struct {
		const char *name;
		uint32_t members;
		const char *packs[MOST], *prefixes[PACK_LISTINGS_MOST];
	} rows[] = {
		{"no pack", 0, {NULL}, {NULL}},
		{"one save",
		 0,
		 {"packs/000001/000002-a-0001.pack", "packs/000001/000002-a-0002.pack"},
		 {"packs/000001/000002-"}},
		{"each once, in the order in which they come",
		 0,
		 {"packs/000001/000002-a-0001.pack", "packs/000001/000001-b-0001.pack",
		  "packs/000001/000002-c-0001.pack"},
		 {"packs/000001/000002-", "packs/000001/000001-"}},
		{"one number begins with another one",
		 0,
		 {"packs/000001/1000000-a-0001.pack", "packs/000001/100000-b-0001.pack"},
		 {"packs/000001/1000000-", "packs/000001/100000-"}},
		{"so many saves",
		 0,
		 {"packs/000001/000001-a-1.pack", "packs/000001/000002-a-1.pack",
		  "packs/000001/000003-a-1.pack", "packs/000001/000004-a-1.pack"},
		 {"packs/000001/000001-", "packs/000001/000002-", "packs/000001/000003-",
		  "packs/000001/000004-"}},
		{"one save more",
		 0,
		 {"packs/000001/000001-a-1.pack", "packs/000001/000002-a-1.pack",
		  "packs/000001/000003-a-1.pack", "packs/000002/000004-a-1.pack",
		  "packs/000002/000005-a-1.pack"},
		 {"packs/000001/", "packs/000002/"}},
		{"too many attempts as well",
		 0,
		 {"packs/000001/000001-a-1.pack", "packs/000002/000001-a-1.pack",
		  "packs/000003/000001-a-1.pack", "packs/000004/000001-a-1.pack",
		  "packs/000005/000001-a-1.pack"},
		 {"packs/"}},
		{"of one member's saves",
		 2,
		 {"packs/000001/000002-a-0001.pack", "packs/000001/000002-a-0002.pack",
		  "packs/000001/000003-a-0001.pack"},
		 {"packs/000001/000002-a-", "packs/000001/000003-a-"}},
		{"of more members than that",
		 9,
		 {"packs/000001/000002-a-1.pack", "packs/000001/000002-b-1.pack",
		  "packs/000001/000002-c-1.pack", "packs/000001/000002-d-1.pack",
		  "packs/000001/000002-e-1.pack"},
		 {"packs/000001/000002-"}},
		{"a machine alone looks at no member's",
		 1,
		 {"packs/000001/000002-a-0001.pack"},
		 {"packs/000001/000002-"}},
		{"another form", 0, {"strange"}, {"strange"}},
		{"another form of a member", 2, {"strange"}, {"strange"}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct storage storage = {.gang.members = rows[i].members};
		struct manifest_pack packs[MOST];
		struct manifest manifest = manifest_of(packs, rows[i].packs);
		char *prefixes[PACK_LISTINGS_MOST];
		size_t count = pack_listing_named_prefixes(&storage, &manifest, prefixes), j = 0;

		assert_true(count <= PACK_LISTINGS_MOST);
		for (; j < count && rows[i].prefixes[j]; j++)
			if (!text_equal(prefixes[j], rows[i].prefixes[j]))
				fail_msg("%s: %s", rows[i].name, prefixes[j]);
		if (j < count || (j < PACK_LISTINGS_MOST && rows[i].prefixes[j]))
			fail_msg("%s: %zu prefixes", rows[i].name, count);
		while (count > 0)
			free(prefixes[--count]);
	}
}

/* They may overlap: each pack is listed once, and in order. */
static void test_listings_are_merged(void **state)
{
	static const char *const names[] = {
		"packs/000001/000001-a-0001.pack",
		"packs/000001/000002-a-0001.pack",
		"packs/000002/000001-a-0001.pack",
	};
	char *prefixes[] = {(char *)"packs/000002/", (char *)"packs/000001/000001-",
			    (char *)"packs/000001/", (char *)"packs/000007/"};
	auto_(store_listing_release) struct store_listing found = {0}, none = {0};
	struct fixture f;

	(void)state;
	fixture_start(&f);
	for (size_t i = 0; i < 3; i++) {
		struct store *store = f.storage->transfer.store;
		auto_free char *key = text_format("jobs/job/%s", names[i]);

		assert_works(store->ops->put(store, key, "12345", i + 1, STORE_UNIQUE, NULL, &err));
	}
	assert_works(pack_listing_get_prefixes(f.storage, prefixes, 4, false, &found, NULL, &err));
	assert_int_equal(found.count, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_string_equal(found.items[i].key + strlen("jobs/job/"), names[i]);
		assert_int_equal(found.items[i].size, i + 1);
		assert_true(found.items[i].modified_ms > 0);
	}
	assert_works(pack_listing_get_prefixes(f.storage, prefixes, 0, false, &none, NULL, &err));
	assert_int_equal(none.count, 0);
	fixture_stop(&f);
}

static void test_a_manifest_is_held_against_a_listing(void **state)
{
	static const struct {
		const char *listed[3];
		uint64_t size;
		const char *text; /* NULL: all is right */
	} rows[] = {
		{{"packs/1/a", "packs/1/b"}, 10, NULL},
		{{"packs/1/a", "packs/1/b", "packs/1/c"}, 10, NULL},
		{{"packs/1/a"}, 10, "pack jobs/job/packs/1/b is missing"},
		{{NULL}, 10, "pack jobs/job/packs/1/a is missing"},
		{{"packs/1/a", "packs/1/b"}, 9, "pack jobs/job/packs/1/a has 9 bytes"},
	};
	static const char *const named[MOST] = {"packs/1/a", "packs/1/b"};
	struct fixture f;

	(void)state;
	fixture_start(&f);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_(store_listing_release) struct store_listing packs = {0};
		struct manifest_pack items[MOST];
		struct manifest manifest = manifest_of(items, named);

		for (size_t j = 0; j < 3 && rows[i].listed[j]; j++) {
			auto_free char *key = text_format("jobs/job/%s", rows[i].listed[j]);

			store_listing_add(&packs, key, rows[i].size);
		}
		if (!rows[i].text) {
			assert_works(pack_listing_check(f.storage, &manifest, &packs, &err));
			continue;
		}
		assert_fails(pack_listing_check(f.storage, &manifest, &packs, &err), ERR_CORRUPT);
		if (!text_starts(err.text, rows[i].text))
			fail_msg("%s instead of %s", err.text, rows[i].text);
	}
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_prefixes),
		cmocka_unit_test(test_listings_are_merged),
		cmocka_unit_test(test_a_manifest_is_held_against_a_listing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
