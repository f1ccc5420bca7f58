#include "status_text.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/progress.h"
#include "costs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLAN_PREFIX "plan: "
/* So many members are named, those first of whom there is something to say. */
#define MEMBERS_NAMED 16

/* --- templates --- */

static bool add_list(struct bytes *out, json_t *list)
{
	json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		if (json_is_string(item))
			bytes_format(out, NULL, "%s%s", i ? ", " : "", json_string_value(item));
		else
			bytes_format(out, NULL, "%s%lld", i ? ", " : "",
				     (long long)json_integer_value(item));
	}
	return i > 0;
}

/* `kind` is what stands behind the colon. False: there is no such value. */
static bool add_value(struct bytes *out, json_t *value, const char *kind)
{
	double number = json_number_value(value);
	const char *text = json_string_value(value);
	char buffer[40];

	if (text_equal(kind, "?"))
		return json_is_true(value);
	if (text_equal(kind, "!"))
		return !value || json_is_null(value);
	if (text_equal(kind, "s")) {
		bytes_format(out, NULL, "%s", number == 1 ? "" : "s");
		return true;
	}
	if (json_is_array(value))
		return add_list(out, value);
	if (!text && (!json_is_number(value) || number < 0 || (*kind == '+' && number == 0)))
		return false;
	if (!text && strstr(kind, "time"))
		text = text_duration((int64_t)(number * 1000), buffer, sizeof(buffer));
	else if (!text && strstr(kind, "bytes"))
		text = text_bytes((uint64_t)number, buffer, sizeof(buffer));
	else if (!text && strstr(kind, "money"))
		text = storage_price_format(number, buffer, sizeof(buffer));
	else if (!text && strstr(kind, "percent"))
		snprintf(buffer, sizeof(buffer), "%.1f %%", 100 * number), text = buffer;
	else if (!text && strstr(kind, "price"))
		snprintf(buffer, sizeof(buffer), "$%g", number), text = buffer;
	else if (!text)
		snprintf(buffer, sizeof(buffer), "%.0f", number), text = buffer;
	if (text_equal(kind, "date") || text_equal(kind, "second"))
		bytes_format(out, NULL, "%.19s%s", text, *kind == 'd' ? "Z" : "");
	else
		bytes_format(out, NULL, "%s", text);
	return *text;
}

/* "{name.member:kind}". */
static bool fill_value(struct bytes *out, json_t *from, const char **at)
{
	size_t length = strcspn(*at, "}");
	auto_free char *name = text_copy_n(*at + 1, length - 1);
	char *kind = strchr(name, ':'), *rest = name, *member;
	json_t *value = from;

	*at += length + 1;
	if (kind)
		*kind++ = '\0';
	while ((member = strsep(&rest, ".")))
		value = json_object_get(value, member);
	return add_value(out, value, kind ? kind : "");
}

/* Up to the end of a group or of the template. False: a value is missing. */
static bool fill(struct bytes *out, json_t *from, const char **at)
{
	bool whole = true, done;
	size_t before;

	while (**at && !strchr("|]", **at)) {
		if (**at == '{') {
			whole &= fill_value(out, from, at);
		} else if (**at != '[') {
			bytes_append(out, (*at)++, 1, NULL);
		} else {
			done = false;
			do {
				(*at)++;
				before = out->size;
				if (!fill(out, from, at) || done)
					out->size = before;
				else
					done = true;
			} while (**at == '|');
			*at += **at == ']';
		}
	}
	return whole;
}

char *json_fill(const char *template, json_t *from)
{
	auto_(bytes_release) struct bytes out = {0};
	char *text;

	fill(&out, from, &template);
	text = text_copy_n(out.data ? (const char *)out.data : "", out.size);
	text_to_printable(text);
	return text;
}

void json_say(const char *template, json_t *from)
{
	auto_free char *line = json_fill(template, from);

	if (*line)
		puts(line);
}

