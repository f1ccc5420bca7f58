#include "reading.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "sending.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One chunk of an open file, read to where it is packed. */

struct file_piece {
	struct entry *entry; /* its file, with room for all chunks */
	size_t number;       /* of the chunk */
	int fd;
	size_t size;
	bool expected; /* read before, by this process: it is most likely known */
	bool changed;  /* it was expected, and is another now: filled in */
};

/* Reads `size` bytes of the piece from `at` on. */
static int read_piece(const struct file_piece *piece, size_t at, size_t size, uint8_t *room,
		      bool *torn, struct err *err)
{
	off_t offset = (off_t)(piece->number * CHUNK_SIZE + at);
	size_t done = 0;

	while (done < size) {
		ssize_t got = pread(piece->fd, room + done, size - done, offset + (off_t)done);

		if (got < 0 && errno == EINTR)
			continue;
		/* On NFS, a running file may be deleted by another machine. */
		if (got < 0 && !(errno == ESTALE && piece->entry->running))
			return err_os(err, errno, "%s", piece->entry->path);
		if (got <= 0) {
			*torn = true;
			memset(room + done, 0, size - done);
			return 0;
		}
		done += (size_t)got;
	}
	return 0;
}

/* Into `room`, or, if that is NULL, piece by piece into the packer's scratch. */
static int look_at_piece(const struct file_piece *piece, struct packer *packer, uint8_t *room,
			 bool *torn, struct err *err)
{
	packer_look_begin(packer);
	for (size_t at = 0; at < piece->size; at += PACKER_PIECE) {
		size_t left = piece->size - at, size = left < PACKER_PIECE ? left : PACKER_PIECE;
		uint8_t *target = room ? room + at : packer->scratch;

		if (read_piece(piece, at, size, target, torn, err) < 0)
			return -1;
		packer_look_add(packer, target, size);
	}
	return 0;
}

/*
 * Reads the piece and packs it, and fills in its chunk. What was read before needs no buffer of a
 * pack, for which it might wait; if it is not what it was, it is read again and packed. *torn: the
 * file is shorter by now; the rest counts as zero bytes. Errors of packer_reserve(), or of reading.
 */
static int file_piece_pack(struct file_piece *piece, struct packer *packer, bool *torn,
			   struct err *err)
{
	struct chunk *chunk = &piece->entry->chunks[piece->number];
	uint8_t *room;

	if (piece->expected && look_at_piece(piece, packer, NULL, torn, err) < 0)
		return -1;
	if (piece->expected && packer_look_end(packer, chunk))
		return 0;
	piece->changed = piece->expected;
	if (packer_reserve(packer, piece->size, &room, err) < 0 ||
	    look_at_piece(piece, packer, room, torn, err) < 0)
		return -1;
	packer_add_looked(packer, chunk);
	return 0;
}

#define PASSES_MOST 3
#define PAUSE_MS 20 /* between two passes, so that a write under way can end */
#define POLL_EVERY_MS 20

struct file_reading {
	struct file_tree_item *item;
	size_t first, end; /* the chunks to read */
	size_t sent_early; /* those before it were; from `first` up to `end` */
	/* of this pass: how many were handed out, and are not finished */
	size_t taken, left;
	int passes;
	bool begun;                /* this pass */
	bool torn;                 /* shorter than its size was at the start */
	bool writers;              /* somebody had the file open for writing when this pass began */
	uint8_t last[DIGEST_SIZE]; /* digest of the content that the last pass read */
};

struct read_job {
	const struct file_reader_request *request;
	struct packing *packing;
	pthread_mutex_t mutex;
	struct {
		struct file_reading *files;
		size_t count;
		size_t current; /* the file in hand */
		bool rest;      /* all that is to be sent has been handed out */
		uint64_t bytes_done;
		bool failed;
		struct err err;
		/* guarded by `mutex`; a file without chunks left belongs to the thread that
		 * finished it */
	} locked;
};

static void fail_read(struct read_job *reading, const struct err *err)
{
	pthread_mutex_lock(&reading->mutex);
	if (!reading->locked.failed)
		reading->locked.err = *err;
	reading->locked.failed = true;
	pthread_mutex_unlock(&reading->mutex);
}

static bool is_enough(const struct read_job *reading)
{
	return reading->request->enough && reading->request->enough(reading->request->arg);
}

static size_t chunks_of(const struct file_reading *file)
{
	return file->end - file->first;
}

/* The file of the next chunk; NULL: none is left. First comes what is to be sent, of all files, so
 * that it is on its way while what was sent early is only recognised; then the rest, and the files
 * that must be read again. */
