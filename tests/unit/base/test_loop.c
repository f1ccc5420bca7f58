/* The control loop: sources, timers in their order, and removal from inside callbacks. */
#include "base/loop.h"

#include "base/clock.h"

#include "unit.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static struct loop loop;
static int order[8];
static size_t ordered;

struct numbered_timer {
	struct timer timer;
	int number;
};

static void note_timer(struct timer *timer)
{
	order[ordered++] = container_of(timer, struct numbered_timer, timer)->number;
}

static void stop_on_timer(struct timer *timer)
{
	(void)timer;
	loop_stop(&loop);
}

static int begin(void **state)
{
	(void)state;
	ordered = 0;
	return loop_init(&loop, NULL);
}

static int end(void **state)
{
	(void)state;
	loop_release(&loop);
	return 0;
}

static void test_timers_fire_in_order_of_time(void **state)
{
	int64_t now = clock_monotonic_ms();
	struct numbered_timer late = {{.fired = note_timer}, 3};
	struct numbered_timer early = {{.fired = note_timer}, 1};
	struct numbered_timer same = {{.fired = note_timer}, 2};
	struct timer last = {.fired = stop_on_timer};

	(void)state;
	loop_arm(&loop, &last, now + 6);
	loop_arm(&loop, &late.timer, now + 4);
	loop_arm(&loop, &early.timer, now + 2);
	loop_arm(&loop, &same.timer, now + 2);
	assert_int_equal(loop_run(&loop, NULL), 0);
	assert_int_equal(ordered, 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(order[i], i + 1);
	assert_false(late.timer.armed || early.timer.armed || last.armed);
}

static void test_arming_again_moves_and_disarming_stops(void **state)
{
	int64_t now = clock_monotonic_ms();
	struct numbered_timer moved = {{.fired = note_timer}, 2};
	struct numbered_timer first = {{.fired = note_timer}, 1};
	struct numbered_timer stopped = {{.fired = note_timer}, 9};
	struct timer last = {.fired = stop_on_timer};

	(void)state;
	loop_arm(&loop, &moved.timer, now);
	loop_arm(&loop, &first.timer, now + 1);
	loop_arm(&loop, &stopped.timer, now + 1);
	loop_arm(&loop, &moved.timer, now + 2);
	loop_disarm(&loop, &stopped.timer);
	loop_disarm(&loop, &stopped.timer);
	loop_arm(&loop, &last, now + 3);
	assert_int_equal(loop_run(&loop, NULL), 0);
	assert_int_equal(ordered, 2);
	assert_int_equal(order[0], 1);
	assert_int_equal(order[1], 2);
}

struct pair {
	struct source source;
	struct pair *other;
	int calls;
};

/* Removes the other one, whose event is pending too, and closes its descriptor. */
static void remove_other(struct source *source, uint32_t events)
{
	struct pair *self = container_of(source, struct pair, source);

	assert_true(events & EPOLLIN);
	self->calls++;
	loop_remove(&loop, &self->other->source);
	close(self->other->source.fd);
	self->other->source.fd = -1;
	loop_remove(&loop, &self->source);
	loop_stop(&loop);
}

static void test_removed_source_is_not_called(void **state)
{
	struct pair a = {.source = {.fd = eventfd(1, EFD_CLOEXEC), .ready = remove_other}};
	struct pair b = {.source = {.fd = eventfd(1, EFD_CLOEXEC), .ready = remove_other}};
	struct timer round = {.fired = stop_on_timer};

	(void)state;
	a.other = &b;
	b.other = &a;
	assert_int_equal(loop_add(&loop, &a.source, EPOLLIN, NULL), 0);
	assert_int_equal(loop_add(&loop, &b.source, EPOLLIN, NULL), 0);
	assert_int_equal(loop_run(&loop, NULL), 0);
	/* Another round, in which nothing may come any more. */
	loop.stopped = false;
	loop_arm(&loop, &round, clock_monotonic_ms());
	assert_int_equal(loop_run(&loop, NULL), 0);
	assert_int_equal(a.calls + b.calls, 1);
	assert_false(a.source.added || b.source.added);
	close(a.source.fd >= 0 ? a.source.fd : b.source.fd);
}

struct numbered_source {
	struct source source;
	int number;
};

static void note_source(struct source *source, uint32_t events)
{
	uint64_t count;

	assert_true(events & EPOLLIN);
	assert_int_equal(read(source->fd, &count, sizeof(count)), (ssize_t)sizeof(count));
	order[ordered++] = container_of(source, struct numbered_source, source)->number;
}

/* As after a pause of the whole machine: a notice lies there, and a deadline is over. */
static void test_what_waits_is_heard_before_a_timer_that_is_due(void **state)
{
	struct numbered_source sources[3];
	struct numbered_timer due = {{.fired = note_timer}, 9};
	struct timer last = {.fired = stop_on_timer};

	(void)state;
	for (int i = 0; i < 3; i++) {
		sources[i] = (struct numbered_source){{
							      .fd = eventfd(1, EFD_CLOEXEC),
							      .ready = note_source,
						      },
						      i};
		assert_int_equal(loop_add(&loop, &sources[i].source, EPOLLIN, NULL), 0);
	}
	loop_arm(&loop, &due.timer, clock_monotonic_ms() - 1000);
	loop_arm(&loop, &last, clock_monotonic_ms());
	assert_int_equal(loop_run(&loop, NULL), 0);
	assert_int_equal(ordered, 4);
	assert_int_equal(order[3], 9);
	for (int i = 0; i < 3; i++) {
		loop_remove(&loop, &sources[i].source);
		close(sources[i].source.fd);
	}
}

static uint32_t seen_events;

static void note_events(struct source *source, uint32_t events)
{
	(void)source;
	seen_events |= events;
	loop_stop(&loop);
}

static void test_changing_what_is_waited_for(void **state)
{
	int fd = eventfd(0, EFD_CLOEXEC);
	struct source source = {.fd = fd, .ready = note_events};

	(void)state;
	seen_events = 0;
	assert_int_equal(loop_add(&loop, &source, EPOLLIN, NULL), 0);
	/* An empty eventfd is not readable, but is writable. */
	assert_int_equal(loop_change(&loop, &source, EPOLLOUT, NULL), 0);
	assert_int_equal(loop_run(&loop, NULL), 0);
	assert_int_equal(seen_events, EPOLLOUT);
	loop_remove(&loop, &source);
	loop_remove(&loop, &source);
	close(fd);
}

static void test_bad_descriptor_is_an_error(void **state)
{
	struct source source = {.fd = -1, .ready = note_events};
	struct err err = {0};

	(void)state;
	assert_int_equal(loop_add(&loop, &source, EPOLLIN, &err), -1);
	assert_int_equal(err.kind, ERR_FAILED);
	assert_false(source.added);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_timers_fire_in_order_of_time, begin, end),
		cmocka_unit_test_setup_teardown(test_arming_again_moves_and_disarming_stops, begin,
						end),
		cmocka_unit_test_setup_teardown(test_what_waits_is_heard_before_a_timer_that_is_due,
						begin, end),
		cmocka_unit_test_setup_teardown(test_removed_source_is_not_called, begin, end),
		cmocka_unit_test_setup_teardown(test_changing_what_is_waited_for, begin, end),
		cmocka_unit_test_setup_teardown(test_bad_descriptor_is_an_error, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
