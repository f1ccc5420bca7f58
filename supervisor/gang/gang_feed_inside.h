/*
 * PRIVATE to gang_feed*.c, which are one:
 *
 *	gang_feed.c		what is asked of the worker next, and what the rest calls
 *	gang_feed_worker.c	what the worker does
 *	gang_feed_read.c	what it has brought
 *	gang_feed_parts.c	what becomes of the parts of this member
 *	gang_last_word.c	what it says at the end of the process
 */
#ifndef GANG_FEED_INSIDE_H
#define GANG_FEED_INSIDE_H

#include "gang_feed.h"

/* Between two readings of the log. */
#define GANG_PAUSE_FIRST_MS 50
#define GANG_PAUSE_MOST_MS 2000
/* Who is missing is said so often; and what comes again and again. */
#define GANG_SAY_EVERY_MS 60000

/* What follows from all that is known now. */
void gang_feed_go_on(struct gang_feed *feed);
/* It looks again after `pause_ms`. */
void gang_feed_arm(struct gang_feed *feed);
/* The loop has the worker's answer. */
void gang_feed_on_worked(void *arg);
/* The view has changed: which rounds get no more parts than they have. */
void gang_feed_note_settled(struct gang_feed *feed);
/* What has become of the part that may lie there. */
void gang_feed_note_fate(struct gang_feed *feed, uint32_t round, enum gang_part_fate fate);

/* Fills in what an event of this member has as the next one of the log. */
void gang_feed_complete_event(const struct gang_feed *feed, struct gang_event *event);
/* On the worker: gang_feed_worker.c. */
void gang_feed_worker(void *arg);

#endif
