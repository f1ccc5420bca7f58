#include "restore_content.h"

#include "base/beneath.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/workers.h"
#include "inventory.h"
#include "storage/format/format.h"
#include "storage/gangs/gangs.h"
#include "storage/records/records.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The files of a manifest, as others see them. */

const char *snapshot_state_name(const struct snapshot_info *info)
{
	static const char *const names[] = {
		[SNAPSHOT_GOOD] = "good",
		[SNAPSHOT_FENCED] = "late",
		[SNAPSHOT_SUPERSEDED_BY_RESTORE] = "superseded",
		[SNAPSHOT_SUSPECT] = "suspect",
		[SNAPSHOT_DAMAGED] = "damaged",
	};

	return info->newer ? "newer" : names[info->state];
}

int storage_list_snapshots(struct storage *storage, struct snapshot_list *list,
			   struct cancel *cancel, struct err *err)
{
	auto_(inventory_release) struct inventory inventory = {0};

	*list = (struct snapshot_list){0};
	if (inventory_read(storage, &inventory, cancel, err) < 0)
		return -1;
	*list = inventory.list;
	/* inventory_release() would not free these: their count goes with the list, which the
	 * caller now owns. */
	for (size_t i = 0; i < list->count; i++)
		inventory_packs_release(&inventory.names[i]);
	inventory.list = (struct snapshot_list){0};
	return 0;
}

void snapshot_list_release(struct snapshot_list *list)
{
	free(list->items);
	*list = (struct snapshot_list){0};
}

bool storage_is_forgotten(struct storage *storage, struct snapshot_id id, struct cancel *cancel)
{
	return job_record_is_forgotten(storage, id, cancel);
}

int storage_size(struct storage *storage, uint64_t *bytes, struct cancel *cancel, struct err *err)
{
	auto_(store_listing_release) struct store_listing packs = {0};

	*bytes = 0;
	if (pack_listing_get_all(storage, &packs, cancel, err) < 0)
		return -1;
	for (size_t i = 0; i < packs.count; i++)
		*bytes += packs.items[i].size;
	return 0;
}

int storage_read_manifest(struct storage *storage, struct snapshot_id id, json_t **body,
			  struct cancel *cancel, struct err *err)
{
	auto_(manifest_release) struct manifest manifest = {0};
	auto_free char *key = job_record_key_snapshot(storage, id);
	auto_json json_t *read = NULL;

	if (job_record_get(storage->transfer.store, key, RECORD_SNAPSHOT, &read, cancel, err) < 0)
		return -1;
	if (manifest_decode(read, storage->transfer.job, id, &manifest, err) < 0)
		return err_wrap(err, "%s", key);
	if (manifest.piece_count) {
		if (entry_list_load(storage, &manifest, cancel, err) < 0)
			return err_wrap(err, "%s", key);
		json_object_del(read, "pieces");
		json_object_set_new(read, "entries", manifest_encode_entries(&manifest));
	}
	*body = steal(&read);
	return 0;
}

static int64_t total_nanoseconds(int64_t seconds, uint32_t rest)
{
	int64_t result;

	/* Clamped: 64 bits of nanoseconds end in the year 2262. */
	if (__builtin_mul_overflow(seconds, (int64_t)1000000000, &result) ||
	    __builtin_add_overflow(result, (int64_t)rest, &result))
		return seconds < 0 ? INT64_MIN : INT64_MAX;
	return result;
}

void listing_add_files(const struct manifest *manifest, struct snapshot_files *files)
{
	files->items = memory_new(manifest->entry_count * sizeof(*files->items));
	for (size_t i = 0; i < manifest->entry_count; i++) {
		const struct entry *entry = &manifest->entries[i], *file = entry;

		/* In a directory, a hard link looks like any other file. */
		if (entry->type == ENTRY_HARDLINK)
			file = manifest_find(manifest, entry->target);
		if (!file || file->type != ENTRY_FILE)
			continue;
		files->items[files->count++] = (struct snapshot_file){
			.path = text_copy(entry->path),
			.size = file->size,
			.mtime_ns = total_nanoseconds(file->mtime_s, file->mtime_ns),
			.running = file->running,
		};
	}
}

int storage_list_files(struct storage *storage, struct snapshot_id id, struct snapshot_files *files,
		       struct cancel *cancel, struct err *err)
{
	auto_(manifest_release) struct manifest manifest = {0};
	struct gang_clashes clashes;

	*files = (struct snapshot_files){0};
	if (gang_choice_get_manifest(storage, id, &manifest, &clashes, cancel, err) < 0)
		return -1;
	listing_add_files(&manifest, files);
	return 0;
}

json_t *storage_read_about(struct storage *storage, struct snapshot_id id, int64_t *step,
			   struct cancel *cancel, struct err *err)
{
	auto_(manifest_release) struct manifest manifest = {0};

