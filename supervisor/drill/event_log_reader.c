#include "event_log_reader.h"

#include "base/json.h"
#include "base/text.h"

#include <string.h>

/* Between "seconds" in the ledger, which is rounded, and the clock. */
#define ROUNDING_MS 20

void events_reader_init(struct run_events *events)
{
	*events = (struct run_events){.launched_ms = -1,
		.noticed_ms = -1,
		.asked_ms = -1,
		.saving_ms = -1,
		.restored_step = -1,
		.commit = {.step = -1},
		.child_exited_ms = -1};
}

static struct snapshot_id id_of(json_t *line, const char *name)
{
	struct snapshot_id id;

	if (!snapshot_id_parse(json_text_or(line, name, ""), &id))
		id = (struct snapshot_id){0};
	return id;
}

static uint64_t count_of(json_t *line, const char *name)
{
	int64_t value = json_number_or(line, name, 0);

	return value > 0 ? (uint64_t)value : 0;
}

static void passed_over(struct run_events *events, json_t *line)
{
	text_set(events->passed_over, sizeof(events->passed_over), json_text_or(line, "why", ""));
}

static void restored(struct run_events *events, json_t *line)
{
	events->restored = id_of(line, "id");
	events->restored_step = json_number_or(line, "step", -1);
}

static void launched(struct run_events *events, json_t *line)
{
	(void)line;
	events->launched_ms = events->at_ms;
}

static void noticed(struct run_events *events, json_t *line)
{
	if (events->noticed_ms >= 0 || !text_equal(json_text_or(line, "kind", ""), "stop"))
		return;
	events->noticed_ms = events->at_ms;
}

static void asked(struct run_events *events, json_t *line)
{
	if (events->asked_ms >= 0 || events->noticed_ms < 0)
		return;
	events->asked_ms = events->at_ms;
	text_set(events->asked_how, sizeof(events->asked_how),
		json_text_or(line, "signal", json_text_or(line, "how", "?")));
}

static void saving(struct run_events *events, json_t *line)
{
	(void)line;
	if (events->saving_ms < 0)
		events->saving_ms = events->at_ms;
}

static void sealed(struct run_events *events, json_t *line)
{
	if (events->seal_count == RUN_SEALS_MOST)
		memmove(events->seals, events->seals + 1,
			--events->seal_count * sizeof(events->seals[0]));
	events->seals[events->seal_count++] = (struct run_seal){.at_ms = events->at_ms,
		.captured_ms = events->saving_ms >= 0 ? events->saving_ms : events->at_ms,
		.step = json_number_or(line, "step", -1)};
	events->saving_ms = -1;
}

/* The one that a commit holds: by its step where both tell it, else the newest from before the snapshot was begun. Without any, the
 * commit itself is the only time known. */
static struct run_seal seal_of(const struct run_events *events, int64_t step, int64_t begun_ms)
{
	for (size_t i = events->seal_count; step >= 0 && i-- > 0;)
		if (events->seals[i].step == step)
			return events->seals[i];
	for (size_t i = events->seal_count; i-- > 0;)
		if (events->seals[i].at_ms <= begun_ms + ROUNDING_MS)
			return events->seals[i];
	return (struct run_seal){.at_ms = events->at_ms, .captured_ms = events->at_ms, .step = -1};
}

static void durable(struct run_events *events, json_t *line)
{
	double seconds = json_number_value(json_object_get(line, "seconds"));
	int64_t step = json_number_or(line, "step", -1);

	events->commit = (struct run_commit){.id = id_of(line, "id"),
		.at_ms = events->at_ms,
		.seal = seal_of(events, step, events->at_ms - (int64_t)(seconds * 1000)),
		.step = step,
		.bytes = count_of(line, "bytes")};
	events->failed[0] = '\0';
}

static void snapshot_failed(struct run_events *events, json_t *line)
{
	text_set(events->failed, sizeof(events->failed), json_text_or(line, "why", "unknown"));
}

static void child_exited(struct run_events *events, json_t *line)
{
	(void)line;
	events->child_exited_ms = events->at_ms;
}

static void over(struct run_events *events, json_t *line)
{
	text_set(events->outcome, sizeof(events->outcome), json_text_or(line, "outcome", ""));
}

static const struct {
	const char *name;
	enum run_event event;
	void (*add)(struct run_events *events, json_t *line);
} kinds[] = {
	{"passed_over", RUN_PASSED_OVER, passed_over},
	{"restored", RUN_RESTORED, restored},
	{"launched", RUN_LAUNCHED, launched},
	{"notice", RUN_NOTICED, noticed},
	{"asked", RUN_ASKED, asked},
	{"saving", RUN_SAVING, saving},
	{"sealed", RUN_SEALED, sealed},
	{"durable", RUN_DURABLE, durable},
	{"snapshot_failed", RUN_SNAPSHOT_FAILED, snapshot_failed},
	{"child_exited", RUN_CHILD_EXITED, child_exited},
	{"over", RUN_OVER, over},
};

enum run_event events_reader_add(struct run_events *events, const char *text, size_t length)
{
	auto_json json_t *line = json_parse(text, length, NULL);
	const char *name = json_text_or(line, "event", NULL);
	int64_t at_ms = json_number_or(line, "monotonic_ms", -1);

	if (!name || at_ms < 0)
		return RUN_UNREADABLE;
	events->at_ms = at_ms;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!text_equal(name, kinds[i].name))
			continue;
		kinds[i].add(events, line);
		return kinds[i].event;
	}
	return RUN_OTHER;
}
