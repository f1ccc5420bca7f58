/* PUBLIC, through storage.h. What a store can do, and how fast. */
#ifndef STORAGE_PROBE_H
#define STORAGE_PROBE_H

#include "base/cancel.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum probe_step {
	PROBE_OPEN,
	PROBE_PUT,
	PROBE_GET,
	/* The first of two puts works, the second is refused. */
	PROBE_IF_ABSENT,
	PROBE_LIST,
	PROBE_REMOVE,
	/* These two are measured. */
	PROBE_UPLOAD,
	PROBE_DOWNLOAD,
	PROBE_STEPS
};

struct probe_result {
	bool tried;
	bool worked;
	/* Where it did not work. */
	struct err err;
	int64_t took_ms;
};

struct store_probe {
	struct probe_result steps[PROBE_STEPS];
	/* Where requests go and with whose credentials; "" unknown. */
	char description[512];
	/* The directory was not there: it was made for this, and is gone again. */
	bool made;
	/* If-absent works only by looking first. */
	bool if_absent_guessed;
	/* Credentials go to another machine over plain http. */
	bool in_the_clear;
	/* The server's clock minus ours. */
	bool skew_known;
	int64_t skew_ms;
	/* Listings say when an object was put: needed for collecting garbage. */
	bool dated;
	/* That really went, up and then down, to measure, on so many connections. */
	uint64_t bytes;
	unsigned at_once;
};

/* Tries one thing after the other with objects of its own below tmp/, and removes them. `bytes` 0:
 * nothing is measured. -1 only for ERR_CANCELLED; what does not work is in the results. */
int storage_probe(const char *url, uint64_t bytes, struct store_probe *probe, struct cancel *cancel,
		  struct err *err);

/* Of a directory that is mounted twice, one mount as each machine has one: gives names through both
 * URLs, in turn and at once. Whether one wins, and whether the other sees it at once, is the
 * answer. */
void storage_probe_mounts(const char *url, const char *also, struct probe_result *answer);

#endif
