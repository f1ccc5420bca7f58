/* PRIVATE. Which sources are watched: those that are named, and those that the surroundings tell of. Asks nobody, and does not block. */
#ifndef CLOUD_CHOSEN_SOURCES_H
#define CLOUD_CHOSEN_SOURCES_H

#include "cloud.h"
#include "detect.h"
#include "provider.h"

#include <stddef.h>

struct chosen_source {
	const struct provider *provider; /* NULL: to be found by a probe */
	char *argument;                  /* what stood behind the colon; "" for nothing */
};

/* Zero-initialise. */
struct chosen_sources {
	struct chosen_source items[CLOUD_SOURCES_MOST];
	size_t count;
};

/* `sources` and `deadline` are cloud_options'; each source counts once. ERR_INVALID names the one that is not known, or says what to write;
 * what was chosen up to it has to be released then, too. */
int chosen_sources_find(const char *sources, const char *deadline,
	const struct surroundings *surroundings, struct chosen_sources *chosen, struct err *err);
void chosen_sources_release(struct chosen_sources *chosen);

/* "auto" while it is to be found. */
const char *chosen_source_name(const struct chosen_source *source);

/* NULL for an unknown name. */
const struct provider *provider_named(const char *name);

#endif
