/*
 * PURE. When the notice comes. --notice-after is obeyed to the letter. Where the user has said
 * nothing, a notice that comes while the job still loads its libraries proves nothing: it comes
 * NOTICE_AFTER_MS after the start, but not before the job has shown its pace, by two lines of its
 * count or by two checkpoints; and it waits for that no longer than NOTICE_AFTER_MOST_MS.
 */
#ifndef NOTICE_TIME_H
#define NOTICE_TIME_H

#include "event_log_reader.h"
#include "job_log.h"

#include <stdbool.h>
#include <stdint.h>

#define NOTICE_AFTER_UNSAID (-1)
#define NOTICE_AFTER_MS 5000
#define NOTICE_AFTER_MOST_MS 60000

/* After which the job is looked at. `chosen_ms`: --notice-after, or NOTICE_AFTER_UNSAID. */
int64_t notice_after_ms(int64_t chosen_ms);
bool notice_has_pace(const struct job_log *counts, const struct run_events *events);
/* `passed_ms`: since the job's launch. */
bool notice_is_due(int64_t chosen_ms, int64_t passed_ms, bool has_pace);

#endif
