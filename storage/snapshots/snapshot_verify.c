/*
 * Reads and checks everything that snapshots consist of: each pack once, its index, every chunk in
 * it, and that the pack holds the chunks that each manifest names.
 */
#include "storage/storage.h"

#include "base/cleanup.h"
#include "base/workers.h"
#include "job_records.h"
#include "storage/format/format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What a manifest says about a pack: that it exists (`entry` NULL), or that it holds one chunk of a
 * file. */
struct reference {
	const char *key;
	const struct manifest *manifest;
	size_t pack;
	const struct entry *entry;
	size_t number;
};

struct verifying {
	struct storage *storage;
	struct cancel *cancel;
	void (*found)(void *arg, struct snapshot_id id, const char *sentence);
	void *arg;
	struct manifest *manifests;
	size_t manifest_count;
	struct reference *references; /* by pack, then by place in it */
	size_t reference_count;
	uint64_t bytes_total; /* of all packs */
	_Atomic uint64_t bytes_done;
	pthread_mutex_t mutex;
	struct {
		size_t next;
		uint32_t damages;
		bool failed;
		struct err err;
	} locked; /* guarded by `mutex` */
};

/* A pack and the results of its check. */
struct pack_check {
	const char *key;
	struct bytes data;
	struct pack_record *records; /* NULL: the index is unreadable */
	uint32_t record_count;
	char (*faults)[96]; /* one per record; "": the chunk is sound */
	/* one per record: a manifest names the chunk */
	bool *used;
	uint8_t *space; /* CHUNK_SIZE */
};

static void report_damage(struct verifying *verifying, struct snapshot_id id, const char *sentence)
{
	pthread_mutex_lock(&verifying->mutex);
	verifying->locked.damages++;
	if (verifying->found)
		verifying->found(verifying->arg, id, sentence);
	pthread_mutex_unlock(&verifying->mutex);
}

/* --- collecting what is to be checked --- */

static const struct chunk *referenced_chunk(const struct reference *reference)
{
	return reference->entry ? &reference->entry->chunks[reference->number] : NULL;
}

static int compare_references(const void *a, const void *b)
{
	const struct reference *first = a, *second = b;
	const struct chunk *x = referenced_chunk(first), *y = referenced_chunk(second);
	int by_key = strcmp(first->key, second->key);

	if (by_key != 0 || !x || !y)
		return by_key != 0 ? by_key : (x != NULL) - (y != NULL);
	return (x->offset > y->offset) - (x->offset < y->offset);
}

static void add_reference(struct verifying *verifying, const struct manifest *manifest, size_t pack,
			  const struct entry *entry, size_t number)
{
	size_t count = verifying->reference_count;

	if ((count & (count - 1)) == 0)
		verifying->references = memory_grow(verifying->references, count ? 2 * count : 1,
						    sizeof(*verifying->references));
	verifying->references[verifying->reference_count++] =
		(struct reference){manifest->packs[pack].key, manifest, pack, entry, number};
}

static void add_references(struct verifying *verifying, const struct manifest *manifest)
{
	for (size_t i = 0; i < manifest->pack_count; i++)
		add_reference(verifying, manifest, i, NULL, 0);
	for (size_t i = 0; i < manifest->entry_count; i++) {
		const struct entry *entry = &manifest->entries[i];

		for (size_t j = 0; entry->type == ENTRY_FILE && j < chunk_count(entry->size); j++)
			if (entry->chunks[j].codec != CHUNK_ZERO)
				add_reference(verifying, manifest, entry->chunks[j].pack, entry, j);
	}
}

static int add_snapshot(struct verifying *verifying, struct snapshot_id id, struct err *err)
{
	struct manifest *manifest = &verifying->manifests[verifying->manifest_count];
	struct err own = {0};

	if (job_record_get_manifest(verifying->storage, id, manifest, verifying->cancel, &own) ==
	    0) {
		verifying->manifest_count++;
		return 0;
	}
	if (own.kind == ERR_CORRUPT) {
		report_damage(verifying, id, own.text);
		return 0;
	}
	if (err)
		*err = own;
	return -1;
}

/* --- one pack --- */

