#include "base/workers.h"

#include "base/clock.h"
#include "base/text.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>

struct work_item {
	void (*work)(void *arg);
	void (*done)(void *arg);
	void *arg;
	bool owned; /* arg */
	struct work_item *next;
};

struct queue {
	struct work_item *first, **last;
};

struct workers {
	struct loop *loop;
	struct source source; /* eventfd: `locked.finished` is not empty */
	size_t limit;
	pthread_t *threads;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct {
		size_t started, idle, unclaimed; /* unclaimed: items in `waiting` */
		bool stopping;
		struct queue waiting, finished;
	} locked; /* under mutex */
};

static void queue_push(struct queue *queue, struct work_item *work_item)
{
	if (!queue->first)
		queue->last = &queue->first;
	work_item->next = NULL;
	*queue->last = work_item;
	queue->last = &work_item->next;
}

static struct work_item *queue_pop(struct queue *queue)
{
	struct work_item *work_item = queue->first;

	if (work_item)
		queue->first = work_item->next;
	return work_item;
}

static void free_item(struct work_item *work_item)
{
	if (work_item->owned)
		free(work_item->arg);
	free(work_item);
}

static void wake_loop(struct workers *workers)
{
	const uint64_t one = 1;
	ssize_t ignored = write(workers->source.fd, &one, sizeof(one));
	(void)ignored;
}

static void deliver_finished(struct source *source, uint32_t events)
{
	struct workers *workers = container_of(source, struct workers, source);
	uint64_t count;
	ssize_t ignored = read(source->fd, &count, sizeof(count));

	(void)ignored, (void)events;
	for (;;) {
		struct work_item *work_item;

		pthread_mutex_lock(&workers->mutex);
		work_item = queue_pop(&workers->locked.finished);
		pthread_mutex_unlock(&workers->mutex);
		if (!work_item)
			return;
		work_item->done(work_item->arg);
		free_item(work_item);
	}
}

static void *worker_main(void *arg)
{
	struct workers *workers = arg;

	pthread_mutex_lock(&workers->mutex);
	for (;;) {
		struct work_item *work_item = queue_pop(&workers->locked.waiting);

		if (work_item)
			workers->locked.unclaimed--;
		if (workers->locked.stopping) {
			free(work_item);
			if (!work_item)
				break;
			continue;
		}
		if (!work_item) {
			workers->locked.idle++;
			pthread_cond_wait(&workers->changed, &workers->mutex);
			workers->locked.idle--;
			continue;
		}
		pthread_mutex_unlock(&workers->mutex);
		work_item->work(work_item->arg);
		pthread_mutex_lock(&workers->mutex);
		queue_push(&workers->locked.finished, work_item);
		wake_loop(workers);
	}
	pthread_mutex_unlock(&workers->mutex);
	return NULL;
}

int workers_new(struct loop *loop, size_t threads, struct workers **result, struct err *err)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct workers *workers;

	if (fd < 0)
		return err_os(err, errno, "eventfd");
	workers = memory_new(sizeof(*workers));
	workers->loop = loop;
	workers->limit = threads;
	workers->threads = memory_new(threads * sizeof(*workers->threads));
	workers->source = (struct source){.fd = fd, .ready = deliver_finished};
	pthread_mutex_init(&workers->mutex, NULL);
	pthread_cond_init(&workers->changed, NULL);
	if (loop_add(loop, &workers->source, EPOLLIN, err) < 0) {
		workers_free(workers);
		return -1;
	}
	*result = workers;
	return 0;
}

int parallel_start(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
	sigset_t all, before;
	int failed;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	failed = pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return failed ? -1 : 0;
}

void workers_run(struct workers *workers, void (*work)(void *arg), void (*done)(void *arg),
		 void *arg)
{
	struct work_item *work_item = memory_new(sizeof(*work_item));
	bool must_run_here = false;

	*work_item = (struct work_item){.work = work, .done = done, .arg = arg};
	pthread_mutex_lock(&workers->mutex);
	/* A thread that was signalled but has not woken yet counts as idle, and will take only one
	 * of the waiting items. */
	if (workers->locked.idle <= workers->locked.unclaimed &&
	    workers->locked.started < workers->limit) {
		if (parallel_start(&workers->threads[workers->locked.started], worker_main,
				   workers) == 0)
			workers->locked.started++;
		else
			/* No thread can be created (pids limit): run it here, which is slow but
			 * works. */
			must_run_here = workers->locked.started == 0;
	}
	if (!must_run_here) {
		queue_push(&workers->locked.waiting, work_item);
		workers->locked.unclaimed++;
	}
	pthread_cond_signal(&workers->changed);
	pthread_mutex_unlock(&workers->mutex);
	if (must_run_here) {
		work(arg);
		free(work_item);
		workers_post(workers, done, arg);
	}
}

