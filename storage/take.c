/* Takes a snapshot: freeze, read and pack, look whether we still may, commit. */
#include "storage.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/json.h"
#include "reader.h"

#include <stdlib.h>
#include <string.h>

#define PROGRESS_EVERY_MS 250

AUTO(struct tree, tree_release);
AUTO(struct manifest, manifest_release);
AUTO(struct store_listing, store_listing_release);

struct taking {
	struct storage *storage;
	const struct take_request *request;
	struct packing packing;
	uint64_t bytes_total;
	_Atomic int64_t next_progress_ms;
};

/* --- progress --- */

static void tell(void *arg, uint64_t bytes_done)
{
	struct taking *taking = arg;
	int64_t now = clock_monotonic_ms(), due = atomic_load(&taking->next_progress_ms);
	struct take_progress progress = {
		.bytes_total = taking->bytes_total,
		/* A file that had to be read again counts twice. */
		.bytes_done = bytes_done < taking->bytes_total ? bytes_done : taking->bytes_total,
		.bytes_sent = atomic_load(&taking->packing.bytes_sent),
	};

	if (!taking->request->progress || now < due ||
		!atomic_compare_exchange_strong(
			&taking->next_progress_ms, &due, now + PROGRESS_EVERY_MS))
		return;
	taking->request->progress(taking->request->arg, &progress);
}

/* --- what is there already --- */

/* Deduplicates only against packs that are there right now, so that one lost object does not spoil every later snapshot. */
static int warm_index(struct taking *taking, struct err *err)
{
	struct storage *storage = taking->storage;
	auto_(store_listing_release) struct store_listing packs = {0};
	auto_free char *prefix = text_format("jobs/%s/", storage->job);
	auto_(manifest_release) struct manifest parent = {0};
	struct err own = {0};

	if (index_is_empty(&storage->index) && !snapshot_id_is_none(taking->request->parent)) {
		if (record_get_manifest(storage, taking->request->parent, &parent,
			    taking->packing.cancel, &own) == 0)
			index_replace(&storage->index, &parent, NULL);
		else if (own.kind == ERR_CANCELLED)
			return err_set(err, own.kind, "%s", own.text);
	}
	/* Whatever is wrong with the parent, all can be sent anew. */
	if (index_is_empty(&storage->index))
		return 0;
	if (record_list_packs(storage, &packs, taking->packing.cancel, err) < 0)
		return -1;
	index_settle(&storage->index, prefix, &packs);
	return 0;
}

/* --- the manifest --- */

static void describe(
	const struct taking *taking, const struct tree *tree, struct manifest *manifest)
{
	const struct take_request *request = taking->request;

	manifest->id = request->id;
	manifest->parent = request->parent;
	manifest->job = text_copy(taking->storage->job);
	text_set(manifest->nonce, sizeof(manifest->nonce), taking->packing.nonce);
	clock_format(clock_wall_ms(), manifest->created, sizeof(manifest->created));
	text_set(manifest->host, sizeof(manifest->host), taking->storage->host);
	text_set(manifest->reason, sizeof(manifest->reason), request->reason);
	manifest->step = request->step;
	manifest->about = json_incref(request->about);
	manifest->directory_mode = tree->root_mode;
	manifest->left_out = tree->left_out;
	manifest->bytes_stored = atomic_load(&taking->packing.bytes_sent);
}

/* From the index's table of packs, which also knows others, to one with just those that are needed. */
static void number_packs(const struct index *index, struct manifest *manifest)
{
	auto_free uint32_t *numbers = memory_new(index->pack_count * sizeof(*numbers));

	manifest->packs = memory_new(index->pack_count * sizeof(*manifest->packs));
	for (size_t i = 0; i < manifest->entry_count; i++) {
		struct entry *entry = &manifest->entries[i];
		size_t count = entry->type == ENTRY_FILE ? chunk_count(entry->size) : 0;

		for (size_t j = 0; j < count; j++) {
			const struct index_pack *pack;
			uint32_t *number;

			if (entry->chunks[j].codec == CHUNK_ZERO)
				continue;
			pack = &index->packs[entry->chunks[j].pack];
			number = &numbers[entry->chunks[j].pack];
			if (*number == 0) {
				manifest->packs[manifest->pack_count] =
					(struct manifest_pack){text_copy(pack->key), pack->bytes};
				*number = (uint32_t)++manifest->pack_count;
			}
			entry->chunks[j].pack = *number - 1;
		}
	}
}

/* Moves the entries out of the tree. */
static void fill_entries(struct tree *tree, struct manifest *manifest)
{
	manifest->entries = memory_new(tree->count * sizeof(*manifest->entries));
	for (size_t i = 0; i < tree->count; i++) {
		struct entry *entry = &manifest->entries[manifest->entry_count++];

		*entry = tree->items[i].entry;
		tree->items[i].entry = (struct entry){0};
		if (entry->type != ENTRY_FILE)
			continue;
		manifest->files++;
		manifest->bytes += entry->size;
	}
}