/* None if nothing of it is there. */
static void add_line(struct bytes *text, const char *label, const char *template, json_t *from)
{
	auto_free char *line = json_fill(template, from);

	if (*line)
		bytes_format(text, NULL, "%s%s\n", label, line);
}

#define NONE "            "

/* --- the other machines of a gang --- */

bool json_has_number(json_t *numbers, int64_t number)
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
static bool add_member(struct bytes *text, json_t *member, json_t *round, bool notable)
{
	int64_t number = json_number_or(member, "member", 0);
	const char *state = json_text_or(member, "state", "?");
	bool ended = !text_equal(state, "goes on") && !text_equal(state, "has not ended");
	bool missing = json_has_number(json_object_get(round, "missing"), number);
	bool given = json_has_number(json_object_get(round, "given"), number);

	if ((missing || ended) != notable)
		return false;
	json_object_set_new(member, "missing", json_boolean(missing));
	json_object_set_new(member, "given", json_boolean(given));
	add_line(text, NONE,
		 "member {member}[ on {host}]: [nothing heard for {heard_seconds:time}|{state}|?]"
		 "[{missing:?}, its part is missing|{given:?}, has given its part]",
		 member);
	return true;
}

static void add_gang(struct bytes *text, json_t *gang)
{
	auto_json json_t *list = json_deep_copy(json_object_get(gang, "list"));
	json_t *round = json_object_get(gang, "round"), *member;
	int64_t members = json_number_or(gang, "members", 0), named = 0;
	size_t i;

	if (!json_is_object(gang))
		return;
	add_line(text, "  gang      ",
		 "member {member} of {members}[{over:?}, whose attempt is over]", gang);
	for (int notable = 1; notable >= 0; notable--)
		json_array_foreach(list, i, member)
		{
			if (named < MEMBERS_NAMED)
				named += add_member(text, member, round, notable);
		}
	if (named < members)
		bytes_format(text, NULL, NONE "and %lld more (--json)\n",
			     (long long)(members - named));
	if (!json_is_object(round))
		return;
	if (json_is_array(json_object_get(round, "given"))) {
		json_object_set_new(gang, "there",
				    json_integer((json_int_t)json_array_size(
					    json_object_get(round, "given"))));
		json_object_set_new(gang, "awaited",
				    json_integer(members -
						 (int64_t)json_array_size(
							 json_object_get(round, "without"))));
	}
	add_line(text, "  round     ",
		 "[{round.id}|?][, step {round.step}]: [{round.state}|?][, {there} of {awaited} "
		 "parts are there|, and whose parts are there is not known: {round.unknown}| by "
		 "member {round.why.member}: {round.why.reason}]",
		 gang);
}

/* --- each checkpoint --- */

static void add_paths(struct bytes *text, const char *what, json_t *paths)
{
	json_t *path;
	size_t i;

	json_array_foreach(paths, i, path)
	{
		auto_json json_t *one = json_pack("{s:s, s:O}", "what", what, "path", path);

		add_line(text, NONE "  ", "{what}: {path}", one);
	}
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
		bytes_format(text, NULL, "  no checkpoint has been written yet\n");
	json_array_foreach(checkpoints, i, checkpoint)
	{
		long long files = (long long)json_number_or(checkpoint, "files", 0);
		auto_free char *line =
			text_format("  %-*s  %-9s  %3lld %s  %s", width,
				    json_text_or(checkpoint, "checkpoint", "?"),
				    json_text_or(checkpoint, "verdict", "?"), files,
				    files == 1 ? "file " : "files",
				    json_text_or(checkpoint, "why", ""));

		text_to_printable(line);
		bytes_format(text, NULL, "%s\n", line);
		add_line(text, NONE "  ",
			 "[{missing:+} of the files that earlier ones had: missing]", checkpoint);
		add_paths(text, "open", json_object_get(checkpoint, "open"));
		add_paths(text, "incomplete", json_object_get(checkpoint, "incomplete"));
	}
}

