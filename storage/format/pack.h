/*
 * PURE. A pack: many chunks in one immutable object, with an index at its end, so that it describes
 * itself.
 *
 *	magic | payloads... | index: one record per chunk | footer: count, digest of the index,
 *	magic
 *
 * Building goes on in a buffer of the caller's: what is read from a file lands where it will be
 * stored.
 */
#ifndef PACK_H
#define PACK_H

#include "chunk.h"

/* payload bytes at most; a pack is closed when one more chunk might not fit */
#define PACK_TARGET ((size_t)32 << 20)
#define PACK_RECORDS_MOST 8192
#define PACK_MAGIC_SIZE 8
#define PACK_RECORD_SIZE 45
#define PACK_FOOTER_SIZE 44
#define PACK_CAPACITY                                                                   \
	(PACK_MAGIC_SIZE + PACK_TARGET + PACK_RECORDS_MOST * (size_t)PACK_RECORD_SIZE + \
	 PACK_FOOTER_SIZE)

struct pack_record {
	uint8_t digest[DIGEST_SIZE];
	uint32_t offset, stored, raw;
	enum chunk_codec codec; /* raw or lz4 */
};

struct pack_builder {
	uint8_t *data; /* borrowed: `target` and PACK_CAPACITY - PACK_TARGET bytes */
	/* payload bytes of this pack; PACK_TARGET unless changed before the first chunk */
	size_t target;
	size_t used;                 /* magic and payloads; 0 until begun */
	struct pack_record *records; /* owned, PACK_RECORDS_MOST */
	size_t count;
};

void pack_builder_init(struct pack_builder *builder, uint8_t *data);
void pack_builder_release(struct pack_builder *builder);

/* Empties it for the next pack. */
void pack_begin(struct pack_builder *builder);
/* Where the next payload goes, or NULL if `size` bytes no longer fit. */
uint8_t *pack_reserve(struct pack_builder *builder, size_t size);
/* Keeps what was put at pack_reserve(): record->offset is set here. */
void pack_append(struct pack_builder *builder, struct pack_record *record);
/* Appends index and footer; returns the size of the whole pack. */
size_t pack_finish(struct pack_builder *builder);

/* Size of index and footer of a pack with this footer; ERR_CORRUPT if it is none. `pack_size` is
 * that of the whole object. */
int pack_read_footer(const uint8_t footer[PACK_FOOTER_SIZE], uint64_t pack_size, uint32_t *count,
		     struct err *err);
/* `index` points at `count` records followed by the footer. Fills `records` (of `count`), checked
 * against the pack's size. */
int pack_read_index(const uint8_t *index, uint32_t count, uint64_t pack_size,
		    struct pack_record *records, struct err *err);

#endif