static void check_records(struct pack_check *pack)
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

static int check_index(struct pack_check *pack, struct err *err)
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
	return 0;
}

static bool record_matches_chunk(const struct pack_record *record, const struct chunk *chunk,
				 size_t raw)
{
	return record->offset == chunk->offset && record->stored == chunk->stored &&
	       record->raw == raw && record->codec == chunk->codec &&
	       memcmp(record->digest, chunk->digest, DIGEST_SIZE) == 0;
}

/* Checks a chunk as the manifest describes it. If the pack's index describes it the same way, it
 * has been checked already. */
static int check_chunk(struct pack_check *pack, const struct chunk *chunk, size_t raw_size,
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

static void check_reference(struct verifying *verifying, struct pack_check *pack,
			    const struct reference *reference)
{
	const struct chunk *chunk = referenced_chunk(reference);
	size_t raw_size = chunk_length(reference->entry->size, reference->number);
	uint64_t from = (uint64_t)reference->number * CHUNK_SIZE;
	auto_free char *sentence = NULL;
	struct err err = {0};

	if (check_chunk(pack, chunk, raw_size, &err) == 0)
		return;
	sentence = text_format("%s: pack %s, chunk at %u (bytes %llu to %llu of the file): %s",
			       reference->entry->path, reference->key, chunk->offset,
			       (unsigned long long)from, (unsigned long long)(from + raw_size),
			       err.text);
	report_damage(verifying, reference->manifest->id, sentence);
}

/* Reports damage of the whole pack for every snapshot that names it. */
static void report_to_snapshots(struct verifying *verifying, const struct reference *references,
				size_t count, const char *said)
{
	auto_free char *sentence = text_format("pack %s: %s", references->key, said);

	for (size_t i = 0; i < count; i++)
		if (!references[i].entry)
			report_damage(verifying, references[i].manifest->id, sentence);
}

static void check_sizes(struct verifying *verifying, const struct pack_check *pack,
			const struct reference *references, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t size = references[i].manifest->packs[references[i].pack].bytes;
		auto_free char *sentence = NULL;

		if (references[i].entry || size == pack->data.size)
			continue;
		sentence = text_format("pack %s has %zu bytes instead of %llu", pack->key,
				       pack->data.size, (unsigned long long)size);
		report_damage(verifying, references[i].manifest->id, sentence);
	}
}

static void check_contents(struct verifying *verifying, struct pack_check *pack,
			   const struct reference *references, size_t count)
{
	struct err err = {0};

	check_sizes(verifying, pack, references, count);
	if (check_index(pack, &err) < 0)
		report_to_snapshots(verifying, references, count, err.text);
	check_records(pack);
	for (size_t i = 0; i < count; i++)
		if (references[i].entry)
			check_reference(verifying, pack, &references[i]);
	for (uint32_t i = 0; i < pack->record_count; i++)
		if (!pack->used[i] && pack->faults[i][0])
			report_to_snapshots(verifying, references, count,
					    "a chunk that none of these snapshots needs is "
					    "damaged");
}

static void report_progress(struct verifying *verifying, uint64_t bytes)
{
	struct storage *storage = verifying->storage;
	uint64_t done = atomic_fetch_add(&verifying->bytes_done, bytes) + bytes;

	if (storage->progress)
		storage->progress(storage->progress_arg, done, verifying->bytes_total);
}

static int check_pack(struct verifying *verifying, const struct reference *references, size_t count,
		      struct pack_check *pack, struct err *err)
{
	auto_free char *key = transfer_pack_key(&verifying->storage->transfer, references->key);
	struct store *store = verifying->storage->transfer.store;
	struct err own = {0};

	pack->key = references->key;
	pack->data.size = 0;
	if (store->ops->get(store, key, 0, STORE_TO_END, &pack->data, verifying->cancel, &own) ==
	    0) {
		check_contents(verifying, pack, references, count);
	} else if (own.kind == ERR_NOT_FOUND) {
		report_to_snapshots(verifying, references, count, "is missing");
	} else {
		if (err)
			*err = own;
		return -1;
	}
	free(steal(&pack->records));
	free(steal(&pack->faults));
	free(steal(&pack->used));
	pack->record_count = 0;
	report_progress(verifying, pack->data.size);
	return 0;
}

