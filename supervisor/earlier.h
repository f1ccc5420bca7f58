/* Reads how earlier attempts of the job went, and rules on the next one (precedent.h). Blocks; logs nothing. */
#ifndef EARLIER_H
#define EARLIER_H

#include "base/cancel.h"
#include "base/err.h"
#include "interval.h"
#include "precedent.h"
#include "storage/storage.h"

#include <jansson.h>

struct earlier {
	struct precedent_ruling ruling;
	struct interval_past past;
	uint32_t newest;   /* number of the newest attempt; 0: there is none */
	char outcome[48];  /* of that, for people: "failed with exit 1", "ended without a word" */
	char ended_at[32]; /* RFC 3339, "" unknown */
};

/* `about` is what the new attempt's record will say; what has to be carried over is added to it. */
int earlier_read(struct storage *storage, const struct precedent_rules *rules, json_t *about,
	struct earlier *earlier, struct cancel *cancel, struct err *err);

#endif
