/*
 * PRIVATE. A snapshot is either pinned or forgotten: whoever puts the record of its pin first
 * decides. Who forgets it removes that record only after the snapshot itself. A user may remove
 * what another `forget` has left, and pin: so who finds such a record puts a sign of its own before
 * it looks again, and whoever pins looks for signs afterwards.
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

/* PIN_PINNED where it fails. */
int pin_read(struct storage *storage, struct snapshot_id id, enum pin_record *pin,
	     struct cancel *cancel, struct err *err);
/* For whoever is about to remove the snapshot, unless it is *pinned. A full store takes no record,
 * but no pin either, and must be emptied all the same: there the pin is looked up. *sign, if not
 * NULL, even after -1: the key of a sign, which stays as long as a removal may be under way. */
int pin_forbid(struct storage *storage, struct snapshot_id id, bool *pinned, char **sign,
	       struct cancel *cancel, struct err *err);
/* Once the snapshot certainly is gone. Best effort. */
void pin_allow(struct storage *storage, struct snapshot_id id, struct cancel *cancel);

#endif
