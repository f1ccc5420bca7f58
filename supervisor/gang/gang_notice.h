/*
 * A notice at one member is one for all: it leaves its deadline in the store, and the others look
 * for that every few seconds while the job runs. It has a thread of its own, so that it waits for
 * no upload. Lives on the loop; nothing here blocks but the release.
 */
#ifndef GANG_NOTICE_H
#define GANG_NOTICE_H

#include "base/cancel.h"
#include "base/loop.h"
#include "base/workers.h"
#include "gang_identity.h"
#include "storage/storage.h"

#include <stdbool.h>
#include <stdint.h>

/* How often it looks, and so how much later than the first the others may know. */
#define GANG_NOTICE_EVERY_MS 5000

struct gang_notices_options {
	struct loop *loop;
	struct storage *storage; /* borrowed until the release */
	struct gang_identity identity;
	uint32_t attempt;
	/* On the loop: another member is to end. `left_ms`: of its time, as far as this one can
	 * tell; `saved`: the gang has committed a checkpoint since; the text is for people. */
	void (*notice)(void *arg, int64_t left_ms, bool saved, const char *text);
	void *arg;
};

/* Zeroed: there is no gang. All members are this file's own. */
struct gang_notices {
	struct gang_notices_options options;
	struct workers *workers;
	struct cancel cancel;
	struct timer look;
	/* This one is to end itself: it looks no more. */
	bool told;
	struct gang_notice own;
	/* The worker's: what the last look has found. */
	struct gang_notice found;
	bool any;
};

int gang_notices_start(struct gang_notices *notices, const struct gang_notices_options *options,
		       struct err *err);
/* Tells the others, once. A store that fails is said in the debug log: they learn it from the
 * launcher. */
void gang_notices_tell(struct gang_notices *notices, int64_t left_ms, const char *reason);
void gang_notices_release(struct gang_notices *notices);

#endif
