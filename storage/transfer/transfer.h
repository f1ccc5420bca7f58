/*
 * storage/transfer/: moves the content of checkpoints: opens and reads files, cuts them into packs
 * and sends those; fetches packs and writes files. Read job_transfer.h first, then file_reader.h
 * for the way up and chunk_fetch.h for the way down.
 *
 * For the rest of storage/, through this header alone:
 *
 *	job_transfer.h		the state of the transfers of one job; PURE: what it decides
 *	file_tree.h		opens the files of a directory (through file_reader.h)
 *	file_reader.h		reads files on all threads and packs them
 *	pack_uploader.h		sends packs, on threads of its own
 *	chunk_index.h		which chunk is in which pack (through job_transfer.h)
 *	chunk_fetch.h		fetches and checks chunks, whole or while they arrive
 *	restore_tree.h		the directory that is restored into
 *	packer.h		fills packs with chunks (through file_reader.h)
 *	append_progress.h	PURE: how far growing files have been sent (through job_transfer.h)
 *
 * Of this folder only:
 *
 *	priority_pool.h		threads at low priority until there is a deadline
 */
#ifndef STORAGE_TRANSFER_H
#define STORAGE_TRANSFER_H

#include "chunk_fetch.h"
#include "file_reader.h"
#include "job_transfer.h"
#include "pack_uploader.h"
#include "restore_tree.h"

#endif
