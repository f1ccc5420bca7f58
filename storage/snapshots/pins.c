/* Pins: a record that keeps one snapshot, whatever the policy says. */
#include "storage/storage.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "pin_place.h"
#include "storage/records/records.h"

#include <stdlib.h>

static int check_snapshot(struct storage *storage, struct snapshot_id id, struct cancel *cancel,
			  struct err *err)
{
	auto_free char *key = job_record_key_snapshot(storage, id);
	auto_(bytes_release) struct bytes first = {0};
	char text[SNAPSHOT_ID_TEXT];
	struct err own = {0};

	if (storage->transfer.store->ops->get(storage->transfer.store, key, 0, 1, &first, cancel,
					      &own) == 0)
		return 0;
	if (own.kind == ERR_NOT_FOUND)
		return err_set(err, ERR_NOT_FOUND, "job %s has no snapshot %s",
			       storage->transfer.job, snapshot_id_format(id, text));
	return err_pass(err, &own);
}

static json_t *pin_body(struct storage *storage, struct snapshot_id id, bool forgetting)
{
	char text[SNAPSHOT_ID_TEXT], nonce[33], created[32];

	random_hex(nonce);
	return json_pack("{s:s, s:s, s:s, s:s, s:o*}", "id", snapshot_id_format(id, text), "nonce",
			 nonce, "created", clock_format(clock_wall_ms(), created, sizeof(created)),
			 "host", storage->host, "forgetting", forgetting ? json_true() : NULL);
}

/* --- its place --- */

enum pin_record {
	PIN_NONE,
	PIN_PINNED,
	PIN_LEFT, /* by a `forget`, under way or killed */
};

static int read_pin(struct storage *storage, struct snapshot_id id, enum pin_record *pin,
		    struct cancel *cancel, struct err *err)
{
	auto_free char *key = job_record_key_pin(storage, id);
	auto_json json_t *body = NULL;
	struct err own = {0};

	/* One that cannot be understood may be a pin. */
	*pin = PIN_PINNED;
	if (job_record_get(storage->transfer.store, key, RECORD_PIN, &body, cancel, &own) == 0)
		*pin = json_true_or(body, "forgetting", false) ? PIN_LEFT : PIN_PINNED;
	else if (own.kind == ERR_NOT_FOUND)
		*pin = PIN_NONE;
	else if (own.kind != ERR_CORRUPT && own.kind != ERR_VERSION)
		return err_pass(err, &own);
	return 0;
}

int pin_place_is_left(struct storage *storage, struct snapshot_id id, bool *left,
		      struct cancel *cancel, struct err *err)
{
	enum pin_record pin;

	*left = false;
	if (read_pin(storage, id, &pin, cancel, err) < 0)
		return -1;
	*left = pin == PIN_LEFT;
	return 0;
}

/* Below tmp/, where garbage collection removes it if its process is killed. */
static char *sign_prefix(const struct storage *storage, struct snapshot_id id)
{
	char text[SNAPSHOT_ID_TEXT];

	return text_format("tmp/forgetting-%s-%s-", storage->transfer.job,
			   snapshot_id_format(id, text));
}

/* A full store takes no sign, and no pin either. */
static int put_sign(struct storage *storage, struct snapshot_id id, struct pin_place *place,
		    struct cancel *cancel, struct err *err)
{
	struct store *store = storage->transfer.store;
	auto_free char *prefix = sign_prefix(storage, id);
	char nonce[33];
	struct err own = {0};

	random_hex(nonce);
	place->sign = text_format("%s%s", prefix, nonce);
	if (store->ops->put(store, place->sign, "forgetting\n", 11, STORE_UNIQUE, cancel, &own) <
		    0 &&
	    own.kind != ERR_NO_SPACE)
		return err_pass(err, &own);
	return 0;
}

int pin_place_take(struct storage *storage, struct snapshot_id id, struct pin_place *place,
		   struct cancel *cancel, struct err *err)
{
	auto_free char *key = job_record_key_pin(storage, id);
	auto_json json_t *body = pin_body(storage, id, true);
	enum pin_record pin;
	struct err own = {0};

