/* When the parts of a gang's members are one snapshot, and when they never will be. */
#include "storage/gangs/gang_records.h"

#include "base/json.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define PARTS_MOST 4

struct parts_row {
	const char *what;
	/* A text for each member: "e" is an empty part, "b" one without a checkpoint, "100" a step,
	 * "-" none; "@3" behind it: it answers event 3; "?3": its job has ended when event 3 asked
	 * it; "k0:100" has files of that step in the part of member 0; with "F" in front it
	 * is of a final round; "": it is of a round of those that had not gone by event 4; "g": a
	 * member that had gone, by event 4. */
	const char *parts[PARTS_MOST];
	const char *says; /* NULL: they agree */
	int leader;
};

static const struct parts_row rows[] = {
	{"of one step", {"100", "100", "100"}, NULL, 0},
	{"one is empty", {"e", "100", "100"}, NULL, 1},
	{"all but one are empty", {"e", "e", "0"}, NULL, 2},
	{"only one, without a step", {"e", "-"}, NULL, 1},
	{"all are empty", {"e", "e"}, "all members are empty", -1},
	{"of two steps",
	 {"100", "e", "110"},
	 "member 0 is at step 100, and member 2 at step 110",
	 0},
	{"the last one is of another", {"7", "7", "7", "8"}, "member 3 at step 8", 0},
	{"two without a step", {"-", "-"}, "members 0 and 1 have no step", 0},
	{"one without a step", {"100", "-"}, "member 1 at step -1", 0},
	{"one has no checkpoint", {"b", "100", "100"}, NULL, 1},
	{"beside one without a step", {"b", "-", "b"}, NULL, 1},
	{"none has a checkpoint", {"b", "e"}, "have no checkpoint", -1},
	{"in the end, of several steps", {"F7", "F-", "F9", "F9"}, NULL, 2},
	{"in the end, without a step", {"Fb", "F-", "F-"}, NULL, 1},
	{"in the end, without a checkpoint", {"Fe", "Fb", "Fb"}, NULL, 1},
	{"in the end, nothing", {"Fe", "Fe"}, "all members are empty", -1},
	{"one keeps the files of another", {"100", "k0:100", "100"}, NULL, 0},
	{"who has written none", {"100", "k0:", "k0:"}, NULL, 0},
	{"it keeps them of another step",
	 {"110", "k0:100"},
	 "member 1 is at step 100, and member 0 at step 110",
	 0},
	{"it knows of none", {"e", "k0:100", "100"}, "member 0 saves, and that one knows of no", 2},
	{"it is no member", {"100", "k2:100"}, "makes no sense", 0},
	{"it is kept itself", {"100", "k0:100", "k1:100"}, "makes no sense", 0},
	{"kept, in the end", {"F7", "Fk0:3", "F9"}, NULL, 2},
	{"one has gone", {"100", "g", "100"}, NULL, 0},
	{"the first one has", {"g", "100", "e"}, NULL, 1},
	{"all but one have", {"g", "g", "100"}, NULL, 2},
	{"the rest is of two steps", {"100", "g", "110"}, "member 2 at step 110", 0},
	{"the rest has nothing", {"e", "g", "b"}, "are empty", -1},
	{"in the end", {"F7", "g", "F9"}, NULL, 2},
	{"the first is kept by one that is not there", {"k7:100", "100"}, "makes no sense", 1},
	{"the keeper has gone", {"g", "k0:100", "100"}, "makes no sense", 2},
	{"the keeper has gone, in the end", {"g", "Fk0:3", "F9"}, "makes no sense", 2},
};

static struct manifest make_part(const char *text)
{
	struct manifest part = {.step = -1};

	if (*text == 'g')
		return (struct manifest){.step = -1, .without_checkpoint = true, .gone = true};
	part.final = *text == 'F';
	text += part.final;
	part.kept = *text == 'k';
	if (part.kept) {
		part.keeper = (uint32_t)atoi(text + 1);
		text += 3;
	}
	part.without_checkpoint = *text == 'e' || *text == 'b' || part.kept;
	if (*text != 'e' && !part.kept) {
		part.pieces = memory_new(sizeof(*part.pieces));
		part.piece_count = 1;
	}
	if (*text >= '0' && *text <= '9')
		part.step = atoi(text);
	return part;
}

static void parts_that_agree(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct manifest parts[PARTS_MOST];
		const struct manifest *leader;
		struct err err = {0};
		size_t count = 0;
		int result;

		for (; count < PARTS_MOST && rows[i].parts[count]; count++)
			parts[count] = make_part(rows[i].parts[count]);
		result = gang_parts_agree(parts, count, &err);
		leader = gang_parts_leader(parts, count);
		if ((result < 0) != (rows[i].says != NULL) ||
		    (result < 0 && (err.kind != ERR_UNFIT || !strstr(err.text, rows[i].says))) ||
		    (leader ? leader - parts : -1) != rows[i].leader)
			fail_msg("%s: %d, %s", rows[i].what, result, err.text);
		while (count > 0)
			manifest_release(&parts[--count]);
	}
}

