#include "packer.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int packer_init(struct packer *packer, struct packing *packing, struct err *err)
{
	*packer = (struct packer){.packing = packing, .scratch = malloc(CHUNK_SIZE)};
	if (!packer->scratch)
		return err_os(err, ENOMEM, "buffer of %zu bytes", CHUNK_SIZE);
	packer->look.stream = checksum_stream_new();
	pack_builder_init(&packer->builder, NULL);
	packer->builder.target = packing->transfer->plan.pack_target;
	return 0;
}

void packer_release(struct packer *packer)
{
	if (packer->upload && packer->builder.count)
		chunk_index_pack_lost(&packer->packing->transfer->index, packer->pack);
	if (packer->upload)
		pack_uploader_return_buffer(packer->packing->uploader, packer->upload);
	free(packer->scratch);
	checksum_stream_free(packer->look.stream);
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
	packer->builder.count = 0;
}

int packer_reserve(struct packer *packer, size_t size, uint8_t **room, struct err *err)
{
	int64_t began_us;

	*room = packer->upload ? pack_reserve(&packer->builder, size) : NULL;
	if (*room)
		return 0;
	if (packer->upload)
		send_pack(packer);
	began_us = clock_monotonic_us();
	packer->upload = pack_uploader_borrow_buffer(packer->packing->uploader, err);
	if (!packer->upload)
		return -1;
	weights_meter_waited(&packer->packing->transfer->meter, clock_monotonic_us() - began_us);
	packer->builder.data = pack_uploader_buffer_data(packer->upload);
	pack_begin(&packer->builder);
	*room = pack_reserve(&packer->builder, size);
	return 0;
}

static size_t compress_weights(struct packer *packer, const uint8_t *data, size_t size,
			       enum chunk_codec *codec)
{
	struct transfer *transfer = packer->packing->transfer;
	struct weights_facts facts = {.policy = transfer->weights, .remote = transfer->remote};
	int64_t began_us = clock_monotonic_us();
	size_t compressed;

	weights_meter_facts(&transfer->meter, &facts);
	if (!weights_pay(&facts))
		return 0;
	compressed = chunk_compress_weights(data, size, packer->scratch, codec);
	weights_meter_coded(&transfer->meter, size, clock_monotonic_us() - began_us);
	return compressed;
}

/* In the packer's scratch; 0: it stays raw. */
static size_t compress_chunk(struct packer *packer, const uint8_t *data, size_t size,
			     enum chunk_codec *codec)
{
	size_t compressed = chunk_compress(data, size, packer->scratch);

	*codec = CHUNK_LZ4;
	if (compressed == 0)
		compressed = compress_weights(packer, data, size, codec);
	if (compressed == 0)
		*codec = CHUNK_RAW;
	return compressed;
}

void packer_add(struct packer *packer, size_t size, struct chunk *chunk)
{
	uint8_t *data = packer->builder.data + packer->builder.used;
	struct packing *packing = packer->packing;
	struct pack_record record = {.raw = (uint32_t)size};
	struct fingerprint fingerprint;
	uint64_t checksum;
	size_t compressed;

	weights_meter_read(&packing->transfer->meter, size);
	*chunk = (struct chunk){.codec = CHUNK_ZERO};
	if (chunk_is_zero(data, size))
		return;
	/* What an early upload has read, and what has not changed since the last save, is known by
	 * that, at a fraction of the cost of its digest. */
	fingerprint = fingerprint_bytes(data, size, packing->transfer->seed);
	if (chunk_index_find_seen(&packing->transfer->index, &fingerprint, chunk)) {
		atomic_fetch_add(&packing->chunks_kept, 1);
		return;
	}
	digest_sha256(data, size, record.digest);
	if (chunk_index_find(&packing->transfer->index, record.digest, chunk)) {
		/* An older version, and the index of a pack, do not say it. */
		if (chunk->checksum == CHECKSUM_NONE)
			chunk->checksum = checksum_bytes(data, size);
		chunk->fingerprint = fingerprint;
		chunk_index_add(&packing->transfer->index, chunk);
		atomic_fetch_add(&packing->chunks_kept, 1);
		return;
	}
	checksum = checksum_bytes(data, size);
	compressed = compress_chunk(packer, data, size, &record.codec);
	if (compressed)
		memcpy(data, packer->scratch, compressed);
	record.stored = (uint32_t)(compressed ? compressed : size);
	if (packer->builder.count == 0)
		open_pack(packer);
	pack_append(&packer->builder, &record);
	*chunk = (struct chunk){
		.pack = packer->pack,
		.offset = record.offset,
		.stored = record.stored,
		.codec = record.codec,
		.checksum = checksum,
		.fingerprint = fingerprint,
	};
	memcpy(chunk->digest, record.digest, DIGEST_SIZE);
	chunk_index_add(&packing->transfer->index, chunk);
	atomic_fetch_add(&packing->chunks_sent, 1);
}

void packer_look_begin(struct packer *packer)
{
	fingerprint_stream_begin(packer->look.stream, packer->packing->transfer->seed);
	packer->look.size = 0;
	packer->look.zero = true;
}

void packer_look_add(struct packer *packer, const void *data, size_t size)
{
	packer->look.size += size;
	packer->look.zero = packer->look.zero && chunk_is_zero(data, size);
	fingerprint_stream_add(packer->look.stream, data, size);
}

bool packer_look_end(struct packer *packer, struct chunk *chunk)
{
	struct packing *packing = packer->packing;
	struct fingerprint fingerprint = fingerprint_stream_end(packer->look.stream);

	*chunk = (struct chunk){.codec = CHUNK_ZERO};
	if (!packer->look.zero &&
	    !chunk_index_find_seen(&packing->transfer->index, &fingerprint, chunk))
		return false;
	weights_meter_read(&packing->transfer->meter, packer->look.size);
	atomic_fetch_add(&packing->chunks_kept, packer->look.zero ? 0 : 1);
	return true;
}

void packer_finish(struct packer *packer)
{
	if (packer->upload && packer->builder.count)
		send_pack(packer);
}
