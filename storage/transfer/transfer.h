/*
 * storage/transfer/: moves the content of checkpoints: opens and reads files, cuts them into packs
 * and sends those; fetches packs and writes files. Read job_transfer.h first, then reading.h for
 *the way up and fetching.h for the way down.
 *
 *	job_transfer.h	the state of the transfers of one job; PURE: what it decides
 *	reading.h	opens the files of a directory, reads them on all threads, and packs them
 *	chunk_index.h	which chunk is in which pack; how far growing files have been sent
 *	sending.h	fills packs with chunks and sends them, on threads of its own
 *	fetching.h	fetches and checks chunks; the directory that is restored into
 */
#ifndef STORAGE_TRANSFER_H
#define STORAGE_TRANSFER_H

#include "fetching.h"
#include "job_transfer.h"
#include "reading.h"
#include "sending.h"

#endif
