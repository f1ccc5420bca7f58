/* Chunks handed on while their range arrives: in pieces of any size, with a break on the way, and
 * with what a range brings besides. */
#include "storage/transfer/fetching.h"

#include "base/cleanup.h"

#include "unit.h"

#include <stdlib.h>
#include <string.h>

#define RAW_SIZE 1000
#define CHUNKS 5

/* A pack in memory, read in pieces; the connection breaks once, `breaks_at` bytes on. */
struct pack_store {
	struct store store;
	uint8_t pack[8 * RAW_SIZE];
	size_t piece, breaks_at;
};

static int hand_over(struct pack_store *fake, uint64_t offset, size_t size,
		     const struct store_taker *taker, struct err *err)
{
	for (size_t at = 0; at < size; at += fake->piece) {
		size_t piece = size - at < fake->piece ? size - at : fake->piece;

		if (taker->take(taker->arg, at, fake->pack + offset + at, piece, err) < 0)
			return -1;
	}
	return 0;
}

static int pack_store_read(struct store *store, const char *key, uint64_t offset, size_t size,
			   const struct store_taker *taker, struct cancel *cancel, struct err *err)
{
	struct pack_store *fake = (struct pack_store *)store;

	(void)cancel;
	assert_string_equal(key, "jobs/j/packs/one.pack");
	if (fake->breaks_at && hand_over(fake, offset, fake->breaks_at, taker, err) < 0)
		return -1;
	return hand_over(fake, offset, size, taker, err);
}

static int missing_read(struct store *store, const char *key, uint64_t offset, size_t size,
			const struct store_taker *taker, struct cancel *cancel, struct err *err)
{
	(void)store, (void)key, (void)offset, (void)size, (void)taker, (void)cancel;
	return err_set(err, ERR_NOT_FOUND, "no such thing");
}

static const struct store_ops pack_store_ops = {.read = pack_store_read};
static const struct store_ops missing_ops = {.read = missing_read};

/* What came of the chunks. */
struct written {
	uint8_t bytes[CHUNKS][RAW_SIZE];
	size_t fails_at; /* the call that fails; 0: none */
	size_t calls;
};

static int write_bytes(void *arg, size_t number, size_t at, const void *data, size_t size,
		       struct err *err)
{
	struct written *written = arg;

	if (++written->calls == written->fails_at)
		return err_set(err, ERR_NO_SPACE, "full");
	assert_true(at + size <= RAW_SIZE);
	memcpy(written->bytes[number] + at, data, size);
	return 0;
}

struct setting {
	struct pack_store fake;
	struct transfer transfer;
	struct manifest manifest;
	struct manifest_pack pack;
	struct chunk_fetch fetch;
	struct chunk kept[CHUNKS];
	struct streamed_chunk chunks[CHUNKS];
	uint8_t raw[CHUNKS][RAW_SIZE];
	struct pack_range span;
};

/* Raw, compressed, raw without a checksum, a gap, compressed without one, raw. */
static void set_up(struct setting *setting)
{
	static char job[] = "j", key[] = "packs/one.pack";
	uint32_t offset = 8;

	*setting = (struct setting){
		.fake.store.ops = &pack_store_ops,
		.fake.piece = 64,
		.transfer.job = job,
		.pack = {key, sizeof(setting->fake.pack)},
	};
	setting->transfer.store = &setting->fake.store;
	setting->manifest.packs = &setting->pack;
	assert_int_equal(chunk_fetch_init(&setting->fetch, &setting->transfer, &setting->manifest,
					  NULL),
			 0);
	for (size_t i = 0; i < CHUNKS; i++) {
		struct chunk *chunk = &setting->kept[i];
		bool packed = i == 1 || i == 3;

		for (size_t j = 0; j < RAW_SIZE; j++)
			setting->raw[i][j] = (uint8_t)(packed ? i : i + j * j * 7 + j / 3);
		offset += i == 3 ? 200 : 0;
		*chunk = (struct chunk){
			.offset = offset,
			.codec = packed ? CHUNK_LZ4 : CHUNK_RAW,
			.stored = RAW_SIZE,
			.checksum = i == 2 || i == 3 ? CHECKSUM_NONE
						     : checksum_bytes(setting->raw[i], RAW_SIZE),
		};
		digest_sha256(setting->raw[i], RAW_SIZE, chunk->digest);
		if (packed)
			chunk->stored = (uint32_t)chunk_compress(setting->raw[i], RAW_SIZE,
								 setting->fake.pack + offset);
		else
			memcpy(setting->fake.pack + offset, setting->raw[i], RAW_SIZE);
		offset += chunk->stored;
		setting->chunks[i] = (struct streamed_chunk){chunk, RAW_SIZE, false};
	}
	setting->span = (struct pack_range){0, 8, offset - 8};
}

