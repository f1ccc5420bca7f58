/* A manifest's body: whoever can write to a bucket must not be able to write outside the
 * restored directory. */
#include "fuzz.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "storage/format/manifest.h"

/* Told without safe_path.c: no way up, no way to the root. */
static bool stays_inside(const char *path)
{
	auto_free char *framed = text_format("/%s/", path);

	return !strstr(framed, "//") && !strstr(framed, "/../") && !strstr(framed, "/./");
}

static void check_chunks(const struct manifest *manifest, const struct entry *entry)
{
	for (size_t i = 0; i < chunk_count(entry->size); i++) {
		const struct chunk *chunk = &entry->chunks[i];

		if (chunk->codec == CHUNK_ZERO)
			continue;
		CHECK(chunk->codec == CHUNK_RAW || chunk->codec == CHUNK_LZ4 ||
		      chunk->codec == CHUNK_BF16 || chunk->codec == CHUNK_FP32);
		CHECK(chunk->pack < manifest->pack_count);
		CHECK(chunk->stored > 0 && chunk->stored <= chunk_length(entry->size, i));
		CHECK((uint64_t)chunk->offset + chunk->stored <=
		      manifest->packs[chunk->pack].bytes);
	}
}

static void check_entry(const struct manifest *manifest, const struct entry *entry)
{
	CHECK(stays_inside(entry->path));
	CHECK(manifest_find(manifest, entry->path) == entry);
	CHECK(!(entry->mode & ~07777U) && entry->mtime_ns < 1000000000);
	if (entry->type == ENTRY_SYMLINK)
		CHECK(entry->target[0] && entry->target[0] != '/');
	if (entry->type == ENTRY_HARDLINK)
		CHECK(stays_inside(entry->target) &&
		      manifest_find(manifest, entry->target)->type == ENTRY_FILE);
	if (entry->type == ENTRY_FILE)
		check_chunks(manifest, entry);
	for (size_t i = 0; i < entry->xattr_count; i++)
		CHECK(text_starts(entry->xattrs[i].name, "user."));
}

/* Written again and read again it is the same. */
static void write_again(const struct manifest *manifest)
{
	auto_(manifest_release) struct manifest read = {0};
	struct err err = {0};
	auto_json json_t *first = manifest_encode(manifest, &err), *second = NULL;

	CHECK(first);
	CHECK(manifest_decode(first, manifest->job, manifest->id, &read, &err) == 0);
	second = manifest_encode(&read, &err);
	CHECK(json_equal(first, second));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_json json_t *body = json_parse(data, size, NULL);
	auto_(manifest_release) struct manifest manifest = {0};
	struct snapshot_id id = {0};
	struct err err = {0};

	if (!body || !snapshot_id_parse(json_text_or(body, "id", ""), &id))
		return 0;
	if (manifest_decode(body, json_text_or(body, "job", ""), id, &manifest, &err) < 0) {
		CHECK(err.kind == ERR_CORRUPT && !manifest.entries && !manifest.packs);
		CHECK(fuzz_is_utf8(err.text));
		return 0;
	}
	for (size_t i = 0; i < manifest.entry_count; i++)
		check_entry(&manifest, &manifest.entries[i]);
	write_again(&manifest);
	return 0;
}
