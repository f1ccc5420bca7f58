#include "sending.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int packer_init(struct packer *packer, struct packing *packing, struct err *err)
{
	*packer = (struct packer){
		.packing = packing,
		.scratch = aligned_alloc(PACK_UPLOADER_ALIGNMENT, CHUNK_SIZE),
	};
	if (!packer->scratch)
		return err_os(err, ENOMEM, "buffer of %zu bytes", CHUNK_SIZE);
	packer->look.checksum = checksum_stream_new();
	pack_builder_init(&packer->builder, NULL);
	packer->builder.target = packing->transfer->plan.pack_target;
	return 0;
}

static void hold_no_more(struct packer *packer)
{
	if (packer->held == 0)
		return;
	atomic_fetch_sub(&packer->packing->bytes_held, packer->held);
	packer->held = 0;
}

void packer_release(struct packer *packer)
{
	hold_no_more(packer);
	if (packer->upload && packer->builder.count)
		chunk_index_pack_lost(&packer->packing->transfer->index, packer->pack);
	if (packer->upload)
		pack_uploader_return_buffer(packer->packing->uploader, packer->upload);
	free(packer->scratch);
	checksum_stream_free(packer->look.checksum);
	pack_builder_release(&packer->builder);
	*packer = (struct packer){0};
}

static void open_pack(struct packer *packer)
{
	struct packing *packing = packer->packing;
	auto_free char *key = text_format("packs/%06u/%06u-%s-%04u.pack", packing->id.attempt,
					  packing->id.sequence, packing->nonce,
					  atomic_fetch_add(&packing->packs, 1) + 1);

	packer->pack = chunk_index_open_pack(&packing->transfer->index, key);
}

static void send_pack(struct packer *packer)
{
	size_t size = pack_finish(&packer->builder);

	pack_uploader_send(packer->packing->uploader, steal(&packer->upload), packer->pack, size);
	/* Now the uploader counts them. */
	hold_no_more(packer);
	packer->builder.count = 0;
}

/* Behind a compressed chunk the next one begins anywhere; it is read to an aligned place, and then
 * moved. The room that the index is given at the end of a pack is enough for that. */
static bool find_room(struct packer *packer, size_t size)
{
	uint8_t *place = packer->upload ? pack_reserve(&packer->builder, size) : NULL;
	size_t odd = (uintptr_t)place % PACK_UPLOADER_ALIGNMENT;

	packer->room = place && odd ? place + PACK_UPLOADER_ALIGNMENT - odd : place;
	return place != NULL;
}

int packer_reserve(struct packer *packer, size_t size, uint8_t **room, struct err *err)
{
	if (!find_room(packer, size)) {
		if (packer->upload)
			send_pack(packer);
		packer->upload = pack_uploader_borrow_buffer(packer->packing->uploader, err);
		if (!packer->upload)
			return -1;
		packer->builder.data = packer->upload->data;
		pack_begin(&packer->builder);
		find_room(packer, size);
	}
	*room = packer->room;
	return 0;
}

/* In the packer's scratch; 0: it stays raw. */
static size_t compress_chunk(struct packer *packer, const uint8_t *data, size_t size,
			     enum chunk_codec *codec)
{
	const struct transfer *transfer = packer->packing->transfer;
	size_t compressed = chunk_compress(data, size, packer->scratch);

	*codec = CHUNK_LZ4;
	if (compressed == 0 && weights_pay(transfer->weights, transfer->remote,
					   pack_uploader_slack_ms(packer->packing->uploader)))
		compressed = chunk_compress_weights(data, size, packer->scratch, codec);
	if (compressed == 0)
		*codec = CHUNK_RAW;
	return compressed;
}

void packer_look_begin(struct packer *packer)
{
	checksum_stream_begin(packer->look.checksum);
	packer->look.size = 0;
	packer->look.zero = true;
}

void packer_look_add(struct packer *packer, const void *data, size_t size)
{
	packer->look.size += size;
	packer->look.zero = packer->look.zero && chunk_is_zero(data, size);
	checksum_stream_add(packer->look.checksum, data, size);
}

/* What an early upload has read, and what has not changed since the last save, is known by its
 * fingerprint, at a fraction of the cost of its digest. */
bool packer_look_end(struct packer *packer, struct chunk *chunk)
{
	struct packing *packing = packer->packing;
	struct fingerprint fingerprint;

	*chunk = (struct chunk){.codec = CHUNK_ZERO};
	if (packer->look.zero)
		return true;
	fingerprint = checksum_stream_end(packer->look.checksum);
	if (!chunk_index_find_seen(&packing->transfer->index, &fingerprint, chunk))
		return false;
	atomic_fetch_add(&packing->chunks_kept, 1);
	return true;
}

static void note_seen(const struct packer *packer, struct chunk *chunk)
{
	struct fingerprint fingerprint = checksum_stream_end(packer->look.checksum);

	chunk->checksum = fingerprint.low;
	chunk->seen = fingerprint.high;
	chunk_index_add(&packer->packing->transfer->index, chunk);
}

/* The same by the digest: what others have saved. */
static bool find_digest(struct packer *packer, const uint8_t digest[DIGEST_SIZE],
			struct chunk *chunk)
{
	struct packing *packing = packer->packing;

	if (!chunk_index_find(&packing->transfer->index, digest, chunk))
		return false;
	note_seen(packer, chunk);
	atomic_fetch_add(&packing->chunks_kept, 1);
	return true;
}

void packer_add_looked(struct packer *packer, struct chunk *chunk)
{
	uint8_t *place = packer->builder.data + packer->builder.used;
	const uint8_t *data = packer->room;
	struct packing *packing = packer->packing;
	size_t size = packer->look.size, compressed;
	struct pack_record record = {.raw = (uint32_t)size};

	if (packer_look_end(packer, chunk))
		return;
	digest_sha256(data, size, record.digest);
	if (find_digest(packer, record.digest, chunk))
		return;
	compressed = compress_chunk(packer, data, size, &record.codec);
	if (compressed)
		memcpy(place, packer->scratch, compressed);
	else if (place != data)
		memmove(place, data, size);
	record.stored = (uint32_t)(compressed ? compressed : size);
	if (packer->builder.count == 0)
		open_pack(packer);
	pack_append(&packer->builder, &record);
	packer->held += size;
	atomic_fetch_add(&packing->bytes_held, size);
	*chunk = (struct chunk){
		.pack = packer->pack,
		.offset = record.offset,
		.stored = record.stored,
		.codec = record.codec,
	};
	memcpy(chunk->digest, record.digest, DIGEST_SIZE);
	note_seen(packer, chunk);
	atomic_fetch_add(&packing->chunks_sent, 1);
}

void packer_add(struct packer *packer, size_t size, struct chunk *chunk)
{
	packer_look_begin(packer);
	packer_look_add(packer, packer->room, size);
	packer_add_looked(packer, chunk);
}

void packer_finish(struct packer *packer)
{
	if (packer->upload && packer->builder.count)
		send_pack(packer);
}