static void names(void **state)
{
	static const struct {
		const char *name;
		int member;
	} of[] = {
		{"00000.json", 0},
		{"00003.json", 3},
		{"16383.json", 16383},
		{"3.json", 3},
		{".json", -1},
		{"x0003.json", -1},
		{"00003.text", -1},
		{"00003", -1},
		{"00003.json.json", -1},
		{"-1.json", -1},
		{"99999999999.json", -1},
		{"1/2.json", -1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		uint32_t member = 77;

		assert_int_equal(gang_part_parse_member(of[i].name, &member), of[i].member >= 0);
		if (of[i].member >= 0)
			assert_int_equal(member, of[i].member);
	}
}

static struct manifest make_manifest(size_t pieces)
{
	struct manifest manifest =
		{.id = {2, 7}, .job = text_copy("job"), .step = 5, .nonce = "ab"};

	if (pieces == 0)
		return manifest;
	manifest.packs = memory_new(sizeof(*manifest.packs));
	manifest.packs[manifest.pack_count++] =
		(struct manifest_pack){text_copy("packs/000002/000007-ab-0001.pack"), 1000};
	manifest.pieces = memory_new(pieces * sizeof(*manifest.pieces));
	for (; manifest.piece_count < pieces; manifest.piece_count++)
		manifest.pieces[manifest.piece_count] =
			(struct manifest_piece){.chunk = {.codec = CHUNK_RAW,
							  .offset =
								  8 + 100 * (uint32_t)manifest
										      .piece_count,
							  .stored = 100},
						.size = 100};
	return manifest;
}

static void records(void **state)
{
	static const struct {
		size_t pieces;
		uint32_t member, read_as;
		struct snapshot_id id;
		bool fits;
	} of[] = {
		{2, 1, 1, {2, 7}, true},
		{0, 1, 1, {2, 7}, true},
		{2, 1, 0, {2, 7}, false},
		{2, 1, 1, {2, 8}, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		auto_(manifest_release) struct manifest manifest = make_manifest(of[i].pieces);
		auto_(manifest_release) struct manifest part = {0};
		struct err err = {0};
		auto_json json_t *body = NULL;

		body = gang_part_encode(&manifest, of[i].member, &err);
		assert_non_null(body);
		if (gang_part_decode(body, "job", of[i].id, of[i].read_as, &part, &err) < 0) {
			assert_false(of[i].fits);
			assert_int_equal(err.kind, ERR_CORRUPT);
			continue;
		}
		assert_true(of[i].fits);
		assert_int_equal(gang_part_has_checkpoint(&part), of[i].pieces > 0);
	}
}

static void instead_of_a_part(void **state)
{
	auto_(manifest_release) struct manifest part = {0};
	auto_json json_t *gone = json_pack("{s:i, s:b}", "member", 1, "gone", 1);
	auto_json json_t *is_void = json_pack("{s:i, s:b}", "member", 1, "void", 1);
	struct err err = {0};

	(void)state;
	assert_int_equal(gang_part_decode(gone, "job", (struct snapshot_id){2, 7}, 1, &part, &err),
			 0);
	assert_true(part.gone);
	assert_false(gang_part_has_checkpoint(&part));
	assert_int_equal(gang_part_decode(is_void, "job", (struct snapshot_id){2, 7}, 1, &part,
					  &err),
			 -1);
	assert_int_equal(err.kind, ERR_CORRUPT);
}

static void kept_by_another(void **state)
{
	auto_(manifest_release) struct manifest manifest = make_manifest(0);
	auto_(manifest_release) struct manifest part = {0};
	auto_json json_t *body = NULL;
	struct err err = {0};

	(void)state;
	manifest.kept = true;
	manifest.keeper = 2;
	body = gang_part_encode(&manifest, 3, &err);
	assert_int_equal(gang_part_decode(body, "job", manifest.id, 3, &part, &err), 0);
	assert_true(part.kept);
	assert_int_equal(part.keeper, 2);
	assert_int_equal(part.step, 5);
	manifest_release(&part);
	json_object_set_new(body, "keeper", json_string("2"));
	assert_int_equal(gang_part_decode(body, "job", manifest.id, 3, &part, &err), -1);
}

/* Whoever looks at all of the snapshot would not find them. */
static void entries_in_the_record_itself(void **state)
{
	auto_(manifest_release) struct manifest manifest = make_manifest(0);
	struct manifest part = {0};
	struct err err = {0};
	json_t *body;

	(void)state;
	manifest.entries = memory_new(sizeof(*manifest.entries));
	manifest.entries[manifest.entry_count++] =
		(struct entry){.path = text_copy("a"), .type = ENTRY_DIRECTORY, .mode = 0755};
	body = manifest_encode(&manifest, &err);
	json_object_set_new(body, "member", json_integer(3));
	assert_int_equal(gang_part_decode(body, "job", manifest.id, 3, &part, &err), -1);
	json_decref(body);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_that_agree), cmocka_unit_test(instead_of_a_part),
		cmocka_unit_test(kept_by_another),  cmocka_unit_test(names),
		cmocka_unit_test(records),          cmocka_unit_test(entries_in_the_record_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
