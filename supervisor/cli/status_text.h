/* PURE. What is JSON, in words for people: a supervisor's answer to "status" (control/control.h).
 * None of them has a control character of somebody else's in it. */
#ifndef STATUS_TEXT_H
#define STATUS_TEXT_H

#include "base/text.h"

#include <jansson.h>

/*
 * Fills a template: "{name.member}" is that value of `from`. "[one|another]" is the first of these
 * groups whose values are all there; nothing if there is none. A list is printed with commas. A
 * value is there unless it is missing, null, empty, below 0 or a boolean. Kinds: {x:time} of
 * seconds, {x:bytes}, {x:date} up to the second, {x:second} without its zone, {x:money} in
 * dollars, {x:price} of a unit, {x:percent} of a share, {x:+...} only above 0; {x:?} and {x:!}
 * print nothing, and are there if x is true, or not there; {x:s} is "s" unless x is 1. The caller
 * frees.
 */
char *json_fill(const char *template, json_t *from);
/* Prints it as a line, unless it is empty. */
void json_say(const char *template, json_t *from);

/* Whether the number is in the list. */
bool json_has_number(json_t *numbers, int64_t number);

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
