#include "own_claim.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "job_records.h"
#include "storage_handle.h"

#include <stdlib.h>
#include <string.h>

static int taken_over(uint32_t by, struct err *err)
{
	return err_set(err, ERR_EXISTS,
		       "the store was emptied, and attempt %u has begun in it since", by);
}

/* True also if it cannot be read: then nothing is known. */
static bool has_our_nonce(struct storage *storage, const char *key, struct cancel *cancel)
{
	auto_json json_t *body = NULL;

	return job_record_get(storage->transfer.store, key, RECORD_ATTEMPT, &body, cancel, NULL) <
		       0 ||
	       text_equal(json_text_or(body, "nonce", ""), storage->own_claim.nonce);
}

/* The number of a claim that was put after ours; 0: there is none. */
static uint32_t find_later_claim(const struct own_claim *own, const struct store_listing *claims)
{
	for (size_t i = 0; i < claims->count; i++) {
		const char *name = strrchr(claims->items[i].key, '/') + 1;
		uint32_t number = (uint32_t)strtoul(name, NULL, 10);

		if (text_equal(name + strspn(name, "0123456789"), ".json") &&
		    number < own->number && claims->items[i].modified_ms > own->put_ms)
			return number;
	}
	return 0;
}

int own_claim_check(struct storage *storage, uint32_t number, const struct store_listing *claims,
		    struct cancel *cancel, struct err *err)
{
	struct own_claim *own = &storage->own_claim;
	auto_free char *key = job_record_key_attempt(storage, number);
	const struct store_object *claim = store_listing_find(claims, key);
	uint32_t later;

	if (own->number != number)
		return 0;
	if (!claim) {
		later = own->seen && own->put_ms > 0 ? find_later_claim(own, claims) : 0;
		return later > 0 ? taken_over(later, err) : 0;
	}
	if (own->seen && claim->modified_ms == own->put_ms)
		return 0;
	if (!has_our_nonce(storage, key, cancel))
		return taken_over(number, err);
	own->seen = true;
	own->put_ms = claim->modified_ms;
	return 0;
}
