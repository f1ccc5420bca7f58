#include "base/loop.h"

#include "base/clock.h"

#include <errno.h>
#include <limits.h>
#include <sys/epoll.h>
#include <unistd.h>

#define SOURCES_FIRST 32

int loop_init(struct loop *loop, struct err *err)
{
	*loop = (struct loop){.epoll_fd = epoll_create1(EPOLL_CLOEXEC)};
	return loop->epoll_fd < 0 ? err_os(err, errno, "epoll") : 0;
}

void loop_release(struct loop *loop)
{
	if (loop->epoll_fd >= 0)
		close(loop->epoll_fd);
	loop->epoll_fd = -1;
}

static int control_epoll(struct loop *loop, int operation, struct source *source, uint32_t events,
			 struct err *err)
{
	struct epoll_event event = {.events = events, .data.ptr = source};

	if (epoll_ctl(loop->epoll_fd, operation, source->fd, &event) < 0)
		return err_os(err, errno, "epoll_ctl");
	return 0;
}

int loop_add(struct loop *loop, struct source *source, uint32_t events, struct err *err)
{
	if (control_epoll(loop, EPOLL_CTL_ADD, source, events, err) < 0)
		return -1;
	source->added = true;
	return 0;
}

int loop_change(struct loop *loop, struct source *source, uint32_t events, struct err *err)
{
	return control_epoll(loop, EPOLL_CTL_MOD, source, events, err);
}

void loop_remove(struct loop *loop, struct source *source)
{
	if (source->added)
		epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, source->fd, NULL);
	source->added = false;
}

void loop_arm(struct loop *loop, struct timer *timer, int64_t at_ms)
{
	struct timer **place = &loop->timers;

	loop_disarm(loop, timer);
	while (*place && (*place)->at_ms <= at_ms)
		place = &(*place)->next;
	timer->at_ms = at_ms;
	timer->armed = true;
	timer->next = *place;
	*place = timer;
}

void loop_disarm(struct loop *loop, struct timer *timer)
{
	for (struct timer **place = &loop->timers; timer->armed && *place;
	     place = &(*place)->next) {
		if (*place != timer)
			continue;
		*place = timer->next;
		break;
	}
	timer->armed = false;
	timer->next = NULL;
}

/* One timer per round: a timer that arms itself for now again must not starve the sources. */
static void fire_due_timer(struct loop *loop)
{
	struct timer *timer = loop->timers;

	if (loop->stopped || !timer || timer->at_ms > clock_monotonic_ms())
		return;
	loop_disarm(loop, timer);
	timer->fired(timer);
}

/* Dispatches one event; returns how many sources were ready, or -1. One per round, because a
 * callback may remove any source, and a batch would then hold a stale pointer to it. */
static int dispatch_one_event(struct loop *loop, int left_ms)
{
	struct epoll_event event;
	int count = epoll_wait(loop->epoll_fd, &event, 1, left_ms);

	if (count == 1) {
		struct source *source = event.data.ptr;
		source->ready(source, event.events);
	}
	return count;
}

/* After a stall of this process, timers are due and older events are pending. The events come
 * first, one per source: epoll returns the ready sources in turn. */
static void dispatch_pending_events(struct loop *loop)
{
	for (int i = 0; i < SOURCES_FIRST && !loop->stopped && dispatch_one_event(loop, 0) == 1;
	     i++) {
	}
}

int loop_run(struct loop *loop, struct err *err)
{
	while (!loop->stopped) {
		int64_t left = loop->timers ? clock_left_ms(loop->timers->at_ms) : -1;

		if (dispatch_one_event(loop, left > INT_MAX ? INT_MAX : (int)left) < 0 &&
		    errno != EINTR)
			return err_os(err, errno, "epoll_wait");
		if (loop->timers && loop->timers->at_ms <= clock_monotonic_ms())
			dispatch_pending_events(loop);
		fire_due_timer(loop);
	}
	return 0;
}

void loop_stop(struct loop *loop)
{
	loop->stopped = true;
}
