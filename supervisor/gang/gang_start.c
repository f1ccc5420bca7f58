#include "gang_start.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the log of an attempt --- */

/* Others append at the same time. */
#define APPENDS_MOST 1000

/* The number of the last event, and what it is; 0: there is none. Since there are no gaps, the end
 * is found without reading all. */
static int find_last(struct storage *storage, uint32_t attempt, uint32_t *last,
		     struct gang_event *event, struct cancel *cancel, struct err *err)
{
	struct gang_event found;
	uint32_t beyond = 0;
	bool there;

	*last = 0;
	for (uint32_t step = 1; beyond == 0 || beyond - *last > 1;) {
		uint32_t number = beyond == 0 ? *last + step : *last + (beyond - *last) / 2;

		if (storage_gang_read(storage, attempt, number, &found, &there, cancel, err) < 0)
			return -1;
		if (there) {
			*last = number;
			*event = found;
			step *= 2;
		} else {
			beyond = number;
		}
	}
	return 0;
}

static int start_log_rejoin(struct storage *storage, uint32_t attempt, const struct gang_join *own,
			    const char *reason, int code, bool *taken, struct cancel *cancel,
			    struct err *err)
{
	struct gang_event last = {0};
	struct gang_event event = {
		.kind = GANG_EVENT_OVER,
		.member = own->member,
		.code = code,
	};

	*taken = false;
	text_set(event.nonce, sizeof(event.nonce), own->nonce);
	text_set(event.reason, sizeof(event.reason), reason);
	if (code != 0) {
		event.number = 1;
		return storage_gang_append(storage, attempt, &event, taken, cancel, err);
	}
	if (find_last(storage, attempt, &event.number, &last, cancel, err) < 0)
		return -1;
	if (event.number > 0 && last.kind == GANG_EVENT_OVER)
		return 0;
	for (int i = 0; i < APPENDS_MOST; i++) {
		event.number++;
		if (storage_gang_append(storage, attempt, &event, taken, cancel, err) < 0)
			return -1;
		if (*taken)
			return 0;
	}
	return err_set(err, ERR_RETRY, "the log of attempt %u grows faster than it is read",
		       attempt);
}

/* --- what it looks at ---
 *
 * One look at all is some four requests, and lists what all have put. So most looks are one
 * request, for what can change:
 *
 *	waits for members	member 0 lists who has joined; the others ask for the next claim
 *	waits for all to have	all ask for event 1 of the log; member 0 also lists who has
 *	  restored
 *
 * What they cannot see (a contradiction, who is missing) the others see in a look at all, 5 s after
 * they have come, and then ever more rarely, up to every 30 s.
 */

struct start_looked {
	struct gang_seen seen;
	/* It was a look at all. */
	bool whole;
	/* How many have restored, and the first that has not. */
	uint32_t ready, unready;
};

/* For those that their launcher starts together: until then nobody else is told to end. */
#define PATIENCE_MS 3000
/* For those that are started again after a mistake, until what they have said before counts. */
#define SETTLE_MS 10000
#define WHOLE_FIRST_MS 5000
#define WHOLE_MOST_MS 30000

static bool start_look_is_named(const struct gang_start *start)
{
	return start->self.joined && text_equal(start->claim.own.nonce, start->self.own.nonce);
}

/* Before these, all is looked at. Event 1 decides about the others, and the log is read to its end
 * before the job starts. */
static bool start_look_must_be_whole(enum start_step step)
{
	return step == START_STEP_JOIN || step == START_STEP_CLAIM || step == START_STEP_REJOIN ||
	       step == START_STEP_END;
}

/* A thousand do not list at once. */
static void put_off_next(struct gang_start *start)
{
	start->full_ms = clock_monotonic_ms() + start->full_every_ms / 2 +
			 (int64_t)(backoff_random() % (uint64_t)start->full_every_ms);
}

/* --- at all --- */

static int look_at_first(struct gang_start *start, struct err *err)
{
	const struct gang_event *first = &start->first;
	bool there = false;

	if (start->claim.members > 1 &&
	    storage_gang_read(start->storage, start->claim.attempt, 1, &start->first, &there,
			      start->cancel, err) < 0)
		return -1;
	if (!there)
		start->first_kind = GANG_FIRST_NONE;
	else if (first->kind != GANG_EVENT_OVER)
		start->first_kind = GANG_FIRST_GO;
	else
		start->first_kind = first->code != 0 ? GANG_FIRST_REFUSED : GANG_FIRST_REJOIN;
	if (start->claim.attempt > 0 && start->over == start->claim.attempt)
		start->first_kind = GANG_FIRST_REJOIN;
	return 0;
}

