/*
 * A pack's index, and what lies in a pack. The input's first four bytes are the size of the
 * payloads, the rest is records: the right count and digest are put behind them, because no fuzzer
 * finds a digest.
 */
#include "fuzz.h"

#include "base/cleanup.h"
#include "storage/format/pack.h"

#define COUNT_SIZE 4

static void read_footer(const uint8_t *data, size_t size)
{
	uint32_t count;

	if (size >= PACK_FOOTER_SIZE &&
	    pack_read_footer(data + size - PACK_FOOTER_SIZE, size, &count, NULL) == 0)
		CHECK((uint64_t)count * PACK_RECORD_SIZE + PACK_FOOTER_SIZE <= size);
}

static void read_index(const uint8_t *data, size_t size)
{
	uint32_t payloads, count = (uint32_t)((size - sizeof(payloads)) / PACK_RECORD_SIZE), read;
	size_t index_size = (size_t)count * PACK_RECORD_SIZE;
	auto_free uint8_t *index = memory_new(index_size + PACK_FOOTER_SIZE);
	auto_free struct pack_record *records = memory_new(count * sizeof(*records));
	uint8_t *footer = index + index_size;
	uint64_t end;

	memcpy(&payloads, data, sizeof(payloads));
	end = PACK_MAGIC_SIZE + (uint64_t)payloads;
	memcpy(index, data + sizeof(payloads), index_size);
	for (int i = 0; i < COUNT_SIZE; i++)
		footer[i] = (uint8_t)(count >> (8 * i));
	digest_sha256(index, index_size + COUNT_SIZE, footer + COUNT_SIZE);
	memcpy(footer + COUNT_SIZE + DIGEST_SIZE, "RPVPEND1", PACK_MAGIC_SIZE);
	CHECK(pack_read_footer(footer, end + index_size + PACK_FOOTER_SIZE, &read, NULL) == 0);
	CHECK(read == count);
	if (pack_read_index(index, count, end + index_size + PACK_FOOTER_SIZE, records, NULL) < 0)
		return;
	for (size_t i = 0; i < count; i++) {
		CHECK(records[i].offset >= PACK_MAGIC_SIZE);
		CHECK((uint64_t)records[i].offset + records[i].stored <= end);
		CHECK(records[i].raw > 0 && records[i].raw <= CHUNK_SIZE);
		CHECK(records[i].stored <= records[i].raw);
	}
}

/* What is packed comes back, and what is not stays in its room, whatever size it is said to have.
 */
static void unpack_weights(const uint8_t *data, size_t size, uint8_t *packed, uint8_t *back)
{
	static const size_t sizes[] = {1, 127, 128, 129, 256, 257, 4096, 10000};
	enum chunk_codec codec = CHUNK_RAW;
	const uint8_t *raw;
	size_t stored = chunk_compress_weights(data, size, packed, &codec);

	CHECK(stored < size || size == 0);
	if (stored) {
		CHECK(chunk_decompress(codec, packed, stored, back, size, &raw, NULL) == 0);
		CHECK(memcmp(raw, data, size) == 0);
	}
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		auto_free uint8_t *space = memory_new(sizes[i]);

		(void)chunk_decompress(CHUNK_BF16, data, size, space, sizes[i], &raw, NULL);
		(void)chunk_decompress(CHUNK_FP32, data, size, space, sizes[i], &raw, NULL);
	}
}

static void unpack(const uint8_t *data, size_t size)
{
	uint8_t space[4096], digest[DIGEST_SIZE];
	auto_free uint8_t *packed = memory_new(size);
	auto_free uint8_t *back = memory_new(size);
	const uint8_t *raw;
	size_t stored = chunk_compress(data, size, packed);

	digest_sha256(data, size, digest);
	CHECK(stored <= size);
	if (stored) {
		CHECK(chunk_unpack(CHUNK_LZ4, digest, packed, stored, back, size, &raw, NULL) == 0);
		CHECK(memcmp(raw, data, size) == 0);
	}
	CHECK(chunk_unpack(CHUNK_RAW, digest, data, size, NULL, size, &raw, NULL) == 0);
	unpack_weights(data, size, packed, back);
	CHECK(chunk_unpack(CHUNK_LZ4, digest, data, size, space, sizeof(space), &raw, NULL) < 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_footer(data, size);
	if (size >= sizeof(uint32_t))
		read_index(data, size);
	unpack(data, size);
	return 0;
}
