/*
 * The control loop: one epoll, sources and timers embedded in their owners. It runs on one thread.
 * A callback must not block.
 *
 *	struct watch { struct source source; ... };
 *
 *	static void ready(struct source *source, uint32_t events)
 *	{
 *		struct watch *watch = container_of(source, struct watch, source);
 *		...
 *	}
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
	bool added;                                            /* private to the loop */
};

struct timer {
	int64_t at_ms; /* monotonic; private to the loop while armed */
	void (*fired)(struct timer *timer);
	struct timer *next; /* private to the loop */
	bool armed;         /* may be read */
};

struct loop {
	int epoll_fd;
	bool stopped;
	struct timer *timers; /* soonest first */
};

int loop_init(struct loop *loop, struct err *err);
void loop_release(struct loop *loop);

int loop_add(struct loop *loop, struct source *source, uint32_t events, struct err *err);
/* Changes the events that an added source waits for. */
int loop_change(struct loop *loop, struct source *source, uint32_t events, struct err *err);
/* Safe in any callback, even for a source whose event is pending. The caller may close fd
 * afterwards. */
void loop_remove(struct loop *loop, struct source *source);

/* Fires once, at a monotonic time. Arming an armed timer moves it. Both are safe at any time. */
void loop_arm(struct loop *loop, struct timer *timer, int64_t at_ms);
void loop_disarm(struct loop *loop, struct timer *timer);

/* Runs until loop_stop(). -1: epoll failed. */
int loop_run(struct loop *loop, struct err *err);
void loop_stop(struct loop *loop);

#endif
