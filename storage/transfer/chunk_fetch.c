#include "fetching.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Decides which neighbouring chunks of a pack are fetched by one request. */

static uint64_t end_of(const struct pack_range *extent)
{
	return (uint64_t)extent->offset + extent->size;
}

size_t range_coalesce_count(const struct pack_range *extents, size_t count, size_t most)
{
	uint64_t end = end_of(&extents[0]);
	size_t reach = 1;

	while (reach < count) {
		const struct pack_range *next = &extents[reach];
		uint64_t after = end_of(next) > end ? end_of(next) : end;

		if (next->pack != extents[0].pack || next->offset > end + RANGE_GAP_MOST ||
		    after - extents[0].offset > most)
			break;
		end = after;
		reach++;
	}
	return reach;
}

size_t range_coalesce_size(const struct pack_range *extents, size_t count)
{
	uint64_t end = 0;

	for (size_t i = 0; i < count; i++)
		if (end_of(&extents[i]) > end)
			end = end_of(&extents[i]);
	return (size_t)(end - extents[0].offset);
}

/* Fetches the chunks of a range of a pack and hands their bytes on while the range arrives: what is
 * stored as it is goes from the buffer of the connection to the file, and is checked on the way. */

/* A range on its way. */
struct stream {
	struct chunk_fetch *fetch;
	const struct pack_range *span;
	struct streamed_chunk *chunks;
	size_t count;
	const struct chunk_writer *writer;
	size_t next; /* the chunk in hand */
	size_t done; /* of its payload */
	size_t held; /* of that, in fetch->space, not handed on yet */
};

/* A connection brings 16 KiB at a time, and to write each by itself costs as much as the bytes. So
 * much stays in the cache of a processor. */
#define HELD_MOST ((size_t)256 << 10)

/* What is compressed must be whole before it can be unpacked, and so must be what has no checksum:
 * its digest is taken of all of it. */
static bool is_handed_on(const struct chunk *chunk)
{
	return chunk->codec == CHUNK_RAW && chunk->checksum != CHECKSUM_NONE;
}

static int hand_on(struct stream *stream, size_t at, const uint8_t *data, size_t size,
		   struct err *err)
{
	checksum_stream_add(stream->fetch->checksum, data, size);
	return stream->writer->write(stream->writer->arg, stream->next, at, data, size, err);
}

/* What is held ends at `end` of the chunk. */
static int hand_on_held(struct stream *stream, size_t end, struct err *err)
{
	size_t size = stream->held;

	stream->held = 0;
	return hand_on(stream, end - size, stream->fetch->space, size, err);
}

static int take_payload(struct stream *stream, const uint8_t *data, size_t size, struct err *err)
{
	const struct chunk *chunk = stream->chunks[stream->next].chunk;
	size_t at = stream->done;

	stream->done += size;
	if (!is_handed_on(chunk)) {
		if (at == 0)
			stream->fetch->payload.size = 0;
		return bytes_append(&stream->fetch->payload, data, size, err);
	}
	if (at == 0)
		checksum_stream_begin(stream->fetch->checksum);
	if (stream->held + size > HELD_MOST && hand_on_held(stream, at, err) < 0)
		return -1;
	if (size >= HELD_MOST)
		return hand_on(stream, at, data, size, err);
	memcpy(stream->fetch->space + stream->held, data, size);
	stream->held += size;
	return stream->done < chunk->stored ? 0 : hand_on_held(stream, stream->done, err);
}

static int finish_chunk(struct stream *stream, struct err *err)
{
	struct streamed_chunk *streamed = &stream->chunks[stream->next];
	const struct chunk *chunk = streamed->chunk;
	const uint8_t *raw;

	if (is_handed_on(chunk)) {
		streamed->good =
			checksum_stream_end(stream->fetch->checksum).low == chunk->checksum;
		return 0;
	}
	if (chunk_decompress(chunk->codec, stream->fetch->payload.data, chunk->stored,
			     stream->fetch->space, streamed->raw_size, &raw, NULL) < 0 ||
	    !chunk_matches(chunk, raw, streamed->raw_size))
		return 0;
	streamed->good = true;
	return stream->writer->write(stream->writer->arg, stream->next, 0, raw, streamed->raw_size,
				     err);
}

static void begin_again(struct stream *stream)
{
	stream->next = stream->done = stream->held = 0;
	for (size_t i = 0; i < stream->count; i++)
		stream->chunks[i].good = false;
}

/* What lies between the chunks is passed over. So is a chunk that overlaps the one before, as only
 * a forged manifest has them. */
static int take_bytes(void *arg, size_t at, const void *data, size_t size, struct err *err)
{
	struct stream *stream = arg;
	const uint8_t *bytes = data;
	uint64_t from = (uint64_t)stream->span->offset + at, end = from + size;

	if (at == 0)
		begin_again(stream);
	while (stream->next < stream->count) {
		const struct chunk *chunk = stream->chunks[stream->next].chunk;
		uint64_t wanted = (uint64_t)chunk->offset + stream->done;
		size_t left = chunk->stored - stream->done, piece;

		if (wanted >= end)
			break;
		if (wanted < from) {
			stream->next++;
			continue;
		}
		piece = end - wanted < left ? (size_t)(end - wanted) : left;
		if (take_payload(stream, bytes + (wanted - from), piece, err) < 0)
			return -1;
		if (stream->done < chunk->stored)
			break;
		if (finish_chunk(stream, err) < 0)
			return -1;
		stream->next++;
		stream->done = 0;
		/* The next one does not begin before this one's end. */
		bytes += wanted + piece - from;
		from = wanted + piece;
	}
	return 0;
}

int chunk_stream_range(struct chunk_fetch *fetch, const struct pack_range *span,
		       struct streamed_chunk *chunks, size_t count,
		       const struct chunk_writer *writer, struct cancel *cancel, struct err *err)
{
	struct stream stream = {fetch, span, chunks, count, writer, 0, 0, 0};
	const struct store_taker taker = {take_bytes, &stream};
	const char *pack = fetch->manifest->packs[span->pack].key;
	auto_free char *key = transfer_pack_key(fetch->transfer, pack);
	const struct early_pack *early = &fetch->transfer->early;

	if ((early->key && text_equal(early->key, pack) &&
			     (uint64_t)span->offset + span->size <= early->data.size
		     ? take_bytes(&stream, 0, early->data.data + span->offset, span->size, err)
		     : store_read(fetch->transfer->store, key, span->offset, span->size, &taker,
				  cancel, err)) < 0)
		return chunk_fetch_failed(key, err);
	fetch->bytes_fetched += span->size;
	return 0;
}

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
	err_pass(err, &own);
	return damaged ? err_wrap(err, "pack %s, chunk at %u", key, chunk->offset) : -1;
}
