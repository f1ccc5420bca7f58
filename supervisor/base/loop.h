/*
 * The control loop: one epoll, sources embedded in their owners, timers. It runs on one thread and
 * never blocks in a callback.
 *
 *	struct watch { struct source source; ... }; static void ready(struct source *source,
 *	uint32_t events) { struct watch *w = container_of(source, struct watch, source); ... }
 */
#ifndef BASE_LOOP_H
#define BASE_LOOP_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define container_of(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

struct source {
	int fd;
	void (*ready)(struct source *source, uint32_t events); /* EPOLL* bits */
	bool added;                                            /* the loop's */
};

struct timer {
	int64_t at_ms; /* monotonic; the loop's while armed */
	void (*fired)(struct timer *timer);
	struct timer *next; /* the loop's */
	bool armed;
};

struct loop {
	int epoll_fd;
	bool stopped;
	struct timer *timers; /* soonest first */
};

int loop_init(struct loop *loop, struct err *err);
void loop_release(struct loop *loop);

int loop_add(struct loop *loop, struct source *source, uint32_t events, struct err *err);
/* Changes what an added source waits for. */
int loop_change(struct loop *loop, struct source *source, uint32_t events, struct err *err);
/* Safe in any callback, also for a source whose event is pending in this round;
 * then fd may be closed. */
void loop_remove(struct loop *loop, struct source *source);

/* One shot, at a monotonic time; arming an armed timer moves it. Stopping one that
 * is not armed is fine. */
void loop_arm(struct loop *loop, struct timer *timer, int64_t at_ms);
void loop_disarm(struct loop *loop, struct timer *timer);

/* Until loop_stop(). */
int loop_run(struct loop *loop, struct err *err);
void loop_stop(struct loop *loop);

#endif
