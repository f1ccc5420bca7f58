#include "gang_start.h"

#include "base/backoff.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "start_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_FIRST_MS 100
#define LOOK_MOST_MS 2000
#define SAY_EVERY_MS 60000
#define LEAVE_MS 3000
#define SWEEP_MS 10000
/* For those that their launcher starts together: until then nobody else is told to end. */
#define PATIENCE_MS 3000
/* While all restore, only event 1 is looked at; of so many looks, one is at all. */
#define FULL_LOOK_EVERY 5

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
}

/* Where the member was at the start before this one: "member 2 (last on gpu-7)". */
static const char *describe_member(struct gang_start *start, uint32_t member, char text[100],
				   struct cancel *cancel)
{
	auto_(gang_records_release) struct gang_records before = {0};
	char host[65] = "";

	if (start->self.after > 0 &&
	    storage_gang_look(start->storage, start->self.after - 1, &before, cancel, NULL) == 0)
		for (size_t i = 0; i < before.join_count && !host[0]; i++)
			if (before.joins[i].member == member)
				storage_gang_host(start->storage, start->self.after - 1,
						  &before.joins[i], host, cancel);
	snprintf(text, 100, "member %u%s%s%s", member, host[0] ? " (last on " : "", host,
		 host[0] ? ")" : "");
	return text;
}

/* Sleeps until the next look. -1: the time is over, or cancelled. */
static int pause_for(struct gang_start *start, const char *what, uint32_t there, uint32_t missing,
		     struct cancel *cancel, struct err *err)
{
	struct backoff pause = {
		.tries = ++start->looks,
		.first_ms = LOOK_FIRST_MS,
		.most_ms = LOOK_MOST_MS,
		.random = backoff_random(),
	};
	int64_t now_ms = clock_monotonic_ms();
	char member[100], time[32];

	/* At the end they go one after the other. */
	if (there >= start->there) {
		start->there = there;
		start->missing = missing;
	}
	if (now_ms >= start->until_ms)
		return err_set(err, ERR_RETRY,
			       "%u of the %u members of this gang %s within %s (--join-time): %s "
			       "has not",
			       start->there, start->identity.members, what,
			       text_duration(start->join_ms, time, sizeof(time)),
			       describe_member(start, start->missing, member, cancel));
	if (now_ms >= start->say_ms) {
		log_note("%u of the %u members of this gang %s; waiting for %s", there,
			 start->identity.members, what,
			 describe_member(start, missing, member, cancel));
		start->say_ms = now_ms + SAY_EVERY_MS;
	}
	return cancel_sleep(cancel, LOOK_FIRST_MS + backoff_ms(&pause), err);
}

/* --- looking --- */

struct looked {
	struct gang_seen seen;
	/* How many have restored, and the first that has not. */
	uint32_t ready, unready;
};

static bool is_named(const struct gang_start *start)
{
	return start->self.joined && text_equal(start->claim.own.nonce, start->self.own.nonce);
}

static int look_at_claim(struct gang_start *start, struct cancel *cancel, struct err *err)
{
	struct gang_self *self = &start->self;

	return storage_gang_newest_claim(start->storage, self->own.member, &start->claim, cancel,
					 err) < 0 ||
			       storage_gang_look(start->storage, start->claim.attempt,
						 &start->records, cancel, err) < 0
		       ? -1
		       : 0;
}

/* The newest attempt first, then what lies below it. */
static int look_at_all(struct gang_start *start, struct looked *looked, struct cancel *cancel,
		       struct err *err)
{
	struct gang_self *self = &start->self;
	struct gang_seen *seen = &looked->seen;
	bool restored = is_named(start) && self->restored == start->claim.attempt;

	*looked = (struct looked){.unready = self->own.members};
	if ((!restored || self->own.member == 0 || start->looks % FULL_LOOK_EVERY == 0) &&
	    look_at_claim(start, cancel, err) < 0)
		return -1;
	*seen = (struct gang_seen){
		.claim = &start->claim,
		.joins = start->records.joins,
		.join_count = start->records.join_count,
		.patient = self->joined && clock_monotonic_ms() >= start->joined_ms + PATIENCE_MS,
	};
	if (start->claim.members > 1 &&
	    start_log_first(start->storage, start->claim.attempt, &seen->first, cancel, err) < 0)
		return -1;
	if (start->claim.attempt > 0 && start->over == start->claim.attempt)
		seen->first = GANG_FIRST_REJOIN;
	if (self->own.member == 0 && restored && self->restored == start->claim.attempt &&
	    storage_gang_unready(start->storage, start->claim.attempt, &looked->ready,
				 &looked->unready, cancel, err) < 0)
		return -1;
	seen->all_ready = looked->ready == self->own.members;
	gang_start_note_birth(seen, &self->own);
	return 0;
}

/* --- doing --- */

