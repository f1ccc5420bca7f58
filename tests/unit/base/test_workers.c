/* Work on threads, results on the loop; and the fork-join beside it. */
#include "base/clock.h"
#include "base/workers.h"

#include "unit.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

static struct loop loop;
static pthread_t loop_thread;

struct job {
	int number;
	bool on_other_thread, signals_blocked, done_on_loop;
};

static int done_count, done_wanted;
static int done_order[32];

static void work(void *arg)
{
	struct job *job = arg;
	sigset_t blocked;

	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	job->signals_blocked = sigismember(&blocked, SIGTERM) && sigismember(&blocked, SIGCHLD);
	job->on_other_thread = !pthread_equal(pthread_self(), loop_thread);
}

static void count_done(int number)
{
	done_order[done_count++] = number;
	if (done_count == done_wanted)
		loop_stop(&loop);
}

static void done(void *arg)
{
	struct job *job = arg;

	job->done_on_loop = pthread_equal(pthread_self(), loop_thread);
	count_done(job->number);
}

static int begin(void **state)
{
	(void)state;
	loop_thread = pthread_self();
	done_count = 0;
	return loop_init(&loop, NULL);
}

static int end(void **state)
{
	(void)state;
	loop_release(&loop);
	return 0;
}

static void test_work_on_threads_done_on_the_loop(void **state)
{
	struct workers *workers;
	struct job jobs[20] = {{0}};

	(void)state;
	assert_int_equal(workers_new(&loop, 3, &workers, NULL), 0);
	done_wanted = 20;
	for (int i = 0; i < 20; i++) {
		jobs[i].number = i;
		workers_run(workers, work, done, &jobs[i]);
	}
	assert_int_equal(loop_run(&loop, NULL), 0);
	workers_free(workers);
	for (int i = 0; i < 20; i++)
		assert_true(jobs[i].on_other_thread && jobs[i].signals_blocked &&
			    jobs[i].done_on_loop);
}

static void test_one_thread_keeps_the_order(void **state)
{
	struct workers *workers;
	struct job jobs[10] = {{0}};

	(void)state;
	assert_int_equal(workers_new(&loop, 1, &workers, NULL), 0);
	done_wanted = 10;
	for (int i = 0; i < 10; i++) {
		jobs[i].number = i;
		workers_run(workers, work, done, &jobs[i]);
	}
	assert_int_equal(loop_run(&loop, NULL), 0);
	workers_free(workers);
	for (int i = 0; i < 10; i++)
		assert_int_equal(done_order[i], i);
}

/* Each of two pieces waits for the other one to have begun: they end only if both run at once. */
static sem_t begun[2];

static void meet(void *arg)
{
	int number = ((struct job *)arg)->number;

	sem_post(&begun[number]);
	sem_wait(&begun[1 - number]);
}

static void warm_up_then_meet(struct workers *workers)
{
	struct job warm = {.number = 7}, pair[2] = {{.number = 0}, {.number = 1}};

	/* After this, one thread is there and idle: both of the pair must not be counted on it. */
	done_count = 0;
	done_wanted = 1;
	loop.stopped = false;
	workers_run(workers, work, done, &warm);
	assert_int_equal(loop_run(&loop, NULL), 0);
	sem_init(&begun[0], 0, 0);
	sem_init(&begun[1], 0, 0);
	done_count = 0;
	done_wanted = 2;
	loop.stopped = false;
	workers_run(workers, meet, done, &pair[0]);
	workers_run(workers, meet, done, &pair[1]);
	assert_int_equal(loop_run(&loop, NULL), 0);
	sem_destroy(&begun[0]);
	sem_destroy(&begun[1]);
}

static void test_two_pieces_run_at_once_where_two_threads_are_allowed(void **state)
{
	(void)state;
	for (int i = 0; i < 50; i++) {
		struct workers *workers;

		assert_int_equal(workers_new(&loop, 2, &workers, NULL), 0);
		warm_up_then_meet(workers);
		workers_free(workers);
	}
}

static void post_back(void *arg)
{
	count_done(*(int *)arg);
}

struct poster {
	struct workers *workers;
	int numbers[3];
};

static void post_three(void *arg)
{
	struct poster *poster = arg;

	for (int i = 0; i < 3; i++)
		workers_post(poster->workers, post_back, &poster->numbers[i]);
}

static void count_last(void *arg)
{
	(void)arg;
	count_done(99);
}

static void test_posting_from_a_thread_comes_before_done(void **state)
{
	struct poster poster = {.numbers = {1, 2, 3}};

	(void)state;
	assert_int_equal(workers_new(&loop, 1, &poster.workers, NULL), 0);
	done_wanted = 4;
	workers_run(poster.workers, post_three, count_last, &poster);
	assert_int_equal(loop_run(&loop, NULL), 0);
	workers_free(poster.workers);
	assert_int_equal(done_order[0], 1);
	assert_int_equal(done_order[2], 3);
	assert_int_equal(done_order[3], 99);
}

struct held {
	sem_t begun, released;
	atomic_bool ended;
};

static void hold(void *arg)
{
	struct held *held = arg;

	sem_post(&held->begun);
	sem_wait(&held->released);
	atomic_store(&held->ended, true);
}

