/*
 * storage/transfer/: moves the content of checkpoints: opens and reads files, cuts them into packs
 * and sends those; fetches packs and writes files. Read job_transfer.h first, then file_reader.h
 * for the way up and chunk_fetch.h for the way down.
 *
 * For the rest of storage/, through this header alone:
 *
 *	job_transfer.h		the state of sending and fetching for one job
 *	file_tree.h		opens the files of a directory (through file_reader.h)
 *	file_reader.h		reads files on all threads and packs them
 *	pack_uploader.h		sends packs, on threads of its own
 *	chunk_index.h		which chunk is in which pack (through job_transfer.h)
 *	chunk_fetch.h		fetches and checks chunks
 *	chunk_stream.h		the same, and hands them on while they arrive
 *	restore_tree.h		the directory that is restored into
 *	packer.h		fills packs with chunks (through file_reader.h)
 *	append_progress.h	PURE: how far growing files have been sent (through job_transfer.h)
 *	transfer_plan.h		PURE: threads, buffers and sizes; the time reserved for the commit
 *	weights_policy.h	whether weights are compressed (through job_transfer.h)
 *	range_coalesce.h	PURE: which chunks one request fetches (through chunk_fetch.h)
 *
 * Of this folder only:
 *
 *	file_tree_walk.h	the walk through a directory
 *	file_tree_items.c	which items are one file; modes, times and attributes
 *	chunk_index_files.h	the files that a chunk index knows
 *	file_piece.h		reads one chunk to where it is packed
 *	reading_order.h		PURE: in which order the chunks of files are read
 *	upload_queue.h		the buffers of the uploader
 *	priority_pool.h		threads at low priority until there is a deadline
 *	hedge.h			PURE: which upload is late and is sent twice
 *	rate_limit.h		PURE: the bandwidth limit
 */
#ifndef STORAGE_TRANSFER_H
#define STORAGE_TRANSFER_H

#include "chunk_stream.h"
#include "file_reader.h"
#include "job_transfer.h"
#include "pack_uploader.h"
#include "restore_tree.h"

#endif