static struct file_reading *next_file(struct read_job *reading)
{
	for (int round = 0; round < 3; round++) {
		for (; reading->locked.current < reading->locked.count; reading->locked.current++) {
			struct file_reading *file = &reading->locked.files[reading->locked.current];

			if (file->taken <
			    file->end - (reading->locked.rest ? file->first : file->sent_early))
				return file;
		}
		reading->locked.rest = true;
		reading->locked.current = 0;
	}
	return NULL;
}

/* Opens the next file that has chunks left, if it had no descriptor yet. A running file that is
 * gone is passed over. */
static int open_next_file(struct read_job *reading, struct file_reading **result, struct err *err)
{
	struct file_reading *file;

	*result = NULL;
	while (!reading->locked.failed && !is_enough(reading) && (file = next_file(reading))) {
		struct err own;

		if (file->item->fd >= 0 ||
		    file_tree_open_file(reading->request->tree, file->item, &own) == 0) {
			*result = file;
			return 0;
		}
		if (!file->item->entry.running || own.kind != ERR_RETRY)
			return err_pass(err, &own);
		file->item->lost = true;
		reading->locked.bytes_done += file->item->entry.size;
		/* Nothing more of the file. */
		file->taken = chunks_of(file);
	}
	return 0;
}

/* 1: *piece is the next one; 0: none is left; -1: failure. */
static int next_piece(struct read_job *reading, struct file_reading **found,
		      struct file_piece *piece, struct err *err)
{
	struct file_reading *file;
	size_t number;
	int result;

	pthread_mutex_lock(&reading->mutex);
	result = open_next_file(reading, &file, err) < 0 ? -1 : 0;
	if (file && result == 0) {
		if (!file->begun && !reading->request->append_progress)
			file->writers = file_tree_has_writers(file->item->fd);
		file->begun = true;
		number = file->first +
			 (file->sent_early - file->first + file->taken++) % chunks_of(file);
		*found = file;
		*piece = (struct file_piece){
			.entry = &file->item->entry,
			.number = number,
			.fd = file->item->fd,
			.size = chunk_length(file->item->entry.size, number),
			.expected = number < file->sent_early || file->passes > 0,
		};
		result = 1;
	}
	pthread_mutex_unlock(&reading->mutex);
	return result;
}

static void digest_content(const struct entry *entry, uint8_t digest[DIGEST_SIZE])
{
	size_t count = chunk_count(entry->size);
	auto_free uint8_t *all = memory_new(count * (DIGEST_SIZE + 1));

	for (size_t i = 0; i < count; i++) {
		memcpy(all + i * (DIGEST_SIZE + 1), entry->chunks[i].digest, DIGEST_SIZE);
		all[i * (DIGEST_SIZE + 1) + DIGEST_SIZE] = entry->chunks[i].codec == CHUNK_ZERO;
	}
	digest_sha256(all, count * (DIGEST_SIZE + 1), digest);
}

/*
 * The kernel sets the times when a write begins, so a write that began before the files were opened
 * may still be under way without showing. It cannot be if nobody had the file open for writing,
 * neither when this pass began nor now. Otherwise two passes must read the same bytes, the second
 * after what was under way: a writer that is stopped in between would show the same twice.
 */
static bool read_is_consistent(struct file_reading *file)
{
	uint8_t digest[DIGEST_SIZE];
	bool same;

	if (!file->writers && !file_tree_has_writers(file->item->fd))
		return true;
	digest_content(&file->item->entry, digest);
	same = memcmp(digest, file->last, DIGEST_SIZE) == 0;
	memcpy(file->last, digest, DIGEST_SIZE);
	return same;
}

static void requeue_file(struct read_job *reading, struct file_reading *file)
{
	pthread_mutex_lock(&reading->mutex);
	file->left = chunks_of(file);
	file->taken = 0;
	file->begun = false;
	pthread_mutex_unlock(&reading->mutex);
}

static void save_append_progress(struct read_job *reading, const struct file_reading *file)
{
	pthread_mutex_lock(&reading->mutex);
	append_progress_set(reading->request->append_progress, &file->item->stamp,
			    file->torn ? 0 : file->end);
	pthread_mutex_unlock(&reading->mutex);
}

/* Whatever was added since the freeze lies behind the prefix and does not matter. One that is
 * shorter now was begun anew under us, and what was read may be of both. */
static void finish_running_file(const struct file_reading *file)
{
	struct file_tree_item *item = file->item;
	struct file_stamp now;

	item->lost = file->torn || file_tree_stamp(item->fd, false, &now, NULL, NULL) < 0 ||
		     now.size < item->entry.size;
	item->read = !item->lost;
	close(steal_fd(&file->item->fd));
}

/*
 * Called by the thread that read the last chunk of a file; no other thread touches the file now.
 * Checks that it is unchanged. The files were opened as one complete checkpoint, so a file written
 * to since belongs to another one, and committing it would commit a mixture. If only the ctime
 * changed, the name was most likely deleted or renamed, and reading once more makes sure.
 */
