/* Which chunk is in which pack: what is found again, by what, and which packs are relied on. */
#include "storage/transfer/chunk_index.h"

#include "unit.h"

#include <stdio.h>
#include <string.h>

/* Chunks whose digests begin alike look for their places in the table one behind the other. */
static struct chunk chunk_of(unsigned number, uint32_t pack)
{
	struct chunk chunk = {.pack = pack, .offset = 8 + number, .stored = 1};

	chunk.digest[0] = (uint8_t)(number / 4);
	memcpy(chunk.digest + 16, &number, sizeof(number));
	return chunk;
}

static struct fingerprint fingerprint_of(unsigned number)
{
	return (struct fingerprint){.low = number / 4 + 1, .high = number + 1};
}

static void see(struct chunk *chunk, struct fingerprint fingerprint)
{
	chunk->checksum = fingerprint.low;
	chunk->seen = fingerprint.high;
}

static int set_up(void **state)
{
	static struct chunk_index index;

	chunk_index_init(&index);
	*state = &index;
	return 0;
}

static int tear_down(void **state)
{
	chunk_index_release(*state);
	return 0;
}

/* --- chunks --- */

/* However many there are: each by its digest, and by its fingerprint what was read here. */
static void test_each_of_many_is_found(void **state)
{
	struct chunk_index *index = *state;
	struct fingerprint fingerprint;
	struct chunk chunk, found;
	const unsigned many = 1000;

	chunk = chunk_of(0, 0);
	fingerprint = fingerprint_of(0);
	assert_false(chunk_index_find(index, chunk.digest, &found));
	assert_false(chunk_index_find_seen(index, &fingerprint, &found));
	for (unsigned i = 0; i < many; i++) {
		chunk = chunk_of(i, i % 7);
		if (i % 2)
			see(&chunk, fingerprint_of(i));
		chunk_index_add(index, &chunk);
	}
	for (unsigned i = 0; i < many; i++) {
		chunk = chunk_of(i, 0);
		fingerprint = fingerprint_of(i);
		assert_true(chunk_index_find(index, chunk.digest, &found));
		assert_int_equal(found.offset, 8 + i);
		assert_int_equal(found.pack, i % 7);
		assert_int_equal(chunk_index_find_seen(index, &fingerprint, &found), i % 2);
		assert_int_equal(found.offset, 8 + i);
	}
	chunk = chunk_of(many, 0);
	fingerprint = fingerprint_of(many);
	assert_false(chunk_index_find(index, chunk.digest, &found));
	assert_false(chunk_index_find_seen(index, &fingerprint, &found));
}

/* The index of a pack says no more than a chunk's digest. Whoever reads the content says the rest,
 * once: the first place and the first word stand. */
static void test_what_a_pack_does_not_say_is_learned_from_the_content(void **state)
{
	struct chunk_index *index = *state;
	struct fingerprint fingerprint = fingerprint_of(1), other = fingerprint_of(9);
	struct chunk chunk = chunk_of(1, 0), found;

	chunk_index_add(index, &chunk);
	assert_true(chunk_index_find(index, chunk.digest, &found));
	assert_int_equal(found.checksum, CHECKSUM_NONE);
	see(&chunk, fingerprint);
	chunk_index_add(index, &chunk);
	see(&chunk, other);
	chunk.pack = 5;
	chunk_index_add(index, &chunk);
	for (int i = 0; i < 2; i++) {
		memset(&found, 0xff, sizeof(found));
		assert_true(i ? chunk_index_find(index, chunk.digest, &found)
			      : chunk_index_find_seen(index, &fingerprint, &found));
		assert_int_equal(found.checksum, fingerprint.low);
		assert_int_equal(found.pack, 0);
		assert_int_equal(found.seen, fingerprint.high);
	}
	assert_false(chunk_index_find_seen(index, &other, &found));
}

/* --- packs --- */

static void list_pack(struct store_listing *listing, const char *key, uint64_t size)
{
	if (size)
		store_listing_add(listing, key, size);
	store_listing_sort(listing);
}

/* What the store does not show as it was is not relied on; what was stored too late to be listed
 * is. */