static int begin_start(struct gang_start *start, struct cancel *cancel, struct err *err)
{
	struct gang_self *self = &start->self;

	self->own.member = start->identity.member;
	self->own.members = start->identity.members;
	self->whole = start->identity.whole;
	text_set(self->own.address, sizeof(self->own.address), gang_poke_address(start->poke));
	if (!self->own.nonce[0])
		random_hex(self->own.nonce);
	begin_wait(start);
	if (storage_gang_newest_claim(start->storage, self->own.member, &start->claim, cancel,
				      err) < 0)
		return -1;
	return storage_gang_know_launch(start->storage, start->identity.launch,
					start->claim.attempt, &self->own.launch, cancel, err);
}

static int join_below(struct gang_start *start, const struct gang_seen *seen, struct cancel *cancel,
		      struct err *err)
{
	struct gang_self *self = &start->self;

	if (!self->joined)
		gang_start_birth(seen, &self->own);
	else if (self->after < start->claim.attempt && self->restored == start->claim.attempt)
		log_note("a member of this gang has started anew: all gather once more");
	if (self->joined && !is_named(start))
		storage_gang_leave(start->storage, self->after, &self->own, cancel);
	self->own.age_ms = clock_boot_ms() - start->identity.began_ms;
	if (storage_gang_join(start->storage, start->claim.attempt, &self->own, cancel, err) < 0)
		return -1;
	self->joined = true;
	self->after = start->claim.attempt;
	start->joined_ms = clock_monotonic_ms();
	begin_wait(start);
	return 0;
}

static int append_rejoin(struct gang_start *start, const char *reason, struct cancel *cancel,
			 struct err *err)
{
	if (start_log_rejoin(start->storage, start->claim.attempt, &start->self.own, reason, cancel,
			     err) < 0)
		return -1;
	start->self.rejoined = start->claim.attempt;
	/* The process that was this member before is told too. */
	gang_poke_meet(start->poke, &start->claim, start->claim.members);
	gang_poke_all(start->poke);
	return 0;
}

/* What the attempt before has left without a commit. */
static int finish_snapshot(struct gang_start *start, struct cancel *cancel, struct err *err)
{
	uint32_t attempt = start->claim.attempt, round = 0;

	if (start->claim.members != start->self.own.members)
		return 0;
	if (storage_gang_finish(start->storage, attempt, &round, cancel, err) < 0)
		return -1;
	if (round > 0)
		log_note("committed snapshot %u-%u: the parts of all members were there, and the "
			 "last of them had ended before that",
			 attempt, round);
	return 0;
}

static void choose_members(struct gang_start *start)
{
	free(start->chosen);
	start->chosen = memory_new(start->self.own.members * sizeof(*start->chosen));
	gang_roster_choose(start->records.joins, start->records.join_count, &start->self.own,
			   start->chosen);
}

/* Between the look and this it may have stood still: the log is read to its end, and the claims
 * once more. *start_it: the job is to start. */
static int make_sure(struct gang_start *start, bool *start_it, struct cancel *cancel,
		     struct err *err)
{
	uint32_t attempt = start->claim.attempt;
	bool over;

	*start_it = false;
	if (start_log_is_over(start->storage, attempt, &over, cancel, err) < 0 ||
	    storage_gang_newest_claim(start->storage, start->self.own.member, &start->claim, cancel,
				      err) < 0)
		return -1;
	if (over)
		start->over = attempt;
	*start_it = !over && start->claim.attempt == attempt;
	return 0;
}

void gang_start_leave(struct gang_start *start)
{
	auto_(cancel_release) struct cancel soon = {.fd = -1};

	if (!start->self.joined || cancel_init(&soon, NULL) < 0)
		return;
	cancel_set_deadline(&soon, clock_monotonic_ms() + LEAVE_MS);
	storage_gang_leave(start->storage, start->self.after, &start->self.own, &soon);
	start->self.joined = false;
}

void gang_start_sweep(struct gang_start *start)
{
	auto_(cancel_release) struct cancel soon = {.fd = -1};

	if (cancel_init(&soon, NULL) < 0)
		return;
	cancel_set_deadline(&soon, clock_monotonic_ms() + SWEEP_MS);
	storage_gang_sweep(start->storage, start->claim.attempt, &soon);
}

/* --- the end of it --- */

static int refuse_by_roster(struct gang_start *start, const struct gang_roster *roster,
			    struct cancel *cancel, struct err *err)
{
	const char *by, *with;
	char host[65], other[65] = "";
	struct gang_self *self = &start->self;

