/* Waits for the attempt before this one where that is being preempted and still saves. */
#ifndef PREDECESSOR_WAIT_H
#define PREDECESSOR_WAIT_H

#include "base/cancel.h"
#include "base/err.h"
#include "storage/storage.h"

#include <stdbool.h>
#include <stdint.h>

/* --- PURE: how long --- */

/* The longest that a cloud gives (Azure, before it moves a machine): a longer word is a
 * scheduler's, or wrong. */
#define PREDECESSOR_WAIT_MOST_MS (15 * 60 * 1000)
/* An end record that was put in the last moment is on its way still. */
#define PREDECESSOR_WAIT_MARGIN_MS 2000

/* While it saves it says its word again; who is silent for longer than that has
 * died of its notice. */
#define PREDECESSOR_HEARTBEAT_MS 10000
#define PREDECESSOR_HEARTBEAT_TIMEOUT_MS 25000

/*
 * From when the word was first read until its time is over. 0: it is not waited for, because it is
 * through, has said nothing, has taken it back, or its time was over already: a machine that is
 * gone says nothing more.
 */
int64_t predecessor_left_ms(const struct drain_state *draining);
/* The same, until another word must have come. */
int64_t predecessor_wait_ms(const struct drain_state *draining);

struct predecessor {
	uint32_t attempt; /* 0: nobody was waited for */
	char host[65];
	bool ended; /* it is through; else its time was over, or it has taken it back */
	int64_t waited_ms;
};

/*
 * To be called before the claim, which would keep the other one from publishing. Blocks; says for
 * whom and how long at most. -1 only where the store cannot be read before anybody is waited for,
 * and with ERR_CANCELLED.
 */
int predecessor_wait(struct storage *storage, struct predecessor *predecessor,
		     struct cancel *cancel, struct err *err);

#endif
