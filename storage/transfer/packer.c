#include "packer.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int packer_init(struct packer *packer, struct packing *packing, struct err *err)
{
	*packer = (struct packer){.packing = packing, .scratch = malloc(CHUNK_SIZE)};
	if (!packer->scratch)
		return err_os(err, ENOMEM, "buffer of %zu bytes", CHUNK_SIZE);
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
	*room = packer->upload ? pack_reserve(&packer->builder, size) : NULL;
	if (*room)
		return 0;
	if (packer->upload)
		send_pack(packer);
	packer->upload = pack_uploader_borrow_buffer(packer->packing->uploader, err);
	if (!packer->upload)
		return -1;
	packer->builder.data = pack_uploader_buffer_data(packer->upload);
	pack_begin(&packer->builder);
	*room = pack_reserve(&packer->builder, size);
	return 0;
}

void packer_add(struct packer *packer, size_t size, struct chunk *chunk)
{
	uint8_t *data = packer->builder.data + packer->builder.used;
	struct packing *packing = packer->packing;
	struct pack_record record = {.raw = (uint32_t)size};
	uint64_t checksum;
	size_t compressed;

	*chunk = (struct chunk){.codec = CHUNK_ZERO};
	if (chunk_is_zero(data, size))
		return;
	digest_sha256(data, size, record.digest);
	if (chunk_index_find(&packing->transfer->index, record.digest, chunk)) {
		/* An older version, and the index of a pack, do not say it. */
		if (chunk->checksum == CHECKSUM_NONE)
			chunk->checksum = checksum_bytes(data, size);
		atomic_fetch_add(&packing->chunks_kept, 1);
		return;
	}
	checksum = checksum_bytes(data, size);
	compressed = chunk_compress(data, size, packer->scratch);
	if (compressed)
		memcpy(data, packer->scratch, compressed);
	record.codec = compressed ? CHUNK_LZ4 : CHUNK_RAW;
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
	};
	memcpy(chunk->digest, record.digest, DIGEST_SIZE);
	chunk_index_add(&packing->transfer->index, chunk);
	atomic_fetch_add(&packing->chunks_sent, 1);
}

void packer_finish(struct packer *packer)
{
	if (packer->upload && packer->builder.count)
		send_pack(packer);
}
