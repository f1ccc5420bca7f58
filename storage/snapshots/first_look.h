/*
 * What the first look of a claim needs is asked for before that: the announcements with the
 * opening, or for a save by hand the lists of the history (`of_opening`); the lists, the newest
 * manifest and its packs with the history. Each serves once, within five seconds. The first look
 * may be old, since the second one, after the claim, is not. For who opens the store to claim.
 */
#ifndef FIRST_LOOK_H
#define FIRST_LOOK_H

#include "storage/records/records.h"

/* Each moves what it is given. `asked_ms`: when it was listed, of CLOCK_MONOTONIC. */
void first_look_keep_draining(struct storage *storage, struct store_listing *draining,
			      int64_t asked_ms);
void first_look_keep(struct storage *storage, struct job_listing *listing, bool of_opening);
/* Each moves what was kept; false: there is none. */
bool first_look_take_draining(struct storage *storage, struct store_listing *draining);
bool first_look_take(struct storage *storage, struct job_listing *listing, bool of_opening);

/* Asks for the newest manifest and its packs beside `questions`, which has room for two more.
 * Returns how many there are. */
size_t first_look_add(struct storage *storage, struct snapshot_id newest,
		      struct question *questions, size_t count);
/* Once all of these are answered. */
void first_look_added(struct storage *storage);
/* Whether both serve for this snapshot, once. */
bool first_look_has(struct storage *storage, struct snapshot_id id);
/* Then, if the manifest names no packs of other snapshots: they are moved. */
bool first_look_take_packs(struct storage *storage, const struct manifest *manifest,
			   struct store_listing *packs);

void first_look_release(struct first_look *look);

#endif
