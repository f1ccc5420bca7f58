/* Restores a snapshot: makes its directories and files, takes whole files from the local seed where
 * they are the same, fills the others, and sets times and modes at the end. */
#include "base/beneath.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/workers.h"
#include "snapshots.h"
#include "storage/gangs/gangs.h"
#include "storage/records/records.h"
#include "storage/storage.h"
#include "storage/transfer/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/*
 * Filling: every chunk comes from the same place of the local seed or from its pack, is checked,
 * and is written into a file of full size. One thread allocates; each other has one request under
 * way, for neighbouring chunks of one pack, and writes while it arrives.
 */

/* One chunk of one file. Equal chunks of several files are several pieces. */
struct restore_piece {
	const struct chunk *chunk;
	const struct entry *entry; /* the file that it is written to */
	uint64_t file_size;
	size_t number;
};

struct restoring {
	struct storage *storage;
	const struct restore_request *request;
	struct cancel *cancel;
	struct manifest manifest;
	struct tree tree;
	/* by pack and offset: equal chunks side by side, packs read in order */
	struct restore_piece *pieces;
	/* where each piece is in its pack, in the same order */
	struct pack_range *extents;
	size_t piece_count;
	uint64_t bytes_total;
	_Atomic uint64_t bytes_done, bytes_seeded, bytes_fetched;
	_Atomic int64_t next_progress_ms;
	atomic_size_t next_link; /* position in the manifest */
	int allocated;           /* -1: no_room says what is missing */
	struct err no_room;
	pthread_mutex_t mutex;
	/* under mutex */
	struct {
		size_t next;
		uint64_t bytes_left; /* to fetch, if the seed has nothing */
		bool failed;
		struct err err;
	} locked;
};

#define PROGRESS_EVERY_MS 250

/* So many bytes more are where they belong. */
static void restore_content_progress(struct restoring *restoring, uint64_t bytes)
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

/* Fetches what the tree wants and what is not linked from the seed; the files are made. */
static int restore_content(struct restoring *restoring, struct err *err)
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
	return err_pass(err,
			restoring->allocated < 0 ? &restoring->no_room : &restoring->locked.err);
}

/* --- files of the seed --- */

/* Is what the file has at this place what the manifest says? */
static bool has_chunk(int fd, const struct entry *content, size_t number, uint8_t *space)
{
	const struct chunk *chunk = &content->chunks[number];
	size_t size = chunk_length(content->size, number);

	if (file_read_at(fd, space, size, (uint64_t)number * CHUNK_SIZE) != size)
		return false;
	return chunk->codec == CHUNK_ZERO ? chunk_is_zero(space, size)
					  : chunk_matches(chunk, space, size);
}

/* Is the whole file the same? One with other names is somebody else's too, and what is left of an
 * earlier job may still write to one that it has open: these are not shared. */
static bool seed_has_file(struct restoring *restoring, size_t i, uint8_t *space)
{
	const struct entry *content = restoring->tree.content[i];
	struct stat status;
	auto_close int fd =
		beneath_open(restoring->request->seed, restoring->manifest.entries[i].path,
			     O_RDONLY | O_NONBLOCK, 0);

	if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_nlink > 1 ||
	    (uint64_t)status.st_size != content->size)
		return false;
	for (size_t j = 0; j < chunk_count(content->size); j++)
		if (cancel_raised(restoring->cancel) || !has_chunk(fd, content, j, space))
			return false;
	return !file_tree_has_writers(fd);
}

static void link_worker(void *arg, size_t index)
{
	struct restoring *restoring = arg;
	auto_free uint8_t *space = malloc(CHUNK_SIZE);
	size_t i;

	(void)index;
	while (space &&
	       (i = atomic_fetch_add(&restoring->next_link, 1)) < restoring->manifest.entry_count) {
		const struct entry *content = restoring->tree.content[i];

		if (!content || !seed_has_file(restoring, i, space) ||
		    !restore_tree_link(&restoring->tree, i, restoring->request->seed))
			continue;
		atomic_fetch_add(&restoring->bytes_seeded, content->size);
		restore_content_progress(restoring, content->size);
	}
}

/* What lies there already needs no second copy, for which there may be no room. */
static void link_from_seed(struct restoring *restoring)
{
	const struct manifest *manifest = &restoring->manifest;

	for (size_t i = 0; i < manifest->entry_count; i++)
		if (restoring->tree.content[i])
			restoring->bytes_total += restoring->tree.content[i]->size;
	if (restoring->request->link_seed && restoring->request->seed > 0)
		parallel_run(restoring->storage->threads, link_worker, restoring);
}

/* --- all of it --- */

static int restore_snapshot(struct restoring *restoring, struct restore_result *result,
			    struct err *err)
{
	const struct restore_request *request = restoring->request;
	struct manifest *manifest = &restoring->manifest;
	struct gang_clashes clashes;

	if (gang_choice_get_manifest(restoring->storage, request->id, manifest, &clashes,
				     restoring->cancel, err) < 0 ||
	    restore_tree_create(&restoring->tree, manifest, request->within, request->directory,
				request->include, request->arg, err) < 0)
		return -1;
	link_from_seed(restoring);
	if (restore_tree_make_files(&restoring->tree, restoring->storage->threads,
				    restoring->cancel, err) < 0 ||
	    restore_content(restoring, err) < 0 ||
	    restore_tree_finish(&restoring->tree, restoring->storage->threads, !request->unsynced,
				restoring->cancel, err) < 0)
		return -1;
	*result = (struct restore_result){
		.bytes = restoring->bytes_total,
		.bytes_fetched = atomic_load(&restoring->bytes_fetched),
		.bytes_seeded = atomic_load(&restoring->bytes_seeded),
		.step = manifest->step,
		.clashes = clashes.count,
		.clash_kept = clashes.kept,
		.clash_left = clashes.left,
	};
	text_set(result->clash_path, sizeof(result->clash_path), clashes.path);
	for (size_t i = 0; i < manifest->entry_count; i++)
		result->files += restoring->tree.content[i] != NULL;
	if (request->files)
		listing_add_files(manifest, request->files);
	return 0;
}

int storage_restore(struct storage *storage, const struct restore_request *request,
		    struct restore_result *result, struct cancel *cancel, struct err *err)
{
	struct restoring restoring = {
		.storage = storage,
		.request = request,
		.cancel = cancel,
		.tree = {.root_fd = -1},
	};
	char text[SNAPSHOT_ID_TEXT];
	struct err own = {0};
	int failed;

	*result = (struct restore_result){.step = -1};
	pthread_mutex_init(&restoring.mutex, NULL);
	failed = restore_snapshot(&restoring, result, &own);
	pthread_mutex_destroy(&restoring.mutex);
	free(restoring.pieces);
	free(restoring.extents);
	restore_tree_release(&restoring.tree);
	manifest_release(&restoring.manifest);
	transfer_drop_early(&storage->transfer);
	job_records_trim_memory();
	if (failed == 0)
		return 0;
	if (own.kind == ERR_CORRUPT && job_record_is_forgotten(storage, request->id, cancel))
		err_set(&own, ERR_NOT_FOUND, "it was forgotten while it was read");
	err_pass(err, &own);
	return err_wrap(err, "snapshot %s", snapshot_id_format(request->id, text));
}
