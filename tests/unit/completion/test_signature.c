/* Which names a checkpoint is expected to have, from those of the ones before it. A row is a list
 * of checkpoints that are learned, one after the other, and of questions. */
#include "completion/signature.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

struct row {
	const char *name;
	/* "a b": learns a checkpoint with these files; "= full a b": compares one;
	 * "again a b": learns from the last one again; "kept": through a manifest and back;
	 * "several": of kinds, from the beginning.
	 * A file "a:40" has 40 bytes; "a" has 100. */
	const char *story;
};

// clang-format off
static const struct row rows[] = {
	{"nothing is known at first", "= unknown a b"},
	{"a checkpoint without files teaches nothing", ";= unknown a"},

	{"one is enough", "a b;= full a b;= fewer a;= fewer b;= fewer;= fewer c d"},
	{"more files than known are no objection", "a b;= full a b c"},
	{"in any order", "b a c;= full c b a;a c b;= full b c a"},

	{"written once: not expected of the next but one", "a config;a;= other a;a;= other a;a;a;= full a"},
	{"written once, and what follows it has fewer", "a config;= fewer a"},
	{"a new name is expected from its second time on",
		"a;a b;= other a;= full a b;a b;= fewer a;= full a b"},
	{"a name that is given up is waited for once",
		"a b;a b;a;= fewer a;a;= other a;a;a;= full a"},
	{"a name of every third one", "a o;a;a;a o;a;= fewer a;a;= other a;= full a o"},
	{"a name of every third one, which the next will have",
		"a o;a;a;a o;a;a;= other a;a o;= fewer a"},
	{"a new name, and then without it", "a;a;a b;= other a;a;a;a;= other a;a;= full a"},
	{"a file of every second one", "a o;a;a o;= fewer a;= full a o"},
	{"random names are never expected", "x1;x2;= unknown x3;x3;= unknown x4"},
	{"random names beside fixed ones", "a x1;a x2;a x3;= full a x4;= fewer x4;= other a"},
	{"the first of every third one", "a;a;a o;a;= other a;a;= other a;= full a o"},
	{"names that come again after long count from the beginning",
		"a b;a;a;a;a;a b;= other a;a b;= fewer a"},

	{"smaller than the newest", "a b:5000;= smaller a b:4000;= full a b:5000;= full a b:5001"},
	{"smaller, but a name is missing: that weighs more", "a b c:5000;= fewer a c:4000"},
	{"it is the newest that counts, not the largest",
		"a:9000;a:5000;= full a:5000;= smaller a:4000"},
	{"an optional file that is smaller", "a o:9000;a;= smaller a o:8000;= full a o:9000"},
	{"an empty file is as large as an empty one", "a:0;= full a:0"},

	{"twice the same name counts twice", "a a;= fewer a;= full a a;= full a a a"},
	{"twice at first, then once", "a a;a;= other a;= full a a"},
	{"twice each time", "a a b;a a b;= fewer a b;= full a a b"},
	{"of two with one name, neither may shrink",
		"a:1000 a:9000;= full a:9000 a:1000;= smaller a:5000 a:5000"},

	{"learned again, with more files", "a;again a b;= fewer a;= full a b"},
	{"learned again, and the next one has them too", "a;again a b;a b;= fewer a;= full a b"},
	{"learned again is not seen twice", "a;a b;again a b;again a b;= other a"},

	{"kept", "a b;a b:5000;kept;= full a b:5000;= fewer a;= smaller a b:4000"},
	{"kept after one", "a b;kept;= fewer a"},
	{"kept, and not confirmed by what follows",
		"a b;a b;kept;a;= fewer a;a;= other a;a;a;= full a"},
	{"kept, without what was never expected", "a x1;a x2;kept;= full a"},
	{"kept, with what is written twice", "a a;kept;= fewer a;= full a a"},
	{"kept with an unknown kind", "kept;= unknown a"},

	{"of several kinds: one that was seen once says nothing of the others",
		"several;p;= unknown a;a b;= fewer a;= full a b;= full p;a b;= full a b;= fewer b"},
	{"... but what was seen twice may begin with another name", "several;a b;a b;= fewer c;= full a b c"},
	{"... which is none of it if it stays alone",
		"several;a b;a b;c;= full a b;= full c;a b;= full a b;a b;= fewer a;= full c"},
	{"... names that come together are one kind: the next has them too",
		"several;a;b;a b;= fewer a;= fewer b;= full a b"},
	{"... also if one of them was the first half", "several;a;b;again a b;= full a b;= fewer b"},
	{"... and not expected of the next if it was one checkpoint that had them",
		"several;a;a;b;again a b;= other a;a b;= fewer a"},
	{"... of two that have names in common, the one that lacks more decides",
		"several;a;a;c d;c d;= fewer a c;= full a c d"},
	{"... the one that was seen more often stays", "several;p;a;a;a;p a;= full a p;= fewer a;= fewer p"},
	{"... random names are forgotten, and what comes again is not",
		"several;a;a;1;2;3;4;5;6;7;8;9;10;= full a;= full 10;= fewer 1"},
	{"... kept", "several;p;a b;a b;kept;= full p;= fewer a;= full a b;= fewer c"},
	{"... kept after one of each", "several;p;q;kept;= full p;= full q;= unknown a;a;= full a"},
};
// clang-format on

