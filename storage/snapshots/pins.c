/* Pins: a record that keeps one snapshot, whatever the policy says. */
#include "storage/storage.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/json.h"
#include "forget.h"
#include "storage/records/records.h"

#include <stdlib.h>

static int check_snapshot(struct storage *storage, struct snapshot_id id, struct cancel *cancel,
			  struct err *err)
{
	char text[SNAPSHOT_ID_TEXT];
	int there = job_record_exists(storage, job_record_key_snapshot(storage, id), cancel, err);

	if (there != 0)
		return there < 0 ? -1 : 0;
	return err_set(err, ERR_NOT_FOUND, "job %s has no snapshot %s", storage->transfer.job,
		       snapshot_id_format(id, text));
}

static int put_pin(struct storage *storage, struct snapshot_id id, bool forgetting,
		   struct cancel *cancel, struct err *err)
{
	auto_free char *key = job_record_key_pin(storage, id);
	char text[SNAPSHOT_ID_TEXT];

	return job_record_put_new(storage, key, RECORD_PIN, cancel, err, "{s:s, s:o*}", "id",
				  snapshot_id_format(id, text), "forgetting",
				  forgetting ? json_true() : NULL);
}

/* --- its place --- */

int pin_read(struct storage *storage, struct snapshot_id id, enum pin_record *pin,
	     struct cancel *cancel, struct err *err)
{
	auto_free char *key = job_record_key_pin(storage, id);
	auto_json json_t *body = NULL;
	struct err own = {0};

	/* One that cannot be understood may be a pin. */
	*pin = PIN_PINNED;
	if (job_record_get(storage->transfer.store, key, RECORD_PIN, &body, cancel, &own) == 0)
		*pin = json_true_or(body, "forgetting", false) ? PIN_FORGETTING : PIN_PINNED;
	else if (own.kind == ERR_NOT_FOUND)
		*pin = PIN_NONE;
	else if (own.kind != ERR_CORRUPT && own.kind != ERR_VERSION)
		return err_pass(err, &own);
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
static int put_sign(struct storage *storage, struct snapshot_id id, char **sign,
		    struct cancel *cancel, struct err *err)
{
	struct store *store = storage->transfer.store;
	auto_free char *prefix = sign_prefix(storage, id);
	char nonce[33];
	struct err own = {0};

	random_hex(nonce);
	*sign = text_format("%s%s", prefix, nonce);
	if (store->ops->put(store, *sign, "forgetting\n", 11, STORE_UNIQUE, cancel, &own) < 0 &&
	    own.kind != ERR_NO_SPACE)
		return err_pass(err, &own);
	return 0;
}

int pin_forbid(struct storage *storage, struct snapshot_id id, bool *pinned, char **sign,
	       struct cancel *cancel, struct err *err)
{
	enum pin_record pin;
	struct err own = {0};

	*pinned = false;
	*sign = NULL;
	if (put_pin(storage, id, true, cancel, &own) == 0)
		return 0;
	if (own.kind != ERR_EXISTS && own.kind != ERR_NO_SPACE)
		return err_pass(err, &own);
	if (put_sign(storage, id, sign, cancel, err) < 0 ||
	    pin_read(storage, id, &pin, cancel, err) < 0)
		return -1;
	*pinned = pin == PIN_PINNED;
	return 0;
}

void pin_allow(struct storage *storage, struct snapshot_id id, struct cancel *cancel)
{
	auto_free char *key = job_record_key_pin(storage, id);
	struct store *store = storage->transfer.store;

	(void)store->ops->remove(store, key, cancel, NULL);
}

/* --- the pin --- */

static int check_not_forgotten(struct storage *storage, struct snapshot_id id,
			       struct cancel *cancel, struct err *err)
{
	char text[SNAPSHOT_ID_TEXT];
	enum pin_record pin;

	if (pin_read(storage, id, &pin, cancel, err) < 0)
		return -1;
	if (pin != PIN_FORGETTING)
		return 0;
	snapshot_id_format(id, text);
	return err_set(err, ERR_RETRY,
		       "snapshot %s is being forgotten; if no `forget` runs, one was cut short: "
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
		       "snapshot %s may just be being forgotten: pin it again in a moment",
		       snapshot_id_format(id, text));
}

int storage_pin(struct storage *storage, struct snapshot_id id, struct cancel *cancel,
		struct err *err)
{
	auto_free char *key = job_record_key_pin(storage, id);
	struct err own = {0};

	if (check_snapshot(storage, id, cancel, err) < 0)
		return -1;
	if (put_pin(storage, id, false, cancel, &own) < 0 && own.kind != ERR_EXISTS) {
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
	char text[SNAPSHOT_ID_TEXT];
	int there = job_record_exists(storage, job_record_key_pin(storage, id), cancel, err);

	if (there < 0)
		return -1;
	if (there == 0)
		return err_set(err, ERR_NOT_FOUND, "snapshot %s of job %s is not pinned",
			       snapshot_id_format(id, text), storage->transfer.job);
	return storage->transfer.store->ops->remove(storage->transfer.store, key, cancel, err);
}
