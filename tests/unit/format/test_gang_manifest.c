/* The manifest of a gang: what members put together is what each gets back. */
#include "storage/format/gang_manifest.h"

#include "base/cleanup.h"
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define PACK_A "packs/000002/000005-aaaa-0001.pack"
#define PACK_B "packs/000002/000005-bbbb-0001.pack"
#define PACK_OLD "packs/000001/000001-cccc-0001.pack"

static void add_pack(struct manifest *manifest, const char *key)
{
	manifest->packs =
		memory_grow(manifest->packs, manifest->pack_count + 1, sizeof(*manifest->packs));
	manifest->packs[manifest->pack_count++] = (struct manifest_pack){text_copy(key), 1000};
}

static void add_piece(struct manifest *manifest, uint32_t pack, uint32_t offset)
{
	struct manifest_piece piece = {
		.chunk = {.codec = CHUNK_RAW, .pack = pack, .offset = offset, .stored = 100},
		.size = 100,
	};

	manifest->pieces =
		memory_grow(manifest->pieces, manifest->piece_count + 1, sizeof(*manifest->pieces));
	manifest->pieces[manifest->piece_count++] = piece;
}

/* A part as it is read: with its pieces, and without entries. */
static struct manifest make_part(uint32_t sequence, const char *pack, size_t pieces)
{
	struct manifest part = {
		.id = {2, sequence},
		.job = text_copy("job"),
		.host = "machine",
		.nonce = "0123",
		.step = 100,
		.directory_mode = 0750,
		.files = sequence,
		.bytes = (uint64_t)sequence * 10,
		.about = json_pack("{s:i}", "sequence", (int)sequence),
	};

	add_pack(&part, PACK_OLD);
	add_pack(&part, pack);
	for (size_t i = 0; i < pieces; i++)
		add_piece(&part, 1, 8 + 100 * (uint32_t)i);
	return part;
}

static void make_gang(struct manifest *gang)
{
	struct manifest parts[] = {make_part(5, PACK_B, 2), make_part(6, PACK_A, 1)};

	*gang = (struct manifest){.id = {2, 3}, .job = text_copy("job"), .step = 100};
	strcpy(gang->nonce, "4567");
	gang_manifest_join(parts, 2, gang);
	manifest_release(&parts[0]);
	manifest_release(&parts[1]);
}

static void test_join(void **state)
{
	auto_(manifest_release) struct manifest gang = {0};

	(void)state;
	make_gang(&gang);
	assert_int_equal(gang.pack_count, 3);
	assert_string_equal(gang.packs[0].key, PACK_OLD);
	assert_string_equal(gang.packs[1].key, PACK_A);
	assert_string_equal(gang.packs[2].key, PACK_B);
	assert_int_equal(gang.piece_count, 3);
	assert_int_equal(gang.pieces[0].chunk.pack, 2);
	assert_int_equal(gang.pieces[1].chunk.pack, 2);
	assert_int_equal(gang.pieces[2].chunk.pack, 1);
	assert_int_equal(gang.files, 11);
	assert_int_equal(gang.bytes, 110);
	assert_int_equal(gang.part_count, 2);
}

/* A member that has no file of the checkpoint. */
static void test_an_empty_part(void **state)
{
	(void)state;
	for (uint32_t empty = 0; empty < 2; empty++) {
		struct manifest parts[] = {make_part(5, PACK_B, 2), make_part(0, PACK_A, 0)};
		auto_(manifest_release) struct manifest gang = {.id = {2, 3}}, read = {0};
		struct manifest in_order[] = {parts[empty == 0], parts[empty == 1]};
		auto_json json_t *body = NULL;
		struct err err = {0};

		gang.job = text_copy("job");
		gang_manifest_join(in_order, 2, &gang);
		body = manifest_encode(&gang, &err);
		assert_int_equal(manifest_decode(body, "job", gang.id, &read, &err), 0);
		assert_int_equal(read.parts[empty].pieces, 0);
		assert_int_equal(gang_manifest_cut(&read, 2, empty, &err), 0);
		assert_int_equal(read.piece_count, 0);
		assert_int_equal(read.files, 0);
		assert_int_equal(gang_manifest_strip(&read, empty, &err), 0);
		assert_int_equal(read.entry_count, 0);
		/* Files that are in no list are none. */
		json_object_set_new(json_array_get(json_object_get(body, "parts"), empty), "files",
				    json_integer(5));
		json_object_set_new(json_array_get(json_object_get(body, "parts"), 1 - empty),
				    "files", json_integer(0));
		manifest_release(&read);
		assert_int_equal(manifest_decode(body, "job", gang.id, &read, &err), -1);
		assert_int_equal(err.kind, ERR_CORRUPT);
		manifest_release(&parts[0]);
		manifest_release(&parts[1]);
	}
}

