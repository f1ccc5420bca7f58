#include "retention_worker.h"

#include "base/clock.h"
#include "base/text.h"

#include <stdlib.h>

struct tending {
	struct tending_options options;
	bool running;
	struct cancel cancel; /* of what runs: made anew each time */
	bool worked;
	struct forget_result result;
	struct err err;
};

struct tending *tending_new(const struct tending_options *options)
{
	struct tending *tending = memory_new(sizeof(*tending));

	tending->options = *options;
	return tending;
}

void tending_free(struct tending *tending)
{
	if (!tending)
		return;
	if (tending->running)
		cancel_release(&tending->cancel);
	free(tending);
}

static void work(void *arg)
{
	struct tending *tending = arg;
	struct forget_request request = {.policy = tending->options.policy};

	tending->worked = storage_forget(tending->options.storage, &request, &tending->result,
				  &tending->cancel, &tending->err) == 0;
}

static void done(void *arg)
{
	struct tending *tending = arg;

	cancel_release(&tending->cancel);
	tending->running = false;
	tending->options.finished(
		tending->options.arg, tending->worked, &tending->result, &tending->err);
}

void tending_start(struct tending *tending)
{
	if (!tending || tending->running || cancel_init(&tending->cancel, NULL) < 0)
		return;
	tending->running = true;
	workers_run(tending->options.workers, work, done, tending);
}

void tending_stop(struct tending *tending)
{
	if (tending && tending->running)
		cancel_raise(&tending->cancel);
}

void tending_hasten(struct tending *tending, int64_t milliseconds)
{
	if (tending && tending->running)
		cancel_set_deadline(&tending->cancel, clock_monotonic_ms() + milliseconds);
}

bool tending_busy(const struct tending *tending)
{
	return tending && tending->running;
}
