/* PRIVATE to storage/. Claims: the one that this process has put, and those that are listed. */
#ifndef CLAIMS_H
#define CLAIMS_H

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "lineage.h"
#include "storage/backend/backend.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The claim that this process has put. Numbers alone do not tell whether another has taken over: in
 * a store that was emptied meanwhile they begin at 1 again, so that another machine may get our
 * number, or a lower one. So it is known by its nonce, and by when it was put.
 */

struct attempt;
struct claim;
struct job_listing;
struct storage;

struct own_claim {
	uint32_t number; /* 0: none yet */
	char nonce[33];
	int64_t put_ms;  /* by the store's clock; 0: unknown */
	int64_t seen_ms; /* when a list showed it last, of CLOCK_MONOTONIC; 0: never */
	/* The look before the first commit confirms it. */
	bool confirm_later;
	/* It was put again into a store that was emptied, and nobody has looked yet whether another
	 * attempt has begun anew in it. */
	bool put_again;
};

/* Puts the claim of attempt->number if-absent, and remembers it. ERR_EXISTS: the number is taken.
 * Like all here but own_claim_note_time(), it blocks on the store. */
int own_claim_put(struct storage *storage, const struct claim *claim, const struct attempt *attempt,
		  struct cancel *cancel, struct err *err);
/* PURE. How long to wait until a claim is looked at again, in ms, by how long its put took: where a
 * claim is looked for and then put, another's may come over it after that. */
int64_t own_claim_window_ms(const struct store_health *health, int64_t put_took_ms);
/* From now on the claim counts, also if we die before the first snapshot. */
int own_claim_confirm(struct storage *storage, uint32_t number, struct cancel *cancel,
		      struct err *err);
/* That as a question of ask.h, of a claim that is still to be confirmed: see claim.saves. */
int own_claim_ask_confirm(struct storage *storage, const void *about, void *answer,
			  struct cancel *cancel, struct err *err);

/* *own: the claim of our number in the store is the one that we have put, as far as it can be
 * read. */
int own_claim_check_nonce(struct storage *storage, uint32_t number, bool *own,
			  struct cancel *cancel, struct err *err);
/* The same of an earlier claim of this process. */
int own_claim_check(struct storage *storage, const struct own_claim *claim, bool *own,
		    struct cancel *cancel, struct err *err);
/* What storage_superseded() says, by this listing of the attempts. */
int own_claim_judge(struct storage *storage, uint32_t number, const struct job_listing *listing,
		    uint32_t *newest, struct cancel *cancel, struct err *err);
/* ERR_EXISTS: an attempt newer than `attempt` has taken over. `listing`: of the attempts; NULL:
 * they are listed. */
int own_claim_check_newer(struct storage *storage, uint32_t attempt,
			  const struct job_listing *listing, struct cancel *cancel,
			  struct err *err);
/* When it was put, by the listing: from then on it is known by that. */
void own_claim_note_time(struct storage *storage, const struct job_listing *listing,
			 uint32_t number);

/* Puts the room for the next claim if it is not there. Without it, a start works as long as there
 * is room. */
void claim_room_keep(struct storage *storage, struct cancel *cancel);
/* Whether it was there when the job was listed. */
bool claim_room_is_listed(const struct storage *storage, const struct job_listing *listing);
/* True: it was there, and is removed. */
bool claim_room_use(struct store *store, const char *job, struct cancel *cancel);

/* Reads who started from what: the claims of the attempts that are listed. A
 * claim never changes, so a process reads each once. */

struct job_listing;

/* The claims that a process has read. In a store that was emptied, another one has the number, and
 * was put at another time. Thread-safe. */
struct known_claims {
	pthread_mutex_t mutex;
	struct lineage_attempt *items;
	size_t count;
};
/* Ignores one whose claimed_ms is unknown. */
void known_claims_add(struct known_claims *known, const struct lineage_attempt *claim);

/* Fills the attempts of the lineage. ERR_VERSION: another version wrote one. */
int listed_claims_read(struct storage *storage, const struct job_listing *listing,
		       struct cancel *cancel, struct err *err);
/* Only those that lineage_next_unread() asks for: one or two, as a rule. */
int listed_claims_read_chain(struct storage *storage, const struct job_listing *listing,
			     uint32_t newest, uint32_t until, struct cancel *cancel,
			     struct err *err);

#endif
