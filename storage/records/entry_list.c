#include "entry_list.h"

#include "base/cleanup.h"
#include "base/workers.h"
#include "pack_listing.h"

#include <stdlib.h>
#include <string.h>

/* --- sending --- */

struct list_sender {
	struct manifest *manifest;
	struct packer packer;
	struct entry_piece_writer writer;
	struct bytes text;
	bool apart;        /* also if they are few */
	const char *added; /* the path that was added last */
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
		return err_set(err, ERR_FAILED, "%s has more than %zu bytes of attributes",
			       sender->added, CHUNK_SIZE);
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
		sender->added = entry->path;
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
	struct entry_piece *pieces; /* one per piece of the manifest */
};

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

static int load_piece(void *arg, size_t at, struct err *err)
{
	struct list_loading *loading = arg;
	const struct manifest_piece *piece = &loading->manifest->pieces[at];
	struct chunk_fetch fetch = {0};
	const uint8_t *text;
	int result = chunk_fetch_init(&fetch, &loading->storage->transfer, loading->manifest, err);

	if (result == 0 &&
	    (chunk_fetch_one(&fetch, &piece->chunk, piece->size, &text, loading->cancel, err) < 0 ||
	     entry_piece_decode(text, piece->size, loading->manifest, &loading->pieces[at], err) <
		     0)) {
		err_wrap(err, "piece %zu", at);
		result = name_member(loading->manifest, at, err);
	}
	if (result < 0 && fetch.damaged)
		pack_aside_note(loading->storage, fetch.damaged, loading->cancel);
	chunk_fetch_release(&fetch);
	return result;
}

int entry_list_load(struct storage *storage, struct manifest *manifest, struct cancel *cancel,
		    struct err *err)
{
	size_t count = manifest->piece_count;
	auto_free struct entry_piece *pieces = memory_new(count * sizeof(*pieces));
	struct list_loading loading = {storage, manifest, cancel, pieces};
	int result;

	if (count == 0)
		return 0;
	result = parallel_each(count, storage->transfer.plan.fetchers, load_piece, &loading, err);
	if (result == 0)
		result = entry_pieces_join(manifest, pieces, err);
	for (size_t i = 0; i < count; i++)
		entry_piece_release(&pieces[i]);
	return result;
}