static struct named_file parse_file(const char *word)
{
	const char *colon = strchr(word, ':');
	auto_free char *name = text_copy_n(word, colon ? (size_t)(colon - word) : strlen(word));

	return (struct named_file){signature_hash(name),
				   colon ? strtoull(colon + 1, NULL, 10) : 100};
}

static size_t parse_files(char *text, struct named_file *files)
{
	char *rest = text;
	char *word;
	size_t count = 0;

	while ((word = strsep(&rest, " ")))
		if (*word)
			files[count++] = parse_file(word);
	return count;
}

static void keep(struct signature *signature)
{
	auto_json json_t *json = signature_to_json(signature);
	auto_free char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
	auto_json json_t *back = text ? json_loads(text, 0, NULL) : NULL;

	bool several = signature->several;

	signature_release(signature);
	signature->several = several;
	signature_from_json(signature, back);
}

static bool run(const struct row *row)
{
	static const char *const matches[] = {
		[SIGNATURE_UNKNOWN] = "unknown", [SIGNATURE_FEWER] = "fewer",
		[SIGNATURE_OTHER] = "other",     [SIGNATURE_SMALLER] = "smaller",
		[SIGNATURE_FULL] = "full",
	};
	auto_free char *story = text_copy(row->story);
	char *rest = story, *part;
	struct signature signature = {0};
	int64_t number = 0;
	bool right = true;

	while ((part = strsep(&rest, ";"))) {
		struct named_file files[16];

		if (text_equal(part, "kept")) {
			keep(&signature);
		} else if (text_equal(part, "several")) {
			signature.several = true;
		} else if (part[0] == '=') {
			char *expected = part + 2;
			char *list = expected + strcspn(expected, " ");
			const struct known_kind *kind;
			const char *match;
			size_t count;

			if (*list)
				*list++ = '\0';
			count = parse_files(list, files);
			kind = signature_kind_of(&signature, files, count);
			match = matches[kind ? signature_compare(&signature, kind, files, count,
								 NULL)
					     : SIGNATURE_UNKNOWN];
			if (!text_equal(match, expected)) {
				print_error("%s: %s, not %s (%s)\n", row->name, match, expected,
					    row->story);
				right = false;
			}
		} else {
			bool again = text_starts(part, "again ");

			number += !again;
			signature_learn(&signature, number, files,
					parse_files(again ? part + 6 : part, files), 0);
		}
	}
	signature_release(&signature);
	return right;
}

static void test_stories(void **state)
{
	unsigned failed = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		failed += !run(&rows[i]);
	assert_int_equal(failed, 0);
}

static void learn_pause(struct signature *signature, int64_t number, int64_t pause_ms)
{
	struct named_file file = {1, 1};

	signature_learn(signature, number, &file, 1, pause_ms);
}

static void test_pause(void **state)
{
	struct signature signature = {0};

	(void)state;
	learn_pause(&signature, 1, 4000);
	assert_int_equal(signature.kinds[0].pause_ms, 4000);
	/* An unusual pause loses a quarter with each checkpoint that has none. */
	learn_pause(&signature, 2, 0);
	assert_int_equal(signature.kinds[0].pause_ms, 3000);
	learn_pause(&signature, 3, 2500);
	assert_int_equal(signature.kinds[0].pause_ms, 2500);
	learn_pause(&signature, 4, 9000);
	assert_int_equal(signature.kinds[0].pause_ms, 9000);
	/* The same checkpoint again is not another one. */
	learn_pause(&signature, 4, 100);
	assert_int_equal(signature.kinds[0].pause_ms, 9000);
	learn_pause(&signature, 4, 9500);
	assert_int_equal(signature.kinds[0].pause_ms, 9500);
	signature_release(&signature);
}

