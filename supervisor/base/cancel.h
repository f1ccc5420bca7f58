/*
 * The one way to end blocking work early: a flag with an eventfd, and a deadline. Every blocking
 * function of storage, cloud and base/http takes one. cancel_raise() wakes all waiters, because
 * nobody reads the eventfd. NULL means "never cancelled".
 */
#ifndef BASE_CANCEL_H
#define BASE_CANCEL_H

#include "base/cleanup.h"
#include "base/err.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct cancel {
	int fd; /* readable once raised; for poll() beside other descriptors */
	atomic_bool raised;
	_Atomic int64_t deadline_ms; /* monotonic, or CLOCK_NEVER */
};

/* As an initialiser: only the deadline ends the work, because nobody raises this one. It needs no
 * release. */
#define CANCEL_AT(at_ms)                         \
	{                                        \
		.fd = -1, .deadline_ms = (at_ms) \
	}

int cancel_init(struct cancel *cancel, struct err *err);
void cancel_release(struct cancel *cancel);
AUTO(struct cancel, cancel_release);

/* From any thread, and from a signal handler. */
void cancel_raise(struct cancel *cancel);
void cancel_set_deadline(struct cancel *cancel, int64_t deadline_ms);

bool cancel_raised(struct cancel *cancel);     /* raised, or past the deadline */
int64_t cancel_left_ms(struct cancel *cancel); /* 0: raised; CLOCK_NEVER: no deadline */

/* Call between pieces of work. -1: ERR_CANCELLED, with "stopped" or "out of time". */
int cancel_check(struct cancel *cancel, struct err *err);

/* Sleeps. -1: cancelled (ERR_CANCELLED), perhaps before the time is over. */
int cancel_sleep(struct cancel *cancel, int64_t milliseconds, struct err *err);

#endif
