/* The envelope of every small object. What is an object in JSON is put into one, taken out again,
 * and then damaged. */
#include "fuzz.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "storage/gangs/gang_records.h"
#include "storage/records/job_records.h"

static void read_raw(const uint8_t *data, size_t size)
{
	for (int kind = RECORD_FORMAT; kind <= RECORD_EVENT; kind++) {
		auto_json json_t *body = NULL;
		struct err err = {0};

		if (record_decode((enum record_kind)kind, data, size, &body, &err) == 0)
			CHECK(json_is_object(body));
		else
			CHECK(!body && (err.kind == ERR_CORRUPT || err.kind == ERR_VERSION));
	}
}

static void put_and_take(json_t *object, size_t number)
{
	auto_(bytes_release) struct bytes record = {0};
	auto_json json_t *again = NULL, *damaged = NULL;

	CHECK(record_encode(RECORD_SNAPSHOT, object, &record, NULL) == 0);
	CHECK(record_decode(RECORD_SNAPSHOT, record.data, record.size, &again, NULL) == 0);
	CHECK(json_equal(object, again));
	CHECK(record_decode(RECORD_ATTEMPT, record.data, record.size, &damaged, NULL) < 0);
	CHECK(record_decode(RECORD_SNAPSHOT, record.data, record.size - 1, &damaged, NULL) < 0);
	record.data[number % record.size] ^= (uint8_t)(1 << (number / record.size % 8));
	/* The header's version may become another one that is read: the body is what it was. */
	if (record_decode(RECORD_SNAPSHOT, record.data, record.size, &damaged, NULL) == 0)
		CHECK(json_equal(object, damaged));
	else
		CHECK(!damaged);
}

/* Nobody starts from what is not before him. */
static void read_claim(json_t *object)
{
	struct lineage_attempt claim = {.number = 3};

	if (job_record_decode_claim(object, &claim))
		CHECK(claim.number == 3 && claim.start.attempt < 3);
}

/* An event is about what was before it, and of a member that there can be. */
static void read_event(json_t *object)
{
	struct gang_event event;
	struct err err = {0};

	if (gang_event_decode(object, 1, 7, &event, &err) < 0) {
		CHECK(err.kind == ERR_CORRUPT || err.kind == ERR_VERSION);
		return;
	}
	CHECK(event.number == 7 && event.round < 7 && event.member < STORAGE_GANG_MOST);
	CHECK(event.step >= -1);
	CHECK(gang_event_equal(&event, &event));
}

/* A part is of one member, and has its list in pieces, or none. */
static void read_part(json_t *object)
{
	auto_(manifest_release) struct manifest part = {0};
	struct err err = {0};

	if (gang_part_decode(object, "job", (struct snapshot_id){1, 7}, 2, &part, &err) < 0)
		CHECK(err.kind == ERR_CORRUPT && !part.pieces && !part.packs);
	else
		CHECK(part.entry_count == 0 && part.part_count == 0);
}

static void read_id(const char *text)
{
	struct snapshot_id id, again;
	char buffer[SNAPSHOT_ID_TEXT];

	if (!snapshot_id_parse(text, &id))
		return;
	CHECK(snapshot_id_parse(snapshot_id_format(id, buffer), &again));
	CHECK(snapshot_id_compare(id, again) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_json json_t *object = json_parse(data, size, NULL);
	auto_free char *text = fuzz_text(data, size);
	size_t number = 0;

	read_raw(data, size);
	for (size_t i = 0; i < size; i++)
		number = number * 31 + data[i];
	read_id(text);
	if (!json_is_object(object))
		return 0;
	read_claim(object);
	read_event(object);
	read_part(object);
	put_and_take(object, number);
	return 0;
}
