/* PURE. How long a new attempt waits for the one before it, which is being
 * preempted and is still saving. */
#ifndef HANDOVER_H
#define HANDOVER_H

#include "storage/storage.h"

#include <stdint.h>

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

#endif
