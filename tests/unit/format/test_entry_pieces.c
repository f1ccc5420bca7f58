/* A list of files in pieces is the same list, what has changed in it changes the pieces around it
 * alone, and pieces that could lead astray are refused. */
#include "storage/format/entry_pieces.h"

#include "effort.h"

#include "base/cleanup.h"
#include "base/json.h"

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Enough for many pieces. Sanitizers copy a table each time it grows. */
#define FEW 2500
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MANY FEW
#else
#define MANY 20000
#endif

#define PACK(n) "packs/000001/000001-ab-000" #n ".pack"

static const char *const keys[] = {PACK(1), PACK(2), PACK(3)};

/* --- making lists and cutting them --- */

/* Entry `number` of a list: in hundreds per directory, and every seventh a link. */
static struct entry make_entry(size_t number)
{
	struct entry entry = {.mode = 0644, .mtime_s = 1700000000, .mtime_ns = (uint32_t)number};

	if (number % 100 == 0) {
		entry.type = ENTRY_DIRECTORY;
		entry.path = text_format("d%05zu", number);
		return entry;
	}
	entry.path = text_format("d%05zu/f%05zu", number / 100 * 100, number);
	if (number % 100 > 1 && number % 7 == 0) {
		entry.type = ENTRY_HARDLINK;
		entry.target =
			text_format("d%05zu/f%05zu", number / 100 * 100, number / 100 * 100 + 1);
		return entry;
	}
	entry.size = 100 + number % 50;
	entry.chunks = memory_new(sizeof(*entry.chunks));
	entry.chunks[0] = (struct chunk){
		.pack = (uint32_t)(number % 3),
		.offset = (uint32_t)(8 + 200 * number),
		.stored = (uint32_t)entry.size,
		.codec = CHUNK_RAW,
	};
	memcpy(entry.chunks[0].digest, &number, sizeof(number));
	return entry;
}

static void add_entry(struct manifest *manifest, struct entry entry)
{
	manifest->entries = memory_grow(manifest->entries, manifest->entry_count + 1,
					sizeof(*manifest->entries));
	manifest->entries[manifest->entry_count++] = entry;
	manifest->files += entry.type == ENTRY_FILE;
	manifest->bytes += entry.type == ENTRY_FILE ? entry.size : 0;
}

static void make_head(struct manifest *manifest)
{
	*manifest = (struct manifest){.id = {1, 1}, .job = text_copy("j"), .step = -1};
	manifest->packs = memory_new(3 * sizeof(*manifest->packs));
	for (manifest->pack_count = 0; manifest->pack_count < 3; manifest->pack_count++)
		manifest->packs[manifest->pack_count] =
			(struct manifest_pack){text_copy(keys[manifest->pack_count]), 32 << 20};
}

static void make_list(struct manifest *manifest, size_t count)
{
	make_head(manifest);
	for (size_t i = 0; i < count; i++)
		add_entry(manifest, make_entry(i));
}

/* A file of that many chunks, each with a number in its digest. */
static struct entry make_large(size_t chunks)
{
	struct entry entry = {.path = text_copy("large"), .mode = 0600};

	entry.size = chunks * CHUNK_SIZE;
	entry.chunks = memory_new(chunks * sizeof(*entry.chunks));
	for (size_t i = 0; i < chunks; i++) {
		entry.chunks[i] = (struct chunk){.pack = (uint32_t)(i % 3),
						 .offset = 8,
						 .stored = 77,
						 .codec = CHUNK_LZ4};
		memcpy(entry.chunks[i].digest, &i, sizeof(i));
	}
	return entry;
}

struct texts {
	struct bytes *items;
	size_t count;
};

static void finish_piece(struct entry_piece_writer *writer, struct texts *texts)
{
	struct err err = {0};

	texts->items = memory_grow(texts->items, texts->count + 1, sizeof(*texts->items));
	texts->items[texts->count] = (struct bytes){0};
	assert_int_equal(entry_piece_finish(writer, &texts->items[texts->count++], &err), 0);
}

static void cut(const struct manifest *manifest, struct texts *texts)
{
	auto_(entry_piece_writer_release) struct entry_piece_writer writer = {0};
	struct err err = {0};

	*texts = (struct texts){0};
	entry_piece_writer_init(&writer, keys, 3);
	for (size_t i = 0; i < manifest->entry_count; i++) {
		const struct entry *entry = &manifest->entries[i];
		size_t first = 0, count;

		do {
			count = entry_part_length(entry, first);
			if (entry_piece_ends(&writer, entry, first))
				finish_piece(&writer, texts);
			assert_int_equal(entry_piece_add(&writer, entry, first, &err), 0);
			first += count;
		} while (entry_part_length(entry, first) > 0);
	}
	finish_piece(&writer, texts);
}

