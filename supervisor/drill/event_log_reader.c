#include "event_log_reader.h"

#include "base/json.h"
#include "base/text.h"

#include <stddef.h>
#include <string.h>

/* The log rounds "seconds", so that times computed from it differ from the clock by this. */
#define ROUNDING_MS 20

void event_log_reader_init(struct run_events *events)
{
	*events = (struct run_events){
		.launched_ms = -1,
		.noticed_ms = -1,
		.asked_ms = -1,
		.stopping_ms = -1,
		.saving_ms = -1,
		.elsewhere_ms = -1,
		.restored_step = -1,
		.first_after_notice = {.at_ms = -1, .captured_ms = -1, .step = -1},
		.first_step = -1,
		.commit = {.step = -1},
		.child_exited_ms = -1,
		.child_code = -1,
	};
}

static struct snapshot_id read_id(json_t *line)
{
	struct snapshot_id id;

	return snapshot_id_parse(json_text_or(line, "id", ""), &id) ? id : (struct snapshot_id){0};
}

static void on_snapshot_skipped(struct run_events *events, json_t *line)
{
	text_set(events->passed_over, sizeof(events->passed_over), json_text_or(line, "why", ""));
}

static void on_restored(struct run_events *events, json_t *line)
{
	events->restored = read_id(line);
	events->restored_step = json_number_or(line, "step", -1);
}

static void on_noticed(struct run_events *events, json_t *line)
{
	if (events->noticed_ms >= 0 || !text_equal(json_text_or(line, "kind", ""), "stop"))
		return;
	events->noticed_ms = events->at_ms;
}

static void on_asked(struct run_events *events, json_t *line)
{
	/* "again": more ranks hear a request that was out already. */
	if (events->asked_ms >= 0 || events->noticed_ms < 0 || json_true_or(line, "again", false))
		return;
	events->asked_ms = events->at_ms;
	text_set(events->asked_how, sizeof(events->asked_how),
		 json_text_or(line, "signal", json_text_or(line, "how", "?")));
}

static void on_saves_elsewhere(struct run_events *events, json_t *line)
{
	text_elide(events->elsewhere, sizeof(events->elsewhere), json_text_or(line, "path", "?"));
}

static void on_checkpoint_complete(struct run_events *events, json_t *line)
{
	if (events->checkpoint_count == RUN_CHECKPOINTS_MOST)
		memmove(events->checkpoints, events->checkpoints + 1,
			--events->checkpoint_count * sizeof(events->checkpoints[0]));
	events->checkpoints[events->checkpoint_count++] = (struct run_checkpoint){
		.at_ms = events->at_ms,
		.captured_ms = events->saving_ms >= 0 ? events->saving_ms : events->at_ms,
		.step = json_number_or(line, "step", -1),
	};
	if (events->checkpoint_count == 1)
		events->first_step = events->checkpoints[0].step;
	events->saving_ms = -1;
	if (events->noticed_ms >= 0 && events->complete_after_notice++ == 0)
		events->first_after_notice = events->checkpoints[events->checkpoint_count - 1];
}

/* The checkpoint that a commit holds: the one of the same step, if both have a step; else the
 * newest one before the snapshot began. If there is none, the time of the commit is used. */
static struct run_checkpoint find_checkpoint(const struct run_events *events, int64_t step,
					     int64_t begun_ms)
{
	for (size_t i = events->checkpoint_count; step >= 0 && i-- > 0;)
		if (events->checkpoints[i].step == step)
			return events->checkpoints[i];
	for (size_t i = events->checkpoint_count; i-- > 0;)
		if (events->checkpoints[i].at_ms <= begun_ms + ROUNDING_MS)
			return events->checkpoints[i];
	return (struct run_checkpoint){
		.at_ms = events->at_ms,
		.captured_ms = events->at_ms,
		.step = -1,
	};
}

