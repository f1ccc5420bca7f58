#include "verdict.h"

#include "base/json.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Of the saves after the notice so many are told of as they happen. */
#define SAVES_SHOWN 2
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
		.restored_step = -1,
		.first_after_notice = {.at_ms = -1, .captured_ms = -1, .step = -1},
		.first_step = -1,
		.commit = {.step = -1},
		.child_exited_ms = -1,
		.child_code = -1,
	};
}

__attribute__((format(printf, 2, 3))) static void say(struct run_events *events, const char *format,
						      ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(events->said, sizeof(events->said), format, args);
	va_end(args);
}

/* " of step 120"; "": it is not known. */
static const char *format_step(int64_t step, char text[48])
{
	snprintf(text, 48, " of step %" PRId64, step);
	return step < 0 ? "" : text;
}

static struct snapshot_id read_id(json_t *line)
{
	struct snapshot_id id;

	return snapshot_id_parse(json_text_or(line, "id", ""), &id) ? id : (struct snapshot_id){0};
}

static void on_snapshot_skipped(struct run_events *events, json_t *line)
{
	say(events, "a snapshot is skipped: %s", json_text_or(line, "why", ""));
}

static void on_restored(struct run_events *events, json_t *line)
{
	events->restored = read_id(line);
	events->restored_step = json_number_or(line, "step", -1);
}

static void on_launched(struct run_events *events, json_t *line)
{
	bool anew = snapshot_id_is_none(events->restored);
	char id[SNAPSHOT_ID_TEXT], step[48];

	(void)line;
	say(events, "the job starts %s%s%s", anew ? "from scratch" : "with snapshot ",
	    anew ? "" : snapshot_id_format(events->restored, id),
	    format_step(events->restored_step, step));
}

static void on_noticed(struct run_events *events, json_t *line)
{
	if (events->noticed_ms >= 0 || !text_equal(json_text_or(line, "kind", ""), "stop"))
		return;
	events->noticed_ms = events->at_ms;
	say(events, "reprieve has seen the notice");
}

static void on_asked(struct run_events *events, json_t *line)
{
	/* "again": more ranks hear a request that was out already. */
	if (events->asked_ms >= 0 || events->noticed_ms < 0 || json_true_or(line, "again", false))
		return;
	events->asked_ms = events->at_ms;
	text_set(events->asked_how, sizeof(events->asked_how),
		 json_text_or(line, "signal", json_text_or(line, "how", "?")));
	say(events, "the job is asked to save (%s)", events->asked_how);
}

static void on_saves_elsewhere(struct run_events *events, json_t *line)
{
	bool first = !events->elsewhere[0];

	text_elide(events->elsewhere, sizeof(events->elsewhere), json_text_or(line, "path", "?"));
	if (first)
		say(events, "the job saves outside its checkpoint directory: %s",
		    events->elsewhere);
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
	if (events->noticed_ms >= 0 && events->first_after_notice.at_ms < 0)
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
	int64_t written_ms = events->at_ms - json_seconds_or(line, "age", 0);
	char id[SNAPSHOT_ID_TEXT], of[48], size[32];
	struct run_commit commit = {
		.id = read_id(line),
		.at_ms = events->at_ms,
		.checkpoint = find_checkpoint(events, step,
					      events->at_ms - json_seconds_or(line, "seconds", 0)),
		.step = step,
		.bytes = bytes > 0 ? (uint64_t)bytes : 0,
	};
	/* It is seen a little after its last byte was written. */
	if (written_ms < commit.checkpoint.captured_ms)
		commit.checkpoint.captured_ms = written_ms;
	run_events_set_commit(events, &commit);
	events->failed[0] = '\0';
	if (events->noticed_ms >= 0 && events->durable_after_notice++ < SAVES_SHOWN)
		say(events, "the checkpoint%s is durable in the store: snapshot %s, %s",
		    format_step(step, of), snapshot_id_format(commit.id, id),
		    text_bytes(commit.bytes, size, sizeof(size)));
}

static void on_snapshot_failed(struct run_events *events, json_t *line)
{
	text_set(events->failed, sizeof(events->failed), json_text_or(line, "why", "unknown"));
	say(events, "a snapshot failed: %s", events->failed);
}

static void on_child_exited(struct run_events *events, json_t *line)
{
	events->child_code = (int)json_number_or(line, "code", -1);
	events->finished =
		events->child_code == 0 && events->asked_ms < 0 && events->stopping_ms < 0;
	if (events->noticed_ms >= 0)
		say(events,
		    events->finished ? "the job has ended by itself" : "the job is stopped");
}

static void on_ended(struct run_events *events, json_t *line)
{
	text_set(events->outcome, sizeof(events->outcome), json_text_or(line, "outcome", ""));
}

#define AT(member) offsetof(struct run_events, member)

static const struct {
	const char *name;
	void (*add)(struct run_events *events, json_t *line); /* NULL: its first time is all */
	size_t first_ms;                                      /* where that goes; 0: nowhere */
} kinds[] = {
	{"snapshot_skipped", on_snapshot_skipped, 0},
	{"restored", on_restored, 0},
	{"launched", on_launched, AT(launched_ms)},
	{"notice", on_noticed, 0},
	{"asked", on_asked, 0},
	{"saving", NULL, AT(saving_ms)},
	{"saves_elsewhere", on_saves_elsewhere, 0},
	{"checkpoint_complete", on_checkpoint_complete, 0},
	{"durable", on_durable, 0},
	{"snapshot_failed", on_snapshot_failed, 0},
	{"stopping", NULL, AT(stopping_ms)},
	{"child_exited", on_child_exited, AT(child_exited_ms)},
	{"ended", on_ended, 0},
};

bool event_log_reader_add(struct run_events *events, const char *text, size_t length)
{
	auto_json json_t *line = json_parse(text, length, NULL);
	const char *name = json_text_or(line, "event", NULL);
	int64_t at_ms = json_number_or(line, "monotonic_ms", -1);

	events->said[0] = '\0';
	if (!name || at_ms < 0 || at_ms > INT64_MAX / 2) {
		say(events, "a line of the event log cannot be read");
		return false;
	}
	events->at_ms = at_ms;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		int64_t *first_ms = (int64_t *)((char *)events + kinds[i].first_ms);

		if (!text_equal(name, kinds[i].name))
			continue;
		if (kinds[i].first_ms > 0 && *first_ms < 0)
			*first_ms = at_ms;
		if (kinds[i].add)
			kinds[i].add(events, line);
	}
	return true;
}
