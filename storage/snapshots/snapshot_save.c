/* Saves a snapshot: opens all files, reads and packs them, checks that no newer attempt has been
 * claimed, and commits by writing the manifest. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "snapshots.h"
#include "storage/gangs/gangs.h"
#include "storage/records/records.h"
#include "storage/storage.h"
#include "storage/transfer/transfer.h"

#include <stdlib.h>
#include <string.h>

/*
 * Files of the parent that stay in a snapshot although they are not read anew:
 * a file under a fixed name that is just being written over is in the snapshot as the parent has
 * it, instead of not at all.
 */

static int compare_items(const void *a, const void *b)
{
	const struct file_tree_item *first = a, *second = b;

	return strcmp(first->entry.path, second->entry.path);
}

static bool tree_has(const struct file_tree *tree, const char *path)
{
	struct file_tree_item wanted = {.entry.path = (char *)path};

	return tree->count &&
	       bsearch(&wanted, tree->items, tree->count, sizeof(wanted), compare_items);
}

/* The chunks as the index has them; false: one of them is not in the store. */
static bool find_chunks(struct storage *storage, struct entry *entry)
{
	size_t count = chunk_count(entry->size);

	for (size_t i = 0; i < count; i++) {
		struct chunk *chunk = &entry->chunks[i];

		if (chunk->codec != CHUNK_ZERO &&
		    !chunk_index_find(&storage->transfer.index, chunk->digest, chunk))
			return false;
	}
	return true;
}

/* The entry as the snapshot is to have it: the file of a hard link, which may be gone or written
 * over, becomes a file of its own. NULL: of a directory. */
static struct entry *content_of(const struct manifest *parent, struct entry *entry)
{
	if (entry->type == ENTRY_HARDLINK)
		entry = (struct entry *)manifest_find(parent, entry->target);
	return entry && entry->type != ENTRY_DIRECTORY ? entry : NULL;
}

/* It has no stamp, so that the next save reads the file. */
static void add_item(struct file_tree *tree, const char *path, const struct entry *content)
{
	struct file_tree_item item = {.fd = -1, .read = true, .unsettled = true};

	item.entry.path = text_copy(path);
	entry_copy(content, &item.entry);
	tree->items = memory_grow(tree->items, tree->count + 1, sizeof(tree->items[0]));
	tree->items[tree->count++] = item;
}

/* Marks the directories above the path that the tree lacks. */
static void carry_directories(const struct file_tree *tree, const struct manifest *parent,
			      const char *path, bool *carried)
{
	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		auto_free char *directory = text_format("%.*s", (int)(slash - path), path);
		const struct entry *entry = manifest_find(parent, directory);

		if (entry && entry->type == ENTRY_DIRECTORY && !tree_has(tree, directory))
			carried[entry - parent->entries] = true;
	}
}

/*
 * Adds to `tree` the files of the parent that request->carried asks for and that the tree lacks,
 * with the directories above them. A symbolic link stays what it is, a hard link stays as a file.
 * Their chunks are not sent again: an entry of which one is not in the store any more stays out.
 * Reads the parent's manifest, unless request->carries says that there is nothing to carry. Blocks
 * for that.
 */
static int carry_over(struct storage *storage, const struct save_request *request,
		      struct file_tree *tree, struct cancel *cancel, struct err *err)
{
	auto_(manifest_release) struct manifest parent = {0};
	auto_free bool *carried = NULL;

	if (!request->carried || snapshot_id_is_none(request->parent) ||
	    (request->carries && !request->carries(request->arg)))
		return 0;
	if (job_record_get_manifest(storage, request->parent, &parent, cancel, err) < 0)
		return -1;
	carried = memory_new(parent.entry_count + 1);
	for (size_t i = 0; i < parent.entry_count; i++) {
		const char *path = parent.entries[i].path;
		struct entry *content = content_of(&parent, &parent.entries[i]);

		if (!content || !request->carried(request->arg, path) || tree_has(tree, path) ||
		    !find_chunks(storage, content))
			continue;
		carried[i] = true;
		carry_directories(tree, &parent, path, carried);
	}
	for (size_t i = 0; i < parent.entry_count; i++) {
		struct entry *content = content_of(&parent, &parent.entries[i]);

		if (carried[i])
			add_item(tree, parent.entries[i].path,
				 content ? content : &parent.entries[i]);
	}
	if (tree->count > 0)
		qsort(tree->items, tree->count, sizeof(tree->items[0]), compare_items);
	return 0;
}

