#include "start_look.h"

#include "base/backoff.h"
#include "base/clock.h"
#include "base/text.h"
#include "start_log.h"

/* For those that their launcher starts together: until then nobody else is told to end. */
#define PATIENCE_MS 3000
/* For those that are started again after a mistake, until what they have said before counts. */
#define SETTLE_MS 10000
#define WHOLE_FIRST_MS 5000
#define WHOLE_MOST_MS 30000

bool start_look_is_named(const struct gang_start *start)
{
	return start->self.joined && text_equal(start->claim.own.nonce, start->self.own.nonce);
}

bool start_look_must_be_whole(const struct start_decision *decision)
{
	switch (decision->step) {
	case START_STEP_JOIN:
	case START_STEP_CLAIM:
	case START_STEP_REJOIN:
	case START_STEP_END:
		return true;
	/* Event 1 decides, and the log is read to its end before the job starts. */
	case START_STEP_GO:
	case START_STEP_START:
	case START_STEP_RESTORE:
	case START_STEP_WAIT_FOR_MEMBERS:
	case START_STEP_WAIT_FOR_CLAIM:
	case START_STEP_WAIT_FOR_READY:
	default:
		return false;
	}
}

/* A thousand do not list at once. */
void start_look_put_off(struct gang_start *start)
{
	start->full_every_ms = WHOLE_FIRST_MS;
	start->full_ms = clock_monotonic_ms() + WHOLE_FIRST_MS / 2 +
			 (int64_t)(backoff_random() % WHOLE_FIRST_MS);
}

static void put_off_next(struct gang_start *start)
{
	int64_t every_ms = start->full_every_ms;

	if (every_ms == 0)
		every_ms = WHOLE_FIRST_MS;
	start->full_ms = clock_monotonic_ms() + every_ms / 2 +
			 (int64_t)(backoff_random() % (uint64_t)every_ms);
	start->full_every_ms = 2 * every_ms < WHOLE_MOST_MS ? 2 * every_ms : WHOLE_MOST_MS;
}

/* --- at all --- */

static int look_at_first(struct gang_start *start, struct cancel *cancel, struct err *err)
{
	start->first_kind = GANG_FIRST_NONE;
	if (start->claim.members > 1 &&
	    start_log_first(start->storage, start->claim.attempt, &start->first_kind, &start->first,
			    cancel, err) < 0)
		return -1;
	if (start->claim.attempt > 0 && start->over == start->claim.attempt)
		start->first_kind = GANG_FIRST_REJOIN;
	return 0;
}

/* The newest attempt first, then what lies below it. */
static int look_at_all(struct gang_start *start, struct cancel *cancel, struct err *err)
{
	if (!start->claim_is_new &&
	    storage_gang_newest_claim(start->storage, start->self.own.member, &start->claim, cancel,
				      err) < 0)
		return -1;
	start->claim_is_new = false;
	if (storage_gang_look(start->storage, start->claim.attempt, &start->records, cancel, err) <
	    0)
		return -1;
	put_off_next(start);
	return look_at_first(start, cancel, err);
}

/* --- at what can change --- */

static bool awaits_ready(const struct gang_start *start)
{
	return start_look_is_named(start) && start->self.restored == start->claim.attempt;
}

/* What it waits for is one thing. */
static bool knows_what_to_await(const struct gang_start *start)
{
	return awaits_ready(start) || (start->self.joined && !start_look_is_named(start) &&
				       start->self.after == start->claim.attempt);
}

/* *claimed: the next attempt is there. */
static int look_for_news(struct gang_start *start, bool *claimed, struct cancel *cancel,
			 struct err *err)
{
	*claimed = false;
	if (awaits_ready(start))
		return look_at_first(start, cancel, err);
	if (start->self.own.member == 0)
		return storage_gang_look(start->storage, start->claim.attempt, &start->records,
					 cancel, err);
	return storage_gang_is_claimed(start->storage, start->claim.attempt + 1, claimed, cancel,
				       err);
}

int start_look(struct gang_start *start, struct start_looked *looked, struct cancel *cancel,
	       struct err *err)
{
	struct gang_self *self = &start->self;
	int64_t now_ms = clock_monotonic_ms();
	bool claimed = true;

	*looked = (struct start_looked){.unready = self->own.members};
	if (now_ms < start->full_ms && knows_what_to_await(start) &&
	    look_for_news(start, &claimed, cancel, err) < 0)
		return -1;
	if (claimed && look_at_all(start, cancel, err) < 0)
		return -1;
	looked->whole = claimed;
	looked->seen = (struct gang_seen){
		.claim = &start->claim,
		.joins = start->records.joins,
		.join_count = start->records.join_count,
		.first = start->first_kind,
		.patient = self->joined && now_ms >= start->joined_ms + PATIENCE_MS,
		.settled = self->joined && now_ms >= start->joined_ms + SETTLE_MS,
	};
	if (self->own.member == 0 && awaits_ready(start) &&
	    storage_gang_unready(start->storage, start->claim.attempt, &looked->ready,
				 &looked->unready, cancel, err) < 0)
		return -1;
	looked->seen.all_ready = looked->ready == self->own.members;
	gang_start_note_birth(&looked->seen, &self->own);
	return 0;
}
