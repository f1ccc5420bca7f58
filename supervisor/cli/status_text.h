/* PURE. What a supervisor answers to "status" (control/control.h), in words for people. None
 * of them has a control character of somebody else's in it. */
#ifndef STATUS_TEXT_H
#define STATUS_TEXT_H

#include "base/text.h"

#include <jansson.h>

/* Appends some lines: of the job, its training, what is durable, what a preemption would cost, the
 * notices; and with "checkpoints", each of them. */
void status_text_append(struct bytes *text, json_t *answer);

/*
 * The same in one line, without what changes all the time: two of them are equal if there is
 * nothing new. "train: running, attempt 3; durable 000003-000012, step 1160; sending". The caller
 * frees.
 */
char *status_text_change(json_t *answer);

/* Of the answer to "outcome": "train has ended: preempted (exit 75); durable: 000003-000012, step
 * 1160". The caller frees. */
char *status_text_end(json_t *ended);

#endif
