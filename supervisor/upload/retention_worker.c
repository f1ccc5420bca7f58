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
	struct retention_worker *retention_worker = memory_new(sizeof(*retention_worker));

	retention_worker->options = *options;
	return retention_worker;
}

void retention_worker_free(struct retention_worker *retention_worker)
{
	if (!retention_worker)
		return;
	if (retention_worker->running)
		cancel_release(&retention_worker->cancel);
	free(retention_worker);
}

static void apply_retention(void *arg)
{
	struct retention_worker *retention_worker = arg;
	struct forget_request request = {
		.policy = retention_worker->options.policy,
		.attempt = retention_worker->options.attempt,
	};

	retention_worker->succeeded =
		storage_forget(retention_worker->options.storage, &request,
			       &retention_worker->result, &retention_worker->cancel,
			       &retention_worker->err) == 0;
}

static void on_retention_done(void *arg)
{
	struct retention_worker *retention_worker = arg;

	cancel_release(&retention_worker->cancel);
	retention_worker->running = false;
	retention_worker->options.finished(retention_worker->options.arg,
					   retention_worker->succeeded, &retention_worker->result,
					   &retention_worker->err);
}

void retention_worker_start(struct retention_worker *retention_worker)
{
	if (!retention_worker || retention_worker->running ||
	    cancel_init(&retention_worker->cancel, NULL) < 0)
		return;
	retention_worker->running = true;
	workers_run(retention_worker->options.workers, apply_retention, on_retention_done,
		    retention_worker);
}

void retention_worker_stop(struct retention_worker *retention_worker)
{
	if (retention_worker && retention_worker->running)
		cancel_raise(&retention_worker->cancel);
}

void retention_worker_limit_time(struct retention_worker *retention_worker, int64_t milliseconds)
{
	if (retention_worker && retention_worker->running)
		cancel_set_deadline(&retention_worker->cancel, clock_monotonic_ms() + milliseconds);
}

const char *retention_words(const struct forget_policy *policy)
{
	return policy->keep_daily ? "beyond the newest 10 and the last of each day (--keep-last 0 "
				    "keeps all)"
				  : "that no --keep rule keeps";
}

bool retention_worker_is_busy(const struct retention_worker *retention_worker)
{
	return retention_worker && retention_worker->running;
}
