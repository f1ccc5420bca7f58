/* Saves a snapshot: opens all files, reads and packs them, checks that no newer attempt has been
 * claimed, and commits by writing the manifest. */
#include "storage/storage.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "carry_over.h"
#include "index_warmup.h"
#include "pack_numbers.h"
#include "snapshot_commit.h"
#include "storage/records/records.h"
#include "storage/transfer/transfer.h"

#include <stdlib.h>
#include <string.h>

#define PROGRESS_EVERY_MS 250
#define POLL_EVERY_MS 20

struct saving {
	struct storage *storage;
	const struct save_request *request;
	struct packing packing;
	uint64_t bytes_total;
	uint64_t bytes_before; /* sent by an early upload */
	struct snapshot_commit commit;
	bool listing_failed; /* of what the parent names: it is the store that failed */
	_Atomic int64_t next_progress_ms;
};

/* --- progress --- */

static void report_progress(void *arg, uint64_t bytes_done)
{
	struct saving *saving = arg;
	struct pack_uploader *uploader = saving->packing.uploader;
	int64_t now = clock_monotonic_ms(), due = atomic_load(&saving->next_progress_ms);
	/* Bytes that are packed but not yet put do not count. A file that had to be read again
	 * counts twice, so the sum is capped. */
	uint64_t waiting =
		pack_uploader_bytes_waiting(uploader) + atomic_load(&saving->packing.bytes_held);
	uint64_t there = bytes_done > waiting ? bytes_done - waiting : 0;
	struct save_progress progress = {
		.bytes_total = saving->bytes_total,
		.bytes_done = there < saving->bytes_total ? there : saving->bytes_total,
		.bytes_sent = pack_uploader_bytes_sent(uploader),
	};

	if (!saving->request->progress || now < due ||
	    !atomic_compare_exchange_strong(&saving->next_progress_ms, &due,
					    now + PROGRESS_EVERY_MS))
		return;
	saving->request->progress(saving->request->arg, &progress);
}

/* --- the manifest --- */

static void fill_manifest_header(const struct saving *saving, const struct file_tree *tree,
				 struct manifest *manifest)
{
	const struct save_request *request = saving->request;

	manifest->id = request->id;
	manifest->parent = request->parent;
	manifest->job = text_copy(saving->storage->transfer.job);
	text_set(manifest->nonce, sizeof(manifest->nonce), saving->packing.nonce);
	clock_format(clock_wall_ms(), manifest->created, sizeof(manifest->created));
	text_set(manifest->host, sizeof(manifest->host), saving->storage->host);
	text_set(manifest->reason, sizeof(manifest->reason), request->reason);
	manifest->step = request->step;
	manifest->about = json_incref(request->about);
	manifest->directory_mode = tree->root_mode;
	manifest->left_out = tree->left_out;
	manifest->without_checkpoint = request->gang_beside;
	manifest->asked = request->gang_asked;
	manifest->final = request->gang_final;
	manifest->kept = request->gang_is_kept;
	manifest->keeper = request->gang_keeper;
}

/* Moves the entries out of the tree, and adds up files and bytes. */
static void move_entries(struct file_tree *tree, struct manifest *manifest)
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

static int wait_until_sent(struct saving *saving, struct err *err)
{
	struct pack_uploader *uploader = saving->packing.uploader;

	while (!pack_uploader_wait(uploader, POLL_EVERY_MS)) {
		pack_uploader_poll(uploader, saving->packing.cancel);
		report_progress(saving, saving->bytes_total);
	}
	return pack_uploader_check(uploader, err);
}

static int commit_snapshot(struct saving *saving, struct file_tree *tree,
			   struct save_result *result, struct err *err)
{
	auto_(manifest_release) struct manifest manifest = {0};
	auto_free struct file_stamp *stamps = memory_new(tree->count * sizeof(*stamps));
	struct packing *packing = &saving->packing;
	unsigned chunks_sent = atomic_load(&packing->chunks_sent);
	unsigned chunks_kept = atomic_load(&packing->chunks_kept);
	bool is_member = storage_is_member(saving->storage);
	uint64_t manifest_bytes = 0, sent;
	uint32_t running = 0;