/* The newest attempt first, then what lies below it. */
static int look_at_all(struct gang_start *start, struct err *err)
{
	if (!start->claim_is_new &&
	    storage_gang_newest_claim(start->storage, start->self.own.member, &start->claim,
				      start->cancel, err) < 0)
		return -1;
	start->claim_is_new = false;
	if (storage_gang_look(start->storage, start->claim.attempt, &start->records, start->cancel,
			      err) < 0)
		return -1;
	put_off_next(start);
	start->full_every_ms =
		2 * start->full_every_ms < WHOLE_MOST_MS ? 2 * start->full_every_ms : WHOLE_MOST_MS;
	return look_at_first(start, err);
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
static int look_for_news(struct gang_start *start, bool *claimed, struct err *err)
{
	*claimed = false;
	if (awaits_ready(start))
		return look_at_first(start, err);
	if (start->self.own.member == 0)
		return storage_gang_look(start->storage, start->claim.attempt, &start->records,
					 start->cancel, err);
	return storage_gang_is_claimed(start->storage, start->claim.attempt + 1, claimed,
				       start->cancel, err);
}

static int start_look(struct gang_start *start, struct start_looked *looked, struct err *err)
{
	struct gang_self *self = &start->self;
	int64_t now_ms = clock_monotonic_ms();
	bool claimed = true;

	*looked = (struct start_looked){.unready = self->own.members};
	if (now_ms < start->full_ms && knows_what_to_await(start) &&
	    look_for_news(start, &claimed, err) < 0)
		return -1;
	if (claimed && look_at_all(start, err) < 0)
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
				 &looked->unready, start->cancel, err) < 0)
		return -1;
	looked->seen.all_ready = looked->ready == self->own.members;
	gang_start_note_birth(&looked->seen, &self->own);
	return 0;
}

/* --- why it does not start --- */

static const char *host_or(const char *host, const char *other)
{
	return host[0] ? host : other;
}

static int refuse_by_roster(struct gang_start *start, const struct gang_roster *roster,
			    struct err *err)
{
	struct gang_self *self = &start->self;
	const char *by = host_or(roster->by.host, "another machine");
	char reason[160], who[32] = "";

	/* It stays, for the others to see. */
	if (roster->state == ROSTER_CONTRADICTED || roster->state == ROSTER_DOUBLED)
		self->joined = false;
	if (roster->state == ROSTER_REFUSED) {
		storage_gang_reason(start->storage, self->after, &roster->by, reason,
				    start->cancel);
		if (roster->by.members > 0)
			snprintf(who, sizeof(who), "member %u on ", roster->by.member);
		return err_set(err, ERR_INVALID, "not started: %s%s cannot take part: %s", who, by,
			       reason[0] ? reason : "its log says why");
	}
	start->tells_all |= roster->state == ROSTER_TWICE;
	if (roster->state == ROSTER_TWICE || roster->state == ROSTER_DOUBLED)
		return err_set(err, ERR_INVALID,
			       "not started: %s and %s are both member %u of this gang: give each "
			       "its own --member",
			       by, host_or(roster->with.host, "another machine"),
			       roster->by.member);
	if (roster->state == ROSTER_CONTRADICTED)
		return err_set(err, ERR_INVALID,
			       "not started: the gang has %u members here; at member %u (%s) it "
			       "has %u: give all the same --gang",
			       self->own.members, roster->by.member, by, roster->by.members);
	if (roster->state == ROSTER_OUTRUN)
		return err_set(err, ERR_INVALID,
			       "not started: the whole gang has been started once more, on %s "
			       "among others: that start counts, and this one is over",
			       by);
	return err_set(err, ERR_INVALID,
		       "not started: %s came later as member %u of this gang: this machine is "
		       "stale, or two have the same --member",
		       by, self->own.member);
}

static int start_end_explain(struct gang_start *start, const struct start_decision *decision,
			     struct err *err)
{
	const struct gang_claim *claim = &start->claim;

	switch (decision->end) {
	case START_END_ROSTER:
		return refuse_by_roster(start, &decision->roster, err);
	case START_END_REFUSED:
		start->is_refused = true;
		return err_set(err, ERR_INVALID,
			       "not started: member %u on %s cannot take part: %s",
			       start->first.member, host_or(start->first.host, "another machine"),
			       start->first.reason);
	case START_END_OWN:
		return err_set(err, ERR_INVALID, "not started: %s", start->refusal);
	case START_END_OTHER_GANG:
	default:
		return err_set(err, ERR_INVALID,
			       "not started: attempt %u, claimed on %s, is not of a gang of %u: "
			       "give all the same --gang, or each job its own --job",
			       claim->attempt, claim->host, start->self.own.members);
	}
}

