/* The pieces of a list of files, one after the other with a zero between them: none may lead out of
 * the restored directory, alone or together. */
#include "fuzz_entries.h"

#include "base/json.h"
#include "storage/format/entry_pieces.h"

#define PIECES_MOST 8
#define PACK_BYTES 5000000

static const char *const keys[] = {"packs/1.pack", "packs/2.pack", "packs/3.pack"};

static void make_head(struct manifest *manifest)
{
	manifest->packs = memory_new(COUNT(keys) * sizeof(*manifest->packs));
	for (; manifest->pack_count < COUNT(keys); manifest->pack_count++)
		manifest->packs[manifest->pack_count] =
			(struct manifest_pack){text_copy(keys[manifest->pack_count]), PACK_BYTES};
}

/* Sums that are right: wrong ones are refused in any case. */
static void count_files(struct manifest *manifest, const struct entry_piece *piece)
{
	for (size_t i = 0; i < piece->count; i++) {
		if (piece->entries[i].type != ENTRY_FILE || piece->parts[i].first > 0)
			continue;
		manifest->files++;
		manifest->bytes += piece->entries[i].size;
	}
}

static bool decode_pieces(const uint8_t *data, size_t size, struct manifest *manifest,
			  struct err *err)
{
	struct entry_piece pieces[PIECES_MOST] = {0};
	bool good = true;

	make_head(manifest);
	for (size_t at = 0; at < size && good && manifest->piece_count < PIECES_MOST;) {
		const uint8_t *end = memchr(data + at, 0, size - at);
		size_t length = end ? (size_t)(end - data) - at : size - at;
		struct entry_piece *piece = &pieces[manifest->piece_count++];

		good = entry_piece_decode(data + at, length, manifest, piece, err) == 0;
		if (good)
			count_files(manifest, piece);
		at += length + 1;
	}
	good = good && entry_pieces_join(manifest, pieces, err) == 0;
	for (size_t i = 0; i < PIECES_MOST; i++)
		entry_piece_release(&pieces[i]);
	return good;
}

static void add_all(struct entry_piece_writer *writer, const struct manifest *manifest)
{
	struct err err = {0};

	for (size_t i = 0; i < manifest->entry_count; i++) {
		const struct entry *entry = &manifest->entries[i];
		size_t first = 0, count;

		do {
			count = entry_part_length(entry, first);
			CHECK(entry_piece_add(writer, entry, first, &err) == 0);
			first += count;
		} while (entry_part_length(entry, first) > 0);
	}
}

/* Written as one piece and read again it is the same. */
static void write_again(const struct manifest *manifest)
{
	auto_(manifest_release) struct manifest read = {0};
	auto_(entry_piece_writer_release) struct entry_piece_writer writer = {0};
	auto_(bytes_release) struct bytes text = {0};
	auto_json json_t *first = manifest_encode_entries(manifest), *second = NULL;
	struct err err = {0};

	entry_piece_writer_init(&writer, keys, COUNT(keys));
	add_all(&writer, manifest);
	CHECK(entry_piece_finish(&writer, &text, &err) == 0);
	if (manifest->entry_count == 0)
		return;
	CHECK(decode_pieces(text.data, text.size, &read, &err));
	second = manifest_encode_entries(&read);
	CHECK(json_equal(first, second));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_(manifest_release) struct manifest manifest = {0};
	struct err err = {0};

	if (!decode_pieces(data, size, &manifest, &err)) {
		CHECK(err.kind == ERR_CORRUPT && manifest.entry_count == 0);
		CHECK(fuzz_is_utf8(err.text));
		return 0;
	}
	for (size_t i = 0; i < manifest.entry_count; i++)
		check_entry(&manifest, &manifest.entries[i]);
	write_again(&manifest);
	return 0;
}