/* The table of packs of a manifest that is about to be committed. */

/* The packs of the index that the manifest needs. */
struct named_packs {
	const struct chunk_index *index;
	uint32_t *numbers; /* by number in the index: its number in the manifest, once it has one */
	uint32_t *used;    /* numbers in the index */
	size_t count;
};

static void name_pack(struct named_packs *named, struct chunk *chunk)
{
	if (chunk->codec == CHUNK_ZERO || named->numbers[chunk->pack])
		return;
	named->numbers[chunk->pack] = 1;
	named->used[named->count++] = chunk->pack;
}

static int compare_pack_keys(const void *a, const void *b, void *arg)
{
	const struct chunk_index *index = arg;

	return strcmp(index->packs[*(const uint32_t *)a].key,
		      index->packs[*(const uint32_t *)b].key);
}

/* In the order of their keys, in which readers look them up. */
static void fill_pack_table(struct named_packs *named, struct manifest *manifest)
{
	manifest->packs = memory_new(named->count * sizeof(*manifest->packs));
	manifest->pack_count = named->count;
	if (named->count)
		qsort_r(named->used, named->count, sizeof(*named->used), compare_pack_keys,
			(void *)named->index);
	for (size_t i = 0; i < named->count; i++) {
		const struct chunk_index_pack *pack = &named->index->packs[named->used[i]];

		manifest->packs[i] = (struct manifest_pack){text_copy(pack->key), pack->bytes};
		manifest->bytes_stored += pack->named ? 0 : pack->bytes;
		named->numbers[named->used[i]] = (uint32_t)i;
	}
}

/* Calls `visit` for each chunk of the files, and of the pieces of the list. */
static void visit_chunks(struct named_packs *named, struct manifest *manifest,
			 void (*visit)(struct named_packs *named, struct chunk *chunk))
{
	for (size_t i = 0; i < manifest->entry_count; i++) {
		struct entry *entry = &manifest->entries[i];
		size_t count = entry->type == ENTRY_FILE ? chunk_count(entry->size) : 0;

		for (size_t j = 0; j < count; j++)
			visit(named, &entry->chunks[j]);
	}
	for (size_t i = 0; i < manifest->piece_count; i++)
		visit(named, &manifest->pieces[i].chunk);
}

static void renumber_pack(struct named_packs *named, struct chunk *chunk)
{
	if (chunk->codec != CHUNK_ZERO)
		chunk->pack = named->numbers[chunk->pack];
}

/*
 * Replaces the positions in the index's table of packs, which has other packs too, by positions in
 * a table of just the packs that the entries and pieces of the manifest need: manifest->packs,
 * sorted by key. Adds those that no manifest names yet to manifest->bytes_stored. Every pack is in
 * the store by now: only then its size is known.
 */
static void pack_numbers_assign(const struct chunk_index *index, struct manifest *manifest)
{
	auto_free uint32_t *numbers = memory_new(index->pack_count * sizeof(*numbers));
	auto_free uint32_t *used = memory_new(index->pack_count * sizeof(*used));
	struct named_packs named = {.index = index, .numbers = numbers, .used = used};

	visit_chunks(&named, manifest, name_pack);
	fill_pack_table(&named, manifest);
	visit_chunks(&named, manifest, renumber_pack);
}

/* The commit of a snapshot: looks up what its manifest names, and whether
 * another attempt has taken over; puts the manifest, or as a member of a gang its part; and looks
 * once more whether it is in force. */

#define PROGRESS_EVERY_MS 250
#define POLL_EVERY_MS 20

struct saving {
	struct storage *storage;
	const struct save_request *request;
	struct packing packing;
	struct cancel *cancel;
	uint64_t bytes_total;
	/* No commit: a pack that the manifest names is gone or damaged. */
	bool packs_missing;
	/* A newer attempt was seen before the manifest was put once more. */
	bool overtaken;
	/* Of a gang. */
	enum gang_part_fate fate;
	_Atomic int64_t next_progress_ms;
};

/* `listing`: of the attempts; NULL: they are listed. */
static int check_not_superseded(const struct saving *saving, const struct job_listing *listing,
				struct err *err)
{
	return own_claim_check_newer(saving->storage, saving->request->id.attempt, listing,
				     saving->cancel, err);
}

