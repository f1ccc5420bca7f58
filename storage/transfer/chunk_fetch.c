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
	};
	return fetch->space ? 0 : err_os(err, ENOMEM, "buffer of %zu bytes", CHUNK_SIZE);
}

void chunk_fetch_release(struct chunk_fetch *fetch)
{
	bytes_release(&fetch->payload);
	free(fetch->space);
	*fetch = (struct chunk_fetch){0};
}

int chunk_fetch_range(struct chunk_fetch *fetch, const struct pack_range *span,
		      struct cancel *cancel, struct err *err)
{
	struct store *store = fetch->transfer->store;
	auto_free char *key =
		transfer_pack_key(fetch->transfer, fetch->manifest->packs[span->pack].key);

	fetch->payload.size = 0;
	fetch->at = (struct pack_range){0};
	fetch->cancel = cancel;
	if (store->ops->get(store, key, span->offset, span->size, &fetch->payload, cancel, err) <
	    0) {
		/* A manifest names the pack, so a missing one is damage. */
		if (err && err->kind == ERR_NOT_FOUND)
			return err_set(err, ERR_CORRUPT, "pack %s is missing", key);
		return -1;
	}
	fetch->at = *span;
	fetch->bytes_fetched += span->size;
	return 0;
}

static uint8_t *chunk_payload(const struct chunk_fetch *fetch, const struct chunk *chunk)
{
	return fetch->payload.data + (chunk->offset - fetch->at.offset);
}

static int unpack_chunk(struct chunk_fetch *fetch, const struct chunk *chunk, size_t raw_size,
			const uint8_t **raw, struct err *err)
{
	return chunk_unpack(chunk->codec, chunk->digest, chunk_payload(fetch, chunk), chunk->stored,
			    fetch->space, raw_size, raw, err);
}

/* Overwrites only this chunk: the received range holds other chunks too. */
static int refetch_chunk(struct chunk_fetch *fetch, const struct chunk *chunk, const char *key,
			 struct err *err)
{
	struct store *store = fetch->transfer->store;
	auto_(bytes_release) struct bytes again = {0};

	if (store->ops->get(store, key, chunk->offset, chunk->stored, &again, fetch->cancel, err) <
	    0)
		return -1;
	memcpy(chunk_payload(fetch, chunk), again.data, chunk->stored);
	fetch->bytes_fetched += chunk->stored;
	return 0;
}

int chunk_fetch_unpack(struct chunk_fetch *fetch, const struct chunk *chunk, size_t raw_size,
		       const uint8_t **raw, struct err *err)
{
	auto_free char *key = NULL;
	struct err own = {0};

	if (unpack_chunk(fetch, chunk, raw_size, raw, &own) == 0)
		return 0;
	key = transfer_pack_key(fetch->transfer, fetch->manifest->packs[chunk->pack].key);
	if (own.kind == ERR_CORRUPT && refetch_chunk(fetch, chunk, key, &own) == 0 &&
	    unpack_chunk(fetch, chunk, raw_size, raw, &own) == 0)
		return 0;
	if (own.kind == ERR_CORRUPT)
		fetch->damaged = fetch->manifest->packs[chunk->pack].key;
	if (err)
		*err = own;
	return err_wrap(err, "pack %s, chunk at %u", key, chunk->offset);
}

int chunk_fetch_one(struct chunk_fetch *fetch, const struct chunk *chunk, size_t raw_size,
		    const uint8_t **raw, struct cancel *cancel, struct err *err)
{
	struct pack_range span = {chunk->pack, chunk->offset, chunk->stored};

	if (chunk->codec == CHUNK_ZERO) {
		memset(fetch->space, 0, raw_size);
		*raw = fetch->space;
		return 0;
	}
	if (chunk_fetch_range(fetch, &span, cancel, err) < 0)
		return -1;
	return chunk_fetch_unpack(fetch, chunk, raw_size, raw, err);
}