static void must_not_run(void *arg)
{
	(void)arg;
	fail();
}

static void *release_later(void *arg)
{
	sem_post(&((struct held *)arg)->released);
	return NULL;
}

static void test_freeing_waits_and_delivers_nothing_more(void **state)
{
	struct workers *workers;
	struct held held;
	struct job waiting = {0};
	pthread_t helper;

	(void)state;
	sem_init(&held.begun, 0, 0);
	sem_init(&held.released, 0, 0);
	atomic_init(&held.ended, false);
	assert_int_equal(workers_new(&loop, 1, &workers, NULL), 0);
	workers_run(workers, hold, must_not_run, &held);
	/* May be begun or not when freeing starts: delivered it is in neither case. */
	workers_run(workers, work, must_not_run, &waiting);
	sem_wait(&held.begun);
	assert_int_equal(pthread_create(&helper, NULL, release_later, &held), 0);
	workers_free(workers);
	assert_true(atomic_load(&held.ended));
	pthread_join(helper, NULL);
	sem_destroy(&held.begun);
	sem_destroy(&held.released);
}

static void add_index(void *arg, size_t index)
{
	atomic_fetch_add((atomic_uint *)arg, 1u << (4 * index));
}

static void test_parallel_runs_each_index_once(void **state)
{
	atomic_uint sum;

	(void)state;
	atomic_init(&sum, 0);
	parallel_run(5, add_index, &sum);
	assert_int_equal(atomic_load(&sum), 0x11111);
	atomic_store(&sum, 0);
	parallel_run(1, add_index, &sum);
	assert_int_equal(atomic_load(&sum), 1);
	assert_true(parallel_processors() >= 1);
}

#define ITEMS 100

struct items {
	atomic_uint calls[ITEMS];
	size_t fails_from;
};

static int call_item(void *arg, size_t at, struct err *err)
{
	struct items *items = arg;

	atomic_fetch_add(&items->calls[at], 1);
	return at >= items->fails_from ? err_set(err, ERR_RETRY, "item %zu", at) : 0;
}

static void test_parallel_calls_for_each_item_once(void **state)
{
	struct items items = {.fails_from = ITEMS};
	struct err err = {0};

	(void)state;
	assert_int_equal(parallel_each(0, 4, call_item, &items, &err), 0);
	assert_int_equal(parallel_each(ITEMS, 4, call_item, &items, &err), 0);
	for (size_t i = 0; i < ITEMS; i++)
		assert_int_equal(items.calls[i], 1);
}

static void test_parallel_begins_none_behind_a_failure(void **state)
{
	struct items items = {.fails_from = 10};
	struct err err = {0};

	(void)state;
	assert_int_equal(parallel_each(ITEMS, 1, call_item, &items, &err), -1);
	assert_int_equal(err.kind, ERR_RETRY);
	assert_string_equal(err.text, "item 10");
	for (size_t i = 0; i < ITEMS; i++)
		assert_int_equal(items.calls[i], i <= 10);
	assert_int_equal(parallel_each(ITEMS, 4, call_item, &items, NULL), -1);
}

struct baton {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	bool passed;
};

static void *pass_baton(void *arg)
{
	struct baton *baton = arg;

	pthread_mutex_lock(&baton->mutex);
	baton->passed = true;
	pthread_cond_signal(&baton->changed);
	pthread_mutex_unlock(&baton->mutex);
	return NULL;
}

static void test_waiting_on_a_condition_ends(void **state)
{
	struct baton baton = {.mutex = PTHREAD_MUTEX_INITIALIZER};
	int64_t since_ms = clock_monotonic_ms();
	pthread_t thread;

	(void)state;
	pthread_cond_init(&baton.changed, NULL);
	pthread_mutex_lock(&baton.mutex);
	condition_wait(&baton.changed, &baton.mutex, 1050);
	assert_in_range(clock_monotonic_ms() - since_ms, 1049, 10000);
	since_ms = clock_monotonic_ms();
	assert_int_equal(parallel_start(&thread, pass_baton, &baton), 0);
	while (!baton.passed)
		condition_wait(&baton.changed, &baton.mutex, 60 * 1000);
	pthread_mutex_unlock(&baton.mutex);
	assert_in_range(clock_monotonic_ms() - since_ms, 0, 30 * 1000);
	pthread_join(thread, NULL);
	pthread_cond_destroy(&baton.changed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_work_on_threads_done_on_the_loop, begin, end),
		cmocka_unit_test_setup_teardown(test_one_thread_keeps_the_order, begin, end),
		cmocka_unit_test_setup_teardown(
			test_two_pieces_run_at_once_where_two_threads_are_allowed, begin, end),
		cmocka_unit_test_setup_teardown(test_posting_from_a_thread_comes_before_done, begin,
						end),
		cmocka_unit_test_setup_teardown(test_freeing_waits_and_delivers_nothing_more, begin,
						end),
		cmocka_unit_test(test_parallel_runs_each_index_once),
		cmocka_unit_test(test_parallel_calls_for_each_item_once),
		cmocka_unit_test(test_parallel_begins_none_behind_a_failure),
		cmocka_unit_test(test_waiting_on_a_condition_ends),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
