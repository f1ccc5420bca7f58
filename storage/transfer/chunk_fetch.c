#include "chunk_fetch.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int chunk_fetch_init(struct chunk_fetch *fetch, struct transfer *transfer,
		     const struct manifest *manifest, struct err *err)
{
	*fetch = (struct chunk_fetch){
		.transfer = transfer,
		.manifest = manifest,
		.space = malloc(CHUNK_SIZE),
		.checksum = checksum_stream_new(),
	};
	return fetch->space ? 0 : err_os(err, ENOMEM, "buffer of %zu bytes", CHUNK_SIZE);
}

void chunk_fetch_release(struct chunk_fetch *fetch)
{
	bytes_release(&fetch->payload);
	free(fetch->space);
	checksum_stream_free(fetch->checksum);
	*fetch = (struct chunk_fetch){0};
}

int chunk_fetch_failed(const char *key, struct err *err)
{
	if (err && err->kind == ERR_NOT_FOUND)
		return err_set(err, ERR_CORRUPT, "pack %s is missing", key);
	return -1;
}

static int fetch_payload(struct chunk_fetch *fetch, const struct chunk *chunk, const char *key,
			 struct cancel *cancel, struct err *err)
{
	struct store *store = fetch->transfer->store;

	fetch->payload.size = 0;
	if (store->ops->get(store, key, chunk->offset, chunk->stored, &fetch->payload, cancel,
			    err) < 0)
		return chunk_fetch_failed(key, err);
	fetch->bytes_fetched += chunk->stored;
	return 0;
}

static int fetch_chunk(struct chunk_fetch *fetch, const struct chunk *chunk, size_t raw_size,
		       const char *key, const uint8_t **raw, bool *damaged, struct cancel *cancel,
		       struct err *err)
{
	if (fetch_payload(fetch, chunk, key, cancel, err) < 0)
		return -1;
	*damaged = chunk_unpack(chunk->codec, chunk->digest, fetch->payload.data, chunk->stored,
				fetch->space, raw_size, raw, err) < 0;
	return *damaged ? -1 : 0;
}

int chunk_fetch_one(struct chunk_fetch *fetch, const struct chunk *chunk, size_t raw_size,
		    const uint8_t **raw, struct cancel *cancel, struct err *err)
{
	auto_free char *key = NULL;
	bool damaged = true;
	struct err own = {0};
	int result = -1;

	if (chunk->codec == CHUNK_ZERO) {
		memset(fetch->space, 0, raw_size);
		*raw = fetch->space;
		return 0;
	}
	key = transfer_pack_key(fetch->transfer, fetch->manifest->packs[chunk->pack].key);
	for (int i = 0; result < 0 && damaged && i < 2; i++) {
		own = (struct err){0};
		damaged = false;
		result = fetch_chunk(fetch, chunk, raw_size, key, raw, &damaged, cancel, &own);
	}
	if (result == 0)
		return 0;
	if (damaged)
		fetch->damaged = fetch->manifest->packs[chunk->pack].key;
	if (err)
		*err = own;
	return damaged ? err_wrap(err, "pack %s, chunk at %u", key, chunk->offset) : -1;
}
