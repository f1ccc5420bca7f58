#include "entry_list.h"

#include "base/cleanup.h"
#include "base/workers.h"
#include "pack_aside.h"

#include <stdlib.h>
#include <string.h>

/* --- sending --- */

struct list_sender {
	struct manifest *manifest;
	struct packer packer;
	struct entry_piece_writer writer;
	struct bytes text;
	bool apart; /* also if they are few */
};

static void list_sender_release(struct list_sender *sender)
{
	packer_release(&sender->packer);
	entry_piece_writer_release(&sender->writer);
	bytes_release(&sender->text);
}
AUTO(struct list_sender, list_sender_release);

static int send_piece(struct list_sender *sender, struct err *err)
{
	struct manifest *manifest = sender->manifest;
	struct manifest_piece *piece;
	uint8_t *room;

	if (entry_piece_finish(&sender->writer, &sender->text, err) < 0)
		return -1;
	if (sender->text.size > CHUNK_SIZE)
		return err_set(err, ERR_FAILED, "a file has more than %zu bytes of attributes",
			       CHUNK_SIZE);
	if (packer_reserve(&sender->packer, sender->text.size, &room, err) < 0)
		return -1;
	memcpy(room, sender->text.data, sender->text.size);
	manifest->pieces =
		memory_grow(manifest->pieces, manifest->piece_count + 1, sizeof(*manifest->pieces));
	piece = &manifest->pieces[manifest->piece_count++];
	piece->size = (uint32_t)sender->text.size;
	packer_add(&sender->packer, sender->text.size, &piece->chunk);
	return 0;
}

static int send_entry(struct list_sender *sender, const struct entry *entry, struct err *err)
{
	size_t first = 0, count;

	do {
		count = entry_part_length(entry, first);
		if (entry_piece_ends(&sender->writer, entry, first) && send_piece(sender, err) < 0)
			return -1;
		if (entry_piece_add(&sender->writer, entry, first, err) < 0)
			return -1;
		first += count;
	} while (entry_part_length(entry, first) > 0);
	return 0;
}

static int send_pieces(struct list_sender *sender, struct err *err)
{
	const struct manifest *manifest = sender->manifest;

	for (size_t i = 0; i < manifest->entry_count; i++)
		if (send_entry(sender, &manifest->entries[i], err) < 0)
			return -1;
	if (!sender->apart && manifest->piece_count == 0 &&
	    sender->writer.text.size <= ENTRY_PIECES_APART)
		return 0;
	return send_piece(sender, err);
}

/* The keys of the index's packs, by their numbers. They are borrowed, and stay where they are while
 * the table of packs grows. */
static const char **list_pack_keys(struct chunk_index *index, size_t *count)
{
	const char **keys;

	pthread_mutex_lock(&index->mutex);
	*count = index->pack_count;
	keys = memory_new(*count * sizeof(*keys));
	for (size_t i = 0; i < *count; i++)
		keys[i] = index->packs[i].key;
	pthread_mutex_unlock(&index->mutex);
	return keys;
}

int entry_list_send(struct packing *packing, struct manifest *manifest, bool apart, struct err *err)
{
	auto_(list_sender_release) struct list_sender sender = {
		.manifest = manifest,
		.apart = apart,
	};
	auto_free const char **keys = NULL;
	size_t count;

	keys = list_pack_keys(&packing->transfer->index, &count);
	entry_piece_writer_init(&sender.writer, keys, count);
	if (packer_init(&sender.packer, packing, err) < 0 || send_pieces(&sender, err) < 0)
		return -1;
	packer_finish(&sender.packer);
	return 0;
}

/* --- loading --- */

struct list_loading {
	struct storage *storage;
	const struct manifest *manifest;
	struct cancel *cancel;
	/* numbers of the pieces by their places, and these places */
	size_t *order;
	struct pack_range *ranges;
	struct entry_piece *pieces; /* one per piece of the manifest */
	size_t *requests;           /* the first place of each request, and the end */
	size_t request_count;
};

static int compare_places(const void *a, const void *b, void *arg)
{
	const struct manifest *manifest = arg;
	const struct chunk *first = &manifest->pieces[*(const size_t *)a].chunk;
	const struct chunk *second = &manifest->pieces[*(const size_t *)b].chunk;

	if (first->pack != second->pack)
		return first->pack < second->pack ? -1 : 1;
	return (first->offset > second->offset) - (first->offset < second->offset);
}

static void plan_ranges(struct list_loading *loading)
{
	const struct manifest *manifest = loading->manifest;

	for (size_t i = 0; i < manifest->piece_count; i++)
		loading->order[i] = i;
	qsort_r(loading->order, manifest->piece_count, sizeof(*loading->order), compare_places,
		(void *)manifest);
	for (size_t i = 0; i < manifest->piece_count; i++) {
		const struct chunk *chunk = &manifest->pieces[loading->order[i]].chunk;

		loading->ranges[i] = (struct pack_range){chunk->pack, chunk->offset, chunk->stored};
	}
}

/* Each has at most one processor's share of the pieces: decoding is most of the work. */
static void plan_requests(struct list_loading *loading)
{
	size_t count = loading->manifest->piece_count, processors = loading->storage->threads;
	size_t share = (count + processors - 1) / processors, left;

	for (size_t at = 0; at < count; loading->requests[++loading->request_count] = at) {
		left = count - at;
		at += range_coalesce_count(loading->ranges + at, left < share ? left : share,
					   loading->storage->transfer.plan.span);
	}
}