	for (size_t i = 0; i < tree->count; i++) {
		if (!tree->items[i].unsettled)
			stamps[i] = tree->items[i].stamp;
		running += tree->items[i].entry.running;
	}
	fill_manifest_header(saving, tree, &manifest);
	move_entries(tree, &manifest);
	if (is_member)
		gang_manifest_prefix(&manifest, saving->storage->gang.member);
	/* On its way together with the last packs of the files. */
	if (entry_list_send(packing, &manifest, is_member, err) < 0 ||
	    wait_until_sent(saving, err) < 0)
		return -1;
	pack_numbers_assign(&saving->storage->transfer.index, &manifest);
	if (snapshot_commit(&saving->commit, &manifest, &manifest_bytes, err) < 0)
		return -1;
	if (is_member && gang_manifest_strip(&manifest, saving->storage->gang.member, err) < 0)
		return -1;
	sent = pack_uploader_bytes_sent(packing->uploader);
	/* The index renumbers its packs below, so no upload may be under way. */
	pack_uploader_free(steal(&saving->storage->transfer.uploader));
	chunk_index_replace(&saving->storage->transfer.index, &manifest, stamps);
	saving->storage->transfer.append_progress = (struct append_progress){0};
	if (saving->commit.outcome == GANG_COMMITTED && is_member)
		gang_commit_settled(saving->storage, packing->cancel);
	*result = (struct save_result){
		.id = saving->request->id,
		.files = manifest.files,
		.running_files = running,
		.running_files_lost = tree->lost,
		.bytes = manifest.bytes,
		.bytes_sent = sent + manifest_bytes,
		.bytes_sent_before = saving->bytes_before,
		.chunks_sent = chunks_sent,
		.chunks_kept = chunks_kept,
		.left_out = tree->left_out,
		.left_out_what = tree->left_out_what,
	};
	if (tree->left_out_path)
		text_set(result->left_out_path, sizeof(result->left_out_path), tree->left_out_path);
	return 0;
}

static int check_has_file(const struct file_tree *tree, struct err *err)
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
	auto_(file_tree_release) struct file_tree tree = {0};

	if (file_tree_open(directory, NULL, &tree, cancel, err) < 0)
		return -1;
	return check_has_file(&tree, err);
}

static int note_empty(const struct file_tree *tree, struct save_result *result, struct err *err)
{
	result->empty = check_has_file(tree, err) < 0;
	return result->empty ? -1 : 0;
}

static int open_tree(struct saving *saving, struct file_tree *tree, struct save_result *result,
		     struct err *err)
{
	const struct save_request *request = saving->request;
	struct file_tree_choice choice = {
		.exclude = request->exclude,
		.running = request->running,
		.source = request->source,
		.source_directory = request->source_directory,
		.arg = request->arg,
	};

	if (file_tree_open(request->directory, &choice, tree, saving->packing.cancel, err) < 0)
		return -1;
	if (note_empty(tree, result, err) < 0)
		return -1;
	if (request->frozen && !request->frozen(request->arg))
		return err_set(err, ERR_RETRY, "%s changed while it was being opened", tree->root);
	file_tree_freeze(tree, &choice);
	if (request->bare)
		file_tree_drop_bare_directories(tree, request->bare, request->arg);
	for (size_t i = 0; i < tree->count; i++)
		saving->bytes_total += tree->items[i].entry.size;
	return note_empty(tree, result, err);
}

static int send_changed_files(struct saving *saving, struct file_tree *tree, struct err *err)
{
	struct file_reader_request request = {
		.tree = tree,
		.packing = &saving->packing,
		.keep_open = true,
		.on_progress = report_progress,
		.arg = saving,
	};

	if (file_reader_run(&request, err) < 0)
		return -1;
	file_tree_remove_dropped(tree);
	return 0;
}

