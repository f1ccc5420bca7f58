#include "status_text.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLAN_PREFIX "plan: "

/* --- lines --- */

static void add_line(struct bytes *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void add_line(struct bytes *text, const char *format, ...)
{
	auto_free char *line = NULL;
	va_list args;

	va_start(args, format);
	line = text_format_list(format, args);
	va_end(args);
	text_to_printable(line);
	bytes_format(text, NULL, "%s\n", line);
}

static const char *format_ago(json_t *answer, const char *name, char *buffer, size_t capacity)
{
	json_t *seconds = json_object_get(answer, name);
	char time[32];

	buffer[0] = '\0';
	if (json_is_number(seconds))
		snprintf(buffer, capacity, ", %s ago",
			 text_duration(json_seconds_or(answer, name, 0), time, sizeof(time)));
	return buffer;
}

/* How far the training is beyond this step. */
static const char *format_behind(json_t *answer, int64_t step, char *buffer, size_t capacity)
{
	json_t *training = json_object_get(answer, "training");
	int64_t steps = json_number_or(training, "step", -1) - step;

	buffer[0] = '\0';
	if (step >= 0 && steps > 0)
		snprintf(buffer, capacity, ", %lld step%s behind", (long long)steps,
			 steps == 1 ? "" : "s");
	return buffer;
}

static void add_recovery_point(struct bytes *text, json_t *answer, const char *what, const char *id,
			       const char *step_name, const char *age_name)
{
	int64_t step = json_number_or(answer, step_name, -1);
	char ago[48], behind[48], step_text[40] = "";

	if (step >= 0)
		snprintf(step_text, sizeof(step_text), "%sstep %lld", id[0] ? ", " : "",
			 (long long)step);
	add_line(text, "  %-9s %s%s%s%s", what, id, step_text,
		 format_ago(answer, age_name, ago, sizeof(ago)),
		 format_behind(answer, step, behind, sizeof(behind)));
}

static void add_training(struct bytes *text, json_t *training)
{
	int64_t each_ms = json_seconds_or(training, "step_seconds", 0);
	char ago[48], time[32], mean[48] = "";

	if (each_ms > 0)
		snprintf(mean, sizeof(mean), ", %s each",
			 text_duration(each_ms, time, sizeof(time)));
	add_line(text, "  %-9s step %lld%s%s", "training",
		 (long long)json_number_or(training, "step", -1), mean,
		 format_ago(training, "seconds", ago, sizeof(ago)));
}

static void add_durable(struct bytes *text, json_t *answer)
{
	const char *durable = json_text_or(answer, "durable", "");

	if (durable[0])
		add_recovery_point(text, answer, "durable", durable, "step", "durable_seconds");
	else
		add_line(text, "  %-9s nothing yet", "durable");
	if (json_is_true(json_object_get(answer, "waiting")))
		add_recovery_point(text, answer, "waiting", "a newer checkpoint", "newest_step",
				   "newest_seconds");
}

static void add_upload(struct bytes *text, json_t *answer)
{
	json_t *saving = json_object_get(answer, "saving");
	struct progress_facts facts = {
		.done = (uint64_t)json_number_or(saving, "bytes_done", 0),
		.total = (uint64_t)json_number_or(saving, "bytes_total", 0),
		.rate = (uint64_t)json_number_or(saving, "bytes_per_second", 0),
		.still_ms = 1000 * json_number_or(saving, "still_seconds", 0),
	};
	char line[200];

	if (json_is_object(saving))
		add_line(text, "  %-9s %s", "sending",
			 progress_text_line(&facts, line, sizeof(line)));
	if (json_is_true(json_object_get(answer, "behind")))
		add_line(text, "  %-9s the upload has fallen behind", "warning");
}

/* --- a preemption: what it would cost, and what is known of it --- */

static void add_forecast(struct bytes *text, json_t *answer)
{
	const char *loss = json_text_or(answer, "loss", "");
	const char *plan = json_text_or(answer, "plan", "");

	/* What a notice that stands will cost is not known before its end. */
	if (loss[0] && !json_is_object(json_object_get(answer, "notice")))
		add_line(text, "  %-9s %s", "at risk", loss);
	if (text_starts(plan, PLAN_PREFIX))
		add_line(text, "  %-9s %s%s", "plan",
			 json_is_object(json_object_get(answer, "notice")) ? "" : "at a notice: ",
			 plan + strlen(PLAN_PREFIX));
}

static void add_notice(struct bytes *text, json_t *notice)
{
	json_t *seconds = json_object_get(notice, "seconds_left");
	char time[32], left[64] = "";

	if (!json_is_object(notice))
		return;
	if (json_is_number(seconds))
		snprintf(left, sizeof(left), "%s left: ",
			 text_duration(json_seconds_or(notice, "seconds_left", 0), time,
				       sizeof(time)));
	add_line(text, "  %-9s %s%s from %s (%s), until %.19sZ", "notice", left,
		 json_text_or(notice, "kind", ""), json_text_or(notice, "source", ""),
		 json_text_or(notice, "reason", ""), json_text_or(notice, "deadline", "?"));
}

static void add_sources(struct bytes *text, json_t *sources)
{
	json_t *source;
	size_t i;

	if (json_array_size(sources) == 0)
		add_line(text, "  %-9s SIGTERM alone", "notices");
	json_array_foreach(sources, i, source)
	{
		const char *why = json_text_or(source, "why", "");

		add_line(text, "  %-9s %s: %s%s%s", i == 0 ? "notices" : "",
			 json_text_or(source, "name", "?"), json_text_or(source, "health", "?"),
			 why[0] ? ": " : "", why);
	}
}

/* --- the other machines --- */

/* So many members are named, those first of whom there is something to say. */
#define MEMBERS_NAMED 16

static bool has_number(json_t *numbers, int64_t number)
{
	json_t *item;
	size_t i;

	json_array_foreach(numbers, i, item)
	{
		if (json_integer_value(item) == number)
			return true;
	}
	return false;
}

/* What is known of a member, and not more: one that was killed cannot say so. */
static const char *format_state(json_t *member, char text[64])
{
	const char *supervisor = json_text_or(member, "supervisor", "");
	char time[32];

	if (text_equal(supervisor, "gone"))
		return "its supervisor is gone";
	if (text_equal(supervisor, "answers"))
		return "goes on";
	if (!json_is_number(json_object_get(member, "heard_seconds")))
		return json_text_or(member, "state", "?");
	snprintf(text, 64, "nothing heard for %s",
		 text_duration(json_seconds_or(member, "heard_seconds", 0), time, sizeof(time)));
	return text;
}

static bool add_member(struct bytes *text, json_t *member, json_t *round, bool notable)
{
	int64_t number = json_number_or(member, "member", 0);
	const char *host = json_text_or(member, "host", "");
	const char *state = json_text_or(member, "state", "?");
	bool ended = !text_equal(state, "goes on") && !text_equal(state, "has not ended");
	bool gone = text_equal(json_text_or(member, "supervisor", ""), "gone");
	bool missing = has_number(json_object_get(round, "missing"), number);
	bool given = has_number(json_object_get(round, "given"), number);
	char buffer[64];

	if ((missing || ended || gone) != notable)
		return false;
	add_line(text, "  %-9s member %lld%s%s: %s%s", "", (long long)number, host[0] ? " on " : "",
		 host, format_state(member, buffer),
		 missing ? ", its part is missing"
		 : given ? ", has given its part"
			 : "");
	return true;
}

static void add_members(struct bytes *text, json_t *gang, json_t *round)
{
	json_t *list = json_object_get(gang, "list"), *member;
	int64_t members = json_number_or(gang, "members", 0), named = 0;
	size_t i;

	for (int notable = 1; notable >= 0; notable--)
		json_array_foreach(list, i, member)
		{
			if (named < MEMBERS_NAMED)
				named += add_member(text, member, round, notable);
		}
	if (named < members)
		add_line(text, "  %-9s and %lld more (--json)", "", (long long)(members - named));
}

static void add_round(struct bytes *text, json_t *gang, json_t *round)
{
	json_t *step = json_object_get(round, "step"), *why = json_object_get(round, "why");
	const char *unknown = json_text_or(round, "unknown", "");
	char at[40] = "", more[400] = "";

	if (json_is_integer(step))
		snprintf(at, sizeof(at), ", step %lld", (long long)json_integer_value(step));
	if (json_is_array(json_object_get(round, "given")))
		snprintf(more, sizeof(more), ", %zu of %lld parts are there",
			 json_array_size(json_object_get(round, "given")),
			 (long long)json_number_or(gang, "members", 0) -
				 (long long)json_array_size(json_object_get(round, "without")));
	else if (unknown[0])
		snprintf(more, sizeof(more), ", and whose parts are there is not known: %.300s",
			 unknown);
	else if (json_is_object(why))
		snprintf(more, sizeof(more), " by member %lld: %.300s",
			 (long long)json_number_or(why, "member", 0),
			 json_text_or(why, "reason", ""));
	add_line(text, "  %-9s %s%s: %s%s", "round", json_text_or(round, "id", "?"), at,
		 json_text_or(round, "state", "?"), more);
}

static void add_gang(struct bytes *text, json_t *gang)
{
	json_t *round = json_object_get(gang, "round");

	if (!json_is_object(gang))
		return;
	add_line(text, "  %-9s member %lld of %lld%s", "gang",
		 (long long)json_number_or(gang, "member", 0),
		 (long long)json_number_or(gang, "members", 0),
		 json_is_true(json_object_get(gang, "over")) ? ", whose attempt is over" : "");
	add_members(text, gang, round);
	if (json_is_object(round))
		add_round(text, gang, round);
}

/* --- each checkpoint --- */

static void add_paths(struct bytes *text, const char *what, json_t *paths)
{
	json_t *path;
	size_t i;

	json_array_foreach(paths, i, path)
		add_line(text, "    %-9s %s %s", "", what, json_string_value(path));
}

static int longest_name(json_t *checkpoints)
{
	json_t *checkpoint;
	int width = 0;
	size_t i;

	json_array_foreach(checkpoints, i, checkpoint)
	{
		int length = (int)strlen(json_text_or(checkpoint, "checkpoint", "?"));

		width = length > width ? length : width;
	}
	return width;
}

/* One line for each, as wide as the longest name; and below it what it lacks. */
static void add_checkpoints(struct bytes *text, json_t *checkpoints)
{
	int width = longest_name(checkpoints);
	json_t *checkpoint;
	size_t i;

	if (json_array_size(checkpoints) == 0)
		add_line(text, "  no checkpoint has been written yet");
	json_array_foreach(checkpoints, i, checkpoint)
	{
		long long missing = (long long)json_number_or(checkpoint, "missing", 0);
		long long files = (long long)json_number_or(checkpoint, "files", 0);

		add_line(text, "  %-*s  %-9s  %3lld %s  %s", width,
			 json_text_or(checkpoint, "checkpoint", "?"),
			 json_text_or(checkpoint, "verdict", "?"), files,
			 files == 1 ? "file " : "files", json_text_or(checkpoint, "why", ""));
		if (missing > 0)
			add_line(text, "    %-9s %lld of the files that earlier ones had: missing",
				 "", missing);
		add_paths(text, "open:", json_object_get(checkpoint, "open"));
		add_paths(text, "incomplete:", json_object_get(checkpoint, "incomplete"));
	}
}

/* ", attempt 3"; "": none is claimed, as of a command that has saved nothing. */
static const char *attempt_text(json_t *answer, char text[40])
{
	long long attempt = json_number_or(answer, "attempt", 0);

	text[0] = '\0';
	if (attempt > 0)
		snprintf(text, 40, ", attempt %lld", attempt);
	return text;
}

void status_text_append(struct bytes *text, json_t *answer)
{
	json_t *request = json_object_get(answer, "rank_progress");
	const char *store = json_text_or(answer, "store", "");
	long long pid = json_number_or(answer, "pid", 0);
	char process[40] = "", attempt[40];

	/* Before its launch the job has none. */
	if (pid > 0)
		snprintf(process, sizeof(process), ", pid %lld", pid);
	add_line(text, "%s: %s%s%s (supervisor %lld)", json_text_or(answer, "job", "?"),
		 json_text_or(answer, "state", "?"), attempt_text(answer, attempt), process,
		 (long long)json_number_or(answer, "supervisor_pid", 0));
	if (json_is_true(json_object_get(answer, "superseded")))
		add_line(text,
			 "  %-9s superseded by a newer attempt: what this one saves is not made "
			 "durable; end it",
			 "warning");
	add_line(text, "  %-9s %s", "store", store[0] ? store : "none");
	if (json_is_object(json_object_get(answer, "training")))
		add_training(text, json_object_get(answer, "training"));
	add_durable(text, answer);
	if (json_is_true(json_object_get(request, "active")))
		add_line(text, "  %-9s %s", "request", json_text_or(request, "text", ""));
	add_upload(text, answer);
	add_forecast(text, answer);
	add_notice(text, json_object_get(answer, "notice"));
	add_sources(text, json_object_get(answer, "sources"));
	add_gang(text, json_object_get(answer, "gang"));
	if (json_is_array(json_object_get(answer, "checkpoints")))
		add_checkpoints(text, json_object_get(answer, "checkpoints"));
}

/* --- one line --- */

char *status_text_change(json_t *answer)
{
	auto_(bytes_release) struct bytes line = {0};
	const char *durable = json_text_or(answer, "durable", "");
	int64_t step = json_number_or(answer, "step", -1);
	json_t *notice = json_object_get(answer, "notice");
	char *text, attempt[40];

	bytes_format(&line, NULL, "%s: %s%s; durable: %s", json_text_or(answer, "job", "?"),
		     json_text_or(answer, "state", "?"), attempt_text(answer, attempt),
		     durable[0] ? durable : "nothing yet");
	if (durable[0] && step >= 0)
		bytes_format(&line, NULL, ", step %lld", (long long)step);
	if (json_is_true(json_object_get(answer, "superseded")))
		bytes_format(&line, NULL, "; superseded by a newer attempt");
	if (json_is_object(json_object_get(answer, "saving")))
		bytes_format(&line, NULL, "; sending a checkpoint");
	if (json_is_true(json_object_get(answer, "behind")))
		bytes_format(&line, NULL, "; the upload has fallen behind");
	if (json_is_object(notice))
		bytes_format(&line, NULL, "; %s from %s (%s), until %.19sZ",
			     json_text_or(notice, "kind", ""), json_text_or(notice, "source", ""),
			     json_text_or(notice, "reason", ""),
			     json_text_or(notice, "deadline", "?"));
	text = text_copy_n((const char *)line.data, line.size);
	text_to_printable(text);
	return text;
}

char *status_text_end(json_t *ended)
{
	const char *durable = json_text_or(ended, "durable", "");
	char *text =
		text_format("%s has ended: %s (exit %lld); durable: %s",
			    json_text_or(ended, "job", "?"), json_text_or(ended, "outcome", "?"),
			    (long long)json_number_or(ended, "exit_code", 0),
			    durable[0] ? durable : "nothing");

	text_to_printable(text);
	return text;
}