static void texts_release(struct texts *texts)
{
	for (size_t i = 0; i < texts->count; i++)
		bytes_release(&texts->items[i]);
	free(texts->items);
}
AUTO(struct texts, texts_release);

/* Decodes and joins the pieces into a manifest with the header and packs of `like`. */
static int join(const struct manifest *like, const struct texts *texts, struct manifest *manifest,
		struct err *err)
{
	struct entry_piece *pieces = memory_new(texts->count * sizeof(*pieces));
	int result = 0;

	make_head(manifest);
	manifest->files = like->files;
	manifest->bytes = like->bytes;
	manifest->pieces = memory_new(texts->count * sizeof(*manifest->pieces));
	manifest->piece_count = texts->count;
	for (size_t i = 0; i < texts->count && result == 0; i++)
		result = entry_piece_decode(texts->items[i].data, texts->items[i].size, manifest,
					    &pieces[i], err);
	if (result == 0)
		result = entry_pieces_join(manifest, pieces, err);
	for (size_t i = 0; i < texts->count; i++)
		entry_piece_release(&pieces[i]);
	free(pieces);
	return result;
}

static void assert_same_list(const struct manifest *a, const struct manifest *b)
{
	auto_json json_t *one = manifest_encode_entries(a), *two = manifest_encode_entries(b);

	assert_int_equal(a->entry_count, b->entry_count);
	assert_true(json_equal(one, two));
}

static void check_round_trip(const struct manifest *manifest, const struct texts *texts)
{
	auto_(manifest_release) struct manifest again = {0};
	struct err err = {0};

	if (join(manifest, texts, &again, &err) < 0)
		fail_msg("%s", err.text);
	assert_same_list(manifest, &again);
}

static size_t total_size(const struct texts *texts)
{
	size_t size = 0;

	for (size_t i = 0; i < texts->count; i++)
		size += texts->items[i].size;
	return size;
}

/* Pieces of `now` that `before` did not have. */
static size_t count_new(const struct texts *now, const struct texts *before)
{
	size_t count = 0;

	for (size_t i = 0; i < now->count; i++) {
		bool known = false;

		for (size_t j = 0; j < before->count && !known; j++)
			known = before->items[j].size == now->items[i].size &&
				memcmp(before->items[j].data, now->items[i].data,
				       now->items[i].size) == 0;
		count += !known;
	}
	return count;
}

static void test_round_trip(void **state)
{
	size_t many = effort_count("files", MANY, FEW), counts[] = {1, 2, 300, many};

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		auto_(manifest_release) struct manifest manifest = {0};
		auto_(texts_release) struct texts texts = {0};

		make_list(&manifest, counts[i]);
		cut(&manifest, &texts);
		check_round_trip(&manifest, &texts);
		for (size_t j = 0; j < texts.count; j++)
			assert_true(texts.items[j].size < CHUNK_SIZE / 2);
		if (counts[i] == many)
			assert_in_range(texts.count, many / 2500, many / 500);
	}
}

static void test_a_change_changes_few_pieces(void **state)
{
	auto_(manifest_release) struct manifest before = {0}, changed = {0}, added = {0};
	auto_(manifest_release) struct manifest removed = {0};
	auto_(texts_release) struct texts first = {0}, second = {0}, third = {0}, fourth = {0};
	struct entry extra = make_entry(1050);
	size_t many = effort_count("files", MANY, FEW);

	(void)state;
	make_list(&before, many);
	cut(&before, &first);
	make_list(&changed, many);
	changed.entries[1051].mtime_ns++;
	cut(&changed, &second);
	assert_int_equal(count_new(&second, &first), 1);
	make_head(&added);
	make_head(&removed);
	free(extra.path);
	extra.path = text_copy("d01000/f01050+");
	for (size_t i = 0; i < many; i++) {
		add_entry(&added, make_entry(i));
		if (i == 1050)
			add_entry(&added, extra);
		if (i != 1051)
			add_entry(&removed, make_entry(i));
	}
	cut(&added, &third);
	check_round_trip(&added, &third);
	assert_in_range(count_new(&third, &first), 1, 3);
	cut(&removed, &fourth);
	assert_in_range(count_new(&fourth, &first), 1, 3);
}

