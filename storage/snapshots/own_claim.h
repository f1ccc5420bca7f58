/*
 * The claim that this process has put. Numbers alone do not tell whether another has taken over: in
 * a store that was emptied meanwhile they begin at 1 again, so that another machine may get our
 * number, or a lower one.
 */
#ifndef OWN_CLAIM_H
#define OWN_CLAIM_H

#include "base/cancel.h"
#include "base/err.h"
#include "storage/backend/backend.h"

#include <stdbool.h>
#include <stdint.h>

struct storage;

struct own_claim {
	uint32_t number; /* 0: none yet */
	char nonce[33];
	/* It was listed, with this time of the store's clock. */
	bool seen;
	int64_t put_ms;
};

/*
 * ERR_EXISTS: the store was emptied, and another attempt has begun in it since our claim; the
 * sentence says so. 0: not so, or nothing is known, also where `number` is not that of our claim.
 * `claims` is the list of jobs/<job>/attempts/. Blocks, when the claim of our number is not the one
 * that was listed the last time.
 */
int own_claim_check(struct storage *storage, uint32_t number, const struct store_listing *claims,
		    struct cancel *cancel, struct err *err);

#endif