static int run(struct setting *setting, struct written *written, struct err *err)
{
	const struct chunk_writer writer = {write_bytes, written};

	return chunk_stream_range(&setting->fetch, &setting->span, setting->chunks, CHUNKS, &writer,
				  NULL, err);
}

static void test_pieces_and_breaks(void **state)
{
	static const size_t pieces[] = {1, 7, 999, 1000, 1001, 100000};
	static const size_t breaks[] = {0, 1, 500, 1000, 2500};

	(void)state;
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++)
		for (size_t j = 0; j < sizeof(breaks) / sizeof(breaks[0]); j++) {
			struct written written = {0};
			struct setting setting;
			struct err err = {0};

			set_up(&setting);
			setting.fake.piece = pieces[i];
			setting.fake.breaks_at = breaks[j];
			if (run(&setting, &written, &err) < 0)
				fail_msg("%s", err.text);
			assert_memory_equal(written.bytes, setting.raw, sizeof(written.bytes));
			for (size_t k = 0; k < CHUNKS; k++)
				assert_true(setting.chunks[k].good);
			assert_int_equal(setting.fetch.bytes_fetched, setting.span.size);
			chunk_fetch_release(&setting.fetch);
		}
}

static void test_a_wrong_bit_is_seen_where_it_is(void **state)
{
	(void)state;
	for (size_t i = 0; i < CHUNKS; i++) {
		struct written written = {0};
		struct setting setting;

		set_up(&setting);
		setting.fake.pack[setting.kept[i].offset + setting.kept[i].stored / 2] ^= 1;
		assert_int_equal(run(&setting, &written, NULL), 0);
		for (size_t k = 0; k < CHUNKS; k++)
			assert_int_equal(setting.chunks[k].good, k != i);
		chunk_fetch_release(&setting.fetch);
	}
}

/* The digest is what a chunk is: a wrong checksum in the manifest only costs a second look. */
static void test_a_forged_place_or_checksum_is_no_harm(void **state)
{
	struct written written = {0};
	struct setting setting;

	(void)state;
	set_up(&setting);
	setting.kept[0].checksum ^= 1;
	setting.kept[1].checksum ^= 1;
	setting.kept[3].offset = setting.kept[2].offset + 10; /* overlaps */
	assert_int_equal(run(&setting, &written, NULL), 0);
	assert_false(setting.chunks[0].good);
	assert_true(setting.chunks[1].good);
	assert_true(setting.chunks[2].good);
	assert_false(setting.chunks[3].good);
	assert_true(setting.chunks[4].good);
	chunk_fetch_release(&setting.fetch);
}

static void test_failures(void **state)
{
	struct written written = {.fails_at = 3};
	struct setting setting;
	struct err err = {0};

	(void)state;
	set_up(&setting);
	assert_int_equal(run(&setting, &written, &err), -1);
	assert_int_equal(err.kind, ERR_NO_SPACE);
	assert_int_equal(written.calls, 3);
	setting.fake.store.ops = &missing_ops;
	assert_int_equal(run(&setting, &written, &err), -1);
	assert_int_equal(err.kind, ERR_CORRUPT);
	assert_non_null(strstr(err.text, "missing"));
	chunk_fetch_release(&setting.fetch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pieces_and_breaks),
		cmocka_unit_test(test_a_wrong_bit_is_seen_where_it_is),
		cmocka_unit_test(test_a_forged_place_or_checksum_is_no_harm),
		cmocka_unit_test(test_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
