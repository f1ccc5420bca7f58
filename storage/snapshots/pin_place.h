/*
 * PRIVATE. A snapshot is either pinned or forgotten: whoever puts the record of its pin first
 * decides. Who forgets it removes that record only after the snapshot itself, so a pin never comes
 * between a look at the record and the removal.
 */
#ifndef PIN_PLACE_H
#define PIN_PLACE_H

#include "storage/storage.h"

enum pin_record {
	PIN_NONE,
	PIN_PINNED,
	/* By a `forget` that is under way, was killed, or was refused the removal. */
	PIN_FORGETTING,
};

int pin_read(struct storage *storage, struct snapshot_id id, enum pin_record *pin,
	     struct cancel *cancel, struct err *err);
/* For whoever is about to remove the snapshot, unless it is *pinned. A full store takes no record,
 * but no pin either, and must be emptied all the same: there the pin is looked up. */
int pin_forbid(struct storage *storage, struct snapshot_id id, bool *pinned, struct cancel *cancel,
	       struct err *err);
/* Once the snapshot certainly is gone. Best effort. */
void pin_allow(struct storage *storage, struct snapshot_id id, struct cancel *cancel);

#endif
