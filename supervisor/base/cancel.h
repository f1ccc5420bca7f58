/*
 * The one way to end blocking work early: a flag with an eventfd and a deadline. Every blocking
 * function of storage, cloud and base/http takes one. Raising wakes all waiters at once, because
 * nobody reads the eventfd. NULL means "never cancelled".
 */
#ifndef BASE_CANCEL_H
#define BASE_CANCEL_H

#include "base/err.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct cancel {
	int fd; /* readable once raised; for poll() beside other descriptors */
	atomic_bool raised;
	_Atomic int64_t deadline_ms; /* monotonic, or CLOCK_NEVER */
};

int cancel_init(struct cancel *cancel, struct err *err);
void cancel_release(struct cancel *cancel);

/* Any thread, also a signal handler. */
void cancel_raise(struct cancel *cancel);
void cancel_set_deadline(struct cancel *cancel, int64_t deadline_ms);

bool cancel_raised(struct cancel *cancel);     /* raised, or past the deadline */
int64_t cancel_left_ms(struct cancel *cancel); /* 0 when raised; CLOCK_NEVER without a deadline */

/* 0, or -1 with ERR_CANCELLED and "stopped" or "out of time". Call it between pieces of work. */
int cancel_check(struct cancel *cancel, struct err *err);

/* Sleeps; returns early with -1 and ERR_CANCELLED. */
int cancel_sleep(struct cancel *cancel, int64_t milliseconds, struct err *err);

#endif