/* Who has none of its own: one whose files are beside one, and one without any file, and of no
 * other is that said. */
static void test_whose_checkpoint_it_is(void **state)
{
	static const struct {
		size_t pieces;
		int64_t step;
		bool beside, kept, without;
	} rows[] = {
		{2, 100, false, false, false}, {1, 100, true, false, true},
		{0, 100, false, false, true},  {0, 100, false, true, false},
		{0, -1, false, true, true},
	};
	enum {
		MEMBERS = sizeof(rows) / sizeof(rows[0])
	};
	struct manifest parts[MEMBERS];
	auto_(manifest_release) struct manifest gang = {.id = {2, 3}}, read = {0};
	auto_json json_t *body = NULL;
	struct err err = {0};

	(void)state;
	gang.job = text_copy("job");
	for (uint32_t i = 0; i < MEMBERS; i++) {
		parts[i] =
			make_part(rows[i].pieces ? 5 : 0, i == 0 ? PACK_A : PACK_B, rows[i].pieces);
		parts[i].step = rows[i].step;
		parts[i].without_checkpoint = rows[i].beside;
		parts[i].kept = rows[i].kept;
	}
	gang_manifest_join(parts, MEMBERS, &gang);
	body = manifest_encode(&gang, &err);
	if (manifest_decode(body, "job", gang.id, &read, &err) < 0)
		fail_msg("%s", err.text);
	for (uint32_t i = 0; i < MEMBERS; i++) {
		if (gang.parts[i].without_checkpoint != rows[i].without ||
		    read.parts[i].without_checkpoint != rows[i].without)
			fail_msg("member %u", i);
		manifest_release(&parts[i]);
	}
}

/* Two have one directory: the part of one is that of both. */
static void test_a_part_that_another_keeps(void **state)
{
	struct manifest parts[] = {make_part(5, PACK_B, 2), make_part(0, PACK_A, 0),
				   make_part(6, PACK_A, 1)};
	auto_(manifest_release) struct manifest gang = {.id = {2, 3}}, read = {0};
	auto_json json_t *body = NULL;
	struct err err = {0};

	(void)state;
	parts[1].kept = true;
	parts[1].keeper = 2;
	gang.job = text_copy("job");
	gang_manifest_join(parts, 3, &gang);
	body = manifest_encode(&gang, &err);
	assert_int_equal(manifest_decode(body, "job", gang.id, &read, &err), 0);
	assert_true(read.parts[1].kept && !read.parts[0].kept);
	assert_int_equal(gang_manifest_cut(&read, 3, 1, &err), 0);
	assert_int_equal(read.piece_count, 1);
	assert_int_equal(read.files, 6);
	read.entries = memory_new(2 * sizeof(*read.entries));
	read.entries[read.entry_count++] =
		(struct entry){.path = text_copy("member-00002"),
			       .type = ENTRY_DIRECTORY,
			       .mode = 0750};
	read.entries[read.entry_count++] =
		(struct entry){.path = text_copy("member-00002/a"), .type = ENTRY_FILE};
	assert_int_equal(gang_manifest_strip(&read, 1, &err), 0);
	assert_string_equal(read.entries[0].path, "a");
	/* Itself, nobody, no number. */
	for (int keeper = 3; keeper >= -1; keeper -= 2) {
		struct manifest none;

		json_object_set_new(json_array_get(json_object_get(body, "parts"), 1), "keeper",
				    json_integer(keeper));
		assert_int_equal(manifest_decode(body, "job", gang.id, &none, &err), -1);
		assert_int_equal(err.kind, ERR_CORRUPT);
	}
	for (size_t i = 0; i < 3; i++)
		manifest_release(&parts[i]);
}

