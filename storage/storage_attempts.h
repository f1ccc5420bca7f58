/*
 * PUBLIC, through storage.h. An attempt is one run of a job on one machine. It is claimed once,
 * with the snapshot that it starts from, and from then on only it and later ones decide what is
 * newest.
 */
#ifndef STORAGE_ATTEMPTS_H
#define STORAGE_ATTEMPTS_H

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "storage/format/snapshot_id.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct storage;

/* --- claiming --- */

enum restore_policy {
	/* The newest good snapshot. */
	RESTORE_LATEST,
	/* None: begin afresh. */
	RESTORE_NONE,
	/* The one that is named. */
	RESTORE_SPECIFIC
};

/* What damage was passed over, in a sentence for the user. */
struct damaged_snapshot {
	struct snapshot_id id;
	char text[256];
};

struct claim {
	enum restore_policy policy;
	/* For RESTORE_SPECIFIC: must exist and be sound, else ERR_NOT_FOUND or ERR_CORRUPT. */
	struct snapshot_id this_one;
	/* Under RESTORE_LATEST: not from this one, if it would be chosen, but from the sound one
	 * behind it, if there is any. */
	struct snapshot_id avoid;
	/* A checkpoint that lies on this machine, which need not be in the store; none: there is
	 * none, or it is not known which. */
	struct snapshot_id local;
	/* Under RESTORE_LATEST: damaged, as a restore has shown, the one that the first claim of
	 * this start named before the others; borrowed. */
	const struct damaged_snapshot *passed_over;
	size_t passed_over_count;
	/* Kept in the record as "about": host, command, ...; borrowed; may be NULL. */
	json_t *about;
	/* Of a gang: only if `after` is still the newest attempt; else ERR_UNFIT, and nothing more
	 * is claimed. */
	bool is_next;
	uint32_t after;
	/* It is restored next: where it is one small pack, that is fetched beside the claim. */
	bool restores;
	/* By hand: one save follows at once. What that looks up first is looked up at the second
	 * look, and its commit confirms the claim. It needs no end record, unless it fails. */
	bool saves;
};

struct attempt {
	uint32_t number;
	/* None: begin afresh. */
	struct snapshot_id start;
	/* Under RESTORE_LATEST: all that there are to go on from are damaged. `start` is the newest
	 * of them, so that none is left behind. */
	bool start_is_damaged;
	/* What claim.avoid has kept it from; none: nothing. */
	struct snapshot_id suspect;
	/* The line that claim.local belongs to was left on purpose: an older snapshot was restored,
	 * or the job crashed from it again and again. */
	bool local_left;
	/* Newer ones that were passed over because of damage. */
	struct damaged_snapshot *damaged;
	size_t damaged_count;
};

/*
 * Claims the next attempt number with if-absent, naming the snapshot that it starts from, which
 * from then on fences every older attempt: what those commit later is kept, listed as late and
 * never chosen. Looks again after the claim and claims once more if a commit slipped in between, so
 * that a commit that was durable before the hand-over is never passed over. If it cannot look
 * again, the claim does not count. ERR_NO_SPACE: all of *attempt but its number is what it would
 * have started from; the same for a store that is open for reading only. Now and then it sums up
 * old attempts afterwards, for some seconds at most, which never fails it.
 */
int storage_claim(struct storage *storage, const struct claim *claim, struct attempt *attempt,
		  struct cancel *cancel, struct err *err);
void attempt_release(struct attempt *attempt);
AUTO(struct attempt, attempt_release);

/* --- ending --- */

/* Whether a later attempt than `number` has been claimed: *newest is that one's number, or `number`
 * itself if there is none. If the claim of `number` is gone, the store was emptied: it is put
 * again, with ERR_RETRY; or ERR_EXISTS: another attempt has begun in it. */
int storage_superseded(struct storage *storage, uint32_t number, uint32_t *newest,
		       struct cancel *cancel, struct err *err);

/* Leaves the end record of an attempt: `outcome` is a word ("finished", "preempted", "failed",
 * ...), `about` more facts (borrowed, may be NULL). It is written once: ERR_EXISTS for a second,
 * and if the claim of the attempt, which this process has put, is gone from the store. */
int storage_end_attempt(struct storage *storage, uint32_t number, const char *outcome,
			json_t *about, struct cancel *cancel, struct err *err);

/*
 * An attempt that is being preempted says for how long it may still commit, since the next one's
 * claim would end that. `announcement` counts from 1, and the newest counts; `left_ms` below 0: it
 * is not preempted after all. May be called while another thread uses the storage.
 */
int storage_announce_drain(struct storage *storage, uint32_t attempt, uint32_t announcement,
			   int64_t left_ms, struct cancel *cancel, struct err *err);

/* The newest attempt, where it has said so. */
struct drain_state {
	/* 0: nobody is to be waited for. */
	uint32_t attempt;
	uint32_t announcement;
	/* It left an end record: it is through, whatever it said. */
	bool ended;
	/* What it had left when it said so; below 0: it has taken it back. */
	int64_t left_ms;
	/* How old that was when it was first read, by the store's clock; 0 where that does not
	 * tell. */
	int64_t age_ms;
	char host[65];
};
/* Called again with what it has filled in (zeroed at first), it reads only what is new. */
int storage_poll_drain(struct storage *storage, struct drain_state *draining, struct cancel *cancel,
		       struct err *err);

/* --- notes --- */

/*
 * Notes of an attempt, for people and for reports; nothing that decides anything reads them. `kind`
 * is a word of letters: "ledger", "log", "metrics". A kind is kept in parts, whose numbers the
 * attempt gives, from 1 on, each once. Both may be called while another thread uses the storage.
 */
int storage_put_note(struct storage *storage, uint32_t attempt, const char *kind, unsigned part,
		     const void *data, size_t size, struct cancel *cancel, struct err *err);
/* Appends all parts in their order; none is no error. */
int storage_get_notes(struct storage *storage, uint32_t attempt, const char *kind,
		      struct bytes *out, struct cancel *cancel, struct err *err);

typedef void ledger_fn(void *arg, uint32_t attempt, const struct bytes *ledger);
/* The ledgers of the attempts from `oldest` on, in no order. `take` is not called for one without a
 * ledger. */
int storage_each_ledger(struct storage *storage, uint32_t oldest, ledger_fn *take, void *arg,
			struct cancel *cancel, struct err *err);

/* --- history --- */

/* How an attempt went, as far as its records say. */
struct attempt_summary {
	uint32_t number;
	/* That it has committed, and that are still there; the sequence of the newest; 0: none. */
	uint32_t snapshots, newest;
	/* Its claim could be read: else start, suspect and about say nothing. */
	bool known;
	struct snapshot_id start, suspect;
	json_t *about;
	/* It left an end record that could be read: else outcome is "" and end_about NULL. */
	bool ended;
	char outcome[32];
	json_t *end_about;
	/* RFC 3339, by the clock of its machine; "" unknown. */
	char created[32], ended_at[32];
};
struct attempt_history {
	/* Newest first. */
	struct attempt_summary *items;
	size_t count;
};

/* The newest attempts, `most` at most. What is damaged or was removed is unknown and no error;
 * ERR_VERSION as everywhere. */
int storage_history(struct storage *storage, size_t most, struct attempt_history *history,
		    struct cancel *cancel, struct err *err);
void attempt_history_release(struct attempt_history *history);
AUTO(struct attempt_history, attempt_history_release);

#endif
