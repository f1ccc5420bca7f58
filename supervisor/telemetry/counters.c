#include "counters.h"

#include "base/json.h"
#include "base/text.h"

static uint64_t count_of(json_t *line, const char *name)
{
	int64_t value = json_number_or(line, name, 0);

	return value > 0 ? (uint64_t)value : 0;
}

static double seconds_of(json_t *line)
{
	return json_number_value(json_object_get(line, "seconds"));
}

static void count_durable(struct counters *counters, json_t *line)
{
	counters->snapshots++;
	counters->snapshot_bytes = count_of(line, "bytes");
	counters->bytes += counters->snapshot_bytes;
	counters->bytes_sent += count_of(line, "bytes_sent");
	counters->snapshot_seconds = seconds_of(line);
}

static void count_notice(struct counters *counters, json_t *line)
{
	const char *kind = json_text_or(line, "kind", "");

	if (text_equal(kind, "cancelled")) {
		counters->cancelled++;
		counters->source[0] = '\0';
	} else if (text_equal(kind, "stop")) {
		counters->notices++;
		text_set(counters->source, sizeof(counters->source),
			 json_text_or(line, "source", ""));
	}
}

static void count_restored(struct counters *counters, json_t *line)
{
	counters->restore_seconds = seconds_of(line);
	counters->restored_bytes = count_of(line, "bytes");
}

void counters_add(struct counters *counters, const char *event, json_t *line)
{
	if (text_equal(event, "durable"))
		count_durable(counters, line);
	else if (text_equal(event, "snapshot_failed"))
		counters->snapshot_failures++;
	/* "again": more ranks hear the same request. */
	else if (text_equal(event, "asked") && !json_true_or(line, "again", false))
		counters->requests++;
	else if (text_equal(event, "notice"))
		count_notice(counters, line);
	else if (text_equal(event, "restored"))
		count_restored(counters, line);
}

json_t *counters_json(const struct counters *counters)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:I, s:f, s:I, s:s}",
			 "snapshots", (json_int_t)counters->snapshots, "snapshot_failures",
			 (json_int_t)counters->snapshot_failures, "requests",
			 (json_int_t)counters->requests, "notices", (json_int_t)counters->notices,
			 "cancelled", (json_int_t)counters->cancelled, "bytes",
			 (json_int_t)counters->bytes, "bytes_sent",
			 (json_int_t)counters->bytes_sent, "snapshot_seconds",
			 counters->snapshot_seconds, "snapshot_bytes",
			 (json_int_t)counters->snapshot_bytes, "restore_seconds",
			 counters->restore_seconds, "restored_bytes",
			 (json_int_t)counters->restored_bytes, "noticed_by", counters->source);
}