static void test_which_packs_are_relied_on(void **state)
{
	enum moment {
		NEVER,
		BEFORE, /* the listing began */
		AFTER,
	};
	static const struct {
		enum moment stored, lost;
		bool listed;
		uint64_t shown; /* bytes; 0: the listing does not have it */
		bool stays;
	} rows[] = {
		{BEFORE, NEVER, true, 100, true},   {BEFORE, NEVER, true, 0, false},
		{BEFORE, NEVER, true, 99, false},   {BEFORE, NEVER, false, 0, true},
		{AFTER, NEVER, true, 0, true},      {NEVER, NEVER, true, 0, true},
		{BEFORE, BEFORE, true, 100, false}, {BEFORE, AFTER, true, 100, false},
		{NEVER, BEFORE, true, 0, false},    {NEVER, AFTER, false, 0, false},
		{BEFORE, AFTER, false, 0, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct chunk_index *index = *state;
		auto_(store_listing_release) struct store_listing listing = {0};
		const struct chunk zero = {.codec = CHUNK_ZERO, .pack = 12345};
		struct chunk chunk, beside, found;
		struct fingerprint fingerprint = fingerprint_of(1);
		uint32_t other = chunk_index_open_pack(index, "packs/other"), pack;

		pack = chunk_index_open_pack(index, "packs/one");
		chunk = chunk_of(1, pack);
		see(&chunk, fingerprint);
		beside = chunk_of(2, other);
		chunk_index_add(index, &chunk);
		chunk_index_add(index, &beside);
		for (enum moment moment = BEFORE; moment <= AFTER; moment++) {
			if (moment == AFTER)
				chunk_index_begin_listing(index);
			if (rows[i].stored == moment)
				chunk_index_pack_stored(index, pack, 100);
			if (rows[i].lost == moment)
				chunk_index_key_lost(index, "packs/one");
		}
		assert_int_equal(chunk_index_has_all(index, &chunk, 1), rows[i].lost == NEVER);
		list_pack(&listing, "store/packs/one", rows[i].shown);
		chunk_index_apply_listing(index, "store/", rows[i].listed ? &listing : NULL);
		if (chunk_index_find(index, chunk.digest, &found) != rows[i].stays ||
		    chunk_index_find_seen(index, &fingerprint, &found) != rows[i].stays ||
		    chunk_index_has_all(index, &chunk, 1) != rows[i].stays)
			fail_msg("row %zu", i);
		assert_true(chunk_index_find(index, beside.digest, &found));
		assert_true(chunk_index_has_all(index, &beside, 1));
		assert_true(chunk_index_has_all(index, &zero, 1));
		chunk_index_release(index);
		chunk_index_init(index);
	}
}

/* --- files --- */

static const struct file_stamp a_stamp = {1, 2, 3, {4, 5}, {6, 7}};

/* Every part of a stamp counts. */
static void test_a_file_is_unchanged_if_all_of_its_stamp_is(void **state)
{
	const struct {
		struct file_stamp stamp;
		bool content, all;
	} rows[] = {
		{{1, 2, 3, {4, 5}, {6, 7}}, true, true},
		{{0, 2, 3, {4, 5}, {6, 7}}, false, false},
		{{1, 0, 3, {4, 5}, {6, 7}}, false, false},
		{{1, 2, 0, {4, 5}, {6, 7}}, false, false},
		{{1, 2, 3, {0, 5}, {6, 7}}, false, false},
		{{1, 2, 3, {4, 0}, {6, 7}}, false, false},
		{{1, 2, 3, {4, 5}, {0, 7}}, true, false},
		{{1, 2, 3, {4, 5}, {6, 0}}, true, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (file_stamp_same_content(&rows[i].stamp, &a_stamp) != rows[i].content ||
		    file_stamp_equal(&rows[i].stamp, &a_stamp) != rows[i].all ||
		    (file_stamp_mark(&rows[i].stamp, 9) == file_stamp_mark(&a_stamp, 9)) !=
			    rows[i].all)
			fail_msg("row %zu", i);
	assert_true(file_stamp_mark(&a_stamp, 8) != file_stamp_mark(&a_stamp, 9));
}

static void add_file(struct chunk_index *index, char *path, struct chunk *chunks, uint64_t size,
		     uint64_t stamp)
{
	const struct entry entry =
		{.path = path, .type = ENTRY_FILE, .size = size, .chunks = chunks, .stamp = stamp};
	const struct entry *entries = &entry;

	chunk_index_add_files(index, &entries, 1);
}

static bool find(struct chunk_index *index, const char *path, uint64_t stamp, size_t count,
		 uint32_t *offset)
{
	struct chunk chunks[4] = {0};
	bool found = chunk_index_find_file(index, path, stamp, chunks, count);

	*offset = found && count ? chunks[count - 1].offset : 0;
	return found;
}

static void test_files_are_found_by_path_and_stamp(void **state)
{
	struct chunk_index *index = *state;
	uint32_t pack = chunk_index_open_pack(index, "packs/one"), offset;
	struct chunk first[] = {chunk_of(1, pack), chunk_of(2, pack)}, second = chunk_of(3, pack);
	struct entry link = {.path = "l", .type = ENTRY_SYMLINK, .stamp = 1};
	struct entry unread = {.path = "u", .stamp = 1};
	const struct entry *others[] = {&link, &unread};

	assert_false(find(index, "b", 1, 2, &offset));
	add_file(index, "b", first, 2 * CHUNK_SIZE, 1);
	add_file(index, "a", &second, 5, 1);
	add_file(index, "empty", first, 0, 1);
	add_file(index, "unstamped", first, 2 * CHUNK_SIZE, 0);
	chunk_index_add_files(index, others, 2);
	assert_true(find(index, "b", 1, 2, &offset) && offset == 8 + 2);
	assert_true(find(index, "a", 1, 1, &offset) && offset == 8 + 3);
	assert_true(find(index, "empty", 1, 0, &offset));
	assert_false(find(index, "b", 2, 2, &offset));
	assert_false(find(index, "b", 1, 1, &offset));
	assert_false(find(index, "c", 1, 2, &offset));
	assert_false(find(index, "l", 1, 0, &offset));
	assert_false(find(index, "u", 1, 0, &offset));
	/* Without a stamp nothing can be known of a file. */
	assert_false(find(index, "unstamped", 0, 2, &offset));
	/* What is read anew stands for the path; the others stay. */
	for (uint64_t stamp = 2; stamp <= 6; stamp++) {
		add_file(index, "b", &second, 5, stamp);
		assert_false(find(index, "b", stamp - 1, 2, &offset));
		assert_true(find(index, "b", stamp, 1, &offset) && offset == 8 + 3);
		assert_true(find(index, "a", 1, 1, &offset));
		assert_int_equal(index->file_count, 3);
	}
	/* And a file is in the store no longer than its packs are. */
	chunk_index_pack_lost(index, pack);
	assert_false(find(index, "a", 1, 1, &offset));
	assert_true(find(index, "empty", 1, 0, &offset));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_each_of_many_is_found, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_what_a_pack_does_not_say_is_learned_from_the_content, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(test_which_packs_are_relied_on, set_up, tear_down),
		cmocka_unit_test(test_a_file_is_unchanged_if_all_of_its_stamp_is),
		cmocka_unit_test_setup_teardown(test_files_are_found_by_path_and_stamp, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
