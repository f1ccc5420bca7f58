/* PRIVATE: all that a job consists of, read at once: snapshots with their state, pins, and which packs each manifest names. */
#ifndef INVENTORY_H
#define INVENTORY_H

#include "job_records.h"

/* What one manifest names, as numbers of packs in a listing. Manifests never change, so this may be used again. */
struct survey_names {
	uint32_t *packs;
	size_t count;
	bool unknown; /* it could not be read: it may name whatever was written for it */
};

struct survey {
	struct job_listing listing;
	struct snapshot_list list; /* newest first */
	struct survey_names
		*names; /* one for each in `list`; packs that are missing are left out */
};

int survey_take(
	struct storage *storage, struct survey *survey, struct cancel *cancel, struct err *err);
void survey_release(struct survey *survey);

/* The packs that are there and that the manifest names, in a listing of packs. -1 only if it could not look. */
int survey_read_names(struct storage *storage, struct snapshot_id id,
	const struct store_listing *packs, struct survey_names *names, struct cancel *cancel,
	struct err *err);
void survey_names_release(struct survey_names *names);

#endif
