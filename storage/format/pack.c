#include "pack.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/*
 * Checks a pack that was read as a whole: its index, and every chunk in it, whether a
 * manifest names it or not.
 */

void whole_pack_reset(struct whole_pack *pack, const char *key)
{
	free(steal(&pack->records));
	free(steal(&pack->faults));
	free(steal(&pack->used));
	pack->record_count = 0;
	pack->key = key;
	pack->data.size = 0;
	pack->damaged = false;
}

void whole_pack_release(struct whole_pack *pack)
{
	whole_pack_reset(pack, NULL);
	bytes_release(&pack->data);
	free(steal(&pack->space));
}

void whole_pack_check_chunks(struct whole_pack *pack)
{
	pack->faults = memory_new(pack->record_count * sizeof(*pack->faults));
	pack->used = memory_new(pack->record_count * sizeof(*pack->used));
	for (uint32_t i = 0; pack->records && i < pack->record_count; i++) {
		const struct pack_record *record = &pack->records[i];
		const uint8_t *raw;
		struct err err = {0};

		if (chunk_unpack(record->codec, record->digest, pack->data.data + record->offset,
				 record->stored, pack->space, record->raw, &raw, &err) < 0)
			text_set(pack->faults[i], sizeof(pack->faults[i]), err.text);
	}
}

static const uint8_t head_magic[PACK_MAGIC_SIZE] = {'R', 'P', 'V', 'P', 'A', 'C', 'K', '1'};

/* From the start to the index every byte is in a chunk, and so under its digest. */
static int check_layout(const struct whole_pack *pack, uint64_t index, struct err *err)
{
	uint64_t next = PACK_MAGIC_SIZE;

	for (uint32_t i = 0; i < pack->record_count; i++) {
		if (pack->records[i].offset != next)
			return err_set(err, ERR_CORRUPT, "bytes from %llu on are in no chunk",
				       (unsigned long long)next);
		next += pack->records[i].stored;
	}
	if (next != index)
		return err_set(err, ERR_CORRUPT, "bytes from %llu on are in no chunk",
			       (unsigned long long)next);
	return memcmp(pack->data.data, head_magic, PACK_MAGIC_SIZE) == 0
		       ? 0
		       : err_set(err, ERR_CORRUPT, "the pack does not begin like one");
}

int whole_pack_check_index(struct whole_pack *pack, struct err *err)
{
	const uint8_t *end = pack->data.data + pack->data.size;
	uint32_t count;

	if (pack->data.size < PACK_MAGIC_SIZE + PACK_FOOTER_SIZE)
		return err_set(err, ERR_CORRUPT, "the pack is too short");
	if (pack_read_footer(end - PACK_FOOTER_SIZE, pack->data.size, &count, err) < 0)
		return -1;
	pack->records = memory_new(count * sizeof(*pack->records));
	if (pack_read_index(end - PACK_FOOTER_SIZE - (size_t)count * PACK_RECORD_SIZE, count,
			    pack->data.size, pack->records, err) < 0) {
		free(steal(&pack->records));
		return -1;
	}
	pack->record_count = count;
	return check_layout(pack,
			    pack->data.size - PACK_FOOTER_SIZE - (uint64_t)count * PACK_RECORD_SIZE,
			    err);
}

static bool record_matches_chunk(const struct pack_record *record, const struct chunk *chunk,
				 size_t raw)
{
	return record->offset == chunk->offset && record->stored == chunk->stored &&
	       record->raw == raw && record->codec == chunk->codec &&
	       memcmp(record->digest, chunk->digest, DIGEST_SIZE) == 0;
}

int whole_pack_check_chunk(struct whole_pack *pack, const struct chunk *chunk, size_t raw_size,
			   struct err *err)
{
	const uint8_t *raw;

	for (uint32_t i = 0; i < pack->record_count; i++) {
		if (!record_matches_chunk(&pack->records[i], chunk, raw_size))
			continue;
		pack->used[i] = true;
		return pack->faults[i][0] ? err_set(err, ERR_CORRUPT, "%s", pack->faults[i]) : 0;
	}
	if ((uint64_t)chunk->offset + chunk->stored > pack->data.size)
		return err_set(err, ERR_CORRUPT, "is beyond the end of the pack");
	return chunk_unpack(chunk->codec, chunk->digest, pack->data.data + chunk->offset,
			    chunk->stored, pack->space, raw_size, &raw, err);
}

static const uint8_t tail_magic[PACK_MAGIC_SIZE] = {'R', 'P', 'V', 'P', 'E', 'N', 'D', '1'};

static void put_u32(uint8_t *target, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		target[i] = (uint8_t)(value >> (8 * i));
}

