/* PRIVATE: the catalogue of this process, and its copy in the store for the next one. It saves
 * requests and decides nothing. */
#ifndef CATALOGUE_CACHE_H
#define CATALOGUE_CACHE_H

#include "job_records.h"

/* So many manifests are read rather than a catalogue kept of them. */
#define CATALOGUE_LEAST 4

/* Reads the catalogue in the store, once in a process, and drops from that of this process what is
 * no longer listed. Whatever fails, it is as if there were none. */
void catalogue_cache_load(struct storage *storage, const struct job_listing *listing,
			  struct cancel *cancel);

/* Puts a new catalogue of these snapshots (ascending) if the one in the store lacks CATALOGUE_LEAST
 * of them or has as many too many, and removes the older ones. Best effort. */
void catalogue_cache_store(struct storage *storage, const struct snapshot_id *ids, size_t count,
			   struct cancel *cancel);

#endif