/* The next try sends what was in them. */
static void drop_missing_packs(struct saving *saving, const struct manifest *manifest,
			       const struct store_listing *packs)
{
	struct chunk_index *index = &saving->storage->transfer.index;

	for (size_t i = 0; i < manifest->pack_count; i++) {
		struct manifest_pack *named = &manifest->packs[i];
		struct manifest one = {.packs = named, .pack_count = 1};

		if (pack_listing_check(saving->storage, &one, packs, NULL) < 0)
			chunk_index_key_lost(index, named->key);
	}
}

static int ask_named_packs(struct storage *storage, const void *about, void *answer,
			   struct cancel *cancel, struct err *err)
{
	return pack_listing_get_named(storage, about, answer, cancel, err);
}

/* A pack may have been removed, or set aside, since the one who relies on it has seen it last: all
 * that the manifest names is looked up after the last byte was sent. */
static int look_before_commit(struct saving *saving, const struct manifest *manifest,
			      struct err *err)
{
	auto_(store_listing_release) struct store_listing packs = {0};
	auto_(job_listing_release) struct job_listing attempts = {0};
	const struct question lists[] = {{ask_named_packs, manifest, &packs},
					 {job_records_ask_singles, NULL, &attempts},
					 {own_claim_ask_confirm, NULL, NULL}};
	struct err own = {0};

	if (ask_at_once(saving->storage, lists, saving->storage->own_claim.confirm_later ? 3 : 2,
			saving->cancel, err) < 0)
		return -1;
	if (pack_listing_check(saving->storage, manifest, &packs, &own) == 0)
		return check_not_superseded(saving, &attempts, err);
	drop_missing_packs(saving, manifest, &packs);
	saving->packs_missing = true;
	err_set(err, ERR_RETRY, "a part that is in the store already is no use: %s", own.text);
	/* A store that was emptied lacks our claim too, and that says more. */
	(void)check_not_superseded(saving, &attempts, err);
	return -1;
}

static bool is_started_from(const struct lineage *lineage, struct snapshot_id id)
{
	for (size_t i = 0; i < lineage->attempt_count; i++)
		if (snapshot_id_compare(lineage->attempts[i].start, id) == 0)
			return true;
	return false;
}

/* Whether a newer claim leaves the snapshot behind. One that is not confirmed yet may be at any
 * moment: it counts here. */
static int find_left_behind(struct saving *saving, bool *left, struct err *err)
{
	auto_(job_listing_release) struct job_listing listing = {0};
	struct lineage *lineage = &listing.lineage;

	if (job_records_list_lineage(saving->storage, &listing, saving->cancel, err) < 0 ||
	    listed_claims_read(saving->storage, &listing, saving->cancel, err) < 0)
		return -1;
	for (size_t i = 0; i < lineage->attempt_count; i++)
		if (lineage->attempts[i].number > saving->request->id.attempt)
			lineage->attempts[i].unconfirmed = false;
	*left = lineage_state(lineage, saving->request->id) == SNAPSHOT_FENCED;
	/* The claims alone say so: in a full store it may be gone already. */
	if (*left)
		return 0;
	for (size_t i = 0; i < lineage->snapshot_count; i++)
		if (snapshot_id_compare(lineage->snapshots[i], saving->request->id) == 0)
			return 0;
	/* Newer attempts may have removed it, behind what they have saved since. */
	if (is_started_from(lineage, saving->request->id))
		return 0;
	return err_set(err, ERR_RETRY, "it has been removed");
}

/* A newer attempt may have been claimed between the look before the commit and the commit. Unless
 * it starts from here, this snapshot is kept, but nobody goes on from it. If that cannot be looked
 * up, nobody is told that it is durable. */
static int check_in_force(struct saving *saving, struct err *err)
{
	uint32_t own = saving->request->id.attempt, newest = own;
	bool left = false;

	if (storage_superseded(saving->storage, own, &newest, saving->cancel, err) < 0 ||
	    (newest > own && find_left_behind(saving, &left, err) < 0))
		return err_wrap(err, "it is in the store, but whether another attempt had taken "
				     "over before is not known");
	if (left)
		return err_set(err, ERR_EXISTS,
			       "attempt %u had taken over before it was committed: it is late, and "
			       "nobody continues from it",
			       newest);
	return 0;
}

