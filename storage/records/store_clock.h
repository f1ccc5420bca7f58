/*
 * PRIVATE. The time by the store's own clock. The age of an object is the difference of two times
 * of that clock: our own clock may be wrong.
 */
#ifndef STORE_CLOCK_H
#define STORE_CLOCK_H

#include "storage/storage.h"
#include "storage_handle.h"

/* In ms since 1970: puts an object below tmp/, reads its date and removes it. *now_ms 0: the store
 * reports no dates. */
int store_clock_read(struct storage *storage, int64_t *now_ms, struct cancel *cancel,
		     struct err *err);
/* Removes what a killed `reprieve doctor`, clock reading, task barrier or `forget` has left below
 * tmp/ a day ago. Best effort. */
void store_clock_remove_temporaries(struct storage *storage, int64_t now_ms, struct cancel *cancel);

#endif
