#include "sending.h"

#include "base/text.h"
#include "base/workers.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BACKGROUND_NICE 10
/* Values of linux/ioprio.h, which older systems lack: this thread; class best effort, lowest level;
 * class idle. */
#define IOPRIO_WHO_PROCESS 1
#define IOPRIO_BEST_EFFORT_LOWEST ((2 << 13) | 7)
#define IOPRIO_IDLE 3
#define IOPRIO_CLASS(priority) ((priority) >> 13)

struct priority_pool_worker {
	struct pool *pool;
	pthread_t thread;
	bool low, vacant;
	struct priority_pool_worker *next;
};

static _Thread_local bool lowered;

void priority_pool_init(struct pool *pool,
			void (*work)(void *arg, struct priority_pool_worker *worker), void *arg,
			const atomic_bool *urgent)
{
	*pool = (struct pool){.work = work, .arg = arg, .urgent = urgent};
	pthread_mutex_init(&pool->mutex, NULL);
	pthread_cond_init(&pool->changed, NULL);
}

void priority_pool_release(struct pool *pool)
{
	while (pool->locked.workers) {
		struct priority_pool_worker *worker = pool->locked.workers;

		pthread_join(worker->thread, NULL);
		pool->locked.workers = worker->next;
		free(worker);
	}
	pthread_mutex_destroy(&pool->mutex);
	pthread_cond_destroy(&pool->changed);
}

/* Each call affects the calling thread alone (on Linux setpriority() does, too) and may fail. None
 * raises a priority: the job, with all of us, may have been started at a lower one. */
static void lower_thread_priority(void)
{
	static const struct sched_param none;

	lowered = true;
	if (getpriority(PRIO_PROCESS, 0) < BACKGROUND_NICE)
		setpriority(PRIO_PROCESS, 0, BACKGROUND_NICE);
	if (sched_getscheduler(0) != SCHED_IDLE)
		sched_setscheduler(0, SCHED_BATCH, &none);
	if (IOPRIO_CLASS(syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0)) != IOPRIO_IDLE)
		syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_BEST_EFFORT_LOWEST);
}

static void *worker_main(void *arg)
{
	struct priority_pool_worker *worker = arg;
	struct pool *pool = worker->pool;

	if (worker->low)
		lower_thread_priority();
	pool->work(pool->arg, worker);
	pthread_mutex_lock(&pool->mutex);
	pool->locked.running--;
	pool->locked.vacant += worker->vacant;
	pthread_cond_broadcast(&pool->changed);
	pthread_mutex_unlock(&pool->mutex);
	return NULL;
}

int priority_pool_add_worker(struct pool *pool)
{
	struct priority_pool_worker *worker = memory_new(sizeof(*worker));
	int result;

	/* A thread inherits the priority of its creator: one started by a low thread is low, and
	 * has to end early as well. */
	*worker = (struct priority_pool_worker){
		.pool = pool,
		.low = pool->urgent && (lowered || !atomic_load(pool->urgent)),
	};
	pthread_mutex_lock(&pool->mutex);
	result = parallel_start(&worker->thread, worker_main, worker);
	if (result == 0) {
		worker->next = pool->locked.workers;
		pool->locked.workers = worker;
		pool->locked.running++;
	}
	pthread_mutex_unlock(&pool->mutex);
	if (result < 0)
		free(worker);
	return result;
}

unsigned priority_pool_running(struct pool *pool)
{
	unsigned running;

	pthread_mutex_lock(&pool->mutex);
	running = pool->locked.running;
	pthread_mutex_unlock(&pool->mutex);
	return running;
}

bool priority_pool_may_continue(struct priority_pool_worker *worker)
{
	if (!worker || !worker->low || !atomic_load(worker->pool->urgent))
		return true;
	worker->vacant = true;
	return false;
}

int priority_pool_fill_vacancies(struct pool *pool)
{
	unsigned places;

	pthread_mutex_lock(&pool->mutex);
	places = pool->locked.vacant;
	pool->locked.vacant = 0;
	pthread_mutex_unlock(&pool->mutex);
	for (; places > 0; places--)
		if (priority_pool_add_worker(pool) < 0)
			return priority_pool_running(pool) ? 0 : -1;
	return 0;
}

bool priority_pool_wait(struct pool *pool, int64_t milliseconds)
{
	bool gone;

	pthread_mutex_lock(&pool->mutex);
	if (pool->locked.running > 0)
		condition_wait(&pool->changed, &pool->mutex, milliseconds);
	gone = pool->locked.running == 0 && pool->locked.vacant == 0;
	pthread_mutex_unlock(&pool->mutex);
	return gone;
}
