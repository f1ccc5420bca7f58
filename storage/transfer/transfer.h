/*
 * storage/transfer/: MAP
 *
 * For other folders, through this header alone:
 *
 *	chunk_fetch.h	reads chunks back from their packs and proves that they are the right ones
 *	file_reader.h	* PRIVATE: reads the files of a frozen tree on all threads and packs them
 *	job_transfer.h	* PRIVATE to storage/: the content of one job on its way to and from a store
 *	pack_uploader.h * PRIVATE: filled packs on their way into the store, on threads of their
 *	own, in a bounded number of buffers
 *	restore_tree.h	* PRIVATE: the directory that is restored into
 *
 * Of this folder only:
 *
 *	append_progress.h       PURE: How far files that are still being written have been sent
 *	                        ahead
 *	chunk_index.h	* PRIVATE: which chunk lies where, so that nothing is sent twice
 *	file_tree.h	* PRIVATE: a directory as a list of entries, and metadata onto files
 *	file_tree_walk.h	the walk itself; beside snapshot_export.c the one door to libarchive
 *	hedge.h	* PURE
 *	packer.h        fills packs with the chunks of a take or a presend, on one thread, and hands
 *	                them to the uploader
 *	priority_pool.h	* PRIVATE
 *	range_coalesce.h	PURE: Which chunks of one pack are fetched by one request
 *	rate_limit.h    PURE: A bandwidth limit: a bucket of tokens that may go into debt, because a
 *	                pack is sent whole
 *	transfer_plan.h PURE: How much a transfer does at once, from what the machine has and the
 *	user allows; and the time that belongs to the commit
 *	upload_queue.h  c: the buffers of packs, which of them wait to be sent and which are being
 *	                sent
 */
#ifndef STORAGE_TRANSFER_H
#define STORAGE_TRANSFER_H

#include "chunk_fetch.h"
#include "file_reader.h"
#include "job_transfer.h"
#include "pack_uploader.h"
#include "restore_tree.h"

#endif
