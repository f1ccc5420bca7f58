#include "metrics_format.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

struct row {
	const char *name, *type, *help;
	const char *object; /* the status object that has the value; NULL: the status itself */
	const char *member;
};

// clang-format off
static const struct row rows[] = {
	{"attempt", "gauge", "Number of this attempt of the job.", NULL, "attempt"},
	{"durable_step", "gauge", "Step of the newest checkpoint in the store.", NULL, "step"},
	{"newest_step", "gauge", "Step of the newest complete checkpoint.", NULL, "newest_step"},
	{"at_risk_seconds", "gauge",
		"Age of the work that is not durable.", NULL, "at_risk_seconds"},
	{"snapshots_total", "counter", "Snapshots committed.", "counters", "snapshots"},
	{"snapshot_failures_total", "counter",
		"Snapshots that could not be committed.", "counters", "snapshot_failures"},
	{"snapshot_bytes_total", "counter", "Bytes of all snapshots.", "counters", "bytes"},
	{"sent_bytes_total", "counter",
		"Bytes written to the store for them.", "counters", "bytes_sent"},
	{"last_snapshot_seconds", "gauge",
		"From complete to durable, the newest snapshot.", "counters", "snapshot_seconds"},
	{"last_snapshot_bytes", "gauge",
		"Size of the newest snapshot.", "counters", "snapshot_bytes"},
	{"requests_total", "counter",
		"Times that the job was asked for a checkpoint.", "counters", "requests"},
	{"notices_total", "counter", "Announced preemptions.", "counters", "notices"},
	{"notices_cancelled_total", "counter",
		"Preemptions that were withdrawn.", "counters", "cancelled"},
	{"restore_seconds", "gauge",
		"Time to restore the checkpoint at the start.", "counters", "restore_seconds"},
	{"restored_bytes", "gauge",
		"Size of the checkpoint that was restored.", "counters", "restored_bytes"},
	{"exit_code", "gauge", "Exit code, once the run is over.", NULL, "exit_code"},
};
// clang-format on

/* In a label's value, backslash, quote and newline are escaped. */
static char *escape_label(const char *value)
{
	auto_(bytes_release) struct bytes out = {0};

	for (; *value; value++) {
		if (*value == '\n')
			bytes_append(&out, "\\n", 2, NULL);
		else if (*value == '"' || *value == '\\')
			bytes_format(&out, NULL, "\\%c", *value);
		else
			bytes_append(&out, value, 1, NULL);
	}
	return text_copy_n(out.data ? (const char *)out.data : "", out.size);
}

/* run="digits",team="nlp". The label is not called "job", because Prometheus sets that one itself.
 * A name that is added here, or to a single sample, must be reserved in labels.c. */
static char *format_labels(json_t *status)
{
	auto_(bytes_release) struct bytes out = {0};
	auto_free char *job = escape_label(json_text_or(status, "job", ""));
	const char *name;
	json_t *value;

	bytes_format(&out, NULL, "run=\"%s\"", job);
	json_object_foreach(json_object_get(status, "labels"), name, value)
	{
		auto_free char *text = escape_label(json_string_value(value));

		bytes_format(&out, NULL, ",%s=\"%s\"", name, text);
	}
	return text_copy_n((const char *)out.data, out.size);
}

static void add_head(struct bytes *out, const char *name, const char *type, const char *help)
{
	bytes_format(out, NULL, "# HELP reprieve_%s %s\n# TYPE reprieve_%s %s\n", name, help, name,
		     type);
}

static void add_row(struct bytes *out, const struct row *row, json_t *status, const char *labels)
{
	json_t *from = row->object ? json_object_get(status, row->object) : status;
	json_t *value = json_object_get(from, row->member);

	if (!json_is_number(value) || json_number_value(value) < 0)
		return;
	add_head(out, row->name, row->type, row->help);
	bytes_format(out, NULL, "reprieve_%s{%s} %.15g\n", row->name, labels,
		     json_number_value(value));
}

/* One sample per state, of which one is 1: dashboards show which, and alerts can name one. */
static void add_states(struct bytes *out, json_t *status, const char *const *states,
		       const char *labels)
{
	const char *now = json_text_or(status, "state", "");

	add_head(out, "state", "gauge", "1 for the state that the run is in.");
	for (size_t i = 0; states[i]; i++)
		bytes_format(out, NULL, "reprieve_state{%s,state=\"%s\"} %d\n", labels, states[i],
			     text_equal(states[i], now));
}

static void add_flag(struct bytes *out, const char *name, const char *help, bool value,
		     const char *labels)
{
	add_head(out, name, "gauge", help);
	bytes_format(out, NULL, "reprieve_%s{%s} %d\n", name, labels, value);
}

char *metrics_format(json_t *status, const char *const *states, int64_t now_ms)
{
	auto_(bytes_release) struct bytes out = {0};
	auto_free char *labels = format_labels(status);
	json_t *age = json_object_get(status, "durable_seconds");
	const char *source = json_text_or(json_object_get(status, "counters"), "noticed_by", "");

	add_states(&out, status, states, labels);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		add_row(&out, &rows[i], status, labels);
	if (json_is_number(age)) {
		add_head(&out, "durable_timestamp_seconds", "gauge",
			 "When the newest checkpoint in the store was complete.");
		bytes_format(&out, NULL, "reprieve_durable_timestamp_seconds{%s} %.3f\n", labels,
			     (double)now_ms / 1000 - json_number_value(age));
	}
	add_flag(&out, "upload_behind", "1 while uploads do not keep up with checkpoints.",
		 json_true_or(status, "behind", false), labels);
	add_head(&out, "preempted", "gauge", "1 while a stop is announced, and by which source.");
	bytes_format(&out, NULL, "reprieve_preempted{%s,source=\"%s\"} %d\n", labels, source,
		     source[0] != '\0');
	return text_copy_n((const char *)out.data, out.size);
}
