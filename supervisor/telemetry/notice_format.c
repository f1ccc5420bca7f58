#include "notice_format.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/held_directory.h"
#include "base/json.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *notice_kind_name(enum notice_kind kind)
{
	static const char *const kinds[] = {
		[NOTICE_NONE] = "none",
		[NOTICE_ADVICE] = "advice",
		[NOTICE_STOP] = "stop",
		[NOTICE_CANCELLED] = "cancelled",
	};

	return kinds[kind];
}

static bool is_timed(const struct notice *notice)
{
	return notice->deadline_ms != CLOCK_NEVER && notice->kind == NOTICE_STOP;
}

const char *notice_format(const struct notice *notice, char *buffer, size_t capacity)
{
	char left[32];

	switch (notice->kind) {
	case NOTICE_STOP:
		snprintf(buffer, capacity, "preemption notice from %s (%s): %s%s left",
			 notice->source, notice->reason, notice->guessed ? "about " : "",
			 text_duration(clock_left_ms(notice->deadline_ms), left, sizeof(left)));
		break;
	case NOTICE_CANCELLED:
		snprintf(buffer, capacity, "%s withdraws its notice (%s)", notice->source,
			 notice->reason);
		break;
	case NOTICE_ADVICE:
	case NOTICE_NONE:
		snprintf(buffer, capacity, "advice from %s: %s", notice->source, notice->reason);
		break;
	}
	return buffer;
}

json_t *notice_format_json(const struct notice *notice)
{
	bool timed = is_timed(notice);
	int64_t left = timed ? clock_left_ms(notice->deadline_ms) : 0;
	char deadline[32];

	return json_pack("{s:s, s:s, s:s, s:s, s:s?, s:o, s:b}", "kind",
			 notice_kind_name(notice->kind), "source", notice->source, "identity",
			 notice->identity, "reason", notice->reason, "deadline",
			 timed ? clock_format(clock_wall_ms() + left, deadline, sizeof(deadline))
			       : NULL,
			 "seconds_left", timed ? json_real((double)left / 1000) : json_null(),
			 "guessed", notice->guessed);
}

const char *notice_format_source(const struct source_state *state, char *buffer, size_t capacity)
{
	if (state->health == SOURCE_ARMED)
		snprintf(buffer, capacity, "notices from %s: armed (%s)%s%s", state->name,
			 state->endpoint, state->why[0] ? ", " : "", state->why);
	else
		snprintf(buffer, capacity, "notices from %s: %s: %s", state->name,
			 source_health_name(state->health), state->why);
	return buffer;
}

json_t *notice_format_source_json(const struct source_state *state)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:I, s:I}", "name", state->name, "health",
			 source_health_name(state->health), "why", state->why, "endpoint",
			 state->endpoint, "polls", (json_int_t)state->polls, "unknowns",
			 (json_int_t)state->unknowns);
}

json_t *notice_format_sources_json(struct cloud_watch *watch)
{
	struct source_state states[CLOUD_SOURCES_MOST];
	json_t *sources = json_array();
	size_t count = watch ? cloud_watch_states(watch, states, CLOUD_SOURCES_MOST) : 0;

	for (size_t i = 0; i < count; i++)
		json_array_append_new(sources, notice_format_source_json(&states[i]));
	return sources;
}

void notice_format_write_file(const char *path, const struct notice *stop)
{
	auto_json json_t *about = NULL;
	auto_free char *text = NULL;

	if (!path)
		return;
	if (!stop) {
		held_directory_remove_file(path);
		return;
	}
	about = notice_format_json(stop);
	json_object_del(about, "seconds_left");
	text = json_dumps(about, JSON_COMPACT);
	if (text)
		held_directory_replace_file(path, text, strlen(text), NULL);
}
