/*
 * PRIVATE. A snapshot is either pinned or forgotten: whoever puts the record of its pin first
 * decides. Else a pin could be put between the last look of a `forget` and its removal, and be
 * reported, and come to nothing.
 */
#ifndef PIN_PLACE_H
#define PIN_PLACE_H

#include "storage/storage.h"

/* For whoever is about to remove the snapshot. *pinned: it is, and stays. A full store takes no
 * record, but no pin either, and must be emptied all the same: there the snapshot is looked up. */
int pin_place_take(struct storage *storage, struct snapshot_id id, bool *pinned,
		   struct cancel *cancel, struct err *err);
/* After the removal, or when there was none. Best effort. */
void pin_place_leave(struct storage *storage, struct snapshot_id id, struct cancel *cancel);
/* Whether the record was left by a `forget` that was killed, and pins nothing. */
int pin_place_is_left(struct storage *storage, struct snapshot_id id, bool *left,
		      struct cancel *cancel, struct err *err);

#endif
