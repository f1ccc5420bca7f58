/* A manifest round-trips, and everything that could lead astray is refused with a
 * word about what and where. */
#include "storage/format/manifest.h"

#include "base/cleanup.h"
#include "base/json.h"

#include "unit.h"

#include <string.h>

#define HEX "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

/* Entry 1 is a file of one full and one short chunk, entry 5 a running one that is a hole. */
// clang-format off
static const char sample[] =
	"{\"id\":\"000002-000007\",\"job\":\"j\",\"attempt\":2,\"sequence\":7,\"nonce\":\"n\","
	"\"created\":\"c\",\"host\":\"h\",\"parent\":\"000001-000003\",\"reason\":\"notice\","
	"\"step\":40,\"directory_mode\":493,\"files\":2,\"left_out\":1,\"bytes\":8388708,"
	"\"bytes_stored\":12,\"about\":{\"k\":1},\"packs\":[{\"key\":\"packs/000002/"
	"000007-ab-0001.pack\",\"bytes\":4194500}],\"entries\":["
	"{\"path\":\"a\",\"type\":\"directory\",\"mode\":493,\"mtime\":[1,2]},"
	"{\"path\":\"a/f\",\"type\":\"file\",\"mode\":420,\"mtime\":[1700000000,999999999],"
	"\"size\":4194404,\"chunks\":[[0,8,4194304,\"raw\",\"" HEX "\"],[0,4194312,60,\"lz4\",\""
	HEX "\",\"f123456789abcdef\"]],\"xattrs\":{\"user.x\":\"AAE=\"},\"xattrs_base64\":{\"dXNlci7/\":\"AQ==\"}},"
	"{\"path\":\"h\",\"type\":\"hardlink\",\"target\":\"a/f\"},"
	"{\"path\":\"l\",\"type\":\"symlink\",\"target\":\"a/f\",\"mode\":511,\"mtime\":[1,2]},"
	"{\"path_base64\":\"bf8=\",\"type\":\"directory\",\"mode\":448,\"mtime\":[-1,2]},"
	"{\"path\":\"z\",\"type\":\"file\",\"mode\":420,\"mtime\":[1,2],\"size\":4194304,"
	"\"chunks\":[[\"zero\"]],\"running\":true,\"stamp\":\"f00000000000000e\"}]}";
// clang-format on

static const struct snapshot_id sample_id = {2, 7};

static int decode(json_t *body, struct manifest *manifest, struct err *err)
{
	return manifest_decode(body, "j", sample_id, manifest, err);
}

