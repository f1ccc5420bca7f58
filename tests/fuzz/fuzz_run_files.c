/* The files that a run leaves for the next one, and for a drill: the record of what is complete,
 * and the event ledger. */
#include "fuzz.h"

#include "base/cleanup.h"
#include "drill/verdict.h"
#include "workspace/completion_record.h"

/* What is read is written the same again. */
static void read_record(const uint8_t *data, size_t size)
{
	auto_(completion_record_release) struct completion_record record = {0}, again = {0};
	auto_free char *text = NULL, *other = NULL;
	struct err err = {0};

	if (completion_record_parse(data, size, &record, &err) < 0) {
		CHECK(err.kind == ERR_CORRUPT);
		return;
	}
	text = completion_record_format(&record, &err);
	CHECK(text && completion_record_parse(text, strlen(text), &again, &err) == 0);
	CHECK(strcmp(record.job, again.job) == 0 && record.files.count == again.files.count);
	other = completion_record_format(&again, &err);
	CHECK(other && strcmp(text, other) == 0);
}

static void read_ledger(const uint8_t *data, size_t size)
{
	struct run_events events;

	event_log_reader_init(&events);
	while (size > 0) {
		auto_free char *line = fuzz_line(&data, &size);

		event_log_reader_add(&events, line, strlen(line));
		CHECK(events.checkpoint_count <= RUN_CHECKPOINTS_MOST);
		CHECK(memchr(events.elsewhere, '\0', sizeof(events.elsewhere)));
		CHECK(memchr(events.failed, '\0', sizeof(events.failed)));
		CHECK(memchr(events.outcome, '\0', sizeof(events.outcome)));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_record(data, size);
	read_ledger(data, size);
	return 0;
}
