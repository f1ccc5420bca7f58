/* Takes a snapshot: freeze, read and pack, look whether we still may, commit. */
#include "storage/storage.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/json.h"
#include "storage/transfer/transfer.h"
#include "index_warmup.h"

#include <stdlib.h>
#include <string.h>

#define PROGRESS_EVERY_MS 250
#define ATTEND_EVERY_MS 20

AUTO(struct tree, tree_release);
AUTO(struct manifest, manifest_release);
AUTO(struct store_listing, store_listing_release);

struct taking {
	struct storage *storage;
	const struct take_request *request;
	struct packing packing;
	uint64_t bytes_total;
	uint64_t bytes_before; /* sent by a presend */
	bool leftovers;        /* the manifest names packs that no other one names */
	_Atomic int64_t next_progress_ms;
};

/* --- progress --- */

static void tell(void *arg, uint64_t bytes_done)
{
	struct taking *taking = arg;
	struct uploader *uploader = taking->packing.uploader;
	int64_t now = clock_monotonic_ms(), due = atomic_load(&taking->next_progress_ms);
	/* Packed is not there yet; and a file that had to be read again counts twice. */
	uint64_t waiting = uploader_bytes_waiting(uploader);
	uint64_t there = bytes_done > waiting ? bytes_done - waiting : 0;
	struct take_progress progress = {
		.bytes_total = taking->bytes_total,
		.bytes_done = there < taking->bytes_total ? there : taking->bytes_total,
		.bytes_sent = uploader_bytes_sent(uploader),
	};

	if (!taking->request->progress || now < due ||
		!atomic_compare_exchange_strong(
			&taking->next_progress_ms, &due, now + PROGRESS_EVERY_MS))
		return;
	taking->request->progress(taking->request->arg, &progress);
}

/* --- the manifest --- */

static void describe(
	const struct taking *taking, const struct tree *tree, struct manifest *manifest)
{
	const struct take_request *request = taking->request;

	manifest->id = request->id;
	manifest->parent = request->parent;
	manifest->job = text_copy(taking->storage->transfer.job);
	text_set(manifest->nonce, sizeof(manifest->nonce), taking->packing.nonce);
	clock_format(clock_wall_ms(), manifest->created, sizeof(manifest->created));
	text_set(manifest->host, sizeof(manifest->host), taking->storage->host);
	text_set(manifest->reason, sizeof(manifest->reason), request->reason);
	manifest->step = request->step;
	manifest->about = json_incref(request->about);
	manifest->directory_mode = tree->root_mode;
	manifest->left_out = tree->left_out;
}

