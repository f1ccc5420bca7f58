/* Threads beside a job that trains: they take what it leaves, until there is a hurry. */
#include "storage/transfer/sending.h"

#include "unit.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WORKERS 3
#define POLL_MS 1000
#define BACKGROUND_NICE 10
/* linux/ioprio.h */
#define OF_THIS_THREAD 1
#define LOWEST_BEST_EFFORT ((2 << 13) | 7)
#define IDLE (3 << 13)

struct priority {
	int nice_value, policy;
	long io;
};

struct work {
	atomic_bool urgent;
	struct priority usual, lowest;
	/* Workers that have begun, each with a priority; `other`: one that nobody expects. */
	atomic_uint low, normal, other;
	atomic_bool over;
};

static struct priority read_priority(void)
{
	return (struct priority){
		.nice_value = getpriority(PRIO_PROCESS, 0),
		.policy = sched_getscheduler(0),
		.io = syscall(SYS_ioprio_get, OF_THIS_THREAD, 0),
	};
}

static bool is_same(const struct priority *one, const struct priority *other)
{
	return one->nice_value == other->nice_value && one->policy == other->policy &&
	       one->io == other->io;
}

static void work_until_over(void *arg, struct priority_pool_worker *worker)
{
	struct work *work = arg;
	struct priority now = read_priority();

	if (is_same(&now, &work->lowest))
		atomic_fetch_add(&work->low, 1);
	else
		atomic_fetch_add(is_same(&now, &work->usual) ? &work->normal : &work->other, 1);
	while (!atomic_load(&work->over) && priority_pool_may_continue(worker))
		sched_yield();
}

static void *try_io_priority(void *arg)
{
	long *io = arg;

	(void)syscall(SYS_ioprio_set, OF_THIS_THREAD, 0, LOWEST_BEST_EFFORT);
	*io = syscall(SYS_ioprio_get, OF_THIS_THREAD, 0);
	return NULL;
}

/* From here on, on this thread. */
static void start_workers(struct work *work, struct pool *pool, const atomic_bool *urgent)
{
	struct priority *lowest = &work->lowest;
	pthread_t thread;

	work->usual = *lowest = read_priority();
	if (lowest->nice_value < BACKGROUND_NICE)
		lowest->nice_value = BACKGROUND_NICE;
	if (lowest->policy != SCHED_IDLE)
		lowest->policy = SCHED_BATCH;
	/* Not every emulator has them. */
	if (lowest->io != IDLE) {
		assert_int_equal(pthread_create(&thread, NULL, try_io_priority, &lowest->io), 0);
		assert_int_equal(pthread_join(thread, NULL), 0);
	}
	priority_pool_init(pool, work_until_over, work, urgent);
	for (int i = 0; i < WORKERS; i++)
		assert_int_equal(priority_pool_add_worker(pool), 0);
}

static void await_workers(struct work *work, unsigned count)
{
	while (atomic_load(&work->low) + atomic_load(&work->normal) + atomic_load(&work->other) <
	       count)
		sched_yield();
}

static void end_workers(struct work *work, struct pool *pool)
{
	const struct priority now = read_priority();

	atomic_store(&work->over, true);
	while (!priority_pool_wait(pool, POLL_MS))
		;
	assert_int_equal(priority_pool_running(pool), 0);
	priority_pool_release(pool);
	assert_true(is_same(&now, &work->usual));
	assert_int_equal(work->other, 0);
}

static void test_in_the_background_they_are_the_last(void **state)
{
	struct work work = {.over = false};
	struct pool pool;

	(void)state;
	start_workers(&work, &pool, &work.urgent);
	await_workers(&work, WORKERS);
	assert_int_equal(priority_pool_running(&pool), WORKERS);
	/* Nothing is to be replaced. */
	assert_int_equal(priority_pool_fill_vacancies(&pool), 0);
	assert_int_equal(priority_pool_running(&pool), WORKERS);
	end_workers(&work, &pool);
	assert_int_equal(work.low, WORKERS);
	assert_int_equal(work.normal, 0);
}

/* A thread cannot raise its own priority, so others take over, one for each. */
static void test_in_a_hurry_others_take_over(void **state)
{
	struct work work = {.over = false};
	struct pool pool;

	(void)state;
	start_workers(&work, &pool, &work.urgent);
	await_workers(&work, WORKERS);
	atomic_store(&work.urgent, true);
	while (atomic_load(&work.normal) + atomic_load(&work.other) < WORKERS) {
		/* There is work left: it is not over while some are to be replaced. */
		assert_false(priority_pool_wait(&pool, 1));
		assert_int_equal(priority_pool_fill_vacancies(&pool), 0);
	}
	end_workers(&work, &pool);
	assert_int_equal(work.low, WORKERS);
	assert_int_equal(work.normal, WORKERS);
}

static void test_in_the_foreground_they_are_as_any(void **state)
{
	struct work work = {.over = false};
	struct pool pool;

	(void)state;
	start_workers(&work, &pool, NULL);
	await_workers(&work, WORKERS);
	end_workers(&work, &pool);
	assert_int_equal(work.low, 0);
	assert_int_equal(work.normal, WORKERS);
}

/* A job that was started with the lowest priorities has its threads with them: what is beside it
 * comes no sooner. */
static void *work_beside_an_idle_job(void *arg)
{
	static const struct sched_param none;
	struct work *work = arg;
	struct pool pool;

	(void)setpriority(PRIO_PROCESS, 0, 15);
	(void)sched_setscheduler(0, SCHED_IDLE, &none);
	(void)syscall(SYS_ioprio_set, OF_THIS_THREAD, 0, IDLE);
	start_workers(work, &pool, &work->urgent);
	await_workers(work, WORKERS);
	atomic_store(&work->over, true);
	priority_pool_release(&pool);
	return NULL;
}

static void test_no_priority_is_raised(void **state)
{
	struct work work = {.over = false};
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, work_beside_an_idle_job, &work), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(work.low, WORKERS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_the_background_they_are_the_last),
		cmocka_unit_test(test_in_a_hurry_others_take_over),
		cmocka_unit_test(test_in_the_foreground_they_are_as_any),
		cmocka_unit_test(test_no_priority_is_raised),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