static void test_round_trip(void **state)
{
	auto_json json_t *body = json_loads(sample, 0, NULL);
	auto_json json_t *again = NULL;
	struct manifest manifest;
	struct err err = {0};

	(void)state;
	assert_non_null(body);
	if (decode(body, &manifest, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(manifest.entry_count, 6);
	assert_string_equal(manifest.entries[4].path, "m\xff");
	assert_int_equal(manifest.entries[1].xattrs[0].value.size, 2);
	assert_int_equal(manifest.entries[1].xattr_count, 2);
	assert_string_equal(manifest.entries[1].xattrs[1].name, "user.\xff");
	assert_int_equal(manifest.entries[5].chunks[0].codec, CHUNK_ZERO);
	assert_true(manifest.entries[1].chunks[0].checksum == CHECKSUM_NONE);
	assert_true(manifest.entries[1].chunks[1].checksum == 0xf123456789abcdef);
	assert_false(manifest.entries[1].running);
	assert_true(manifest.entries[5].running);
	assert_true(manifest.entries[5].stamp == 0xf00000000000000e);
	assert_true(manifest.entries[1].stamp == 0);
	assert_ptr_equal(manifest_find(&manifest, "l"), &manifest.entries[3]);
	assert_null(manifest_find(&manifest, "nothing"));
	again = manifest_encode(&manifest, &err);
	assert_true(json_equal(body, again));
	manifest_release(&manifest);
}

static void test_empty(void **state)
{
	struct manifest manifest = {.id = {1, 1}, .job = text_copy("j"), .step = -1}, read;
	struct err err = {0};
	auto_json json_t *body = manifest_encode(&manifest, &err);

	(void)state;
	assert_int_equal(manifest_decode(body, "j", manifest.id, &read, &err), 0);
	assert_int_equal(read.step, -1);
	assert_true(snapshot_id_is_none(read.parent));
	manifest_release(&read);
	manifest_release(&manifest);
}

#define BODY (-1)
#define PACK (-2)

/* One member replaced (or, with NULL, removed): must be refused, and the sentence
 * must have `said` in it. */
static const struct {
	int where; /* number of an entry, or BODY or PACK */
	const char *member, *value, *said;
	// clang-format off
} refused[] = {
	{BODY, "id", "\"000002-000008\"", "another snapshot"},
	{BODY, "id", "\"x\"", "id"},
	{BODY, "sequence", "8", "another snapshot"},
	{BODY, "attempt", "3", "another snapshot"},
	{BODY, "job", "\"k\"", "another job"},
	{BODY, "parent", "7", "parent"},
	{BODY, "nonce", NULL, "nonce"},
	{BODY, "files", "3", "number or size"},
	{BODY, "bytes", "1", "number or size"},
	{BODY, "bytes", "-1", "bytes"},
	{BODY, "directory_mode", "4096", "directory_mode"},
	{BODY, "packs", "7", "packs"},
	{BODY, "entries", NULL, "entries"},
	{BODY, "packs", "[]", "refers to pack 0, but the manifest lists 0"},
	{PACK, "key", "\"packs/../../../../etc/x.pack\"", "not a pack's key"},
	{PACK, "key", "\"/packs/x.pack\"", "not a pack's key"},
	{PACK, "key", "\"packs//x.pack\"", "not a pack's key"},
	{PACK, "key", "\"snapshots/x.pack\"", "not a pack's key"},
	{PACK, "key", "\"packs/a b.pack\"", "not a pack's key"},
	{PACK, "bytes", "4294967296", "bytes"},
	{PACK, "bytes", "4194371", "beyond the end"},
	{1, "path", "\"/etc/passwd\"", "not a path inside"},
	{1, "path", "\"../f\"", "not a path inside"},
	{1, "path", "\"a/../../f\"", "not a path inside"},
	{1, "path", "\"a/./f\"", "not a path inside"},
	{1, "path", "\"a//f\"", "not a path inside"},
	{1, "path", "\"\"", "not a path inside"},
	{1, "path", "\"a/\"", "not a path inside"},
	{1, "path", NULL, "path"},
	{1, "path", "\"a\"", "repeated or out of order"},
	{1, "path", "\"n\"", "repeated or out of order"},
	{1, "path_base64", "\"AGE=\"", "base64"},
	{1, "path_base64", "\"?\"", "base64"},
	{1, "path_base64", "\"Li4vZg==\"", "not a path inside"},
	{1, "type", "\"device\"", "unknown type"},
	{1, "mode", "4096", "mode"},
	{1, "mtime", "[1]", "mtime"},
	{1, "mtime", "[1,1000000000]", "mtime"},
	{1, "size", "4194304", "2 chunks for 4194304 bytes"},
	{1, "size", "8388609", "2 chunks for 8388609 bytes"},
	{1, "size", "9223372036854775807", "size"},
	{1, "size", "-1", "size"},
	{1, "chunks", "[]", "0 chunks"},
	{1, "chunks", "[[0,8,4194304,\"raw\",\"" HEX "\"],[1,4194312,60,\"lz4\",\"" HEX "\"]]",
		"refers to pack 1, but the manifest lists 1"},
	{1, "chunks", "[[0,8,4194304,\"raw\",\"" HEX "\"],[0,4194441,60,\"lz4\",\"" HEX "\"]]",
		"beyond the end"},
	{1, "chunks", "[[0,4294967295,4194304,\"raw\",\"" HEX "\"],[0,8,60,\"lz4\",\"" HEX "\"]]",
		"beyond the end"},
	{1, "chunks", "[[0,8,4194303,\"raw\",\"" HEX "\"],[0,8,60,\"lz4\",\"" HEX "\"]]",
		"impossible size"},
	{1, "chunks", "[[0,8,4194304,\"raw\",\"" HEX "\"],[0,8,100,\"lz4\",\"" HEX "\"]]",
		"impossible size"},
	{1, "chunks", "[[0,8,4194304,\"raw\",\"" HEX "\"],[0,8,0,\"lz4\",\"" HEX "\"]]",
		"impossible size"},
	{1, "chunks",
		"[[0,8,4194304,\"zero\",\"" HEX "\"],[0,8,60,\"lz4\",\"" HEX "\"]]", "malformed"},
	{1, "chunks",
		"[[0,8,4194304,\"zip\",\"" HEX "\"],[0,8,60,\"lz4\",\"" HEX "\"]]", "malformed"},
	{1, "chunks", "[[0,8,4194304,\"raw\",\"00\"],[0,8,60,\"lz4\",\"" HEX "\"]]", "malformed"},
	{1, "chunks",
		"[[0,8,4294967296,\"raw\",\"" HEX "\"],[0,8,60,\"lz4\",\"" HEX "\"]]", "malformed"},
	{1, "chunks", "[[\"one\"],[0,8,60,\"lz4\",\"" HEX "\"]]", "malformed"},
	{1, "chunks", "[7,8]", "malformed"},
	{1, "chunks",
		"[[0,8,4194304,\"raw\",\"" HEX "\",\"f123\"],[0,8,60,\"lz4\",\"" HEX "\"]]",
		"malformed"},
	{1, "chunks", "[[0,8,4194304,\"raw\",\"" HEX "\",7],[0,8,60,\"lz4\",\"" HEX "\"]]",
		"malformed"},
	{1, "stamp", "\"f0\"", "stamp"},
	{1, "stamp", "7", "stamp"},
	{1, "xattrs", "{\"security.capability\":\"AAE=\"}", "malformed attribute"},
	{1, "xattrs", "{\"user.x\":\"!\"}", "malformed attribute"},
	{1, "xattrs", "[]", "xattrs"},
	{1, "xattrs_base64", "[]", "xattrs"},
	{1, "xattrs_base64", "{\"c2VjdXJpdHkueA==\":\"AAE=\"}", "malformed attribute"},
	{1, "xattrs_base64", "{\"!\":\"AAE=\"}", "malformed attribute"},
	{1, "xattrs_base64", "{\"dXNlci4AeA==\":\"AAE=\"}", "malformed attribute"},
	{2, "target", "\"z\"", "not an earlier file"},
	{2, "target", "\"a\"", "not an earlier file"},
	{2, "target", "\"../a/f\"", "not an earlier file"},
	{2, "target", "\"h\"", "not an earlier file"},
	{3, "target", "\"/etc/passwd\"", "leads out"},
	{3, "target", "\"../x\"", "leads out"},
	{3, "target", "\"a/../../x\"", "leads out"},
	{3, "target", "\"\"", "leads out"},
	{3, "target_base64", "\"Li4v\"", "leads out"},
	{0, "type", "\"symlink\"", "target"},
};
// clang-format on

static void test_refusals(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		auto_json json_t *body = json_loads(sample, 0, NULL);
		json_t *object = body;
		struct manifest manifest;
		struct err err = {0};

		if (refused[i].where == PACK)
			object = json_array_get(json_object_get(body, "packs"), 0);
		else if (refused[i].where != BODY)
			object = json_array_get(json_object_get(body, "entries"),
						(size_t)refused[i].where);
		if (refused[i].value)
			json_object_set_new(object, refused[i].member,
					    json_loads(refused[i].value, JSON_DECODE_ANY, NULL));
		else
			json_object_del(object, refused[i].member);
		if (decode(body, &manifest, &err) == 0)
			fail_msg("row %zu was accepted: %s = %s", i, refused[i].member,
				 refused[i].value);
		assert_int_equal(err.kind, ERR_CORRUPT);
		if (!strstr(err.text, refused[i].said))
			fail_msg("row %zu (%s = %s) said: %s", i, refused[i].member,
				 refused[i].value, err.text);
	}
}

/* What is below a link would be written wherever the link leads; what is below
 * a file cannot be. */
static void test_nothing_below_a_link_or_file(void **state)
{
	static const char *const paths[] = {"a/f/x", "l/x"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		auto_json json_t *body = json_loads(sample, 0, NULL);
		json_t *entries = json_object_get(body, "entries");
		struct manifest manifest;
		struct err err = {0};

		json_array_insert_new(entries, i == 0 ? 2 : 4,
				      json_pack("{s:s, s:s, s:i, s:[i,i]}", "path", paths[i],
						"type", "directory", "mode", 493, "mtime", 1, 2));
		assert_int_equal(decode(body, &manifest, &err), -1);
		assert_int_equal(err.kind, ERR_CORRUPT);
		assert_non_null(strstr(err.text, "not a directory"));
	}
}

/* The same snapshot with its list in two pieces. */
// clang-format off
static const char apart[] =
	"{\"id\":\"000002-000007\",\"job\":\"j\",\"attempt\":2,\"sequence\":7,\"nonce\":\"n\","
	"\"created\":\"c\",\"host\":\"h\",\"parent\":null,\"reason\":\"notice\","
	"\"step\":40,\"directory_mode\":493,\"files\":2,\"left_out\":1,\"bytes\":8388708,"
	"\"bytes_stored\":12,\"about\":{},\"packs\":["
	"{\"key\":\"packs/000001/000001-ab-0001.pack\",\"bytes\":5000000},"
	"{\"key\":\"packs/000002/000007-ab-0001.pack\",\"bytes\":4194500}],\"pieces\":["
	"{\"size\":300000,\"chunk\":[0,8,100000,\"lz4\",\"" HEX "\"]},"
	"{\"size\":4194304,\"chunk\":[1,8,4194304,\"raw\",\"" HEX "\"]}]}";

/* One member of the first piece, or of the body, replaced. */
static const struct {
	const char *member, *value, *said;
	bool body;
} refused_apart[] = {
	{"pieces", "[]", "or neither", true},
	{"pieces", "7", "pieces", true},
	{"pieces", "[7]", "piece 0", true},
	{"entries", "[]", "both entries and pieces", true},
	{"packs", "[]", "refers to pack 0, but the manifest lists 0", true},
	{"packs", "[{\"key\":\"packs/b.pack\",\"bytes\":5000000},"
		"{\"key\":\"packs/a.pack\",\"bytes\":5000000}]",
		"out of order", true},
	{"packs", "[{\"key\":\"packs/a.pack\",\"bytes\":5000000},"
		"{\"key\":\"packs/a.pack\",\"bytes\":5000000}]",
		"repeated", true},
	{"size", NULL, "size", false},
	{"size", "4194305", "size", false},
	{"size", "100000", "impossible size", false},
	{"size", "0", "impossible size", false},
	{"chunk", NULL, "chunk", false},
	{"chunk", "[]", "malformed", false},
	{"chunk", "[\"zero\"]", "it is empty", false},
	{"chunk", "[2,8,100000,\"lz4\",\"" HEX "\"]", "refers to pack 2", false},
	{"chunk", "[0,4900001,100000,\"lz4\",\"" HEX "\"]", "beyond the end", false},
	{"chunk", "[1,8,100000,\"lz4\",\"" HEX "\"]", "named twice", false},
};
// clang-format on

static void test_pieces(void **state)
{
	auto_(manifest_release) struct manifest manifest = {0};
	auto_json json_t *body = json_loads(apart, 0, NULL);
	auto_json json_t *again = NULL;
	struct err err = {0};

	(void)state;
	if (decode(body, &manifest, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(manifest.piece_count, 2);
	assert_int_equal(manifest.pieces[0].size, 300000);
	assert_int_equal(manifest.pieces[1].chunk.pack, 1);
	assert_int_equal(manifest.entry_count, 0);
	assert_int_equal(manifest.files, 2);
	again = manifest_encode(&manifest, &err);
	assert_true(json_equal(body, again));
}

static void test_refused_pieces(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refused_apart) / sizeof(refused_apart[0]); i++) {
		auto_json json_t *body = json_loads(apart, 0, NULL);
		json_t *object = refused_apart[i].body
					 ? body
					 : json_array_get(json_object_get(body, "pieces"), 0);
		struct manifest manifest;
		struct err err = {0};

		if (refused_apart[i].value)
			json_object_set_new(object, refused_apart[i].member,
					    json_loads(refused_apart[i].value, JSON_DECODE_ANY,
						       NULL));
		else
			json_object_del(object, refused_apart[i].member);
		if (decode(body, &manifest, &err) == 0)
			fail_msg("row %zu was accepted", i);
		assert_int_equal(err.kind, ERR_CORRUPT);
		if (!strstr(err.text, refused_apart[i].said))
			fail_msg("row %zu said: %s", i, err.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_nothing_below_a_link_or_file),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_refused_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
