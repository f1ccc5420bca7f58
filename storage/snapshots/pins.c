/* Pins: a record that keeps one snapshot, whatever the policy says. */
#include "storage/storage.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "job_records.h"

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
	if (err)
		*err = own;
	return -1;
}

static json_t *pin_body(struct storage *storage, struct snapshot_id id)
{
	char text[SNAPSHOT_ID_TEXT], nonce[33], created[32];

	random_hex(nonce);
	return json_pack("{s:s, s:s, s:s, s:s}", "id", snapshot_id_format(id, text), "nonce", nonce,
			 "created", clock_format(clock_wall_ms(), created, sizeof(created)), "host",
			 storage->host);
}

int storage_pin(struct storage *storage, struct snapshot_id id, struct cancel *cancel,
		struct err *err)
{
	auto_free char *key = job_record_key_pin(storage, id);
	auto_json json_t *body = pin_body(storage, id);
	struct err own = {0};

	if (check_snapshot(storage, id, cancel, err) < 0)
		return -1;
	if (job_record_put(storage->transfer.store, key, RECORD_PIN, body, NULL, cancel, &own) <
		    0 &&
	    own.kind != ERR_EXISTS) {
		if (err)
			*err = own;
		return err_wrap(err, "cannot pin");
	}
	/* A concurrent `forget` may have listed the pins before ours was put, and removed the
	 * snapshot. */
	if (check_snapshot(storage, id, cancel, &own) == 0)
		return 0;
	if (own.kind == ERR_NOT_FOUND)
		storage->transfer.store->ops->remove(storage->transfer.store, key, cancel, NULL);
	if (err)
		*err = own;
	return -1;
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