/* No piece is large, and what is added to the file changes none in the middle. */
static void test_large_file_has_parts(void **state)
{
	auto_(manifest_release) struct manifest manifest = {0}, longer = {0};
	auto_(texts_release) struct texts texts = {0}, more = {0};

	(void)state;
	make_head(&manifest);
	add_entry(&manifest, make_large(3 * 4096 + 10));
	cut(&manifest, &texts);
	assert_in_range(texts.count, 3, 4);
	for (size_t i = 0; i < texts.count; i++)
		assert_true(texts.items[i].size < CHUNK_SIZE / 2);
	check_round_trip(&manifest, &texts);
	make_head(&longer);
	add_entry(&longer, make_large(3 * 4096 + 20));
	longer.entries[0].size -= 1;
	longer.bytes -= 1;
	cut(&longer, &more);
	check_round_trip(&longer, &more);
	/* the first, which has the time and the size, and the last */
	assert_int_equal(count_new(&more, &texts), 2);
}

static void test_unused_packs_are_not_named(void **state)
{
	auto_(manifest_release) struct manifest manifest = {0};
	auto_(texts_release) struct texts texts = {0};

	(void)state;
	make_head(&manifest);
	add_entry(&manifest, make_entry(2)); /* in pack 2 */
	cut(&manifest, &texts);
	assert_int_equal(texts.count, 1);
	assert_int_equal(bytes_append(&texts.items[0], "", 1, NULL), 0);
	assert_non_null(strstr((char *)texts.items[0].data, PACK(3)));
	assert_null(strstr((char *)texts.items[0].data, PACK(1)));
	texts.items[0].size--;
	assert_true(total_size(&texts) > 0);
	check_round_trip(&manifest, &texts);
}

/* --- hostile pieces --- */

#define HEX "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define FILE_(path, more) \
	"{\"path\":\"" path "\",\"type\":\"file\",\"mode\":420,\"mtime\":[1,2]," more "}"
#define SMALL "\"size\":60,\"chunks\":[[0,8,60,\"raw\",\"" HEX "\"]]"
#define PIECE(entries) "{\"entries\":[" entries "],\"packs\":[\"" PACK(2) "\"]}"
#define DIRECTORY(path) \
	"{\"path\":\"" path "\",\"type\":\"directory\",\"mode\":493,\"mtime\":[1,2]}"
#define CHUNKS "[[0,8,77,\"lz4\",\"" HEX "\"]]"
#define FIRST_PART FILE_("big", "\"size\":8388608,\"chunks\":" CHUNKS)
#define LATER(path, from, size, chunks) \
	"{\"path\":\"" path "\",\"from\":" from ",\"size\":" size ",\"chunks\":" chunks "}"