/* --- all of them --- */

static void sum_pack_bytes(struct verifying *verifying)
{
	const struct reference *references = verifying->references;

	for (size_t i = 0; i < verifying->reference_count; i++)
		if (i == 0 || strcmp(references[i].key, references[i - 1].key) != 0)
			verifying->bytes_total +=
				references[i].manifest->packs[references[i].pack].bytes;
}

static size_t next_pack(struct verifying *verifying, const struct reference **group)
{
	size_t count = 0;

	pthread_mutex_lock(&verifying->mutex);
	*group = verifying->references + verifying->locked.next;
	if (!verifying->locked.failed) {
		size_t left = verifying->reference_count - verifying->locked.next;

		while (count < left && strcmp((*group)->key, (*group)[count].key) == 0)
			count++;
		verifying->locked.next += count;
	}
	pthread_mutex_unlock(&verifying->mutex);
	return count;
}

static void verify_worker(void *arg, size_t index)
{
	struct verifying *verifying = arg;
	struct pack_check pack = {.space = malloc(CHUNK_SIZE)};
	const struct reference *group;
	struct err err = {0};
	int result = pack.space ? 0 : err_os(&err, ENOMEM, "buffer of %zu bytes", CHUNK_SIZE);
	size_t count;

	(void)index;
	while (result == 0 && (count = next_pack(verifying, &group)) > 0)
		result = check_pack(verifying, group, count, &pack, &err);
	free(pack.space);
	bytes_release(&pack.data);
	if (result == 0)
		return;
	pthread_mutex_lock(&verifying->mutex);
	if (!verifying->locked.failed)
		verifying->locked.err = err;
	verifying->locked.failed = true;
	pthread_mutex_unlock(&verifying->mutex);
}

static int verify_snapshots(struct verifying *verifying, struct snapshot_id id, uint32_t *snapshots,
			    struct err *err)
{
	auto_(job_listing_release) struct job_listing listing = {0};
	const struct lineage *lineage = &listing.lineage;

	if (job_records_list(verifying->storage, &listing, verifying->cancel, err) < 0)
		return -1;
	verifying->manifests = memory_new((lineage->snapshot_count + 1) * sizeof(struct manifest));
	if (!snapshot_id_is_none(id)) {
		*snapshots = 1;
		if (add_snapshot(verifying, id, err) < 0)
			return -1;
	} else {
		*snapshots = (uint32_t)lineage->snapshot_count;
		for (size_t i = 0; i < lineage->snapshot_count; i++)
			if (add_snapshot(verifying, lineage->snapshots[i], err) < 0)
				return -1;
	}
	for (size_t i = 0; i < verifying->manifest_count; i++)
		add_references(verifying, &verifying->manifests[i]);
	if (verifying->reference_count == 0)
		return 0;
	qsort(verifying->references, verifying->reference_count, sizeof(struct reference),
	      compare_references);
	sum_pack_bytes(verifying);
	parallel_run(verifying->storage->threads, verify_worker, verifying);
	if (!verifying->locked.failed)
		return 0;
	if (err)
		*err = verifying->locked.err;
	return -1;
}

int storage_verify(struct storage *storage, struct snapshot_id id,
		   void (*found)(void *arg, struct snapshot_id id, const char *sentence), void *arg,
		   uint32_t *snapshots, uint32_t *damages, struct cancel *cancel, struct err *err)
{
	struct verifying verifying = {
		.storage = storage,
		.cancel = cancel,
		.found = found,
		.arg = arg,
	};
	int result;

	*snapshots = 0;
	pthread_mutex_init(&verifying.mutex, NULL);
	result = verify_snapshots(&verifying, id, snapshots, err);
	*damages = verifying.locked.damages;
	pthread_mutex_destroy(&verifying.mutex);
	for (size_t i = 0; i < verifying.manifest_count; i++)
		manifest_release(&verifying.manifests[i]);
	free(verifying.manifests);
	free(verifying.references);
	return result;
}
