/* PRIVATE: before anything is sent: what is there already. */
#ifndef INDEX_WARMUP_H
#define INDEX_WARMUP_H

#include "job_records.h"

/*
 * Makes the index hold what may be relied on: for the first time in this process what `parent`
 * names and what earlier attempts have left behind; later what is still there of what it knows.
 * Whatever is wrong with those, all can be sent anew: only an error of the store itself, or
 * ERR_CANCELLED, is one.
 * With `look`, everything is looked up in the store; without, only at the first time.
 */
int index_warmup(struct storage *storage, struct snapshot_id parent, bool look,
		 struct cancel *cancel, struct err *err);

#endif