static void post_item(struct workers *workers, void (*call)(void *arg), void *arg, bool owned)
{
	struct work_item *work_item = memory_new(sizeof(*work_item));

	*work_item = (struct work_item){.done = call, .arg = arg, .owned = owned};
	pthread_mutex_lock(&workers->mutex);
	queue_push(&workers->locked.finished, work_item);
	pthread_mutex_unlock(&workers->mutex);
	wake_loop(workers);
}

void workers_post(struct workers *workers, void (*call)(void *arg), void *arg)
{
	post_item(workers, call, arg, false);
}

void workers_post_owned(struct workers *workers, void (*call)(void *arg), void *arg)
{
	post_item(workers, call, arg, true);
}

static void tell_to_stop(struct workers *workers)
{
	pthread_mutex_lock(&workers->mutex);
	workers->locked.stopping = true;
	pthread_cond_broadcast(&workers->changed);
	pthread_mutex_unlock(&workers->mutex);
}

static struct timespec monotonic_in(int64_t milliseconds)
{
	int64_t at_ms = clock_monotonic_ms() + milliseconds;

	return (struct timespec){.tv_sec = at_ms / 1000, .tv_nsec = at_ms % 1000 * 1000000};
}

bool workers_end_within(struct workers *workers, int64_t milliseconds)
{
	struct timespec until = monotonic_in(milliseconds);

	tell_to_stop(workers);
	for (; workers->locked.started > 0; workers->locked.started--)
		if (pthread_clockjoin_np(workers->threads[workers->locked.started - 1], NULL,
					 CLOCK_MONOTONIC, &until) != 0)
			return false;
	return true;
}

void workers_free(struct workers *workers)
{
	struct work_item *work_item;

	if (!workers)
		return;
	tell_to_stop(workers);
	/* Nobody starts another one. */
	while (workers->locked.started > 0)
		pthread_join(workers->threads[--workers->locked.started], NULL);
	while ((work_item = queue_pop(&workers->locked.finished)))
		free_item(work_item);
	while ((work_item = queue_pop(&workers->locked.waiting)))
		free(work_item);
	loop_remove(workers->loop, &workers->source);
	close(workers->source.fd);
	pthread_mutex_destroy(&workers->mutex);
	pthread_cond_destroy(&workers->changed);
	free(workers->threads);
	free(workers);
}

struct parallel_share {
	void (*work)(void *arg, size_t index);
	void *arg;
	size_t index;
	pthread_t thread;
	bool threaded;
};

static void *share_main(void *arg)
{
	struct parallel_share *parallel_share = arg;

	parallel_share->work(parallel_share->arg, parallel_share->index);
	return NULL;
}

void parallel_run(size_t threads, void (*work)(void *arg, size_t index), void *arg)
{
	struct parallel_share *shares = memory_new(threads * sizeof(*shares));

	for (size_t i = 1; i < threads; i++) {
		shares[i] = (struct parallel_share){.work = work, .arg = arg, .index = i};
		shares[i].threaded = parallel_start(&shares[i].thread, share_main, &shares[i]) == 0;
	}
	work(arg, 0);
	for (size_t i = 1; i < threads; i++) {
		if (shares[i].threaded)
			pthread_join(shares[i].thread, NULL);
		else
			work(arg, i);
	}
	free(shares);
}

size_t parallel_processors(void)
{
	cpu_set_t allowed;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
		return 1;
	return CPU_COUNT(&allowed) > 0 ? (size_t)CPU_COUNT(&allowed) : 1;
}

void condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t milliseconds)
{
	struct timespec until = monotonic_in(milliseconds);

	pthread_cond_clockwait(condition, mutex, CLOCK_MONOTONIC, &until);
}