static uint32_t get_u32(const uint8_t *source)
{
	return source[0] | (uint32_t)source[1] << 8 | (uint32_t)source[2] << 16 |
	       (uint32_t)source[3] << 24;
}

void pack_builder_init(struct pack_builder *builder, uint8_t *data)
{
	*builder = (struct pack_builder){.data = data, .target = PACK_TARGET};
	builder->records = memory_grow(NULL, PACK_RECORDS_MOST, sizeof(*builder->records));
	pack_begin(builder);
}

void pack_builder_release(struct pack_builder *builder)
{
	free(builder->records);
	*builder = (struct pack_builder){0};
}

void pack_begin(struct pack_builder *builder)
{
	if (builder->data)
		memcpy(builder->data, head_magic, PACK_MAGIC_SIZE);
	builder->used = PACK_MAGIC_SIZE;
	builder->count = 0;
}

uint8_t *pack_reserve(struct pack_builder *builder, size_t size)
{
	if (builder->count == PACK_RECORDS_MOST ||
	    builder->used + size > PACK_MAGIC_SIZE + builder->target)
		return NULL;
	return builder->data + builder->used;
}

void pack_append(struct pack_builder *builder, struct pack_record *record)
{
	record->offset = (uint32_t)builder->used;
	builder->records[builder->count++] = *record;
	builder->used += record->stored;
}

size_t pack_finish(struct pack_builder *builder)
{
	uint8_t *index = builder->data + builder->used, *next = index;

	for (size_t i = 0; i < builder->count; i++, next += PACK_RECORD_SIZE) {
		const struct pack_record *record = &builder->records[i];

		memcpy(next, record->digest, DIGEST_SIZE);
		put_u32(next + 32, record->offset);
		put_u32(next + 36, record->stored);
		put_u32(next + 40, record->raw);
		next[44] = (uint8_t)record->codec;
	}
	put_u32(next, (uint32_t)builder->count);
	/* The digest covers the count too, which follows the records. */
	digest_sha256(index, (size_t)(next + 4 - index), next + 4);
	memcpy(next + 4 + DIGEST_SIZE, tail_magic, PACK_MAGIC_SIZE);
	return (size_t)(next + PACK_FOOTER_SIZE - builder->data);
}

int pack_read_footer(const uint8_t footer[PACK_FOOTER_SIZE], uint64_t pack_size, uint32_t *count,
		     struct err *err)
{
	*count = get_u32(footer);
	if (memcmp(footer + 4 + DIGEST_SIZE, tail_magic, PACK_MAGIC_SIZE) != 0)
		return err_set(err, ERR_CORRUPT, "pack footer missing: truncated or overwritten");
	if (PACK_MAGIC_SIZE + (uint64_t)*count * PACK_RECORD_SIZE + PACK_FOOTER_SIZE > pack_size)
		return err_set(err, ERR_CORRUPT, "the pack's index is larger than the pack");
	return 0;
}

static bool record_is_sane(const struct pack_record *record, uint64_t end)
{
	if (record->raw == 0 || record->raw > CHUNK_SIZE || record->stored == 0 ||
	    record->offset < PACK_MAGIC_SIZE || (uint64_t)record->offset + record->stored > end)
		return false;
	if (record->codec == CHUNK_RAW)
		return record->stored == record->raw;
	return (record->codec == CHUNK_LZ4 || record->codec == CHUNK_BF16 ||
		record->codec == CHUNK_FP32) &&
	       record->stored < record->raw;
}

int pack_read_index(const uint8_t *index, uint32_t count, uint64_t pack_size,
		    struct pack_record *records, struct err *err)
{
	size_t size = (size_t)count * PACK_RECORD_SIZE;
	uint64_t end = pack_size - size - PACK_FOOTER_SIZE;
	uint8_t digest[DIGEST_SIZE];

	digest_sha256(index, size + 4, digest);
	if (memcmp(digest, index + size + 4, DIGEST_SIZE) != 0)
		return err_set(err, ERR_CORRUPT, "the digest of the pack's index does not match");
	for (uint32_t i = 0; i < count; i++, index += PACK_RECORD_SIZE) {
		struct pack_record *record = &records[i];

		memcpy(record->digest, index, DIGEST_SIZE);
		record->offset = get_u32(index + 32);
		record->stored = get_u32(index + 36);
		record->raw = get_u32(index + 40);
		record->codec = (enum chunk_codec)index[44];
		if (!record_is_sane(record, end))
			return err_set(err, ERR_CORRUPT, "record %u of the pack's index is invalid",
				       i);
	}
	return 0;
}
