#include "packer.h"

#include "base/cleanup.h"
#include "base/fault.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The buffer is mapped, not allocated: untouched pages of it cost nothing, and all of it goes back at the end. */
int packer_init(struct packer *packer, struct packing *packing, struct err *err)
{
	void *buffer = mmap(
		NULL, PACK_CAPACITY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	*packer = (struct packer){.packing = packing};
	if (buffer == MAP_FAILED)
		return err_os(err, errno, "buffer of %zu bytes", PACK_CAPACITY);
	packer->buffer = buffer;
	packer->scratch = malloc(CHUNK_SIZE);
	if (!packer->scratch) {
		packer_release(packer);
		return err_os(err, ENOMEM, "buffer of %zu bytes", CHUNK_SIZE);
	}
	pack_builder_init(&packer->builder, packer->buffer);
	return 0;
}

void packer_release(struct packer *packer)
{
	if (packer->buffer)
		munmap(packer->buffer, PACK_CAPACITY);
	free(packer->scratch);
	pack_builder_release(&packer->builder);
	*packer = (struct packer){0};
}

static void open_pack(struct packer *packer)
{
	struct packing *packing = packer->packing;
	auto_free char *key = text_format("packs/%06u/%06u-%s-%04u.pack", packing->id.attempt,
		packing->id.sequence, packing->nonce, atomic_fetch_add(&packing->packs, 1) + 1);

	packer->pack = index_open_pack(&packing->storage->index, key);
}

static char *pack_key(struct packer *packer)
{
	struct index *index = &packer->packing->storage->index;
	char *key;

	/* The table may be growing on another thread. */
	pthread_mutex_lock(&index->mutex);
	key = record_key_pack(packer->packing->storage, index->packs[packer->pack].key);
	pthread_mutex_unlock(&index->mutex);
	return key;
}

static int put_pack(struct packer *packer, struct err *err)
{
	struct packing *packing = packer->packing;
	struct store *store = packing->storage->store;
	auto_free char *key = pack_key(packer);
	size_t size = pack_finish(&packer->builder);

	fault_point("before_pack_put");
	if (store->ops->put(store, key, packer->buffer, size, STORE_UNIQUE, packing->cancel, err) <
		0)
		return -1;
	fault_point("after_pack_put");
	index_pack_stored(&packing->storage->index, packer->pack, size);
	atomic_fetch_add(&packing->bytes_sent, size);
	pack_begin(&packer->builder);
	return 0;
}

int packer_room(struct packer *packer, size_t size, uint8_t **room, struct err *err)
{
	*room = pack_room(&packer->builder, size);
	if (*room)
		return 0;
	if (put_pack(packer, err) < 0)
		return -1;
	*room = pack_room(&packer->builder, size);
	return 0;
}

void packer_add(struct packer *packer, size_t size, struct chunk *chunk)
{
	uint8_t *data = packer->builder.data + packer->builder.used;
	struct packing *packing = packer->packing;
	struct pack_record record = {.raw = (uint32_t)size};
	size_t compressed;

	*chunk = (struct chunk){.codec = CHUNK_ZERO};
	if (chunk_is_zero(data, size))
		return;
	digest_sha256(data, size, record.digest);
	if (index_find(&packing->storage->index, record.digest, chunk)) {
		atomic_fetch_add(&packing->chunks_kept, 1);
		return;
	}
	compressed = chunk_compress(data, size, packer->scratch);
	if (compressed)
		memcpy(data, packer->scratch, compressed);
	record.codec = compressed ? CHUNK_LZ4 : CHUNK_RAW;
	record.stored = (uint32_t)(compressed ? compressed : size);
	if (packer->builder.count == 0)
		open_pack(packer);
	pack_keep(&packer->builder, &record);
	*chunk = (struct chunk){
		.pack = packer->pack,
		.offset = record.offset,
		.stored = record.stored,
		.codec = record.codec,
	};
	memcpy(chunk->digest, record.digest, DIGEST_SIZE);
	index_add(&packing->storage->index, chunk);
	atomic_fetch_add(&packing->chunks_sent, 1);
}

int packer_finish(struct packer *packer, struct err *err)
{
	return packer->builder.count ? put_pack(packer, err) : 0;
}
