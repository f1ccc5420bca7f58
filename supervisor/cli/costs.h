/*
 * PURE. What an attempt has done and what its end cost, from its ledger (telemetry.h) and its
 * records, and the sum over attempts. Milliseconds; -1 unknown.
 *
 * An attempt whose job has not finished loses the work that is in no snapshot, whoever has ended
 * it: the machine, the user, or the job's own failure. Its supervisor has counted that at the end,
 * when all facts were at hand (planning/planning.c, struct attempt_work). Where nobody saw the
 * end, what was seen last is counted. Only what the machine ended is an interruption.
 */
#ifndef COSTS_H
#define COSTS_H

#include "options/options.h"
#include "page.h"
#include "storage/storage.h"

#include <stdbool.h>
#include <stdint.h>

struct attempt_costs {
	uint32_t number;
	uint32_t snapshots;
	char started[32];  /* RFC 3339; "" unknown */
	char host[65];     /* of a gang, of its first member */
	uint32_t machines; /* 1, or the members of a gang: all of them are one attempt */
	/* The attempt that has taken over while it ran; 0: none. Its work from then on is lost. */
	uint32_t superseded_by;
	/* outcome.c; "superseded by 3"; where there is no end record, "lost without a word" or
	 * "running or vanished" */
	char outcome[32];
	char source[32];       /* of the notice; "" there was none */
	double notice_seconds; /* what it left; negative: unknown */
	/* From the launch, or without a ledger from the claim, to the job's end, as far as it is
	 * known. */
	int64_t ran_ms;
	/* of that, work that is in no snapshot; 0 where the job has finished, -1 where it may still
	 * run */
	int64_t lost_ms;
	/* what one that has finished did after the write of its newest snapshot: nobody does it
	 * again, and what of it the job has kept elsewhere is not known */
	int64_t unsaved_ms;
	int64_t kept_ms;    /* of that, what need not be done again; the rest is neither */
	int64_t restore_ms; /* before the launch */
	bool interrupted;   /* by the machine */
	bool loses;         /* it has not finished, or what it has finished does not count */
	bool at_least;      /* nobody saw its end: ran and lost are what is known of it */
	/* Its phases, by the wall clock of its machine; owned, and without a label. */
	struct page_bar bar;
	int64_t from_ms, to_ms; /* ... from the claim to the last that is known; 0: nothing is */
};

/* `ledger` is JSON lines; lines that are none are passed over. `saved`: when the newest of its
 * snapshots was made, as `past->created`; "": unknown. Where nobody saw the end, it ran at least
 * until then: an attempt that was killed may have left no ledger. The newest attempt of a job may
 * still run: without an end record, it counts as interrupted only once a later one follows.
 * Releases the phases that were there; the caller releases the new ones. */
void attempt_costs_read(struct attempt_costs *attempt_costs, const struct attempt_summary *past,
			const char *saved, bool newest, const struct bytes *ledger);

/* As `report --json` has it. */
json_t *attempt_costs_json(const struct attempt_costs *costs);

struct attempt_costs_sum {
	uint32_t attempts, interruptions, announced;
	int64_t ran_ms, lost_ms, kept_ms, restore_ms;
	/* running and restoring, and the work that was kept, of each machine that did so */
	int64_t machines_ms, machines_kept_ms, machines_saved_ms;
	bool at_least; /* what a machine lost that vanished is not known to its end */
	/* of what was kept, the work of attempts that a machine has ended: without a checkpoint it
	 * would be lost */
	int64_t saved_ms;
};

/* Adds one job's attempts, in their order, oldest first. */
void attempt_costs_add(struct attempt_costs_sum *sum, const struct attempt_costs *items,
		       size_t count);

/* USD per hour; 0: not given. */
struct report_prices {
	double spot, on_demand;
};

/* As `report --json` has it. Goodput is the share of the machines' time for which somebody has paid
 * that was work which counts. The caller owns it. */
json_t *attempt_costs_sum_json(const struct attempt_costs_sum *sum,
			       const struct report_prices *prices);
/* A template (status_text.h) of that: how ran, kept, lost and saved add up. */
extern const char attempt_costs_sentence[];

/* Fills the section of one job: figures, the newest 64 bars, table. `accounts` are oldest first. */
void attempt_costs_fill_page(struct page_section *section, const char *job,
			     const struct attempt_costs *accounts, size_t count,
			     const struct report_prices *prices);

/* --- what keeping bytes costs, by list prices of storage alone, without requests and traffic ---
 */

/*
 * USD per GB-month, as the clouds bill it (2^30 bytes), by the URL's scheme; 0: none. S3 Standard
 * in us-east-1 0.023 (aws.amazon.com/s3/pricing), Standard in a US region 0.020
 * (cloud.google.com/storage/pricing), Blob hot LRS in East US 0.018
 * (azure.microsoft.com/pricing/details/storage/blobs).
 */
double storage_price_of(const char *url);

double storage_price_per_month(uint64_t bytes, double price);
/* "$12.34", "$0.0004": two digits that matter; returns `buffer`. */
const char *storage_price_format(double dollars, char *buffer, size_t capacity);

/* --price per GB and month: a double. */
extern const struct option_row price_rows[];

/* For a row of a price, a double: ERR_INVALID unless it is USD. */
option_set_fn price_set;

#endif
