#include "upload.h"

#include "base/clock.h"
#include "base/text.h"

#include <stdlib.h>

struct retention_worker {
	struct retention_worker_options options;
	bool running;
	struct cancel cancel; /* of the current run; a new one each time */
	bool succeeded;
	struct forget_result result;
	struct err err;
};

struct retention_worker *retention_worker_new(const struct retention_worker_options *options)
{
	struct retention_worker *worker = memory_new(sizeof(*worker));

	worker->options = *options;
	return worker;
}

void retention_worker_free(struct retention_worker *worker)
{
	if (!worker)
		return;
	if (worker->running)
		cancel_release(&worker->cancel);
	free(worker);
}

static void apply_retention(void *arg)
{
	struct retention_worker *worker = arg;
	struct forget_request request = {
		.policy = worker->options.policy,
		.attempt = worker->options.attempt,
	};

	worker->succeeded = storage_forget(worker->options.storage, &request, &worker->result,
					   &worker->cancel, &worker->err) == 0;
}

static void on_retention_done(void *arg)
{
	struct retention_worker *worker = arg;

	cancel_release(&worker->cancel);
	worker->running = false;
	worker->options.finished(worker->options.arg, worker->succeeded, &worker->result,
				 &worker->err);
}

bool retention_worker_start(struct retention_worker *worker)
{
	if (!worker || worker->running || cancel_init(&worker->cancel, NULL) < 0)
		return worker && worker->running;
	worker->running = true;
	workers_run(worker->options.workers, apply_retention, on_retention_done, worker);
	return true;
}

void retention_worker_stop(struct retention_worker *worker)
{
	if (worker && worker->running)
		cancel_raise(&worker->cancel);
}

void retention_worker_limit_time(struct retention_worker *worker, int64_t milliseconds)
{
	if (worker && worker->running)
		cancel_set_deadline(&worker->cancel, clock_monotonic_ms() + milliseconds);
}

const char *retention_words(const struct forget_policy *policy)
{
	return policy->keep_daily ? "beyond the newest 10 and the last of each day (--keep-last 0 "
				    "keeps all)"
				  : "that no --keep rule keeps";
}