/* Files that rely on a pack that is lost; they are to be read again. Their chunks count once: what
 * is still there as kept, what is sent anew as sent. */
static bool find_files_that_lack(struct saving *saving, struct file_tree *tree)
{
	struct chunk_index *index = &saving->storage->transfer.index;
	bool found = false;

	for (size_t i = 0; i < tree->count; i++) {
		struct file_tree_item *item = &tree->items[i];
		size_t count = chunk_count(item->entry.size);

		if (item->entry.type != ENTRY_FILE || !item->read ||
		    chunk_index_has_all(index, item->entry.chunks, count))
			continue;
		for (size_t j = 0; j < count; j++)
			if (item->entry.chunks[j].codec != CHUNK_ZERO)
				atomic_fetch_sub(&saving->packing.chunks_kept, 1);
		item->read = false;
		found = true;
	}
	return found;
}

/* Reads and sends, while the packs that the parent names are still being listed. */
static int send_files(struct saving *saving, struct file_tree *tree, struct err *err)
{
	if (send_changed_files(saving, tree, err) < 0)
		return -1;
	saving->listing_failed =
		index_warmup_join(saving->storage, saving->packing.cancel, err) < 0;
	if (saving->listing_failed)
		return -1;
	return find_files_that_lack(saving, tree) ? send_changed_files(saving, tree, err) : 0;
}

static int save_snapshot(struct saving *saving, struct save_result *result, struct err *err)
{
	auto_(file_tree_release) struct file_tree tree = {0};

	if (!file_exists(saving->request->directory))
		result->empty = true;
	/* First of all: from here on the trainer may rename and delete the files. */
	if (open_tree(saving, &tree, result, err) < 0) {
		result->changed = err->kind == ERR_RETRY;
		return -1;
	}
	if (index_warmup(saving->storage, saving->request->parent, saving->request->id.attempt,
			 saving->packing.cancel, err) < 0)
		return -1;
	if (send_files(saving, &tree, err) < 0) {
		result->changed = err->kind == ERR_RETRY && !saving->listing_failed &&
				  pack_uploader_check(saving->packing.uploader, NULL) == 0;
		return -1;
	}
	if (note_empty(&tree, result, err) < 0)
		return -1;
	if (carry_over(saving->storage, saving->request, &tree, saving->packing.cancel, err) < 0)
		return -1;
	return commit_snapshot(saving, &tree, result, err);
}

/* A member of a gang that has no file of this checkpoint. */
static int save_nothing(struct saving *saving, struct save_result *result, struct err *err)
{
	auto_(manifest_release) struct manifest manifest = {0};
	struct file_tree nothing = {.root_mode = 0755};
	struct storage *storage = saving->storage;
	uint64_t bytes = 0;

	if (!storage_is_member(storage))
		return err_set(err, ERR_FAILED, "one machine has no part that may be empty");
	fill_manifest_header(saving, &nothing, &manifest);
	if (snapshot_commit(&saving->commit, &manifest, &bytes, err) < 0)
		return -1;
	/* What was sent for it before is not part of it, and may be removed from now on. */
	pack_uploader_free(steal(&storage->transfer.uploader));
	index_warmup_end(storage);
	chunk_index_replace(&storage->transfer.index, &manifest, NULL);
	storage->transfer.append_progress = (struct append_progress){0};
	if (saving->commit.outcome == GANG_COMMITTED)
		gang_commit_settled(storage, saving->packing.cancel);
	*result = (struct save_result){.id = saving->request->id};
	return 0;
}

/* True only if the store clearly shows no snapshot of this attempt that its caller does not know:
 * the answer to an earlier commit may have been lost, too. */