	*err = (struct err){0};
	*step = -1;
	if (job_record_get_manifest_head(storage, id, &manifest, cancel, err) < 0)
		return NULL;
	if (gang_choice_is_joined(storage, &manifest)) {
		*step = manifest.step;
		return json_incref(gang_choice_own_about(storage, &manifest));
	}
	if (member_view_cut(storage, &manifest, err) < 0)
		return NULL;
	*step = manifest.step;
	return json_incref(manifest.about);
}

void snapshot_files_release(struct snapshot_files *files)
{
	for (size_t i = 0; i < files->count; i++)
		free(files->items[i].path);
	free(files->items);
	*files = (struct snapshot_files){0};
}

#define PROGRESS_EVERY_MS 250

void restore_content_progress(struct restoring *restoring, uint64_t bytes)
{
	uint64_t done = atomic_fetch_add(&restoring->bytes_done, bytes) + bytes;
	int64_t now = clock_monotonic_ms(), due = atomic_load(&restoring->next_progress_ms);

	if (!restoring->request->progress || now < due ||
	    !atomic_compare_exchange_strong(&restoring->next_progress_ms, &due,
					    now + PROGRESS_EVERY_MS))
		return;
	restoring->request->progress(restoring->request->arg, done, restoring->bytes_total);
}

/* --- planning --- */

static int compare_pieces(const void *a, const void *b)
{
	const struct restore_piece *first = a, *second = b;

	if (first->chunk->pack != second->chunk->pack)
		return first->chunk->pack < second->chunk->pack ? -1 : 1;
	return (first->chunk->offset > second->chunk->offset) -
	       (first->chunk->offset < second->chunk->offset);
}

static void plan_file_pieces(struct restoring *restoring, const struct entry *name,
			     const struct entry *content)
{
	for (size_t i = 0; i < chunk_count(content->size); i++) {
		/* A new file that nothing is written to is a hole there, which is what a zero chunk
		 * means. */
		if (content->chunks[i].codec == CHUNK_ZERO) {
			atomic_fetch_add(&restoring->bytes_done, chunk_length(content->size, i));
			continue;
		}
		restoring->pieces[restoring->piece_count++] =
			(struct restore_piece){&content->chunks[i], name, content->size, i};
	}
}

static void plan_pieces(struct restoring *restoring)
{
	const struct manifest *manifest = &restoring->manifest;
	const struct entry **content = restoring->tree.content;
	size_t count = 0;

	for (size_t i = 0; i < manifest->entry_count; i++)
		count += content[i] ? chunk_count(content[i]->size) : 0;
	restoring->pieces = memory_new(count * sizeof(*restoring->pieces));
	for (size_t i = 0; i < manifest->entry_count; i++)
		if (content[i] && !restoring->tree.linked[i])
			plan_file_pieces(restoring, &manifest->entries[i], content[i]);
	if (restoring->piece_count)
		qsort(restoring->pieces, restoring->piece_count, sizeof(struct restore_piece),
		      compare_pieces);
	restoring->extents = memory_new(restoring->piece_count * sizeof(*restoring->extents));
	for (size_t i = 0; i < restoring->piece_count; i++) {
		const struct chunk *chunk = restoring->pieces[i].chunk;

		restoring->extents[i] =
			(struct pack_range){chunk->pack, chunk->offset, chunk->stored};
		restoring->locked.bytes_left += chunk->stored;
	}
}

/* Takes the next pieces that one request covers: a range of one pack, with every piece that needs a
 * chunk of it. Returns their count, 0 at the end. */
static size_t next_range(struct restoring *restoring, size_t *first)
{
	const struct transfer_plan *plan = &restoring->storage->transfer.plan;
	size_t left, count = 0;

	pthread_mutex_lock(&restoring->mutex);
	*first = restoring->locked.next;
	left = restoring->piece_count - *first;
	if (!restoring->locked.failed && left > 0)
		count = range_coalesce_count(restoring->extents + *first, left,
					     transfer_plan_span(plan,
								restoring->locked.bytes_left));
	restoring->locked.next += count;
	for (size_t i = *first; i < *first + count; i++)
		restoring->locked.bytes_left -= restoring->extents[i].size;
	pthread_mutex_unlock(&restoring->mutex);
	return count;
}

/* How many of the pieces, from the first on, have the same chunk. */
static size_t same_chunk_count(const struct restore_piece *pieces, size_t left)
{
	size_t count = 1;

	while (count < left && compare_pieces(pieces, pieces + count) == 0)
		count++;
	return count;
}

/* --- one chunk --- */

/* Reads the chunk from the same place of the same file in the seed directory. True if it matches;
 * any failure only means that the chunk must be fetched. */