/* --- the start --- */

#define LOOK_FIRST_MS 100
#define LOOK_MOST_MS 2000
#define SAY_EVERY_MS 60000
#define LEAVE_MS 3000
/* EX_CONFIG */
#define EXIT_OF_ALL 78
#define SWEEP_MS 10000
#define REFUSE_MS 15000
/* To a store that is as slow as that each time. */
#define JOINS_MOST 3

void gang_start_release(struct gang_start *start)
{
	gang_claim_release(&start->claim);
	gang_records_release(&start->records);
	free(start->chosen);
	start->chosen = NULL;
}

/* --- waiting --- */

static void begin_wait(struct gang_start *start)
{
	int64_t now_ms = clock_monotonic_ms();

	start->until_ms = now_ms + start->join_ms;
	/* What comes within a moment is not worth a line. */
	start->say_ms = now_ms + SAY_EVERY_MS / 10;
	start->looks = start->there = 0;
	start->full_every_ms = WHOLE_FIRST_MS;
	put_off_next(start);
}

/* "member 2 (last on gpu-7)", if that was in the newest attempt. */
static const char *describe_member(const struct gang_start *start, uint32_t member, char text[100])
{
	const char *host = json_string_value(json_array_get(start->claim.hosts, member));
	bool known = host && *host && start->claim.members == start->identity.members;

	snprintf(text, 100, "member %u%s%.64s%s", member, known ? " (last on " : "",
		 known ? host : "", known ? ")" : "");
	return text;
}

/* Sleeps until the next look. -1: the time is over, or cancelled. */
static int pause_for(struct gang_start *start, const char *what, uint32_t there, uint32_t missing,
		     struct err *err)
{
	int64_t pause_ms =
		LOOK_FIRST_MS +
		backoff_ms(++start->looks, LOOK_FIRST_MS, LOOK_MOST_MS, backoff_random());
	/* As long as no attempt names them, they may be looking for each other elsewhere. */
	const char *advice = start_look_is_named(start)
				     ? ""
				     : " (all need one --job and one --store that all reach; with "
				       "--gang off each machine is a job of its own)";
	int64_t now_ms = clock_monotonic_ms();
	char member[100], time[32];

	/* At the end they go one after the other. */
	if (there >= start->there) {
		start->there = there;
		start->missing = missing;
	}
	start->waited_in_vain = now_ms >= start->until_ms;
	if (start->waited_in_vain)
		return err_set(err, ERR_RETRY,
			       "%u of the %u members of this gang %s within %s (--join-time): %s "
			       "has not%s",
			       start->there, start->identity.members, what,
			       text_duration(start->join_ms, time, sizeof(time)),
			       describe_member(start, start->missing, member), advice);
	if (now_ms >= start->say_ms) {
		log_note("%u of the %u members of this gang %s; waiting for %s%s", there,
			 start->identity.members, what, describe_member(start, missing, member),
			 advice);
		start->say_ms = now_ms + SAY_EVERY_MS;
	}
	return cancel_sleep(start->cancel, pause_ms, err);
}

/* --- doing --- */

static int begin_start(struct gang_start *start, struct err *err)
{
	struct gang_self *self = &start->self;

	self->own.member = start->identity.member;
	self->own.members = start->identity.members;
	self->whole = start->identity.whole;
	if (!self->own.nonce[0])
		random_hex(self->own.nonce);
	begin_wait(start);
	if (storage_gang_newest_claim(start->storage, self->own.member, &start->claim,
				      start->cancel, err) < 0)
		return -1;
	start->claim_is_new = true;
	return storage_gang_know_launch(start->storage, start->identity.launch,
					start->claim.attempt, &self->own.launch, start->cancel,
					err);
}

/* The others take the time of the put less the age for when this one began. If it stands still in
 * between, that is too late by as much, and it passes for one that has replaced itself. */
static int put_join(struct gang_start *start, struct err *err)
{
	struct gang_join *own = &start->self.own;

	for (int tries = 1;; tries++) {
		int64_t begun_ms = clock_boot_ms();

		own->age_ms = begun_ms - start->identity.began_ms;
		if (storage_gang_join(start->storage, start->claim.attempt, own, start->refusal,
				      start->cancel, err) < 0)
			return -1;
		if (clock_boot_ms() - begun_ms < GANG_SAME_TIME_MS / 2 || tries == JOINS_MOST)
			return 0;
		storage_gang_leave(start->storage, start->claim.attempt, own, start->cancel);
	}
}

