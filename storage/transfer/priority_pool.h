/*
 * PRIVATE. Threads that share one piece of work, and are a good neighbour to the job: while it
 * trains they run at low CPU and IO priority. Only root may take a low priority back, so when there
 * is hurry those threads leave at the next opportunity, and others at the normal priority take
 * their places.
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
		struct priority_pool_worker *workers; /* ever; joined at release */
		unsigned running;
		unsigned vacant; /* places that nobody has taken yet */
	} locked;                /* under mutex */
};

void priority_pool_init(struct pool *pool,
			void (*work)(void *arg, struct priority_pool_worker *worker), void *arg,
			const atomic_bool *urgent);
/* Waits for all. */
void priority_pool_release(struct pool *pool);

/* One more thread; -1 if there is none to be had. */
int priority_pool_add_worker(struct pool *pool);
unsigned priority_pool_running(struct pool *pool);

/* For `work`, between pieces: false means to leave now, because another one will go on. */
bool priority_pool_may_continue(struct priority_pool_worker *worker);

/* Has the places taken of those that left early. Somebody at normal priority calls it now and then;
 * -1 as priority_pool_add_worker(). */
int priority_pool_fill_vacancies(struct pool *pool);
/* True when all are gone and no place is to be refilled; false after `milliseconds`. */
bool priority_pool_wait(struct pool *pool, int64_t milliseconds);

#endif