static int finish_file(struct read_job *reading, struct file_reading *file, struct err *err)
{
	struct file_tree_item *item = file->item;
	struct cancel *cancel = reading->packing->cancel;
	struct file_stamp now;

	if (reading->request->append_progress) {
		save_append_progress(reading, file);
		return 0;
	}
	if (item->entry.running) {
		finish_running_file(file);
		return 0;
	}
	if (file_tree_stamp(item->fd, false, &now, cancel, err) < 0)
		return err_wrap(err, "%s", item->entry.path);
	if (!file->torn && file_stamp_equal(&now, &item->stamp) && read_is_consistent(file)) {
		item->read = true;
		/* A writable mapping may change it later, and its times stay as they are. */
		item->unsettled |= file->writers || file_tree_has_writers(item->fd);
		close(steal_fd(&file->item->fd));
		return 0;
	}
	/* Its chunks are sent and can be found by their digests; the file itself is not
	 * recorded. */
	if (reading->request->lenient)
		return 0;
	if (++file->passes == PASSES_MOST)
		return err_set(err, ERR_RETRY, "%s keeps changing while it is read",
			       item->entry.path);
	if (cancel_sleep(cancel, PAUSE_MS, err) < 0 ||
	    file_tree_stamp(item->fd, true, &now, cancel, err) < 0)
		return err_wrap(err, "%s", item->entry.path);
	if (file->torn || !file_stamp_same_content(&now, &item->stamp))
		return err_set(err, ERR_RETRY, "%s was written to while it was read",
			       item->entry.path);
	item->stamp = now;
	file_tree_await_writes(item->fd);
	requeue_file(reading, file);
	return 0;
}

static void report_progress(struct read_job *reading)
{
	uint64_t bytes_done;

	pthread_mutex_lock(&reading->mutex);
	bytes_done = reading->locked.bytes_done;
	pthread_mutex_unlock(&reading->mutex);
	reading->request->on_progress(reading->request->arg, bytes_done);
}

static int finish_piece(struct read_job *reading, struct file_reading *file,
			const struct file_piece *piece, bool torn, struct err *err)
{
	bool last;

	pthread_mutex_lock(&reading->mutex);
	file->torn = file->torn || torn;
	if (reading->request->append_progress && piece->expected)
		append_progress_note(reading->request->append_progress, !piece->changed);
	last = --file->left == 0;
	reading->locked.bytes_done += piece->size;
	pthread_mutex_unlock(&reading->mutex);
	report_progress(reading);
	return last ? finish_file(reading, file, err) : 0;
}

static int read_pieces(struct read_job *reading, struct packer *packer,
		       struct priority_pool_worker *worker, struct err *err)
{
	struct file_reading *file;
	struct file_piece piece;
	int got = 0;

	while (priority_pool_may_continue(worker) &&
	       (got = next_piece(reading, &file, &piece, err)) > 0) {
		bool torn = false;

		if (cancel_check(reading->packing->cancel, err) < 0 ||
		    file_piece_pack(&piece, packer, &torn, err) < 0)
			return -1;
		if (finish_piece(reading, file, &piece, torn, err) < 0)
			return -1;
	}
	if (got < 0)
		return -1;
	packer_finish(packer);
	return 0;
}

static void read_worker(void *arg, struct priority_pool_worker *worker)
{
	struct read_job *reading = arg;
	struct packer packer;
	struct err err = {0};
	int result;

	result = packer_init(&packer, reading->packing, &err);
	if (result == 0) {
		result = read_pieces(reading, &packer, worker, &err);
		packer_release(&packer);
	}
	if (result < 0)
		fail_read(reading, &err);
}

/* A file that is unchanged since the last committed snapshot is not read at all. */
static bool copy_known_chunks(struct read_job *reading, struct file_tree_item *item, size_t count)
{
	struct transfer *transfer = reading->packing->transfer;

	if (item->fd >= 0 && file_tree_has_writers(item->fd))
		return false;
	if (!chunk_index_find_file(&transfer->index, item->entry.path,
				   file_stamp_mark(&item->stamp, transfer->boot),
				   item->entry.chunks, count))
		return false;
	atomic_fetch_add(&reading->packing->chunks_kept, (unsigned)count);
	reading->locked.bytes_done += item->entry.size;
	item->read = true;
	if (item->fd >= 0)
		close(steal_fd(&item->fd));
	return true;
}

static void add_file_to_read(struct read_job *reading, struct file_tree_item *item, size_t first,
			     size_t end, size_t sent_early)
{
	reading->locked.files[reading->locked.count++] = (struct file_reading){
		.item = item,
		.first = first,
		.end = end,
		.sent_early = sent_early > first && sent_early <= end ? sent_early : first,
		.left = end - first,
	};
}

