/*
 * PRIVATE. Threads that share one piece of work, and are a good neighbour to the job: while it trains they run at low CPU and IO
 * priority. Only root may take a low priority back, so when there is hurry those threads leave at the next opportunity, and
 * others at the normal priority take their places.
 */
#ifndef PRIORITY_POOL_H
#define PRIORITY_POOL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct crew_member;

struct crew {
	void (*work)(void *arg, struct crew_member *member);
	void *arg;
	const atomic_bool *hurried; /* NULL: always at normal priority */
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct {
		struct crew_member *members; /* ever; joined at release */
		unsigned running;
		unsigned deserted; /* places that nobody has taken yet */
	} locked;                  /* under mutex */
};

void crew_init(struct crew *crew, void (*work)(void *arg, struct crew_member *member), void *arg,
	const atomic_bool *hurried);
/* Waits for all. */
void crew_release(struct crew *crew);

/* One more thread; -1 if there is none to be had. */
int crew_add(struct crew *crew);
unsigned crew_running(struct crew *crew);

/* For `work`, between pieces: false means to leave now, because another one will go on. */
bool crew_may_stay(struct crew_member *member);

/* Has the places taken of those that left early. Somebody at normal priority calls it now and then; -1 as crew_add(). */
int crew_refill(struct crew *crew);
/* True when all are gone and no place is to be refilled; false after `milliseconds`. */
bool crew_wait(struct crew *crew, int64_t milliseconds);

/* Waits on a condition that was made by crew_condition() (monotonic clock), with its mutex held. */
void crew_condition(pthread_cond_t *condition);
void crew_wait_for(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t milliseconds);

#endif