static bool find_in_seed(struct restoring *restoring, const struct restore_piece *piece,
			 size_t size, uint8_t *space)
{
	struct stat status;
	int seed = restoring->request->seed;
	auto_close int fd =
		seed <= 0 ? -1 : beneath_open(seed, piece->entry->path, O_RDONLY | O_NONBLOCK, 0);

	return fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
	       (uint64_t)status.st_size == piece->file_size &&
	       file_read_at(fd, space, size, piece->number * CHUNK_SIZE) == size &&
	       chunk_matches(piece->chunk, space, size);
}

static int write_exactly(int fd, const uint8_t *data, size_t size, uint64_t offset)
{
	while (size > 0) {
		ssize_t wrote = pwrite(fd, data, size, (off_t)offset);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote < 0)
			return -1;
		data += wrote;
		size -= (size_t)wrote;
		offset += (uint64_t)wrote;
	}
	return 0;
}

/* Only a forged manifest gives two lengths or digests to one place in a pack. */
static int check_same_chunks(const struct restore_piece *group, size_t count, struct err *err)
{
	size_t size = chunk_length(group->file_size, group->number);

	for (size_t i = 1; i < count; i++)
		if (chunk_length(group[i].file_size, group[i].number) != size ||
		    memcmp(group[i].chunk->digest, group->chunk->digest, DIGEST_SIZE) != 0)
			return err_set(err, ERR_CORRUPT,
				       "%s: the manifest gives one chunk two sizes or digests",
				       group[i].entry->path);
	return 0;
}

/* --- a range of a pack --- */

/* A group of equal pieces, of the range in hand, that the seed does not have. */
struct missing {
	size_t first, count;
};

/* The state of one thread. The arrays have one item for each group. */
struct worker {
	struct restoring *restoring;
	struct chunk_fetch fetch;
	struct missing *groups;
	struct pack_range *extents;
	struct streamed_chunk *chunks;
	size_t missing, capacity;
	/* The file written last, which the next part belongs to as a rule. */
	const struct restore_piece *open_piece;
	int open_fd;
};

static void add_missing(struct worker *worker, size_t first, size_t count)
{
	const struct restore_piece *group = &worker->restoring->pieces[first];
	size_t at = worker->missing++;

	if (at == worker->capacity) {
		size_t capacity = worker->capacity ? 2 * worker->capacity : 64;

		worker->extents = memory_grow(worker->extents, capacity, sizeof(*worker->extents));
		worker->groups = memory_grow(worker->groups, capacity, sizeof(*worker->groups));
		worker->chunks = memory_grow(worker->chunks, capacity, sizeof(*worker->chunks));
		worker->capacity = capacity;
	}
	worker->extents[at] = worker->restoring->extents[first];
	worker->groups[at] = (struct missing){first, count};
	worker->chunks[at] = (struct streamed_chunk){
		.chunk = group->chunk,
		.raw_size = chunk_length(group->file_size, group->number),
	};
}

static void close_piece(struct worker *worker)
{
	if (worker->open_piece)
		close(worker->open_fd);
	worker->open_piece = NULL;
}

static int write_piece(struct worker *worker, const struct restore_piece *piece, size_t at,
		       const void *data, size_t size, struct err *err)
{
	if (worker->open_piece != piece) {
		close_piece(worker);
		worker->open_fd =
			restore_tree_open_file(&worker->restoring->tree, piece->entry->path, err);
		if (worker->open_fd < 0)
			return -1;
		worker->open_piece = piece;
	}
	if (write_exactly(worker->open_fd, data, size, piece->number * CHUNK_SIZE + at) < 0)
		return err_os(err, errno, "%s", piece->entry->path);
	return 0;
}

static int write_group(struct worker *worker, const struct missing *group, size_t at,
		       const void *data, size_t size, struct err *err)
{
	for (size_t i = 0; i < group->count; i++)
		if (write_piece(worker, &worker->restoring->pieces[group->first + i], at, data,
				size, err) < 0)
			return -1;
	return 0;
}

/* Looks for each group of equal pieces in the seed; the others become worker->groups. */
static int restore_from_seed(struct worker *worker, size_t first, size_t end, struct err *err)
{
	struct restoring *restoring = worker->restoring;

	worker->missing = 0;
	while (first < end) {
		const struct restore_piece *piece = &restoring->pieces[first];
		struct missing group = {first, same_chunk_count(piece, end - first)};
		size_t size = chunk_length(piece->file_size, piece->number);

		first += group.count;
		if (check_same_chunks(piece, group.count, err) < 0)
			return -1;
		if (!find_in_seed(restoring, piece, size, worker->fetch.space)) {
			add_missing(worker, group.first, group.count);
			continue;
		}
		if (write_group(worker, &group, 0, worker->fetch.space, size, err) < 0)
			return -1;
		atomic_fetch_add(&restoring->bytes_seeded, size);
		restore_content_progress(restoring, size * group.count);
	}
	return 0;
}

