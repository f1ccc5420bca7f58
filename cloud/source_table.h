/* PRIVATE. The table of sources, and the choice of those that are watched: the named ones and those
 * that the environment and firmware suggest. Only source_table_probe() blocks. */
#ifndef CLOUD_SOURCE_TABLE_H
#define CLOUD_SOURCE_TABLE_H

#include "cloud.h"
#include "detect.h"
#include "provider.h"

#include <stddef.h>

struct source_entry {
	const struct provider *provider; /* NULL: a probe finds it */
	char *argument;                  /* the text after the colon; "": none */
};

/* Zero-initialise. */
struct source_table {
	struct source_entry items[CLOUD_SOURCES_MOST];
	size_t count;
};

/*
 * Fills `table` from `sources` and `deadline` of struct cloud_options; each source counts once.
 * ERR_INVALID names an unknown source, or says what to write. Release the table after a failure
 * too.
 */
int source_table_select(const char *sources, const char *deadline,
			const struct environment *environment, struct source_table *table,
			struct err *err);
void source_table_release(struct source_table *table);

/* "auto" while the provider is unknown. */
const char *source_entry_name(const struct source_entry *source);

/* NULL for an unknown name. */
const struct provider *provider_by_name(const char *name);

/* The first provider whose metadata service replies at `endpoint`, or NULL. Blocks for at most a
 * second. */
const struct provider *source_table_probe(const char *endpoint, struct cancel *cancel);

#endif