static int join_below(struct gang_start *start, const struct gang_seen *seen, struct err *err)
{
	struct gang_self *self = &start->self;

	if (!self->joined)
		gang_start_birth(seen, &self->own);
	else if (self->after < start->claim.attempt && self->restored == start->claim.attempt)
		log_note("a member of this gang has started anew: all gather once more");
	if (self->joined && !start_look_is_named(start) && !self->own.refused)
		storage_gang_leave(start->storage, self->after, &self->own, start->cancel);
	if (put_join(start, err) < 0)
		return -1;
	self->joined = true;
	self->after = start->claim.attempt;
	start->joined_ms = clock_monotonic_ms();
	begin_wait(start);
	start->full_ms = 0;
	return 0;
}

int gang_start_restart(struct gang_start *start, const char *reason, struct err *err)
{
	int code = start->self.own.refused ? EXIT_OF_ALL : 0;
	bool taken;

	if (start_log_rejoin(start->storage, start->claim.attempt, &start->self.own, reason, code,
			     &taken, start->cancel, err) < 0)
		return -1;
	if (code != 0 && !taken)
		return 0;
	start->self.rejoined = start->claim.attempt;
	return 0;
}

/* What the attempt before has left without a commit. */
static int finish_snapshot(struct gang_start *start, struct err *err)
{
	uint32_t attempt = start->claim.attempt, round = 0;
	char id[SNAPSHOT_ID_TEXT];

	if (start->claim.members != start->self.own.members)
		return 0;
	if (storage_gang_finish(start->storage, attempt, &round, start->cancel, err) < 0)
		return -1;
	if (round > 0)
		log_note("committed snapshot %s: the parts of all members were there, and the "
			 "last of them had ended before that",
			 snapshot_id_format((struct snapshot_id){attempt, round}, id));
	return 0;
}

static void choose_members(struct gang_start *start)
{
	free(start->chosen);
	start->chosen = memory_new(start->self.own.members * sizeof(*start->chosen));
	gang_roster_choose(start->records.joins, start->records.join_count, &start->self.own,
			   start->chosen);
}

/* Between the look and this it may have stood still: the log is read to its end, and the next claim
 * is asked for. *start_it: the job is to start. */
static int make_sure(struct gang_start *start, bool *start_it, struct err *err)
{
	uint32_t attempt = start->claim.attempt;
	bool over = false, claimed, there = true;
	struct gang_event event;

	*start_it = false;
	for (uint32_t number = 2; there && !over; number++) {
		if (storage_gang_read(start->storage, attempt, number, &event, &there,
				      start->cancel, err) < 0)
			return -1;
		over = there && event.kind == GANG_EVENT_OVER;
	}
	if (storage_gang_is_claimed(start->storage, attempt + 1, &claimed, start->cancel, err) < 0)
		return -1;
	if (over)
		start->over = attempt;
	*start_it = !over && !claimed;
	start->full_ms = 0;
	return 0;
}

void gang_start_leave(struct gang_start *start, const char *reason)
{
	struct cancel soon = CANCEL_AT(clock_monotonic_ms() + LEAVE_MS);
	struct err err;

	if (!start->self.joined)
		return;
	start->cancel = &soon;
	/* From now on nobody claims with it; but somebody may have, since it looked last. */
	storage_gang_leave(start->storage, start->self.after, &start->self.own, &soon);
	if (reason && (storage_gang_newest_claim(start->storage, start->self.own.member,
						 &start->claim, &soon, &err) < 0 ||
		       (start_look_is_named(start) && gang_start_restart(start, reason, &err) < 0)))
		log_debug("the others are not told: %s", err.text);
	start->self.joined = false;
	start->cancel = NULL;
}

void gang_start_never(struct storage *storage, uint32_t attempt, uint32_t member,
		      const char *reason)
{
	struct cancel soon = CANCEL_AT(clock_monotonic_ms() + LEAVE_MS);
	struct gang_join own = {.member = member};
	bool taken;
	struct err err;

	random_hex(own.nonce);
	if (start_log_rejoin(storage, attempt, &own, reason, 0, &taken, &soon, &err) < 0)
		log_debug("the others are not told: %s", err.text);
}

void gang_start_sweep(struct gang_start *start)
{
	struct cancel soon = CANCEL_AT(clock_monotonic_ms() + SWEEP_MS);

	storage_gang_sweep(start->storage, start->claim.attempt, &soon);
}

/* --- step by step --- */