/* One request: the raw pieces, one behind the other. */
struct list_worker {
	struct list_loading *loading;
	struct chunk_fetch fetch;
	struct streamed_chunk *streamed;
	size_t *starts; /* of each piece in `text` */
	struct bytes text;
};

static int write_text(void *arg, size_t number, size_t at, const void *data, size_t size,
		      struct err *err)
{
	struct list_worker *worker = arg;

	(void)err;
	memcpy(worker->text.data + worker->starts[number] + at, data, size);
	return 0;
}

/* Makes room for the pieces of a range. */
static int lay_out_range(struct list_worker *worker, size_t first, size_t count, struct err *err)
{
	const struct list_loading *loading = worker->loading;
	size_t size = 0;

	worker->streamed = memory_grow(worker->streamed, count, sizeof(*worker->streamed));
	worker->starts = memory_grow(worker->starts, count, sizeof(*worker->starts));
	for (size_t i = 0; i < count; i++) {
		const struct manifest_piece *piece =
			&loading->manifest->pieces[loading->order[first + i]];

		worker->streamed[i] = (struct streamed_chunk){&piece->chunk, piece->size, false};
		worker->starts[i] = size;
		size += piece->size;
	}
	return bytes_reserve(&worker->text, size, err);
}

static int decode_piece(struct list_worker *worker, size_t number, size_t i, struct err *err)
{
	struct list_loading *loading = worker->loading;
	const struct manifest_piece *piece = &loading->manifest->pieces[number];
	const uint8_t *text = worker->text.data + worker->starts[i];

	/* It did not match on the way: a second look says whether it is damaged. */
	if (!worker->streamed[i].good && chunk_fetch_one(&worker->fetch, &piece->chunk, piece->size,
							 &text, loading->cancel, err) < 0)
		return -1;
	if (entry_piece_decode(text, piece->size, loading->manifest, &loading->pieces[number],
			       err) < 0)
		return err_wrap(err, "piece %zu", number);
	return 0;
}

static int load_range(struct list_worker *worker, size_t first, size_t count, struct err *err)
{
	struct list_loading *loading = worker->loading;
	const struct chunk_writer writer = {write_text, worker};
	struct pack_range span = loading->ranges[first];

	span.size = (uint32_t)range_coalesce_size(&loading->ranges[first], count);
	if (cancel_check(loading->cancel, err) < 0 ||
	    lay_out_range(worker, first, count, err) < 0 ||
	    chunk_stream_range(&worker->fetch, &span, worker->streamed, count, &writer,
			       loading->cancel, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		if (decode_piece(worker, loading->order[first + i], i, err) < 0)
			return -1;
	return 0;
}

/* A member's pieces are in packs of its own. */
static int name_member(const struct manifest *manifest, size_t piece, struct err *err)
{
	size_t through = 0, member = manifest->part_count;

	for (size_t i = 0; i < manifest->part_count; i++) {
		if (piece >= through && piece - through < manifest->parts[i].pieces)
			member = i;
		through += manifest->parts[i].pieces;
	}
	/* With one part alone it is known whose it is. */
	if (member == manifest->part_count || through != manifest->piece_count)
		return -1;
	return err_wrap(err, "the part of member %zu", member);
}

static int load_request(void *arg, size_t at, struct err *err)
{
	struct list_loading *loading = arg;
	struct list_worker worker = {.loading = loading};
	size_t first = loading->requests[at], end = loading->requests[at + 1];
	int result = chunk_fetch_init(&worker.fetch, &loading->storage->transfer, loading->manifest,
				      err);

	if (result == 0 && load_range(&worker, first, end - first, err) < 0)
		result = name_member(loading->manifest, loading->order[first], err);
	if (result < 0 && worker.fetch.damaged)
		pack_aside_note(loading->storage, worker.fetch.damaged, loading->cancel);
	chunk_fetch_release(&worker.fetch);
	bytes_release(&worker.text);
	free(worker.streamed);
	free(worker.starts);
	return result;
}

int entry_list_load(struct storage *storage, struct manifest *manifest, struct cancel *cancel,
		    struct err *err)
{
	size_t count = manifest->piece_count;
	auto_free size_t *order = memory_new(count * sizeof(*order));
	auto_free struct pack_range *ranges = memory_new(count * sizeof(*ranges));
	auto_free struct entry_piece *pieces = memory_new(count * sizeof(*pieces));
	auto_free size_t *requests = memory_new((count + 1) * sizeof(*requests));
	struct list_loading loading = {
		.storage = storage,
		.manifest = manifest,
		.cancel = cancel,
		.order = order,
		.ranges = ranges,
		.pieces = pieces,
		.requests = requests,
	};
	int result;

	if (count == 0)
		return 0;
	plan_ranges(&loading);
	plan_requests(&loading);
	result = parallel_each(loading.request_count, storage->transfer.plan.fetchers, load_request,
			       &loading, err);
	if (result == 0)
		result = entry_pieces_join(manifest, pieces, err);
	for (size_t i = 0; i < count; i++)
		entry_piece_release(&pieces[i]);
	return result;
}
