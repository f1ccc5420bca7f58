/* What manifests say about packs: all that is in a pack, by pack and by place. */
#include "storage/snapshots/inventory.h"

#include <stdio.h>
#include <string.h>

#include "unit.h"

static char key_a[] = "a.pack", key_b[] = "b.pack", name[] = "name";
static struct manifest_pack packs[] = {{.key = key_b}, {.key = key_a}};
static struct chunk chunks[] = {
	{.pack = 0, .offset = 900, .codec = CHUNK_RAW},
	{.codec = CHUNK_ZERO},
	{.pack = 0, .offset = 100, .codec = CHUNK_LZ4},
};
static struct manifest_piece pieces[] = {{.chunk = {.pack = 0, .offset = 500}}};
static struct entry entries[] = {
	{.path = name, .type = ENTRY_DIRECTORY},
	{.path = name, .type = ENTRY_FILE, .size = 3 * CHUNK_SIZE, .chunks = chunks},
	{.path = name, .type = ENTRY_HARDLINK, .size = CHUNK_SIZE},
};
static struct manifest manifest = {
	.packs = packs,
	.pack_count = 2,
	.pieces = pieces,
	.piece_count = 1,
	.entries = entries,
	.entry_count = 3,
};

/* "a.pack b.pack b.pack@100 ..." */
static const char *format(const struct pack_references *references)
{
	static char text[512];
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < references->count; i++) {
		const struct pack_reference *item = &references->items[i];
		const struct chunk *chunk = pack_reference_chunk(item);

		assert_int_equal(pack_reference_is_of_pack(item), chunk == NULL);
		assert_string_equal(item->key, item->manifest->packs[item->pack].key);
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i ? " " : "",
					 item->key);
		if (chunk)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "@%u%s",
						 chunk->offset, item->piece ? "!" : "");
	}
	return text;
}

/* Those that say only that the pack exists come before what lies in it. */
static void they_are_in_the_order_in_which_they_are_checked(void **state)
{
	auto_(pack_references_release) struct pack_references references = {0};

	(void)state;
	pack_references_sort(&references);
	assert_string_equal(format(&references), "");
	pack_references_add(&references, &manifest);
	pack_references_sort(&references);
	assert_string_equal(format(&references), "a.pack b.pack b.pack@100 b.pack@500! b.pack@900");
	pack_references_add(&references, &manifest);
	pack_references_sort(&references);
	assert_string_equal(format(&references),
			    "a.pack a.pack b.pack b.pack b.pack@100 b.pack@100 b.pack@500! "
			    "b.pack@500! b.pack@900 b.pack@900");
	assert_int_equal(references.items[4].number, 2);
	assert_ptr_equal(references.items[4].entry, &entries[1]);
}

static void what_is_of_one_pack(void **state)
{
	auto_(pack_references_release) struct pack_references references = {0};

	(void)state;
	pack_references_add(&references, &manifest);
	pack_references_sort(&references);
	assert_int_equal(pack_references_of_one(references.items, references.count), 1);
	assert_int_equal(pack_references_of_one(references.items + 1, references.count - 1), 4);
	assert_int_equal(pack_references_of_one(references.items + 1, 2), 2);
	assert_int_equal(pack_references_of_one(references.items, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(they_are_in_the_order_in_which_they_are_checked),
		cmocka_unit_test(what_is_of_one_pack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