/* A part of the range under way: its groups begin at `first`. */
struct range_part {
	struct worker *worker;
	size_t first;
};

static int write_part(void *arg, size_t number, size_t at, const void *data, size_t size,
		      struct err *err)
{
	const struct range_part *part = arg;

	return write_group(part->worker, &part->worker->groups[part->first + number], at, data,
			   size, err);
}

/* What did not match its checksum on the way: its digest decides, and whether a second look
 * helps. */
static int fetch_again(struct worker *worker, size_t i, struct err *err)
{
	const struct streamed_chunk *streamed = &worker->chunks[i];
	const uint8_t *raw;

	if (chunk_fetch_one(&worker->fetch, streamed->chunk, streamed->raw_size, &raw,
			    worker->restoring->cancel, err) < 0)
		return -1;
	return write_group(worker, &worker->groups[i], 0, raw, streamed->raw_size, err);
}

static int fetch_missing(struct worker *worker, size_t first, size_t count, struct err *err)
{
	struct restoring *restoring = worker->restoring;
	struct range_part part = {worker, first};
	const struct chunk_writer writer = {write_part, &part};
	struct pack_range span = worker->extents[first];
	const char *path = restoring->pieces[worker->groups[first].first].entry->path;

	span.size = (uint32_t)range_coalesce_size(&worker->extents[first], count);
	if (chunk_stream_range(&worker->fetch, &span, &worker->chunks[first], count, &writer,
			       restoring->cancel, err) < 0)
		return err_wrap(err, "%s", path);
	for (size_t i = first; i < first + count; i++) {
		path = restoring->pieces[worker->groups[i].first].entry->path;
		if (!worker->chunks[i].good && fetch_again(worker, i, err) < 0)
			return err_wrap(err, "%s", path);
		restore_content_progress(restoring,
					 worker->chunks[i].raw_size * worker->groups[i].count);
	}
	return 0;
}

/* What the seed has leaves gaps in the range, so the rest is split into requests again. */
static int restore_range(struct worker *worker, size_t first, size_t count, struct err *err)
{
	size_t most = worker->restoring->storage->transfer.plan.span, reach;

	if (cancel_check(worker->restoring->cancel, err) < 0 ||
	    restore_from_seed(worker, first, first + count, err) < 0)
		return -1;
	for (size_t i = 0; i < worker->missing; i += reach) {
		reach = range_coalesce_count(&worker->extents[i], worker->missing - i, most);
		if (fetch_missing(worker, i, reach, err) < 0)
			return -1;
	}
	return 0;
}

static void allocate_main(struct restoring *restoring)
{
	restoring->allocated =
		restore_tree_allocate(&restoring->tree, restoring->cancel, &restoring->no_room);
	if (restoring->allocated == 0)
		return;
	pthread_mutex_lock(&restoring->mutex);
	restoring->locked.failed = true;
	pthread_mutex_unlock(&restoring->mutex);
}

static void restore_worker_main(void *arg, size_t index)
{
	struct restoring *restoring = arg;
	struct worker worker = {.restoring = restoring};
	struct err err = {0};
	size_t first, count;
	int result;

	if (index == 0) {
		allocate_main(restoring);
		return;
	}
	result = chunk_fetch_init(&worker.fetch, &restoring->storage->transfer,
				  &restoring->manifest, &err);
	while (result == 0 && (count = next_range(restoring, &first)) > 0)
		result = restore_range(&worker, first, count, &err);
	atomic_fetch_add(&restoring->bytes_fetched, worker.fetch.bytes_fetched);
	if (result < 0 && worker.fetch.damaged)
		pack_aside_note(restoring->storage, worker.fetch.damaged, restoring->cancel);
	close_piece(&worker);
	chunk_fetch_release(&worker.fetch);
	free(worker.extents);
	free(worker.groups);
	free(worker.chunks);
	if (result == 0)
		return;
	pthread_mutex_lock(&restoring->mutex);
	if (!restoring->locked.failed)
		restoring->locked.err = err;
	restoring->locked.failed = true;
	pthread_mutex_unlock(&restoring->mutex);
}

/* --- all threads --- */

int restore_content(struct restoring *restoring, struct err *err)
{
	unsigned threads = restoring->storage->transfer.plan.fetchers;

	plan_pieces(restoring);
	if (restoring->piece_count < threads)
		threads = (unsigned)restoring->piece_count;
	if (threads > 0)
		parallel_run(threads + 1, restore_worker_main, restoring);
	if (!restoring->locked.failed)
		return 0;
	/* Who could not write only saw what the allocation knows: how much is wanted. */
	if (err)
		*err = restoring->allocated < 0 ? restoring->no_room : restoring->locked.err;
	return -1;
}
