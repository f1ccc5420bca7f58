#include "next_attempt.h"

#include "base/clock.h"
#include "base/log.h"
#include "predecessor_wait.h"

/* For one message. The notice's time is needed for the checkpoint. */
#define MESSAGE_MS 5000

static void send_worker(void *arg)
{
	struct next_attempt *next_attempt = arg;
	int64_t until_ms = next_attempt->told_ms;

	next_attempt->failed =
		storage_announce_drain(next_attempt->storage, next_attempt->attempt,
				       next_attempt->messages,
				       until_ms ? clock_left_ms(until_ms) : -1,
				       &next_attempt->cancel, &next_attempt->err) < 0;
}

static void send_message(struct next_attempt *next_attempt);

static void on_sent(void *arg)
{
	struct next_attempt *next_attempt = arg;

	next_attempt->sending = false;
	if (next_attempt->failed)
		log_debug("cannot tell the next attempt about the notice: %s",
			  next_attempt->err.text);
	if (next_attempt->told_ms > 0)
		loop_arm(next_attempt->loop, &next_attempt->again,
			 clock_monotonic_ms() + PREDECESSOR_HEARTBEAT_MS);
	/* The deadline may have changed since. */
	send_message(next_attempt);
}

static void on_heartbeat_due(struct timer *timer)
{
	struct next_attempt *next_attempt = container_of(timer, struct next_attempt, again);

	next_attempt->due = true;
	send_message(next_attempt);
}

static bool prepare(struct next_attempt *next_attempt)
{
	struct err err;

	if (next_attempt->workers)
		return true;
	if (cancel_init(&next_attempt->cancel, &err) < 0)
		return false;
	if (workers_new(next_attempt->loop, 1, &next_attempt->workers, &err) == 0)
		return true;
	cancel_release(&next_attempt->cancel);
	return false;
}

static void send_message(struct next_attempt *next_attempt)
{
	if ((next_attempt->until_ms == next_attempt->told_ms && !next_attempt->due) ||
	    next_attempt->sending || !prepare(next_attempt))
		return;
	loop_disarm(next_attempt->loop, &next_attempt->again);
	next_attempt->again.fired = on_heartbeat_due;
	next_attempt->due = false;
	next_attempt->sending = true;
	next_attempt->told_ms = next_attempt->until_ms;
	next_attempt->messages++;
	cancel_set_deadline(&next_attempt->cancel, clock_monotonic_ms() + MESSAGE_MS);
	workers_run(next_attempt->workers, send_worker, on_sent, next_attempt);
}

void next_attempt_tell(struct next_attempt *next_attempt, struct loop *loop,
		       struct storage *storage, uint32_t attempt, int64_t until_ms)
{
	next_attempt->loop = loop;
	next_attempt->storage = storage;
	next_attempt->attempt = attempt;
	next_attempt->until_ms = until_ms;
	send_message(next_attempt);
}

void next_attempt_release(struct next_attempt *next_attempt)
{
	if (!next_attempt->workers)
		return;
	loop_disarm(next_attempt->loop, &next_attempt->again);
	cancel_raise(&next_attempt->cancel);
	workers_free(next_attempt->workers);
	next_attempt->workers = NULL;
	cancel_release(&next_attempt->cancel);
}