/* Before a manifest that may have been put, and is not there, is put once more. A newer attempt may
 * have started from it and removed it since: it would be there again, without its packs. */
static int check_put_again(void *arg, struct err *err)
{
	struct saving *saving = arg;

	if (check_not_superseded(saving, NULL, err) == 0)
		return 0;
	saving->overtaken = err->kind == ERR_EXISTS;
	return -1;
}

/* The newer attempt says whether it was there: then it has started from it. */
static int settle_overtaken(struct saving *saving, struct err *err)
{
	auto_(job_listing_release) struct job_listing listing = {0};
	struct err own = {0};

	if (job_records_list_lineage(saving->storage, &listing, saving->cancel, &own) < 0 ||
	    listed_claims_read(saving->storage, &listing, saving->cancel, &own) < 0)
		return err_set(err, own.kind, "%s: whether it was put before is not known: %.300s",
			       err->text, own.text);
	return is_started_from(&listing.lineage, saving->request->id) ? 0 : -1;
}

static int put_manifest(struct saving *saving, const struct manifest *manifest, uint64_t *bytes,
			struct err *err)
{
	auto_free char *key = job_record_key_snapshot(saving->storage, manifest->id);
	auto_json json_t *body = manifest_encode(manifest, err);
	const struct put_again again = {check_put_again, saving};

	if (!body)
		return -1;
	fault_point("before_manifest_put");
	if (job_record_put_asking(saving->storage->transfer.store, key, RECORD_SNAPSHOT, body,
				  bytes, &again, saving->cancel, err) < 0 &&
	    (!saving->overtaken || settle_overtaken(saving, err) < 0))
		return -1;
	fault_point("after_manifest_put");
	return 0;
}

/* Every pack must have been sent. `bytes`: of the manifest. */
static int snapshot_commit(struct saving *saving, const struct manifest *manifest, uint64_t *bytes,
			   struct err *err)
{
	int result;

	if (look_before_commit(saving, manifest, err) < 0)
		return -1;
	if (storage_is_member(saving->storage))
		result = gang_commit(saving->storage, saving->request, manifest, &saving->fate,
				     saving->cancel, err);
	else
		result = put_manifest(saving, manifest, bytes, err);
	return result < 0 ? -1 : check_in_force(saving, err);
}

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
		pack_uploader_poll(uploader, saving->cancel);
		report_progress(saving, saving->bytes_total);
	}
	return pack_uploader_check(uploader, err);
}

static int commit_snapshot(struct saving *saving, struct file_tree *tree,
			   struct save_result *result, struct err *err)
{
	auto_(manifest_release) struct manifest manifest = {0};
	struct packing *packing = &saving->packing;
	unsigned chunks_sent = atomic_load(&packing->chunks_sent);
	unsigned chunks_kept = atomic_load(&packing->chunks_kept);
	bool is_member = storage_is_member(saving->storage);
	uint64_t manifest_bytes = 0, sent;

