/* PRIVATE. The table of sources, and which of them are watched: those that are named, and those
 * that the surroundings tell of. But for the probe, asks nobody and does not block. */
#ifndef CLOUD_SOURCE_TABLE_H
#define CLOUD_SOURCE_TABLE_H

#include "cloud.h"
#include "detect.h"
#include "provider.h"

#include <stddef.h>

struct source_entry {
	const struct provider *provider; /* NULL: to be found by a probe */
	char *argument;                  /* what stood behind the colon; "" for nothing */
};

/* Zero-initialise. */
struct source_table {
	struct source_entry items[CLOUD_SOURCES_MOST];
	size_t count;
};

/*
 * `sources` and `deadline` are cloud_options'; each source counts once. ERR_INVALID names the one
 * that is not known, or says what to write; what was chosen up to it has to be released then, too.
 */
int source_table_select(const char *sources, const char *deadline,
			const struct environment *environment, struct source_table *table,
			struct err *err);
void source_table_release(struct source_table *table);

/* "auto" while it is to be found. */
const char *source_entry_name(const struct source_entry *source);

/* NULL for an unknown name. */
const struct provider *provider_by_name(const char *name);

/* The first provider whose metadata service answers there, or NULL. Blocks for at most a second. */
const struct provider *source_table_probe(const char *endpoint, struct cancel *cancel);

#endif
