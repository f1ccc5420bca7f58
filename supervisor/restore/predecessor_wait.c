#include "restore.h"

#include "base/clock.h"
#include "base/log.h"

int64_t predecessor_left_ms(const struct drain_state *draining)
{
	int64_t left_ms;

	if (draining->attempt == 0 || draining->ended || draining->left_ms <= draining->age_ms)
		return 0;
	left_ms = draining->left_ms - draining->age_ms;
	return (left_ms < PREDECESSOR_WAIT_MOST_MS ? left_ms : PREDECESSOR_WAIT_MOST_MS) +
	       PREDECESSOR_WAIT_MARGIN_MS;
}

int64_t predecessor_wait_ms(const struct drain_state *draining)
{
	int64_t left_ms = predecessor_left_ms(draining);
	int64_t silent_ms = draining->age_ms < PREDECESSOR_HEARTBEAT_TIMEOUT_MS
				    ? PREDECESSOR_HEARTBEAT_TIMEOUT_MS - draining->age_ms
				    : 0;

	return left_ms < silent_ms ? left_ms : silent_ms;
}

#define POLL_MS 1000

static void log_waiting_for(const struct drain_state *seen, struct predecessor *predecessor)
{
	char time[32];

	if (predecessor->attempt == seen->attempt)
		return;
	predecessor->attempt = seen->attempt;
	text_set(predecessor->host, sizeof(predecessor->host), seen->host);
	log_note("attempt %u on %s is being preempted and still saves: waiting for its end, at "
		 "most %s (Ctrl-C ends this attempt)",
		 seen->attempt, seen->host[0] ? seen->host : "another machine",
		 text_duration(predecessor_left_ms(seen), time, sizeof(time)));
}

/* A new announcement counts from now on: the store has told its age, so no clock but ours is
 * needed. *until_ms: when the next heartbeat is overdue. */
static int poll_predecessor(struct storage *storage, struct drain_state *seen, int64_t *until_ms,
			    struct cancel *cancel, struct err *err)
{
	struct drain_state now = *seen;

	if (storage_poll_drain(storage, &now, cancel, err) < 0)
		return -1;
	if (now.attempt != seen->attempt || now.announcement != seen->announcement || now.ended)
		*until_ms = clock_monotonic_ms() + predecessor_wait_ms(&now);
	*seen = now;
	return 0;
}

int predecessor_wait(struct storage *storage, struct predecessor *predecessor,
		     struct cancel *cancel, struct err *err)
{
	int64_t began_ms = clock_monotonic_ms(), until_ms = 0;
	int64_t most_ms = began_ms + PREDECESSOR_WAIT_MOST_MS + PREDECESSOR_WAIT_MARGIN_MS;
	struct drain_state seen = {0};

	*predecessor = (struct predecessor){0};
	if (poll_predecessor(storage, &seen, &until_ms, cancel, err) < 0)
		return -1;
	/* No longer than the longest notice, whatever is announced. */
	while (clock_left_ms(until_ms) > 0 && clock_left_ms(most_ms) > 0) {
		struct err own;

		log_waiting_for(&seen, predecessor);
		if (cancel_sleep(cancel, POLL_MS, err) < 0)
			return -1;
		if (poll_predecessor(storage, &seen, &until_ms, cancel, &own) < 0)
			log_debug("attempt %u: %s", predecessor->attempt, own.text);
	}
	if (predecessor->attempt == 0)
		return 0;
	predecessor->waited_ms = clock_monotonic_ms() - began_ms;
	predecessor->ended = seen.attempt == predecessor->attempt && seen.ended;
	if (!predecessor->ended)
		log_warn("attempt %u ended without a final record: resuming from its last commit",
			 predecessor->attempt);
	return 0;
}

/* --- telling the next attempt --- */

/* For one message. The notice's time is needed for the checkpoint. */
#define MESSAGE_MS 5000

static void send_worker(void *arg)
{
	struct next_attempt *next = arg;
	int64_t until_ms = next->told_ms;

	next->failed = storage_announce_drain(next->storage, next->attempt, next->messages,
					      until_ms ? clock_left_ms(until_ms) : -1,
					      &next->cancel, &next->err) < 0;
}

static void send_message(struct next_attempt *next);

static void on_sent(void *arg)
{
	struct next_attempt *next = arg;

	next->sending = false;
	if (next->failed)
		log_debug("cannot tell the next attempt about the notice: %s", next->err.text);
	if (next->told_ms > 0)
		loop_arm(next->loop, &next->again, clock_monotonic_ms() + PREDECESSOR_HEARTBEAT_MS);
	/* The deadline may have changed since. */
	send_message(next);
}

static void on_heartbeat_due(struct timer *timer)
{
	struct next_attempt *next = container_of(timer, struct next_attempt, again);

	next->due = true;
	send_message(next);
}

static bool prepare(struct next_attempt *next)
{
	struct err err;

	if (next->workers)
		return true;
	if (cancel_init(&next->cancel, &err) < 0)
		return false;
	if (workers_new(next->loop, 1, &next->workers, &err) == 0)
		return true;
	cancel_release(&next->cancel);
	return false;
}

static void send_message(struct next_attempt *next)
{
	if ((next->until_ms == next->told_ms && !next->due) || next->sending || !prepare(next))
		return;
	loop_disarm(next->loop, &next->again);
	next->again.fired = on_heartbeat_due;
	next->due = false;
	next->sending = true;
	next->told_ms = next->until_ms;
	next->messages++;
	cancel_set_deadline(&next->cancel, clock_monotonic_ms() + MESSAGE_MS);
	workers_run(next->workers, send_worker, on_sent, next);
}

void next_attempt_tell(struct next_attempt *next, struct loop *loop, struct storage *storage,
		       uint32_t attempt, int64_t until_ms)
{
	next->loop = loop;
	next->storage = storage;
	next->attempt = attempt;
	next->until_ms = until_ms;
	send_message(next);
}

void next_attempt_release(struct next_attempt *next)
{
	if (!next->workers)
		return;
	loop_disarm(next->loop, &next->again);
	cancel_raise(&next->cancel);
	workers_free(next->workers);
	next->workers = NULL;
	cancel_release(&next->cancel);
}