/* From the index's table of packs, which also knows others, to one with just those that are needed. */
static void number_packs(struct taking *taking, struct manifest *manifest)
{
	const struct index *index = &taking->storage->transfer.index;
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
				manifest->bytes_stored += pack->named ? 0 : pack->bytes;
				taking->leftovers = taking->leftovers || pack->leftover;
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

/* Until the commit nothing but their age keeps leftovers from being swept (FORMAT.md): so, once more, are they there? */
static int check_leftovers(struct taking *taking, const struct manifest *manifest, struct err *err)
{
	auto_(store_listing_release) struct store_listing packs = {0};

	if (!taking->leftovers)
		return 0;
	if (record_list_packs(taking->storage, &packs, taking->packing.cancel, err) < 0)
		return -1;
	if (record_check_packs(taking->storage, manifest, &packs, err) == 0)
		return 0;
	/* The next one looks them all up again. */
	return err_set(
		err, ERR_RETRY, "a pack that an earlier attempt had left was swept meanwhile");
}

static int commit(
	struct taking *taking, const struct manifest *manifest, uint64_t *bytes, struct err *err)
{
	auto_free char *key = record_key_snapshot(taking->storage, manifest->id);
	auto_json json_t *body = manifest_encode(manifest, err);

	if (!body || check_leftovers(taking, manifest, err) < 0 ||
		check_not_superseded(taking, err) < 0)
		return -1;
	fault_point("before_manifest_put");
	if (record_put(taking->storage->transfer.store, key, RECORD_SNAPSHOT, body, bytes,
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
	uint64_t manifest_bytes = 0, sent;

	for (size_t i = 0; i < tree->count; i++)
		stamps[i] = tree->items[i].stamp;
	describe(taking, tree, &manifest);
	fill_entries(tree, &manifest);
	number_packs(taking, &manifest);
	if (commit(taking, &manifest, &manifest_bytes, err) < 0)
		return -1;
	sent = uploader_bytes_sent(packing->uploader);
	/* It counts packs anew: nothing may be on its way. */
	uploader_free(take(&taking->storage->transfer.uploader));
	index_replace(&taking->storage->transfer.index, &manifest, stamps);
	taking->storage->transfer.growth = (struct growth){0};
	*result = (struct take_result){
		.files = manifest.files,
		.bytes = manifest.bytes,
		.bytes_sent = sent + manifest_bytes,
		.bytes_sent_before = taking->bytes_before,
		.chunks_sent = atomic_load(&packing->chunks_sent),
		.chunks_kept = atomic_load(&packing->chunks_kept),
		.left_out = tree->left_out,
		.left_out_what = tree->left_out_what,
	};
	if (tree->left_out_path)
		text_set(result->left_out_path, sizeof(result->left_out_path), tree->left_out_path);
	return 0;
}

static int check_has_file(const struct tree *tree, struct err *err)
{
	for (size_t i = 0; i < tree->count; i++)
		if (tree->items[i].entry.type == ENTRY_FILE)
			return 0;
	if (tree->left_out_path)
		return err_set(err, ERR_NOT_FOUND, "there is no file in %s: %s is %s", tree->root,
			tree->left_out_path, tree->left_out_what);
	return err_set(err, ERR_NOT_FOUND, "there is no file in %s", tree->root);
}

int storage_check_directory(const char *directory, struct cancel *cancel, struct err *err)
{
	auto_(tree_release) struct tree tree = {0};

	if (tree_freeze(directory, NULL, NULL, &tree, cancel, err) < 0)
		return -1;
	return check_has_file(&tree, err);
}

static int freeze(struct taking *taking, struct tree *tree, struct err *err)
{
	const struct take_request *request = taking->request;

	if (tree_freeze(request->directory, request->exclude, request->arg, tree,
		    taking->packing.cancel, err) < 0)
		return -1;
	for (size_t i = 0; i < tree->count; i++)
		taking->bytes_total += tree->items[i].entry.size;
	if (check_has_file(tree, err) < 0)
		return -1;
	if (request->frozen && !request->frozen(request->arg))
		return err_set(err, ERR_RETRY, "%s changed while it was being opened", tree->root);
	return 0;
}

static int send_rest(struct taking *taking, struct tree *tree, struct err *err)
{
	struct uploader *uploader = taking->packing.uploader;
	struct reader_request request = {
		.tree = tree, .packing = &taking->packing, .told = tell, .arg = taking};

	if (reader_run(&request, err) < 0)
		return -1;
	while (!uploader_wait(uploader, ATTEND_EVERY_MS)) {
		uploader_attend(uploader, taking->packing.cancel);
		tell(taking, taking->bytes_total);
	}
	return uploader_check(uploader, err);
}

static int take_snapshot(struct taking *taking, struct take_result *result, struct err *err)
{
	auto_(tree_release) struct tree tree = {0};

	/* First, because from here on the trainer may do what it likes with the names. */
	if (freeze(taking, &tree, err) < 0)
		return -1;
	if (warm_index(taking->storage, taking->request->parent, true, taking->packing.cancel,
		    err) < 0 ||
		send_rest(taking, &tree, err) < 0)
		return -1;
	return finish(taking, &tree, result, err);
}

/* A store that is full must not stay full of what we could not commit. Whoever has taken over may rely on it by now. */
static void make_room(struct taking *taking)
{
	struct index *index = &taking->storage->transfer.index;
	struct store *store = taking->storage->transfer.store;

	if (check_not_superseded(taking, NULL) < 0)
		return;
	for (size_t i = 0; i < index->pack_count; i++) {
		const struct index_pack *pack = &index->packs[i];
		auto_free char *key = transfer_pack_key(&taking->storage->transfer, pack->key);

		if (pack->state != INDEX_PACK_STORED || pack->named || pack->leftover)
			continue;
		index_pack_lost(index, (uint32_t)i);
		store->ops->remove(store, key, taking->packing.cancel, NULL);
	}
}

int storage_take(struct storage *storage, const struct take_request *request,
	struct take_result *result, struct cancel *cancel, struct err *err)
{
	struct taking taking = {
		.storage = storage,
		.request = request,
		.packing = {.transfer = &storage->transfer, .id = request->id, .cancel = cancel},
	};
	char text[SNAPSHOT_ID_TEXT];
	struct err own = {0};
	int failed;

	*result = (struct take_result){0};
	file_nonce(taking.packing.nonce);
	taking.packing.uploader = uploader_of(&storage->transfer);
	taking.bytes_before = uploader_bytes_sent(taking.packing.uploader);
	failed = take_snapshot(&taking, result, &own);
	/* What is on its way still serves the next try; not when time or the store is what is missing. */
	if (failed && own.kind == ERR_RETRY && uploader_check(storage->transfer.uploader, NULL) == 0)
		uploader_rest(storage->transfer.uploader);
	else if (failed)
		uploader_free(take(&storage->transfer.uploader));
	if (failed && own.kind == ERR_NO_SPACE)
		make_room(&taking);
	record_trim_memory();
	if (failed == 0)
		return 0;
	if (err)
		*err = own;
	return err_wrap(err, "snapshot %s", snapshot_id_format(request->id, text));
}
