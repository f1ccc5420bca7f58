/*
 * Blocking work on threads, with its result on the loop; and a plain fork-join for work that is on
 * a thread already. The worker owns the `arg` of workers_run() until `done` is called.
 */
#ifndef BASE_WORKERS_H
#define BASE_WORKERS_H

#include "base/err.h"
#include "base/loop.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

struct workers;

/* `threads` threads (started when first needed) that take pieces of work in order. All signals are
 * blocked in them. */
int workers_new(struct loop *loop, size_t threads, struct workers **workers, struct err *err);

/* `work(arg)` runs on a thread, then `done(arg)` on the loop. */
void workers_run(struct workers *workers, void (*work)(void *arg), void (*done)(void *arg),
		 void *arg);

/* From any thread: calls `call(arg)` on the loop soon. */
void workers_post(struct workers *workers, void (*call)(void *arg), void *arg);
/* The same, and frees `arg`, which is from malloc(), even if the call is dropped. */
void workers_post_owned(struct workers *workers, void (*call)(void *arg), void *arg);

/*
 * Blocks for the running work (cancel it first), for so long at most. Later work is not run, later
 * posts are dropped. False: it goes on, as on a disk that hangs. Then nothing
 * that it uses may be freed, the workers neither, and the process ends by _exit().
 */
bool workers_end_within(struct workers *workers, int64_t milliseconds);

/* Blocks for the running work. Nobody may post afterwards. NULL is fine. */
void workers_free(struct workers *workers);

/* Runs work(arg, 0..threads-1) at once on that many threads, one of them the caller's. Blocks until
 * all have returned. */
void parallel_run(size_t threads, void (*work)(void *arg, size_t index), void *arg);

/* Calls work(arg, at, err) for each `at` below `count`, on so many threads at most, the caller's
 * among them; after one has failed, for none that has not begun. Blocks until all have returned.
 * -1: with the first error. */
int parallel_each(size_t count, size_t threads_most,
		  int (*work)(void *arg, size_t at, struct err *err), void *arg, struct err *err);

/* Starts one thread with all signals blocked; the caller joins it. -1: no thread can be created. */
int parallel_start(pthread_t *thread, void *(*run)(void *arg), void *arg);

/* The number of processors that this process may use, at least 1. */
size_t parallel_processors(void);

/* Waits for a signal for so long at most, by the monotonic clock, so that setting the clock
 * disturbs none; with the mutex held, which is held again then. May end early, as every wait on a
 * condition.
 */
void condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t milliseconds);

#endif
