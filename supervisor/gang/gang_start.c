#include "gang_start.h"

#include "base/backoff.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

#define LOOK_FIRST_MS 100
#define LOOK_MOST_MS 2000
#define SAY_EVERY_MS 60000
#define LEAVE_MS 3000
#define SWEEP_MS 10000

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

	if (start->after > 0 &&
	    storage_gang_look(start->storage, start->after - 1, &before, cancel, NULL) == 0)
		for (size_t i = 0; i < before.join_count && !host[0]; i++)
			if (before.joins[i].member == member)
				storage_gang_host(start->storage, start->after - 1,
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

/* --- joining --- */

static int join_after(struct gang_start *start, uint32_t after, struct cancel *cancel,
		      struct err *err)
{
	if (start->own.nonce[0])
		storage_gang_leave(start->storage, start->after, &start->own, cancel);
	start->own = (struct gang_join){.member = start->identity.member,
					.members = start->identity.members};
	start->after = after;
	random_hex(start->own.nonce);
	return storage_gang_join(start->storage, after, &start->own, cancel, err);
}

static int join_first(struct gang_start *start, struct cancel *cancel, struct err *err)
{
	uint32_t newest = 0;

	if (start->own.nonce[0])
		return 0;
	begin_wait(start);
	if (storage_gang_newest_attempt(start->storage, &newest, cancel, err) < 0)
		return -1;
	return join_after(start, newest, cancel, err);
}

void gang_start_leave(struct gang_start *start)
{
	auto_(cancel_release) struct cancel soon = {.fd = -1};

	if (!start->own.nonce[0] || cancel_init(&soon, NULL) < 0)
		return;
	cancel_set_deadline(&soon, clock_monotonic_ms() + LEAVE_MS);
	storage_gang_leave(start->storage, start->after, &start->own, &soon);
	start->own.nonce[0] = '\0';
}

static int refuse_roster(struct gang_start *start, const struct gang_roster *roster,
			 struct cancel *cancel, struct err *err)
{
	char host[65];

	storage_gang_host(start->storage, start->after, &roster->by, host, cancel);
	if (roster->state == ROSTER_CONTRADICTED) {
		/* It stays, for the others to see. */
		start->own.nonce[0] = '\0';
		return err_set(err, ERR_INVALID,
			       "not started: here the gang has %u members, and on %s, which came "
			       "within a minute of it, %u: give all the same --gang, or each job "
			       "its own --job",
			       start->identity.members, host[0] ? host : "another machine",
			       roster->by.members);
	}
	return err_set(err, ERR_INVALID,
		       "not started: %s, which came later, is member %u of this gang too; this "
		       "machine is stale, or both were given the same --member",
		       host[0] ? host : "another machine", start->identity.member);
}

static int judge_roster(struct gang_start *start, const struct gang_records *records,
			struct gang_roster *roster, struct cancel *cancel, struct err *err)
{
	*roster = gang_roster_judge(records->joins, records->join_count, &start->own);
	if (roster->state == ROSTER_REPLACED || roster->state == ROSTER_CONTRADICTED)
		return refuse_roster(start, roster, cancel, err);
	return 0;
}

/* --- member 0 --- */

int gang_start_gather(struct gang_start *start, struct gang_join *joins, struct cancel *cancel,
		      struct err *err)
{
	auto_(gang_records_release) struct gang_records records = {0};
	struct gang_roster roster = {0};
	uint32_t newest;

	if (join_first(start, cancel, err) < 0)
		return -1;
	for (;;) {
		if (storage_gang_newest_attempt(start->storage, &newest, cancel, err) < 0 ||
		    (newest > start->after && join_after(start, newest, cancel, err) < 0) ||
		    storage_gang_look(start->storage, start->after, &records, cancel, err) < 0 ||
		    judge_roster(start, &records, &roster, cancel, err) < 0)
			return -1;
		if (roster.state == ROSTER_COMPLETE)
			break;
		if (pause_for(start, "have come", roster.there, roster.missing, cancel, err) < 0)
			return -1;
	}
	gang_roster_choose(records.joins, records.join_count, start->identity.members, joins);
	return 0;
}

void gang_start_claimed(struct gang_start *start, uint32_t attempt)
{
	/* The claim names it, and nobody looks at it any more. */
	start->own.nonce[0] = '\0';
	start->after = attempt;
}

/* --- the others --- */

static int refuse_stale(struct gang_start *start, const struct gang_claim *claim, struct err *err)
{
	return err_set(err, ERR_INVALID,
		       "not started: attempt %u, claimed on %s, has another machine as member %u: "
		       "this one is stale",
		       claim->attempt, claim->host, start->identity.member);
}

/* A claim that does not name this one's join: it came too late for it, and joins again, or another
 * machine has come later as the same member. */
static int join_again(struct gang_start *start, const struct gang_records *records,
		      const struct gang_claim *claim, struct cancel *cancel, struct err *err)
{
	const struct gang_join *own = NULL, *other = NULL;

	if (!claim->nonce[0])
		return err_set(err, ERR_INVALID,
			       "not started: attempt %u, claimed on %s, is not of a gang of %u: "
			       "give all the same --gang, or each job its own --job",
			       claim->attempt, claim->host, start->identity.members);
	for (size_t i = 0; i < records->join_count; i++) {
		if (text_equal(records->joins[i].nonce, start->own.nonce))
			own = &records->joins[i];
		if (text_equal(records->joins[i].nonce, claim->nonce))
			other = &records->joins[i];
	}
	if (!own || !other || gang_join_is_later(other, own))
		return refuse_stale(start, claim, err);
	return join_after(start, claim->attempt, cancel, err);
}

int gang_start_follow(struct gang_start *start, uint32_t *attempt, bool *go, struct cancel *cancel,
		      struct err *err)
{
	auto_(gang_records_release) struct gang_records records = {0};
	struct gang_claim claim = {0};
	struct gang_roster roster = {0};

	*go = false;
	if (join_first(start, cancel, err) < 0)
		return -1;
	for (;;) {
		if (storage_gang_newest_claim(start->storage, start->identity.member, &claim,
					      cancel, err) < 0 ||
		    storage_gang_look(start->storage, start->after, &records, cancel, err) < 0)
			return -1;
		*go = records.go && start->restored > 0 && start->restored == start->after;
		if (*go) {
			gang_start_leave(start);
			return 0;
		}
		if (claim.attempt > start->after && text_equal(claim.nonce, start->own.nonce))
			break;
		if (claim.attempt > start->after &&
		    join_again(start, &records, &claim, cancel, err) < 0)
			return -1;
		if (judge_roster(start, &records, &roster, cancel, err) < 0 ||
		    pause_for(start, "have come", roster.there, roster.missing, cancel, err) < 0)
			return -1;
	}
	*attempt = claim.attempt;
	gang_start_claimed(start, claim.attempt);
	return 0;
}

/* --- all have restored --- */

static uint32_t first_unready(const struct gang_records *records, uint32_t members, uint32_t *there)
{
	auto_free bool *ready = memory_new(members * sizeof(*ready));
	uint32_t missing = members;

	*there = 0;
	for (size_t i = 0; i < records->ready_count; i++)
		if (records->ready[i] < members)
			ready[records->ready[i]] = true;
	for (uint32_t i = members; i > 0; i--) {
		*there += ready[i - 1];
		if (!ready[i - 1])
			missing = i - 1;
	}
	return missing;
}

static void sweep(struct gang_start *start, uint32_t attempt)
{
	auto_(cancel_release) struct cancel soon = {.fd = -1};

	if (cancel_init(&soon, NULL) < 0)
		return;
	cancel_set_deadline(&soon, clock_monotonic_ms() + SWEEP_MS);
	storage_gang_sweep(start->storage, attempt, &soon);
}

/* Only member 0 says it, so that all start or none does. */
static int let_all_go(struct gang_start *start, uint32_t attempt, struct cancel *cancel,
		      struct err *err)
{
	if (storage_gang_go(start->storage, attempt, cancel, err) < 0)
		return -1;
	sweep(start, attempt);
	return 0;
}

int gang_start_wait(struct gang_start *start, uint32_t attempt, bool *go, struct cancel *cancel,
		    struct err *err)
{
	auto_(gang_records_release) struct gang_records records = {0};
	uint32_t members = start->identity.members, newest = 0, there, missing;

	*go = false;
	start->restored = attempt;
	begin_wait(start);
	if (storage_gang_ready(start->storage, attempt, cancel, err) < 0)
		return -1;
	for (;;) {
		if (storage_gang_look(start->storage, attempt, &records, cancel, err) < 0 ||
		    storage_gang_newest_attempt(start->storage, &newest, cancel, err) < 0)
			return -1;
		missing = first_unready(&records, members, &there);
		*go = records.go || (start->identity.member == 0 && missing == members &&
				     records.join_count == 0 && newest == attempt);
		if (*go)
			break;
		if (newest > attempt)
			return err_set(err, ERR_INVALID,
				       "not started: attempt %u has begun without this machine, "
				       "which is stale",
				       newest);
		if (records.join_count > 0) {
			log_note("a member of this gang has started anew: all gather once more");
			return join_after(start, attempt, cancel, err);
		}
		if (pause_for(start, "have restored", there, missing, cancel, err) < 0)
			return -1;
	}
	return records.go ? 0 : let_all_go(start, attempt, cancel, err);
}