/* Fills the table of files to read; returns the number of chunks in them. */
static uint64_t plan_files(struct read_job *reading)
{
	const struct append_progress *sent = &reading->packing->transfer->append_progress;
	const struct file_reader_request *request = reading->request;
	uint64_t pieces = 0;

	for (size_t i = 0; i < request->tree->count; i++) {
		struct file_tree_item *item = &request->tree->items[i];
		size_t end = chunk_count(item->entry.size);

		if (item->entry.type != ENTRY_FILE || item->read)
			continue;
		free(item->entry.chunks);
		item->entry.chunks = memory_new(end * sizeof(*item->entry.chunks));
		if (copy_known_chunks(reading, item, end) || end == 0)
			continue;
		add_file_to_read(reading, item, 0, end, append_progress_sent(sent, &item->stamp));
		pieces += end;
	}
	return pieces;
}

/* The same for the parts that growing files have added; 0: too little to be worth a pack. */
static uint64_t plan_growth(struct read_job *reading)
{
	const struct file_reader_request *request = reading->request;
	uint64_t pieces = 0;
	size_t files = 0;

	for (size_t i = 0; i < request->tree->count && files < APPEND_PROGRESS_FILES; i++) {
		struct file_tree_item *item = &request->tree->items[i];
		size_t first, end, again;

		files += item->entry.type == ENTRY_FILE;
		if (item->entry.type != ENTRY_FILE ||
		    !append_progress_next(request->append_progress, &item->stamp, &first, &end))
			continue;
		again = append_progress_settled(request->append_progress, &item->stamp);
		free(item->entry.chunks);
		item->entry.chunks = memory_new(end * sizeof(*item->entry.chunks));
		add_file_to_read(reading, item, again < first ? again : first, end, first);
		pieces += end - first;
	}
	return append_progress_is_due(pieces) ? pieces : 0;
}

static int check_empty_file(const struct file_tree *tree, struct file_tree_item *item,
			    struct err *err)
{
	struct file_stamp now;

	if (item->fd < 0) /* that looks at the stamp, too */
		return file_tree_open_file(tree, item, err);
	if (file_tree_stamp(item->fd, false, &now, NULL, err) < 0)
		return err_wrap(err, "%s", item->entry.path);
	return file_stamp_same_content(&now, &item->stamp)
		       ? 0
		       : err_set(err, ERR_RETRY, "%s was written to while it was read",
				 item->entry.path);
}

/* Of an empty file no chunk is read. Like any other it has to be what it was when all were opened:
 * what is written anew is empty first. */
static int check_empty_files(const struct file_tree *tree, struct err *err)
{
	for (size_t i = 0; i < tree->count; i++) {
		struct file_tree_item *item = &tree->items[i];

		if (item->entry.type != ENTRY_FILE || item->read || item->entry.running ||
		    item->entry.size > 0)
			continue;
		if (check_empty_file(tree, item, err) < 0)
			return -1;
		item->read = true;
		close(steal_fd(&item->fd));
	}
	return 0;
}

/* The workers read. The calling thread keeps its normal priority and polls the uploader. */
static void read_on_threads(struct read_job *reading, size_t threads)
{
	struct transfer *transfer = reading->packing->transfer;
	struct pool pool;

	priority_pool_init(&pool, read_worker, reading,
			   transfer->background ? &transfer->urgent : NULL);
	for (size_t i = 0; i < threads; i++)
		priority_pool_add_worker(&pool);
	/* No thread could be started (a pids limit): read on this one. */
	if (priority_pool_running(&pool) == 0)
		read_worker(reading, NULL);
	while (!priority_pool_wait(&pool, POLL_EVERY_MS)) {
		pack_uploader_poll(reading->packing->uploader, reading->packing->cancel);
		/* Packs arrive while the workers wait for a buffer, too. */
		report_progress(reading);
		if (is_enough(reading))
			pack_uploader_interrupt(reading->packing->uploader);
		if (priority_pool_fill_vacancies(&pool) < 0)
			read_worker(reading, NULL);
	}
	priority_pool_release(&pool);
}

int file_reader_run(const struct file_reader_request *request, struct err *err)
{
	size_t items = request->tree->count;
	auto_free struct file_reading *files = memory_new(items * sizeof(*files));
	struct read_job reading = {.request = request, .packing = request->packing};
	unsigned threads = request->packing->transfer->plan.readers;
	uint64_t pieces;

	reading.locked.files = files;
	pthread_mutex_init(&reading.mutex, NULL);
	pieces = request->append_progress ? plan_growth(&reading) : plan_files(&reading);
	if (pieces > 0)
		read_on_threads(&reading, pieces < threads ? (size_t)pieces : threads);
	pthread_mutex_destroy(&reading.mutex);
	if (!reading.locked.failed)
		return request->append_progress || request->lenient
			       ? 0
			       : check_empty_files(request->tree, err);
	return err_pass(err, &reading.locked.err);
}