/* --- the whole --- */

/* How far the training is beyond the step that the member `of` has. */
static void add_behind(json_t *answer, const char *name, const char *of)
{
	int64_t step = json_number_or(answer, of, -1);
	int64_t now = json_number_or(json_object_get(answer, "training"), "step", -1);

	if (step >= 0 && now > step)
		json_object_set_new(answer, name, json_integer(now - step));
}

static void add_progress(json_t *answer)
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
		json_object_set_new(answer, "sending",
				    json_string(progress_text_line(&facts, line, sizeof(line))));
}

#define TAKEN "superseded by a newer attempt"
#define FALLEN "the upload has fallen behind"
#define NOTICE "{notice.kind} from {notice.source} ({notice.reason}), until {notice.deadline:date}"

void status_text_append(struct bytes *text, json_t *answer)
{
	/* What a notice that stands will cost is not known before its end. */
	static const char *const lines[][2] = {
		{"", "[{job}|?]: [{state}|?][, attempt {attempt:+}][, pid {pid:+}] (supervisor "
		     "[{supervisor_pid}|0])"},
		{"  warning   ",
		 "[{superseded:?}" TAKEN ": what this one saves is not made durable; end it]"},
		{"  store     ", "[{store}|none]"},
		{"  training  ", "[step {training.step}[, {training.step_seconds:+time} each][, "
				 "{training.seconds:time} ago]]"},
		{"  durable   ", "[{durable}[, step {step}][, {durable_seconds:time} ago][, "
				 "{behind_steps} step{behind_steps:s} behind]|nothing yet]"},
		{"  waiting   ", "[{waiting:?}a newer checkpoint[, step {newest_step}][, "
				 "{newest_seconds:time} ago][, {newest_behind} "
				 "step{newest_behind:s} behind]]"},
		{"  request   ", "[{rank_progress.active:?}{rank_progress.text}]"},
		{"  sending   ", "[{sending}]"},
		{"  warning   ", "[{behind:?}" FALLEN "]"},
		{"  at risk   ", "[{notice:!}{loss}]"},
		{"  plan      ", "[[{notice:!}at a notice: ]{planned}]"},
		{"  notice    ", "[[{notice.seconds_left:time} left: ]" NOTICE "]"},
	};
	auto_json json_t *all = json_deep_copy(answer);
	const char *plan = json_text_or(answer, "plan", "");
	json_t *sources = json_object_get(answer, "sources"), *source;
	size_t i;

	add_behind(all, "behind_steps", "step");
	add_behind(all, "newest_behind", "newest_step");
	add_progress(all);
	if (text_starts(plan, PLAN_PREFIX))
		json_object_set_new(all, "planned", json_string(plan + strlen(PLAN_PREFIX)));
	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		add_line(text, lines[i][0], lines[i][1], all);
	if (json_array_size(sources) == 0)
		bytes_format(text, NULL, "  notices   SIGTERM alone\n");
	json_array_foreach(sources, i, source)
		add_line(text, i == 0 ? "  notices   " : NONE, "[{name}|?]: [{health}|?][: {why}]",
			 source);
	add_gang(text, json_object_get(all, "gang"));
	if (json_is_array(json_object_get(answer, "checkpoints")))
		add_checkpoints(text, json_object_get(answer, "checkpoints"));
}

char *status_text_change(json_t *answer)
{
	return json_fill("[{job}|?]: [{state}|?][, attempt {attempt:+}]; durable: [{durable}[, "
			 "step {step}]|nothing yet][{superseded:?}; " TAKEN "][{saving:!}|; "
			 "sending a checkpoint][{behind:?}; " FALLEN "][; " NOTICE "]",
			 answer);
}

char *status_text_end(json_t *ended)
{
	return json_fill("[{job}|?] has ended: [{outcome}|?] (exit {exit_code}); durable: "
			 "[{durable}|nothing]",
			 ended);
}
