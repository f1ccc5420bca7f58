/*
 * storage/snapshots/: MAP
 *
 * For other folders, through this header alone:
 *
 *	job_records.h	* PRIVATE: the job's part of a store by name, and its records
 *
 * Of this folder only:
 *
 *	garbage_collect.h	packs that no manifest names
 *	index_warmup.h	before anything is sent: what is there already
 *	inventory.h     all that a job consists of, read at once: snapshots with their state, pins,
 *	                and which packs each manifest names
 *	lineage.h	* PURE
 *	orphan_packs.h  * PRIVATE: packs that no manifest names because whoever wrote them was
 *	                killed before the commit
 *	retention.h	* PURE
 *	storage_handle.h	an open store and the job in it
 */
#ifndef STORAGE_SNAPSHOTS_H
#define STORAGE_SNAPSHOTS_H

#include "job_records.h"

#endif
