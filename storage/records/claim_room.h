/*
 * PRIVATE to storage/. Room for the next claim: an object that holds nothing anybody reads, in a
 * store on a file system. If that is full to the last byte, a start removes it, and its records
 * have room (FORMAT.md, "A full store").
 */
#ifndef CLAIM_ROOM_H
#define CLAIM_ROOM_H

#include "storage/backend/backend.h"

struct job_listing;
struct storage;

/* Puts it if it is not there. Without it, a start works as long as there is room. */
void claim_room_keep(struct storage *storage, struct cancel *cancel);
/* Whether it was there when the job was listed. */
bool claim_room_is_listed(const struct storage *storage, const struct job_listing *listing);
/* True: it was there, and is removed. */
bool claim_room_use(struct store *store, const char *job, struct cancel *cancel);

#endif
