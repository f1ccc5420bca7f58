/*
 * PURE. What an attempt has done and what its end cost, from its ledger (event_log.h) and its records, and the sum over attempts.
 * Milliseconds; -1 unknown.
 */
#ifndef ATTEMPT_COSTS_H
#define ATTEMPT_COSTS_H

#include "base/text.h"
#include "storage/storage.h"

#include <stdbool.h>
#include <stdint.h>

struct account {
	uint32_t number;
	uint32_t snapshots;
	char started[32]; /* RFC 3339; "" unknown */
	char host[65];
	/* outcome.h; where there is no end record, "lost without a word" or "running or vanished" */
	char outcome[32];
	char source[32];       /* of the notice; "" there was none */
	double notice_seconds; /* what it left; negative: unknown */
	int64_t ran_ms;        /* from the launch to the job's end, as far as it is known */
	/* of that, what is not in its newest snapshot; 0 where the job ended by itself, -1 where it may still run */
	int64_t lost_ms;
	int64_t restore_ms; /* before the launch */
	bool interrupted;   /* by the machine, not by the job itself */
	bool at_least;      /* nobody saw its end: ran and lost are what is known of it */
};

/* `ledger` is JSON lines; lines that are none are passed over. The newest attempt of a job may still run: without an end record, it
 * counts as interrupted only once a later one follows. */
void account_read(struct account *account, const struct past_attempt *past, bool newest,
	const struct bytes *ledger);

struct account_sum {
	uint32_t attempts, interruptions, announced;
	int64_t ran_ms, lost_ms, restore_ms;
	bool ran_at_least, lost_at_least; /* of some attempts nobody knows how long */
	int64_t saved_ms; /* work that would have been done again if every interruption had meant a start from nothing */
};

/* One job's attempts, in their order, oldest first. Sums of jobs are added member by member: account_add(). */
struct account_sum account_sum(const struct account *items, size_t count);
void account_add(struct account_sum *sum, const struct account_sum *more);

/* What it cost, and what the work that was kept would have cost on demand. USD per hour. */
struct account_cost {
	double spot, on_demand, saved;
};
struct account_cost account_cost(
	const struct account_sum *sum, double spot_per_hour, double on_demand_per_hour);

#endif