/* --- the commit --- */

static int check_not_superseded(struct taking *taking, struct err *err)
{
	uint32_t newest;

	if (storage_superseded(taking->storage, taking->request->id.attempt, &newest,
		    taking->packing.cancel, err) < 0)
		return -1;
	if (newest > taking->request->id.attempt)
		return err_set(err, ERR_EXISTS, "attempt %u has taken over", newest);
	return 0;
}

static int commit(
	struct taking *taking, const struct manifest *manifest, uint64_t *bytes, struct err *err)
{
	auto_free char *key = record_key_snapshot(taking->storage, manifest->id);
	auto_json json_t *body = manifest_encode(manifest, err);

	if (!body || check_not_superseded(taking, err) < 0)
		return -1;
	fault_point("before_manifest_put");
	if (record_put(taking->storage->store, key, RECORD_SNAPSHOT, body, bytes,
		    taking->packing.cancel, err) < 0)
		return -1;
	fault_point("after_manifest_put");
	return 0;
}

static int finish(
	struct taking *taking, struct tree *tree, struct take_result *result, struct err *err)
{
	auto_(manifest_release) struct manifest manifest = {0};
	auto_free struct file_stamp *stamps = memory_new(tree->count * sizeof(*stamps));
	struct packing *packing = &taking->packing;
	uint64_t manifest_bytes = 0;

	for (size_t i = 0; i < tree->count; i++)
		stamps[i] = tree->items[i].stamp;
	describe(taking, tree, &manifest);
	fill_entries(tree, &manifest);
	number_packs(&taking->storage->index, &manifest);
	if (commit(taking, &manifest, &manifest_bytes, err) < 0)
		return -1;
	index_replace(&taking->storage->index, &manifest, stamps);
	*result = (struct take_result){
		.files = manifest.files,
		.bytes = manifest.bytes,
		.bytes_sent = atomic_load(&packing->bytes_sent) + manifest_bytes,
		.chunks_sent = atomic_load(&packing->chunks_sent),
		.chunks_kept = atomic_load(&packing->chunks_kept),
	};
	return 0;
}

static int freeze(struct taking *taking, struct tree *tree, struct err *err)
{
	const struct take_request *request = taking->request;
	uint32_t files = 0;

	if (tree_freeze(request->directory, request->exclude, request->arg, tree,
		    taking->packing.cancel, err) < 0)
		return -1;
	for (size_t i = 0; i < tree->count; i++) {
		files += tree->items[i].entry.type == ENTRY_FILE;
		taking->bytes_total += tree->items[i].entry.size;
	}
	if (files == 0)
		return err_set(err, ERR_NOT_FOUND, "there is no file in %s", tree->root);
	if (request->frozen && !request->frozen(request->arg))
		return err_set(err, ERR_RETRY, "%s changed while it was being opened", tree->root);
	return 0;
}

static int take_snapshot(struct taking *taking, struct take_result *result, struct err *err)
{
	auto_(tree_release) struct tree tree = {0};

	/* First, because from here on the trainer may do what it likes with the names. */
	if (freeze(taking, &tree, err) < 0)
		return -1;
	if (warm_index(taking, err) < 0 || reader_run(&tree, &taking->packing,
						   taking->storage->threads, tell, taking, err) < 0)
		return -1;
	return finish(taking, &tree, result, err);
}

/* A full disk must not stay full because of what we could not finish. Best effort: left alone they are garbage like any other. */
static void remove_own_packs(struct taking *taking)
{
	struct store *store = taking->storage->store;
	auto_(store_listing_release) struct store_listing packs = {0};
	auto_free char *prefix = text_format("jobs/%s/packs/%06u/%06u-%s-", taking->storage->job,
		taking->request->id.attempt, taking->request->id.sequence, taking->packing.nonce);

	if (store->ops->list(store, prefix, STORE_ALL, &packs, taking->packing.cancel, NULL) < 0)
		return;
	for (size_t i = 0; i < packs.count; i++)
		store->ops->remove(store, packs.items[i].key, taking->packing.cancel, NULL);
}

int storage_take(struct storage *storage, const struct take_request *request,
	struct take_result *result, struct cancel *cancel, struct err *err)
{
	struct taking taking = {
		.storage = storage,
		.request = request,
		.packing = {.storage = storage, .id = request->id, .cancel = cancel},
	};
	char text[SNAPSHOT_ID_TEXT];
	struct err own = {0};
	int failed;

	*result = (struct take_result){0};
	file_nonce(taking.packing.nonce);
	failed = take_snapshot(&taking, result, &own);
	if (failed && own.kind == ERR_NO_SPACE)
		remove_own_packs(&taking);
	record_trim_memory();
	if (failed == 0)
		return 0;
	if (err)
		*err = own;
	return err_wrap(err, "snapshot %s", snapshot_id_format(request->id, text));
}
