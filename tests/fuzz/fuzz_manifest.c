/* A manifest's body: whoever can write to a bucket must not be able to write outside the
 * restored directory. */
#include "fuzz_entries.h"

#include "base/json.h"
#include "storage/format/manifest.h"

static void check_piece(const struct manifest *manifest, const struct manifest_piece *piece)
{
	const struct chunk *chunk = &piece->chunk;

	CHECK(piece->size > 0 && piece->size <= CHUNK_SIZE);
	CHECK(chunk->codec == CHUNK_RAW || chunk->codec == CHUNK_LZ4 ||
	      chunk->codec == CHUNK_BF16 || chunk->codec == CHUNK_FP32);
	CHECK(chunk->pack < manifest->pack_count);
	CHECK(chunk->stored > 0 && chunk->stored <= piece->size);
	CHECK((uint64_t)chunk->offset + chunk->stored <= manifest->packs[chunk->pack].bytes);
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
		CHECK(err.kind == ERR_CORRUPT && !manifest.entries && !manifest.packs &&
		      !manifest.pieces);
		CHECK(fuzz_is_utf8(err.text));
		return 0;
	}
	CHECK(manifest.entry_count == 0 || manifest.piece_count == 0);
	for (size_t i = 0; i < manifest.piece_count; i++)
		check_piece(&manifest, &manifest.pieces[i]);
	for (size_t i = 0; i < manifest.entry_count; i++)
		check_entry(&manifest, &manifest.entries[i]);
	write_again(&manifest);
	return 0;
}
