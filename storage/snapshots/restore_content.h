/*
 * PRIVATE to snapshots/. Fills the files of a restore: every chunk comes from the same place of the
 * local seed or from its pack, is checked, and is written into a file of full size. One thread
 * allocates; each other has one request under way, for neighbouring chunks of one pack, and writes
 * while it arrives.
 */
#ifndef RESTORE_CONTENT_H
#define RESTORE_CONTENT_H

#include "storage/storage.h"
#include "storage/transfer/transfer.h"

#include <pthread.h>
#include <stdatomic.h>

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

/* Fetches what the tree wants and what is not linked from the seed; the files are made. */
int restore_content(struct restoring *restoring, struct err *err);

/* So many bytes more are where they belong. */
void restore_content_progress(struct restoring *restoring, uint64_t bytes);

/* Fills `files`, which is empty; the manifest has its entries. */
void listing_add_files(const struct manifest *manifest, struct snapshot_files *files);

#endif
