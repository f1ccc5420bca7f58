/*
 * PRIVATE. A snapshot is either pinned or forgotten: whoever puts the record of its pin first
 * decides. Else a pin could be put between the last look of a `forget` and its removal, and be
 * reported, and come to nothing. Who finds the record of another `forget`, which may be over at any
 * moment, puts a sign of its own before it looks again, and whoever pins looks for signs
 * afterwards.
 */
#ifndef PIN_PLACE_H
#define PIN_PLACE_H

#include "storage/storage.h"

struct pin_place {
	/* The snapshot is pinned, and stays. */
	bool pinned;
	/* The record in its place is of this process. */
	bool own;
	/* The key of a sign of its own: another one is forgetting it as well. */
	char *sign;
};

/* For whoever is about to remove the snapshot, unless it is pinned. A full store takes no record,
 * but no pin either, and must be emptied all the same: there the snapshot is looked up. After 0
 * pin_place_leave() follows. */
int pin_place_take(struct storage *storage, struct snapshot_id id, struct pin_place *place,
		   struct cancel *cancel, struct err *err);
enum pin_place_outcome {
	/* The snapshot certainly is gone. */
	PIN_PLACE_REMOVED,
	/* It was not removed, and no removal of ours is on its way. */
	PIN_PLACE_KEPT,
	/* The store has not answered: it may still go at any moment. What says so stays. */
	PIN_PLACE_UNKNOWN,
};
/* Unless the snapshot is gone, the record of another one, who may be about to remove it, stays.
 * Best effort. */
void pin_place_leave(struct storage *storage, struct snapshot_id id, struct pin_place *place,
		     enum pin_place_outcome outcome, struct cancel *cancel);
/* Whether the record was left by a `forget` that was killed, and pins nothing. */
int pin_place_is_left(struct storage *storage, struct snapshot_id id, bool *left,
		      struct cancel *cancel, struct err *err);

#endif