static int wait_a_moment(struct gang_start *start, const struct start_decision *decision,
			 const struct start_looked *looked, struct err *err)
{
	uint32_t ready = looked->ready, unready = looked->unready;

	if (decision->step == START_STEP_WAIT_FOR_MEMBERS)
		return pause_for(start, "have come", decision->roster.there,
				 decision->roster.missing, err);
	if (decision->step == START_STEP_WAIT_FOR_CLAIM)
		return pause_for(start, "have come", decision->roster.there, 0, err);
	/* The others look at who is missing only to say so. */
	if (start->self.own.member != 0 &&
	    (clock_monotonic_ms() >= start->say_ms || clock_monotonic_ms() >= start->until_ms) &&
	    storage_gang_unready(start->storage, start->claim.attempt, &ready, &unready,
				 start->cancel, err) < 0)
		return -1;
	return pause_for(start, "have restored", ready,
			 unready < start->self.own.members ? unready : 0, err);
}

/* *done: the caller has to do something. */
static int take_step(struct gang_start *start, const struct start_decision *decision,
		     const struct start_looked *looked, bool *done, struct err *err)
{
	struct gang_event go = {.number = 1, .kind = GANG_EVENT_GO};
	bool taken;

	switch (decision->step) {
	case START_STEP_JOIN:
		return join_below(start, &looked->seen, err);
	case START_STEP_REJOIN:
		return gang_start_restart(start,
					  start->self.own.refused ? start->refusal
								  : "it has been started anew",
					  err);
	case START_STEP_GO:
		return storage_gang_append(start->storage, start->claim.attempt, &go, &taken,
					   start->cancel, err);
	case START_STEP_START:
		return make_sure(start, done, err);
	case START_STEP_CLAIM:
		if (finish_snapshot(start, err) < 0)
			return -1;
		choose_members(start);
		*done = true;
		return 0;
	case START_STEP_RESTORE:
		*done = true;
		return 0;
	case START_STEP_END:
		return start_end_explain(start, decision, err);
	case START_STEP_WAIT_FOR_MEMBERS:
	case START_STEP_WAIT_FOR_CLAIM:
	case START_STEP_WAIT_FOR_READY:
	default:
		return wait_a_moment(start, decision, looked, err);
	}
}

int gang_start_next(struct gang_start *start, enum start_step *step, struct err *err)
{
	struct start_decision decision;
	struct start_looked looked;
	bool done = false;

	if (start->self.own.members == 0 && begin_start(start, err) < 0)
		return -1;
	while (!done) {
		if (start_look(start, &looked, err) < 0)
			return -1;
		decision = gang_start_decide(&start->self, &looked.seen);
		if (!looked.whole && start_look_must_be_whole(decision.step)) {
			start->full_ms = 0;
			continue;
		}
		if (take_step(start, &decision, &looked, &done, err) < 0)
			return -1;
	}
	*step = decision.step;
	return 0;
}

int gang_start_restored(struct gang_start *start, struct err *err)
{
	start->self.restored = start->claim.attempt;
	begin_wait(start);
	return storage_gang_ready(start->storage, start->claim.attempt, start->cancel, err);
}

void gang_start_refuse(struct gang_start *start, const char *reason)
{
	static const char prefix[] = "not started: ";
	struct cancel soon = CANCEL_AT(CLOCK_NEVER);
	enum start_step step;
	struct err err;

	/* As a member it has joined in vain. */
	if (!start_look_is_named(start))
		gang_start_leave(start, NULL);
	cancel_set_deadline(&soon, clock_monotonic_ms() + REFUSE_MS);
	start->cancel = &soon;
	start->self.own.refused = true;
	text_set(start->refusal, sizeof(start->refusal),
		 reason + (text_starts(reason, prefix) ? strlen(prefix) : 0));
	if (gang_start_next(start, &step, &err) < 0)
		log_debug("the other members are told: %s", err.text);
	/* What it has said stays, for them to see. */
	start->is_refused = start->self.rejoined == start->claim.attempt;
	start->self.joined = false;
	start->cancel = NULL;
}

int gang_start_contradict(struct storage *storage, const char *launch, const char *reason,
			  struct cancel *cancel, struct err *err)
{
	auto_(gang_claim_release) struct gang_claim claim = {0};
	struct gang_join unknown = {.refused = true};

	random_hex(unknown.nonce);
	if (storage_gang_find_launch(storage, launch, &unknown.launch, cancel, err) < 0 ||
	    storage_gang_newest_claim(storage, 0, &claim, cancel, err) < 0)
		return -1;
	return storage_gang_join(storage, claim.attempt, &unknown, reason, cancel, err);
}