	storage_gang_host(start->storage, self->after, &roster->by, host, cancel);
	if (roster->state == ROSTER_DOUBLED)
		storage_gang_host(start->storage, self->after, &roster->with, other, cancel);
	by = host[0] ? host : "another machine";
	with = other[0] ? other : "another machine";
	/* It stays, for the others to see. */
	if (roster->state == ROSTER_CONTRADICTED || roster->state == ROSTER_DOUBLED)
		self->joined = false;
	if (roster->state == ROSTER_CONTRADICTED)
		return err_set(err, ERR_INVALID,
			       "not started: here the gang has %u members, and on %s, which came "
			       "within a minute of it, %u: give all the same --gang, or each job "
			       "its own --job",
			       self->own.members, by, roster->by.members);
	if (roster->state == ROSTER_DOUBLED)
		return err_set(err, ERR_INVALID,
			       "not started: %s and %s both say that they are member %u of this "
			       "gang: give each its own --member",
			       by, with, roster->by.member);
	if (roster->state == ROSTER_OUTRUN)
		return err_set(err, ERR_INVALID,
			       "not started: the whole gang has been started once more, on %s "
			       "among others: that start counts, and this one is over",
			       by);
	return err_set(err, ERR_INVALID,
		       "not started: %s, which came later, is member %u of this gang too; this "
		       "machine is stale, or both were given the same --member",
		       by, self->own.member);
}

static int refuse(struct gang_start *start, const struct start_decision *decision,
		  struct cancel *cancel, struct err *err)
{
	const struct gang_claim *claim = &start->claim;

	switch (decision->end) {
	case START_END_ROSTER:
		return refuse_by_roster(start, &decision->roster, cancel, err);
	case START_END_STALE:
		return err_set(err, ERR_INVALID,
			       "not started: attempt %u, claimed on %s, has another machine as "
			       "member %u: this one is stale",
			       claim->attempt, claim->host, start->self.own.member);
	case START_END_OUTRUN:
		return err_set(err, ERR_INVALID,
			       "not started: attempt %u, claimed on %s, is of a later start of "
			       "the whole gang: that start counts, and this one is over",
			       claim->attempt, claim->host);
	case START_END_OTHER_GANG:
	default:
		return err_set(err, ERR_INVALID,
			       "not started: attempt %u, claimed on %s, is not of a gang of %u: "
			       "give all the same --gang, or each job its own --job",
			       claim->attempt, claim->host, start->self.own.members);
	}
}

/* --- step by step --- */

static int wait_a_moment(struct gang_start *start, const struct start_decision *decision,
			 const struct looked *looked, struct cancel *cancel, struct err *err)
{
	uint32_t ready = looked->ready, unready = looked->unready;

	if (decision->step == START_STEP_WAIT_FOR_MEMBERS)
		return pause_for(start, "have come", decision->roster.there,
				 decision->roster.missing, cancel, err);
	if (decision->step == START_STEP_WAIT_FOR_CLAIM)
		return pause_for(start, "have come", decision->roster.there, 0, cancel, err);
	/* The others look at who is missing only to say so. */
	if (start->self.own.member != 0 &&
	    (clock_monotonic_ms() >= start->say_ms || clock_monotonic_ms() >= start->until_ms) &&
	    storage_gang_unready(start->storage, start->claim.attempt, &ready, &unready, cancel,
				 err) < 0)
		return -1;
	return pause_for(start, "have restored", ready,
			 unready < start->self.own.members ? unready : 0, cancel, err);
}

/* *done: the caller has to do something. */
static int take_step(struct gang_start *start, const struct start_decision *decision,
		     const struct looked *looked, bool *done, struct cancel *cancel,
		     struct err *err)
{
	switch (decision->step) {
	case START_STEP_JOIN:
		return join_below(start, &looked->seen, cancel, err);
	case START_STEP_REJOIN:
		return append_rejoin(start, "it has been started anew", cancel, err);
	case START_STEP_GO:
		return start_log_go(start->storage, start->claim.attempt, cancel, err);
	case START_STEP_START:
		return make_sure(start, done, cancel, err);
	case START_STEP_CLAIM:
		if (finish_snapshot(start, cancel, err) < 0)
			return -1;
		choose_members(start);
		*done = true;
		return 0;
	case START_STEP_RESTORE:
		*done = true;
		return 0;
	case START_STEP_END:
		return refuse(start, decision, cancel, err);
	case START_STEP_WAIT_FOR_MEMBERS:
	case START_STEP_WAIT_FOR_CLAIM:
	case START_STEP_WAIT_FOR_READY:
	default:
		return wait_a_moment(start, decision, looked, cancel, err);
	}
}

int gang_start_next(struct gang_start *start, enum start_step *step, struct cancel *cancel,
		    struct err *err)
{
	struct start_decision decision;
	struct looked looked;
	bool done = false;

	if (start->self.own.members == 0 && begin_start(start, cancel, err) < 0)
		return -1;
	while (!done) {
		if (look_at_all(start, &looked, cancel, err) < 0)
			return -1;
		decision = gang_start_decide(&start->self, &looked.seen);
		if (take_step(start, &decision, &looked, &done, cancel, err) < 0)
			return -1;
	}
	*step = decision.step;
	return 0;
}

int gang_start_restored(struct gang_start *start, struct cancel *cancel, struct err *err)
{
	start->self.restored = start->claim.attempt;
	begin_wait(start);
	return storage_gang_ready(start->storage, start->claim.attempt, cancel, err);
}

int gang_start_restart(struct gang_start *start, const char *reason, struct cancel *cancel,
		       struct err *err)
{
	return append_rejoin(start, reason, cancel, err);
}
