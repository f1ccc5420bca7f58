/*
 * PRIVATE. Threads that share one piece of work. While the job trains they run at low CPU and IO
 * priority, and at no higher one than that at which they are started. A thread without privileges
 * cannot raise its priority again, so when `urgent` is set, the low threads end at the next
 * opportunity and new ones at normal priority replace them.
 */
#ifndef PRIORITY_POOL_H
#define PRIORITY_POOL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct priority_pool_worker;

struct pool {
	void (*work)(void *arg, struct priority_pool_worker *worker);
	void *arg;
	const atomic_bool *urgent; /* NULL: always at normal priority */
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct {
		/* all that were ever started; joined at release */
		struct priority_pool_worker *workers;
		unsigned running;
		unsigned vacant; /* workers that ended early and are not replaced yet */
	} locked;                /* guarded by `mutex` */
};

void priority_pool_init(struct pool *pool,
			void (*work)(void *arg, struct priority_pool_worker *worker), void *arg,
			const atomic_bool *urgent);
/* Waits for all workers. */
void priority_pool_release(struct pool *pool);

/* Starts a worker. -1: no thread could be started. */
int priority_pool_add_worker(struct pool *pool);
unsigned priority_pool_running(struct pool *pool);

/* Called by `work` between pieces. False: return now, another worker takes over. */
bool priority_pool_may_continue(struct priority_pool_worker *worker);

/* Starts a worker for each one that ended early. Call it now and then, from a thread at normal
 * priority. -1: no worker is left and none could be started. */
int priority_pool_fill_vacancies(struct pool *pool);
/* Waits up to `milliseconds`; true when all workers have ended and none is to be replaced. */
bool priority_pool_wait(struct pool *pool, int64_t milliseconds);

#endif