/* Two pieces of two files and 120 bytes must be refused, with `said` in the sentence. */
static const struct {
	const char *first, *second, *said;
	// clang-format off
} refused[] = {
	{"", "", "JSON"},
	{"[]", PIECE(""), "packs"},
	{"{\"entries\":[]}", PIECE(""), "packs"},
	{"{\"packs\":[]}", PIECE(""), "entries"},
	{"{\"entries\":[],\"packs\":[7]}", PIECE(""), "pack 0 is none of those"},
	{"{\"entries\":[],\"packs\":[\"packs/x.pack\"]}", PIECE(""), "pack 0 is none of those"},
	{"{\"entries\":[" FILE_("a", SMALL) "],\"packs\":[]}", PIECE(""), "refers to pack 0"},
	{PIECE(FILE_("a", "\"size\":60,\"chunks\":[[0,33554373,60,\"raw\",\"" HEX "\"]]")),
		PIECE(""),
		"beyond the end"},
	{PIECE(FILE_("../a", SMALL)), PIECE(""), "not a path inside"},
	{PIECE(FILE_("a", SMALL)), PIECE(FILE_("a", SMALL)), "repeated or out of order"},
	{PIECE(FILE_("b", SMALL)), PIECE(FILE_("a", SMALL)), "repeated or out of order"},
	{PIECE(FILE_("b", SMALL) "," FILE_("a", SMALL)), PIECE(""), "repeated or out of order"},
	{PIECE(FILE_("a", SMALL)), PIECE(FILE_("a/b", SMALL)), "not a directory"},
	{PIECE("{\"path\":\"a\",\"type\":\"symlink\","
		"\"target\":\"c\",\"mode\":511,\"mtime\":[1,2]}"),
		PIECE(FILE_("a/b", SMALL)), "not a directory"},
	{PIECE("{\"path\":\"a\",\"type\":\"hardlink\",\"target\":\"b\"}"), PIECE(FILE_("b", SMALL)),
		"not an earlier file"},
	{PIECE(FILE_("a", SMALL)), PIECE(""), "number or size"},
	{PIECE(""), PIECE(""), "number or size"},
	{PIECE(FILE_("a", SMALL)), PIECE(FILE_("b", SMALL) "," FILE_("c", SMALL)),
		"number or size"},
	/* parts */
	{PIECE(FIRST_PART), PIECE(""), "4194304 of 8388608 bytes"},
	{PIECE(FIRST_PART), PIECE(FILE_("c", SMALL)), "4194304 of 8388608 bytes"},
	{PIECE(FIRST_PART "," FIRST_PART), PIECE(""), "4194304 of 8388608 bytes"},
	{PIECE(LATER("big", "1", "4194304", CHUNKS)), PIECE(""), "does not belong there"},
	{PIECE(DIRECTORY("big")), PIECE(LATER("big", "1", "4194304", CHUNKS)),
		"does not belong there"},
	{PIECE(FIRST_PART), PIECE(LATER("other", "1", "4194304", CHUNKS)), "does not belong there"},
	{PIECE(FIRST_PART), PIECE(LATER("big", "1", "4194303", CHUNKS)), "8388607 of 8388608"},
	{PIECE(FIRST_PART), PIECE(LATER("big", "1", "4194305", "[[\"zero\"],[\"zero\"]]")),
		"does not belong there"},
	{PIECE(FIRST_PART), PIECE(LATER("big", "1", "4194304", CHUNKS) ","
		LATER("big", "1", "4194304", CHUNKS)), "does not belong there"},
	{PIECE(FIRST_PART), PIECE(LATER("big", "1", "4194304", CHUNKS) ","
		LATER("big", "2", "4194304", CHUNKS)), "does not belong there"},
	{PIECE(FIRST_PART), PIECE(LATER("big", "1", "4194303", CHUNKS) ","
		LATER("big", "2", "1", "[[\"zero\"]]")), "does not belong there"},
	{PIECE(FIRST_PART), PIECE(LATER("big", "2", "4194304", CHUNKS)), "does not belong there"},
	{PIECE(FIRST_PART), PIECE(LATER("big", "1", "0", "[]")), "4194304 of 8388608"},
	{PIECE(FIRST_PART), PIECE(LATER("big", "1", "4194304", "[]")), "0 chunks for 4194304"},
	{PIECE(FIRST_PART), PIECE(LATER("big", "1", "8388608", CHUNKS)), "1 chunks for 8388608"},
	{PIECE(FIRST_PART), PIECE(LATER("big", "0", "4194304", CHUNKS)), "from 0 on"},
	{PIECE(FIRST_PART), PIECE(LATER("big", "-1", "4194304", CHUNKS)), "from"},
	{PIECE(FIRST_PART), PIECE(LATER("../big", "1", "4194304", CHUNKS)), "not a path inside"},
	{PIECE(FIRST_PART), PIECE(LATER("big", "1", "4611686018427387904", CHUNKS)),
		"1 chunks for"},
};
// clang-format on

static int join_two(const char *first, const char *second, struct manifest *manifest,
		    struct err *err)
{
	struct manifest like = {.files = 2, .bytes = 120};
	struct bytes items[] = {
		{.data = (uint8_t *)first, .size = strlen(first)},
		{.data = (uint8_t *)second, .size = strlen(second)},
	};
	struct texts texts = {.items = items, .count = 2};

	return join(&like, &texts, manifest, err);
}

static void test_refusals(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		auto_(manifest_release) struct manifest manifest = {0};
		struct err err = {0};

		if (join_two(refused[i].first, refused[i].second, &manifest, &err) == 0)
			fail_msg("row %zu was accepted", i);
		assert_int_equal(err.kind, ERR_CORRUPT);
		assert_int_equal(manifest.entry_count, 0);
		if (!strstr(err.text, refused[i].said))
			fail_msg("row %zu said: %s", i, err.text);
	}
}

/* What the rows above are wrong about is right here. */
static void test_accepted(void **state)
{
	auto_(manifest_release) struct manifest manifest = {0};
	struct err err = {0};

	(void)state;
	if (join_two(PIECE(DIRECTORY("a") "," FILE_("a/b", SMALL)),
		     PIECE("{\"path\":\"a/c\",\"type\":\"hardlink\",\"target\":\"a/b\"}," FILE_(
			     "d", SMALL)),
		     &manifest, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(manifest.entry_count, 4);
	assert_int_equal(manifest.entries[1].chunks[0].pack, 1);
}

/* Whatever the hash of the next name says: a text of a MiB is no longer. */
static void test_a_piece_ends_at_the_most(void **state)
{
	const struct entry next = {.path = (char[]){"a"}, .type = ENTRY_DIRECTORY};
	struct entry_piece_writer writer = {.text.size = 1 << 20};

	(void)state;
	assert_true(entry_piece_ends(&writer, &next, 0));
	writer.text.size--;
	assert_false(entry_piece_ends(&writer, &next, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_a_change_changes_few_pieces),
		cmocka_unit_test(test_large_file_has_parts),
		cmocka_unit_test(test_a_piece_ends_at_the_most),
		cmocka_unit_test(test_unused_packs_are_not_named),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_accepted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