	*place = (struct pin_place){0};
	place->own = job_record_put(storage->transfer.store, key, RECORD_PIN, body, NULL, cancel,
				    &own) == 0;
	if (place->own)
		return 0;
	if (own.kind != ERR_EXISTS && own.kind != ERR_NO_SPACE)
		return err_pass(err, &own);
	if (put_sign(storage, id, place, cancel, err) < 0 ||
	    read_pin(storage, id, &pin, cancel, err) < 0) {
		pin_place_leave(storage, id, place, PIN_PLACE_KEPT, cancel);
		return -1;
	}
	place->pinned = pin == PIN_PINNED;
	return 0;
}

void pin_place_leave(struct storage *storage, struct snapshot_id id, struct pin_place *place,
		     enum pin_place_outcome outcome, struct cancel *cancel)
{
	auto_free char *key = job_record_key_pin(storage, id);
	struct store *store = storage->transfer.store;

	if (outcome == PIN_PLACE_REMOVED || (outcome == PIN_PLACE_KEPT && place->own))
		(void)store->ops->remove(store, key, cancel, NULL);
	if (place->sign && outcome != PIN_PLACE_UNKNOWN)
		(void)store->ops->remove(store, place->sign, cancel, NULL);
	free(place->sign);
	*place = (struct pin_place){0};
}

/* --- the pin --- */

static int check_not_forgotten(struct storage *storage, struct snapshot_id id,
			       struct cancel *cancel, struct err *err)
{
	char text[SNAPSHOT_ID_TEXT];
	bool left;

	if (pin_place_is_left(storage, id, &left, cancel, err) < 0)
		return -1;
	if (!left)
		return 0;
	snapshot_id_format(id, text);
	return err_set(err, ERR_RETRY,
		       "snapshot %s is just being forgotten; if no `forget` runs, one was killed: "
		       "unpin %s, and pin it again",
		       text, text);
}

/* The pin is in its place. Who had looked there before may still remove the snapshot; who looks
 * later keeps it. */
static int check_no_signs(struct storage *storage, struct snapshot_id id, struct cancel *cancel,
			  struct err *err)
{
	auto_(store_listing_release) struct store_listing signs = {0};
	auto_free char *prefix = sign_prefix(storage, id);
	struct store *store = storage->transfer.store;
	char text[SNAPSHOT_ID_TEXT];

	if (store->ops->list(store, prefix, STORE_ALL, &signs, cancel, err) < 0)
		return -1;
	if (signs.count == 0)
		return 0;
	return err_set(err, ERR_RETRY,
		       "snapshot %s may just be being forgotten: pin it again in a moment, to "
		       "see whether it has stayed",
		       snapshot_id_format(id, text));
}

int storage_pin(struct storage *storage, struct snapshot_id id, struct cancel *cancel,
		struct err *err)
{
	auto_free char *key = job_record_key_pin(storage, id);
	auto_json json_t *body = pin_body(storage, id, false);
	struct err own = {0};

	if (check_snapshot(storage, id, cancel, err) < 0)
		return -1;
	if (job_record_put(storage->transfer.store, key, RECORD_PIN, body, NULL, cancel, &own) <
		    0 &&
	    own.kind != ERR_EXISTS) {
		err_pass(err, &own);
		return err_wrap(err, "cannot pin");
	}
	if (own.kind == ERR_EXISTS && check_not_forgotten(storage, id, cancel, err) < 0)
		return err_wrap(err, "cannot pin");
	if (check_no_signs(storage, id, cancel, err) < 0)
		return err_wrap(err, "cannot pin");
	/* It may have been forgotten before. */
	if (check_snapshot(storage, id, cancel, &own) == 0)
		return 0;
	if (own.kind == ERR_NOT_FOUND)
		storage->transfer.store->ops->remove(storage->transfer.store, key, cancel, NULL);
	return err_pass(err, &own);
}

int storage_unpin(struct storage *storage, struct snapshot_id id, struct cancel *cancel,
		  struct err *err)
{
	auto_free char *key = job_record_key_pin(storage, id);
	auto_free struct snapshot_id *pins = NULL;
	char text[SNAPSHOT_ID_TEXT];
	size_t count, i;

	if (job_records_list_ids(storage, "pins", &pins, &count, cancel, err) < 0)
		return -1;
	for (i = 0; i < count && snapshot_id_compare(pins[i], id) != 0; i++)
		;
	if (i == count)
		return err_set(err, ERR_NOT_FOUND, "snapshot %s of job %s is not pinned",
			       snapshot_id_format(id, text), storage->transfer.job);
	return storage->transfer.store->ops->remove(storage->transfer.store, key, cancel, err);
}