void run_events_set_commit(struct run_events *events, const struct run_commit *commit)
{
	events->commit = *commit;
	if (snapshot_id_is_none(events->due.id) && events->first_after_notice.at_ms >= 0 &&
	    commit->checkpoint.at_ms >= events->first_after_notice.at_ms)
		events->due = *commit;
}

static void on_durable(struct run_events *events, json_t *line)
{
	int64_t step = json_number_or(line, "step", -1), bytes = json_number_or(line, "bytes", 0);
	int64_t written_ms;
	struct run_commit commit = {
		.id = read_id(line),
		.at_ms = events->at_ms,
		.checkpoint = find_checkpoint(events, step,
					      events->at_ms - json_seconds_or(line, "seconds", 0)),
		.step = step,
		.bytes = bytes > 0 ? (uint64_t)bytes : 0,
	};
	/* It is seen a little after its last byte was written. */
	written_ms = events->at_ms - json_seconds_or(line, "age", 0);
	if (written_ms < commit.checkpoint.captured_ms)
		commit.checkpoint.captured_ms = written_ms;
	run_events_set_commit(events, &commit);
	events->failed[0] = '\0';
	events->durable_after_notice += events->noticed_ms >= 0;
}

static void on_snapshot_failed(struct run_events *events, json_t *line)
{
	text_set(events->failed, sizeof(events->failed), json_text_or(line, "why", "unknown"));
}

static void on_child_exited(struct run_events *events, json_t *line)
{
	events->child_code = (int)json_number_or(line, "code", -1);
	events->finished =
		events->child_code == 0 && events->asked_ms < 0 && events->stopping_ms < 0;
}

static void on_ended(struct run_events *events, json_t *line)
{
	text_set(events->outcome, sizeof(events->outcome), json_text_or(line, "outcome", ""));
}

#define AT(member) offsetof(struct run_events, member)

static const struct {
	const char *name;
	enum run_event event;
	void (*add)(struct run_events *events, json_t *line); /* NULL: its first time is all */
	size_t first_ms;                                      /* where that goes; 0: nowhere */
} kinds[] = {
	{"snapshot_skipped", RUN_SNAPSHOT_SKIPPED, on_snapshot_skipped, 0},
	{"restored", RUN_RESTORED, on_restored, 0},
	{"launched", RUN_LAUNCHED, NULL, AT(launched_ms)},
	{"notice", RUN_NOTICED, on_noticed, 0},
	{"asked", RUN_ASKED, on_asked, 0},
	{"saving", RUN_SAVING, NULL, AT(saving_ms)},
	{"saves_elsewhere", RUN_SAVES_ELSEWHERE, on_saves_elsewhere, AT(elsewhere_ms)},
	{"checkpoint_complete", RUN_CHECKPOINT_COMPLETE, on_checkpoint_complete, 0},
	{"durable", RUN_DURABLE, on_durable, 0},
	{"snapshot_failed", RUN_SNAPSHOT_FAILED, on_snapshot_failed, 0},
	{"stopping", RUN_STOPPING, NULL, AT(stopping_ms)},
	{"child_exited", RUN_CHILD_EXITED, on_child_exited, AT(child_exited_ms)},
	{"ended", RUN_ENDED, on_ended, 0},
};

enum run_event event_log_reader_add(struct run_events *events, const char *text, size_t length)
{
	auto_json json_t *line = json_parse(text, length, NULL);
	const char *name = json_text_or(line, "event", NULL);
	int64_t at_ms = json_number_or(line, "monotonic_ms", -1);

	if (!name || at_ms < 0 || at_ms > INT64_MAX / 2)
		return RUN_UNREADABLE;
	events->at_ms = at_ms;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		int64_t *first_ms = (int64_t *)((char *)events + kinds[i].first_ms);

		if (!text_equal(name, kinds[i].name))
			continue;
		if (kinds[i].first_ms > 0 && *first_ms < 0)
			*first_ms = at_ms;
		if (kinds[i].add)
			kinds[i].add(events, line);
		return kinds[i].event;
	}
	return RUN_OTHER;
}
