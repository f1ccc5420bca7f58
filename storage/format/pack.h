/*
 * PURE. A pack: many chunks in one immutable object. The index at its end makes it describe itself.
 *
 *	magic | payloads | index: one record per chunk | footer: count, digest of the index, magic
 *
 * A pack is built in the caller's buffer: bytes are read from a file straight to where they are
 * stored.
 */
#ifndef PACK_H
#define PACK_H

#include "chunk.h"

/* payload bytes at most: a pack is closed when one more chunk might not fit */
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
	enum chunk_codec codec; /* any but CHUNK_ZERO */
};

struct pack_builder {
	uint8_t *data; /* borrowed; room for `target` + PACK_CAPACITY - PACK_TARGET bytes */
	/* payload bytes of this pack; PACK_TARGET unless changed before the first chunk */
	size_t target;
	size_t used;                 /* bytes of magic and payloads; 0 before pack_begin() */
	struct pack_record *records; /* owned, PACK_RECORDS_MOST */
	size_t count;
};

void pack_builder_init(struct pack_builder *builder, uint8_t *data);
void pack_builder_release(struct pack_builder *builder);

/* Empties it for the next pack. */
void pack_begin(struct pack_builder *builder);
/* Where to write the next payload of `size` bytes, or NULL if it no longer fits. */
uint8_t *pack_reserve(struct pack_builder *builder, size_t size);
/* Adds the payload written at pack_reserve(); sets record->offset. */
void pack_append(struct pack_builder *builder, struct pack_record *record);
/* Appends index and footer; returns the size of the whole pack. */
size_t pack_finish(struct pack_builder *builder);

/* Checks the footer of an object of `pack_size` bytes and returns its number of records.
 * ERR_CORRUPT: not the end of a pack. */
int pack_read_footer(const uint8_t footer[PACK_FOOTER_SIZE], uint64_t pack_size, uint32_t *count,
		     struct err *err);
/* Decodes `count` records at `index`, which the footer must follow, into `records`, and checks them
 * against the pack's size. ERR_CORRUPT. */
int pack_read_index(const uint8_t *index, uint32_t count, uint64_t pack_size,
		    struct pack_record *records, struct err *err);

/* A pack and the results of its check. `space`, with room for CHUNK_SIZE, is the caller's to give;
 * all is freed by whole_pack_release(). */
struct whole_pack {
	const char *key; /* borrowed */
	struct bytes data;
	struct pack_record *records; /* NULL: the index is unreadable */
	uint32_t record_count;
	char (*faults)[96]; /* one per record; "": the chunk is sound */
	bool *used;         /* one per record: a manifest names the chunk */
	bool damaged;       /* what was read is not what was written */
	uint8_t *space;
};

/* Makes it ready for the content of another pack; what `data` and `space` have is used again. */
void whole_pack_reset(struct whole_pack *pack, const char *key);
void whole_pack_release(struct whole_pack *pack);

/* Reads the index. ERR_CORRUPT: it is damaged, or there are bytes that belong to no chunk. */
int whole_pack_check_index(struct whole_pack *pack, struct err *err);
/* Checks the chunks of the index, and fills `faults`. */
void whole_pack_check_chunks(struct whole_pack *pack);
/* Checks a chunk as the manifest describes it. If the index describes it the same way, it has been
 * checked already, and is `used`. ERR_CORRUPT. */
int whole_pack_check_chunk(struct whole_pack *pack, const struct chunk *chunk, size_t raw_size,
			   struct err *err);

#endif