	for (size_t i = 0; i < tree->count; i++)
		file_tree_mark(&tree->items[i], saving->storage->transfer.boot);
	fill_manifest_header(saving, tree, &manifest);
	move_entries(tree, &manifest);
	if (is_member)
		gang_manifest_prefix(&manifest, saving->storage->gang.member);
	/* On its way together with the last packs of the files. */
	if (entry_list_send(packing, &manifest, is_member, err) < 0 ||
	    wait_until_sent(saving, err) < 0)
		return -1;
	pack_numbers_assign(&saving->storage->transfer.index, &manifest);
	if (snapshot_commit(saving, &manifest, &manifest_bytes, err) < 0)
		return -1;
	if (is_member && gang_manifest_strip(&manifest, saving->storage->gang.member, err) < 0)
		return -1;
	sent = pack_uploader_bytes_sent(packing->uploader);
	/* The index renumbers its packs below, so no upload may be under way. */
	pack_uploader_free(steal(&saving->storage->transfer.uploader));
	chunk_index_replace(&saving->storage->transfer.index, &manifest);
	saving->storage->transfer.append_progress = (struct append_progress){0};
	if (is_member)
		gang_commit_settled(saving->storage, saving->cancel);
	*result = (struct save_result){
		.id = saving->request->id,
		.files = manifest.files,
		.bytes = manifest.bytes,
		.bytes_sent = sent + manifest_bytes,
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

/* What the snapshot is made for may be gone again, from the directory and from the parent. */
static int note_unwanted(const struct file_tree *tree, const struct save_request *request,
			 struct save_result *result, struct err *err)
{
	bool wanted = !request->wanted;

	for (size_t i = 0; i < tree->count && !wanted; i++)
		wanted = tree->items[i].entry.type != ENTRY_DIRECTORY &&
			 request->wanted(request->arg, tree->items[i].entry.path);
	result->empty = !wanted;
	return wanted ? 0
		      : err_set(err, ERR_NOT_FOUND,
				"the newest checkpoint was removed from %s before it was saved",
				tree->root);
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

	if (file_tree_open(request->directory, &choice, tree, saving->cancel, err) < 0)
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
		.on_progress = report_progress,
		.arg = saving,
	};

	if (file_reader_run(&request, err) < 0)
		return -1;
	file_tree_remove_dropped(tree);
	return 0;
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
			 saving->cancel, err) < 0)
		return -1;
	if (send_changed_files(saving, &tree, err) < 0) {
		result->changed = err->kind == ERR_RETRY &&
				  pack_uploader_check(saving->packing.uploader, NULL) == 0;
		return -1;
	}
	if (note_empty(&tree, result, err) < 0)
		return -1;
	if (carry_over(saving->storage, saving->request, &tree, saving->cancel, err) < 0 ||
	    note_unwanted(&tree, saving->request, result, err) < 0)
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

	fill_manifest_header(saving, &nothing, &manifest);
	if (snapshot_commit(saving, &manifest, &bytes, err) < 0)
		return -1;
	/* What was sent for it before is not part of it, and may be removed from now on. */
	pack_uploader_free(steal(&storage->transfer.uploader));
	chunk_index_replace(&storage->transfer.index, &manifest);
	storage->transfer.append_progress = (struct append_progress){0};
	gang_commit_settled(storage, saving->cancel);
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

	if (job_records_list_ids(saving->storage, "snapshots", &ids, &count, saving->cancel, NULL) <
	    0)
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
	    own_claim_check_newer(saving->storage, saving->request->id.attempt, NULL,
				  saving->cancel, NULL) < 0)
		return;
	for (size_t i = 0; i < index->pack_count; i++) {
		const struct chunk_index_pack *pack = &index->packs[i];
		auto_free char *key = transfer_pack_key(&saving->storage->transfer, pack->key);

		if (pack->state != CHUNK_INDEX_PACK_STORED || pack->named || pack->orphan)
			continue;
		chunk_index_pack_lost(index, (uint32_t)i);
		store->ops->remove(store, key, saving->cancel, NULL);
	}
}

int storage_save(struct storage *storage, const struct save_request *request,
		 struct save_result *result, struct cancel *cancel, struct err *err)
{
	struct saving saving = {
		.storage = storage,
		.request = request,
		.cancel = cancel,
		.packing = {.transfer = &storage->transfer, .id = request->id, .cancel = cancel},
	};
	char text[SNAPSHOT_ID_TEXT];
	struct err own = {0};
	int failed;

	storage->emptied = false;
	transfer_drop_early(&storage->transfer);
	*result = (struct save_result){.id = request->id};
	random_hex(saving.packing.nonce);
	saving.packing.uploader = pack_uploader_get(&storage->transfer);
	failed = gang_commit_settle(storage, request->id, cancel, &own);
	if (failed == 0)
		failed = request->gang_is_kept ? save_nothing(&saving, result, &own)
					       : save_snapshot(&saving, result, &own);
	if (failed && !request->gang_is_kept && (request->gang_beside || request->gang_final) &&
	    result->empty) {
		*result = (struct save_result){.id = request->id};
		failed = save_nothing(&saving, result, &own);
	}
	result->store_lacks =
		failed && own.kind == ERR_RETRY && (saving.packs_missing || storage->emptied);
	result->gang_fate = saving.fate;
	result->changed |= result->gang_fate != GANG_FATE_LIES;
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
		/* Only a claim that counts lets it make room: see storage_make_room(). */
		if (storage->own_claim.confirm_later)
			(void)own_claim_ask_confirm(storage, NULL, NULL, cancel, NULL);
	}
	job_records_trim_memory();
	if (failed == 0)
		return 0;
	store_explain_full(storage->transfer.job, &own);
	err_pass(err, &own);
	return err_wrap(err, "snapshot %s", snapshot_id_format(request->id, text));
}