static bool are_commits_known(const struct saving *saving)
{
	struct snapshot_id known = saving->request->parent;
	auto_free struct snapshot_id *ids = NULL;
	size_t count;

	if (job_records_list_ids(saving->storage, "snapshots", &ids, &count, saving->packing.cancel,
				 NULL) < 0)
		return false;
	for (size_t i = 0; i < count; i++)
		if (ids[i].attempt == saving->request->id.attempt &&
		    snapshot_id_compare(ids[i], known) > 0)
			return false;
	return true;
}

/* A full store must not stay full of packs that we could not commit. If another attempt has taken
 * over, they stay, because it may rely on them. */
static void remove_unnamed_packs(struct saving *saving)
{
	struct chunk_index *index = &saving->storage->transfer.index;
	struct store *store = saving->storage->transfer.store;

	/* A part may name them: another member may be about to commit it. */
	if (storage_is_member(saving->storage) || !are_commits_known(saving) ||
	    own_claim_check_newer(saving->storage, saving->request->id.attempt,
				  saving->packing.cancel, NULL) < 0)
		return;
	for (size_t i = 0; i < index->pack_count; i++) {
		const struct chunk_index_pack *pack = &index->packs[i];
		auto_free char *key = transfer_pack_key(&saving->storage->transfer, pack->key);

		if (pack->state != CHUNK_INDEX_PACK_STORED || pack->named || pack->orphan)
			continue;
		chunk_index_pack_lost(index, (uint32_t)i);
		store->ops->remove(store, key, saving->packing.cancel, NULL);
	}
}

int storage_save(struct storage *storage, const struct save_request *request,
		 struct save_result *result, struct cancel *cancel, struct err *err)
{
	struct saving saving = {
		.storage = storage,
		.request = request,
		.commit = {.storage = storage, .request = request, .cancel = cancel},
		.packing = {.transfer = &storage->transfer, .id = request->id, .cancel = cancel},
	};
	char text[SNAPSHOT_ID_TEXT];
	struct err own = {0};
	int failed;

	storage->emptied = false;
	*result = (struct save_result){.id = request->id};
	random_hex(saving.packing.nonce);
	saving.packing.uploader = pack_uploader_get(&storage->transfer);
	saving.bytes_before = pack_uploader_bytes_sent(saving.packing.uploader);
	failed = gang_commit_settle(storage, request->id, cancel, &own);
	if (failed == 0)
		failed = request->gang_is_kept ? save_nothing(&saving, result, &own)
					       : save_snapshot(&saving, result, &own);
	if (failed && !request->gang_is_kept && (request->gang_beside || request->gang_final) &&
	    result->empty) {
		*result = (struct save_result){.id = request->id};
		failed = save_nothing(&saving, result, &own);
	}
	result->store_lacks = failed && own.kind == ERR_RETRY &&
			      (saving.commit.packs_missing || storage->emptied);
	result->gang_committed = failed && saving.commit.outcome == GANG_COMMITTED_OTHER;
	result->gang_unfit = failed && saving.commit.outcome == GANG_PARTS_UNFIT;
	result->gang_over = result->gang_committed || result->gang_unfit ||
			    (failed && saving.commit.outcome == GANG_ROUND_OVER);
	result->changed |= result->gang_over;
	result->gang_put =
		storage_is_member(storage) &&
		(!failed || snapshot_id_compare(storage->gang.unsettled, request->id) == 0);
	/* Packs under way still serve the next try, unless time or space has run out. */
	if (failed && own.kind == ERR_RETRY &&
	    pack_uploader_check(storage->transfer.uploader, NULL) == 0)
		pack_uploader_trim(storage->transfer.uploader);
	else if (failed)
		pack_uploader_free(steal(&storage->transfer.uploader));
	if (failed && own.kind == ERR_NO_SPACE) {
		storage->found_full = true;
		text_set(storage->full_reason, sizeof(storage->full_reason), own.text);
		remove_unnamed_packs(&saving);
	}
	job_records_trim_memory();
	if (failed == 0)
		return 0;
	store_explain_full(storage->transfer.job, &own);
	if (err)
		*err = own;
	return err_wrap(err, "snapshot %s", snapshot_id_format(request->id, text));
}
