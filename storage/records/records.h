/*
 * storage/records/: what a job has written down in its store: attempts, snapshots and packs;
 * how that is read, listed and held together. Read FORMAT.md and lineage.h first, then
 * job_records.h and job_listing.c.
 *
 * For the rest of storage/, through this header alone:
 *
 *	storage_handle.h	struct storage: an open store and the job in it
 *	ask.h			asks a store several things at once
 *	job_records.h		keys and records of a job, and their reading and writing
 *	job_listing.c		lists a job: its attempts, its snapshots (job_records.h)
 *	pack_listing.h		lists packs, holds a manifest against that, sets damaged ones aside
 *	lineage.h			PURE: attempts and snapshots -> the chain to continue from
 *	claims.h		the claim of this process, and those that are listed
 *	superseded.c		whether another attempt has taken over (storage_superseded())
 *	entry_list.h		sends and loads the list of a snapshot's files
 */
#ifndef STORAGE_RECORDS_H
#define STORAGE_RECORDS_H

#include "ask.h"
#include "claims.h"
#include "entry_list.h"
#include "job_records.h"
#include "lineage.h"
#include "pack_listing.h"
#include "storage_handle.h"

#endif