/* Through the text, as another machine reads it. */
static void test_round_trip_and_cut(void **state)
{
	(void)state;
	for (uint32_t member = 0; member < 2; member++) {
		auto_(manifest_release) struct manifest gang = {0}, read = {0};
		struct err err = {0};
		auto_json json_t *body = NULL;

		make_gang(&gang);
		body = manifest_encode(&gang, &err);
		assert_non_null(body);
		assert_int_equal(manifest_decode(body, "job", gang.id, &read, &err), 0);
		assert_int_equal(gang_manifest_cut(&read, 2, member, &err), 0);
		assert_int_equal(read.piece_count, member == 0 ? 2 : 1);
		assert_int_equal(read.pieces[0].chunk.pack, member == 0 ? 2 : 1);
		assert_int_equal(read.files, member == 0 ? 5 : 6);
		assert_int_equal(read.bytes, member == 0 ? 50 : 60);
		assert_int_equal(read.directory_mode, 0750);
		assert_int_equal(json_number_or(read.about, "sequence", 0), member == 0 ? 5 : 6);
	}
}

/* Those that are not kept are empty, and what is kept is counted anew. */
static void test_keep_some(void **state)
{
	static const struct {
		bool takes[2];
		size_t pieces;
		uint32_t first_pack, files;
	} rows[] = {
		{{true, true}, 3, 2, 11},
		{{true, false}, 2, 2, 5},
		{{false, true}, 1, 1, 6},
		{{false, false}, 0, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_(manifest_release) struct manifest gang = {0};

		make_gang(&gang);
		gang_manifest_keep(&gang, rows[i].takes);
		assert_int_equal(gang.piece_count, rows[i].pieces);
		if (rows[i].pieces > 0)
			assert_int_equal(gang.pieces[0].chunk.pack, rows[i].first_pack);
		assert_int_equal(gang.files, rows[i].files);
		assert_int_equal(gang.bytes, rows[i].files * 10);
		assert_int_equal(gang.parts[0].pieces, rows[i].takes[0] ? 2 : 0);
		assert_int_equal(gang.parts[1].pieces, rows[i].takes[1] ? 1 : 0);
	}
}

static void test_cut_refuses_another_number(void **state)
{
	static const struct {
		uint32_t members, member;
		const char *says;
	} rows[] = {
		{1, 0, "this is one machine"},
		{3, 0, "this one has 3"},
		{4, 3, "a gang of 2 members"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_(manifest_release) struct manifest gang = {0};
		struct err err = {0};

		make_gang(&gang);
		assert_int_equal(gang_manifest_cut(&gang, rows[i].members, rows[i].member, &err),
				 -1);
		assert_int_equal(err.kind, ERR_UNFIT);
		assert_non_null(strstr(err.text, rows[i].says));
	}
}

static void test_cut_of_one_machine(void **state)
{
	auto_(manifest_release) struct manifest one = make_part(5, PACK_A, 2);
	struct err err = {0};

	(void)state;
	assert_int_equal(gang_manifest_cut(&one, 1, 0, &err), 0);
	assert_int_equal(one.piece_count, 2);
	assert_int_equal(gang_manifest_cut(&one, 2, 0, &err), -1);
	assert_int_equal(err.kind, ERR_UNFIT);
	assert_non_null(strstr(err.text, "taken by one machine"));
}

/* Whoever can write to the store must not be able to mix members. */
static void test_what_is_refused(void **state)
{
	static const struct {
		const char *what, *member;
		size_t part;
		int value;
	} rows[] = {
		{"a member twice", "member", 1, 0},
		{"more pieces than there are", "pieces", 0, 3},
		{"a member without any", "pieces", 1, 0},
		{"other sums", "files", 0, 4},
		{"other sizes", "bytes", 1, 61},
		{"a part of its own that another keeps", "keeper", 1, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_(manifest_release) struct manifest gang = {0};
		struct manifest read;
		struct err err = {0};
		auto_json json_t *body = NULL;

		make_gang(&gang);
		body = manifest_encode(&gang, &err);
		json_object_set_new(json_array_get(json_object_get(body, "parts"), rows[i].part),
				    rows[i].member, json_integer(rows[i].value));
		if (manifest_decode(body, "job", gang.id, &read, &err) == 0 ||
		    err.kind != ERR_CORRUPT)
			fail_msg("%s: not refused", rows[i].what);
	}
}

static void add_entry(struct manifest *manifest, const char *path, enum entry_type type,
		      const char *target)
{
	manifest->entries[manifest->entry_count++] = (struct entry){
		.path = text_copy(path),
		.type = type,
		.target = target ? text_copy(target) : NULL,
	};
}

static void test_prefix_and_strip(void **state)
{
	auto_(manifest_release) struct manifest manifest = {.directory_mode = 0700};
	struct err err = {0};

	(void)state;
	manifest.entries = memory_new(3 * sizeof(*manifest.entries));
	add_entry(&manifest, "a", ENTRY_FILE, NULL);
	add_entry(&manifest, "b", ENTRY_HARDLINK, "a");
	add_entry(&manifest, "c", ENTRY_SYMLINK, "a");
	manifest.files = 1;
	gang_manifest_prefix(&manifest, 3);
	assert_int_equal(manifest.entry_count, 4);
	assert_string_equal(manifest.entries[0].path, "member-00003");
	assert_int_equal(manifest.entries[0].mode, 0700);
	assert_string_equal(manifest.entries[1].path, "member-00003/a");
	assert_string_equal(manifest.entries[2].target, "member-00003/a");
	/* It is relative to where it lies. */
	assert_string_equal(manifest.entries[3].target, "a");
	assert_int_equal(manifest_check_entries(&manifest, &err), 0);
	assert_int_equal(gang_manifest_strip(&manifest, 3, &err), 0);
	assert_int_equal(manifest.entry_count, 3);
	assert_string_equal(manifest.entries[0].path, "a");
	assert_string_equal(manifest.entries[1].target, "a");
	/* What is another member's is never this one's. */
	gang_manifest_prefix(&manifest, 3);
	assert_int_equal(gang_manifest_strip(&manifest, 2, &err), -1);
	assert_int_equal(err.kind, ERR_CORRUPT);
}

/* A part is what lies in the member's own directory, and begins with it. */
static void test_what_is_no_part_is_not_stripped(void **state)
{
	static const struct {
		const char *path; /* of the first entry; NULL: there is none */
		enum entry_type type;
		uint32_t files;
		bool good;
	} rows[] = {
		{"member-00003", ENTRY_DIRECTORY, 0, true},
		{"member-00003", ENTRY_FILE, 1, false},
		{"member-00003", ENTRY_SYMLINK, 0, false},
		{"member-00002", ENTRY_DIRECTORY, 0, false},
		{"a", ENTRY_DIRECTORY, 0, false},
		{NULL, ENTRY_FILE, 1, false},
		{NULL, ENTRY_FILE, 0, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_(manifest_release) struct manifest manifest = {.files = rows[i].files};
		struct err err = {0};

		manifest.entries = memory_new(sizeof(*manifest.entries));
		if (rows[i].path)
			add_entry(&manifest, rows[i].path, rows[i].type, NULL);
		if ((gang_manifest_strip(&manifest, 3, &err) == 0) != rows[i].good)
			fail_msg("row %zu", i);
		if (!rows[i].good)
			assert_int_equal(err.kind, ERR_CORRUPT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_join),
		cmocka_unit_test(test_an_empty_part),
		cmocka_unit_test(test_whose_checkpoint_it_is),
		cmocka_unit_test(test_a_part_that_another_keeps),
		cmocka_unit_test(test_round_trip_and_cut),
		cmocka_unit_test(test_keep_some),
		cmocka_unit_test(test_cut_refuses_another_number),
		cmocka_unit_test(test_cut_of_one_machine),
		cmocka_unit_test(test_what_is_refused),
		cmocka_unit_test(test_prefix_and_strip),
		cmocka_unit_test(test_what_is_no_part_is_not_stripped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