/* What comes from a store may be anything. */
static void test_hostile_json(void **state)
{
	static const struct {
		const char *json;
		size_t expected;
		int64_t pause_ms;
	} texts[] = {
		{"null", 0, 0},
		{"[]", 0, 0},
		{"7", 0, 0},
		{"\"names\"", 0, 0},
		{"{}", 0, 0},
		{"{\"names\":null}", 0, 0},
		{"{\"names\":{}}", 0, 0},
		{"{\"names\":[]}", 0, 0},
		{"{\"names\":[],\"pause_ms\":5}", 0, 0},
		{"{\"names\":[7,null,[],{},\"00ff\"]}", 0, 0},
		{"{\"names\":[[\"00ff\"],[\"00ff\",\"1\"],[1,1],[\"00ff\",null]]}", 0, 0},
		{"{\"names\":[[\"zz\",1],[\"\",1]]}", 0, 0},
		{"{\"names\":[[\"00ff\",-1]]}", 0, 0},
		{"{\"names\":[[\"00ff\",1.5]]}", 0, 0},
		{"{\"names\":[[\"00ff\",1],7,[\"00fe\",2]]}", 2, 0},
		{"{\"names\":[[\"00ff\",1],[\"00ff\",1],[\"00ff\",2]]}", 1, 0},
		{"{\"names\":[[\"00000000000000ff\",1,\"more\"]]}", 1, 0},
		{"{\"names\":[[\"ffffffffffffffffff\",9223372036854775807]]}", 1, 0},
		{"{\"names\":[[\"00ff\",1]],\"pause_ms\":-1}", 1, 0},
		{"{\"names\":[[\"00ff\",1]],\"pause_ms\":\"9\"}", 1, 0},
		{"{\"names\":[[\"00ff\",1]],\"pause_ms\":9223372036854775807}", 1, 0},
		{"{\"names\":[[\"00ff\",1]],\"pause_ms\":4000,\"more\":[]}", 1, 4000},
	};
	unsigned failed = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		auto_json json_t *kind = json_loads(texts[i].json, JSON_DECODE_ANY, NULL);
		auto_json json_t *json = json_pack("{s:[O]}", "kinds", kind);
		struct signature signature = {0};
		struct named_file file = {0xff, 5};

		assert_non_null(kind);
		signature_from_json(&signature, json);
		if (signature.kinds[0].expected != texts[i].expected ||
		    signature.kinds[0].pause_ms != texts[i].pause_ms) {
			print_error("%s: %zu names, %lld ms\n", texts[i].json,
				    signature.kinds[0].expected,
				    (long long)signature.kinds[0].pause_ms);
			failed++;
		}
		/* It can be used, whatever it is. */
		(void)signature_compare(&signature, signature.kinds, &file, 1, NULL);
		signature_learn(&signature, 1, &file, 1, 10);
		assert_int_not_equal(signature_compare(&signature, signature.kinds, &file, 1, NULL),
				     SIGNATURE_UNKNOWN);
		signature_release(&signature);
	}
	assert_int_equal(failed, 0);
}

static void learn_many(struct signature *signature, uint64_t count)
{
	struct named_file *files = memory_new(count * sizeof(*files));

	for (uint64_t i = 0; i < count; i++)
		files[i] = (struct named_file){i * 0x9e3779b97f4a7c15, i};
	signature_learn(signature, 1, files, count, 0);
	assert_int_equal(signature->kinds[0].expected, count);
	assert_int_equal(signature_compare(signature, signature->kinds, files, count, NULL),
			 SIGNATURE_FULL);
	assert_int_equal(signature_compare(signature, signature->kinds, files, count - 1, NULL),
			 SIGNATURE_FEWER);
	free(files);
}

/* A manifest has room for the names of an ordinary checkpoint, and not for those of any. */
static void test_many_names(void **state)
{
	struct signature signature = {0};
	auto_json json_t *json = NULL;

	(void)state;
	learn_many(&signature, 2000);
	json = signature_to_json(&signature);
	assert_int_equal(json_array_size(
				 json_object_get(json_array_get(json_object_get(json, "kinds"), 0),
						 "names")),
			 2000);
	signature_release(&signature);
	learn_many(&signature, 50000);
	assert_null(signature_to_json(&signature));
	signature_release(&signature);
}

static void test_hash(void **state)
{
	(void)state;
	/* FNV-1a's published values; it must not change, because manifests hold it. */
	assert_true(signature_hash("") == 0xcbf29ce484222325);
	assert_true(signature_hash("a") == 0xaf63dc4c8601ec8c);
	assert_true(signature_hash("foobar") == 0x85944171f73967e8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stories),      cmocka_unit_test(test_pause),
		cmocka_unit_test(test_hostile_json), cmocka_unit_test(test_many_names),
		cmocka_unit_test(test_hash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
