/* A job with a long history, written straight into the directory of the fixture's store: as real
 * attempts and saves would have left it, but quickly. */
#ifndef SYNTHETIC_HISTORY_H
#define SYNTHETIC_HISTORY_H

#include "storage_fixture.h"

#include "base/json.h"
#include "storage/records/job_records.h"

static inline void synthetic_write(struct fixture *fixture, const char *key, const void *data,
				   size_t size)
{
	auto_free char *path = text_format("%s/%s", fixture->store, key);
	auto_free char *parent = text_copy(path);
	auto_close int fd = -1;

	*strrchr(parent, '/') = '\0';
	assert_works(file_make_directories(parent, 0755, &err));
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_works(file_write_all(fd, data, size, &err));
}

/* Releases the body. */
static inline void synthetic_record(struct fixture *fixture, const char *key, enum record_kind kind,
				    json_t *body)
{
	auto_(bytes_release) struct bytes record = {0};

	assert_non_null(body);
	assert_works(record_encode(kind, body, &record, &err));
	synthetic_write(fixture, key, record.data, record.size);
	json_decref(body);
}

struct synthetic_attempt {
	uint32_t number;
	struct snapshot_id start, suspect;
	enum restore_policy policy;
	bool unconfirmed, unended, damaged;
};

static inline json_t *synthetic_id(struct snapshot_id id)
{
	char text[SNAPSHOT_ID_TEXT];

	return snapshot_id_is_none(id) ? json_null() : json_string(snapshot_id_format(id, text));
}

static inline void synthetic_attempt(struct fixture *fixture, const char *job,
				     const struct synthetic_attempt *attempt)
{
	auto_free char *claim = text_format("jobs/%s/attempts/%06u.json", job, attempt->number);
	auto_free char *confirmed =
		text_format("jobs/%s/attempts/%06u.confirmed.json", job, attempt->number);
	auto_free char *end = text_format("jobs/%s/attempts/%06u.end.json", job, attempt->number);
	json_t *body = json_pack("{s:I, s:s, s:s, s:o, s:{s:I}}", "attempt",
				 (json_int_t)attempt->number, "created", "2026-01-01T00:00:00Z",
				 "policy", restore_policy_name(attempt->policy), "start",
				 synthetic_id(attempt->start), "about", "told",
				 (json_int_t)attempt->number);

	if (!snapshot_id_is_none(attempt->suspect))
		json_object_set_new(body, "suspect", synthetic_id(attempt->suspect));
	if (attempt->damaged)
		synthetic_write(fixture, claim, "no record\n", 10);
	else
		synthetic_record(fixture, claim, RECORD_ATTEMPT, json_incref(body));
	json_decref(body);
	if (!attempt->unconfirmed)
		synthetic_record(fixture, confirmed, RECORD_CONFIRMED,
				 json_pack("{s:I}", "attempt", (json_int_t)attempt->number));
	if (!attempt->unended)
		synthetic_record(fixture, end, RECORD_END,
				 json_pack("{s:I, s:s, s:s, s:{s:I}}", "attempt",
					   (json_int_t)attempt->number, "created",
					   "2026-01-02T00:00:00Z", "outcome", "preempted", "about",
					   "exit_code", (json_int_t)(attempt->number % 7)));
}

/* A snapshot like `model`, which has one pack, under another id and with a pack of its own. */
static inline void synthetic_snapshot(struct fixture *fixture, struct snapshot_id model,
				      struct snapshot_id id)
{
	char text[SNAPSHOT_ID_TEXT], pack[128];
	auto_free char *key = job_record_key_snapshot(fixture->storage, id);
	auto_(bytes_release) struct bytes content = {0};
	struct store *store = fixture->storage->transfer.store;
	auto_free char *from = NULL, *to = NULL;
	json_t *body, *named;

	assert_works(storage_read_manifest(fixture->storage, model, &body, NULL, &err));
	named = json_array_get(json_object_get(body, "packs"), 0);
	from = transfer_pack_key(&fixture->storage->transfer, json_text_or(named, "key", ""));
	snprintf(pack, sizeof(pack), "packs/%06u/%06u-%032x-0001.pack", id.attempt, id.sequence,
		 id.attempt * 1000 + id.sequence);
	to = transfer_pack_key(&fixture->storage->transfer, pack);
	assert_works(store->ops->get(store, from, 0, STORE_TO_END, &content, NULL, &err));
	synthetic_write(fixture, to, content.data, content.size);
	json_object_set_new(named, "key", json_string(pack));
	json_object_set_new(body, "id", json_string(snapshot_id_format(id, text)));
	json_object_set_new(body, "attempt", json_integer(id.attempt));
	json_object_set_new(body, "sequence", json_integer(id.sequence));
	json_object_set_new(body, "parent", json_null());
	synthetic_record(fixture, key, RECORD_SNAPSHOT, body);
}

#endif
