#include "whole_pack.h"

#include "base/cleanup.h"
#include "chunk.h"
#include "pack.h"

#include <stdlib.h>
#include <string.h>

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
	return pack_check_head(pack->data.data, err);
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
