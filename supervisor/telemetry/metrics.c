#include "telemetry.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/httpd.h"
#include "base/json.h"
#include "base/text.h"
#include "control/control.h"

#include <ctype.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

/* --- labels --- */

static size_t name_length(const char *text)
{
	size_t length = 0;

	if (isdigit((unsigned char)text[0]))
		return 0;
	while (isalnum((unsigned char)text[length]) || text[length] == '_')
		length++;
	return length;
}

/* Prometheus rejects a whole scrape if a sample has a label twice. Its own target labels (job,
 * instance) would replace ours. */
static bool is_reserved(const char *name)
{
	static const char *const reserved[] = {"run", "state", "source", "job", "instance", NULL};

	return text_starts(name, "__") || text_is_one_of(name, reserved);
}

int labels_add(json_t *labels, const char *text, struct err *err)
{
	for (const char *item = text; item; item = strchr(item, ',')) {
		size_t length;

		item += item != text;
		length = name_length(item);
		if (length == 0 || item[length] != '=')
			return err_set(err, ERR_INVALID,
				       "'%s': expected NAME=VALUE, such as team=nlp; a name has "
				       "letters, digits and '_'",
				       item);
		auto_free char *name = text_copy_n(item, length);
		if (is_reserved(name))
			return err_set(err, ERR_INVALID,
				       "label '%s' is reserved (run, state, source, job, instance, "
				       "__*): choose another name, such as my_%s",
				       name, name);
		auto_free char *value =
			text_copy_n(item + length + 1, strcspn(item + length + 1, ","));
		json_t *json = json_string(value);

		json_object_set_new(labels, name, json ? json : json_string("(not UTF-8)"));
	}
	return 0;
}

/* --- counters --- */

json_t *counters_new(void)
{
	return json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:f, s:i, s:f, s:i, s:s}",
			 "snapshots", 0, "snapshot_failures", 0, "requests", 0, "notices", 0,
			 "cancelled", 0, "bytes", 0, "bytes_sent", 0, "snapshot_seconds", 0.0,
			 "snapshot_bytes", 0, "restore_seconds", 0.0, "restored_bytes", 0,
			 "noticed_by", "");
}

static void add_to(json_t *counters, const char *name, int64_t more)
{
	json_object_set_new(counters, name, json_integer(json_number_or(counters, name, 0) + more));
}

static void set_to(json_t *counters, const char *name, json_t *line, const char *member)
{
	json_t *value = json_object_get(line, member);

	json_object_set_new(counters, name, value ? json_incref(value) : json_integer(0));
}

void counters_add(json_t *counters, const char *event, json_t *line)
{
	const char *kind = json_text_or(line, "kind", "");

	if (text_equal(event, "durable")) {
		add_to(counters, "snapshots", 1);
		add_to(counters, "bytes", json_number_or(line, "bytes", 0));
		add_to(counters, "bytes_sent", json_number_or(line, "bytes_sent", 0));
		set_to(counters, "snapshot_bytes", line, "bytes");
		set_to(counters, "snapshot_seconds", line, "seconds");
	} else if (text_equal(event, "snapshot_failed")) {
		add_to(counters, "snapshot_failures", 1);
	} else if (text_equal(event, "asked") && !json_true_or(line, "again", false)) {
		/* "again": more ranks hear the same request. */
		add_to(counters, "requests", 1);
	} else if (text_equal(event, "notice") && text_equal(kind, "cancelled")) {
		add_to(counters, "cancelled", 1);
		json_object_set_new(counters, "noticed_by", json_string(""));
	} else if (text_equal(event, "notice") && text_equal(kind, "stop")) {
		add_to(counters, "notices", 1);
		json_object_set_new(counters, "noticed_by",
				    json_string(json_text_or(line, "source", "")));
	} else if (text_equal(event, "restored")) {
		set_to(counters, "restore_seconds", line, "seconds");
		set_to(counters, "restored_bytes", line, "bytes");
	}
}

/* --- as Prometheus reads them --- */

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
	{"upload_behind", "gauge", "1 while uploads do not keep up with checkpoints.", NULL, "behind"},
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
 * A name that is added here, or to a single sample, must be reserved above. */
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
	json_t *member = json_object_get(from, row->member);
	double value = json_is_boolean(member)  ? json_is_true(member)
		       : json_is_number(member) ? json_number_value(member)
						: -1;

	if (value < 0)
		return;
	add_head(out, row->name, row->type, row->help);
	bytes_format(out, NULL, "reprieve_%s{%s} %.15g\n", row->name, labels, value);
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
	add_head(&out, "preempted", "gauge", "1 while a stop is announced, and by which source.");
	bytes_format(&out, NULL, "reprieve_preempted{%s,source=\"%s\"} %d\n", labels, source,
		     source[0] != '\0');
	return text_copy_n((const char *)out.data, out.size);
}

/* --- probes --- */

struct health_probe_result health_probe_decide(enum health_probe_kind kind, int64_t fresh_ms,
					       json_t *status)
{
	static const char *const phases[][2] = {
		{"running", "training"},   {"checkpointing", "saving"}, {"stopping", "draining"},
		{"uploading", "draining"}, {"restoring", "restoring"},  {"", "unknown"},
	};
	const char *state = json_text_or(status, "state", "");
	bool running = text_equal(state, "running"), training;
	struct health_probe_result answer = {.passed = true, .phase = "ended"};

	for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++)
		if (text_equal(state, phases[i][0]))
			answer.phase = phases[i][1];
	training = running && !json_is_object(json_object_get(status, "saving"));
	if (running && !training)
		answer.phase = "saving";
	if (kind == HEALTH_PROBE_READY)
		answer.passed = running;
	if (kind == HEALTH_PROBE_FRESH)
		answer.passed =
			!training || json_seconds_or(status, "at_risk_seconds", -1) <= fresh_ms;
	return answer;
}

/* --- the server --- */

static bool is_numeric(const char *host)
{
	const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST};
	struct addrinfo *info;

	if (getaddrinfo(host, NULL, &hints, &info) != 0)
		return false;
	freeaddrinfo(info);
	return true;
}

int metrics_server_parse_address(const char *address, char **host, uint16_t *port, struct err *err)
{
	const char *colon = strrchr(address, ':'), *digits = colon ? colon + 1 : address;
	size_t length = colon ? (size_t)(colon - address) : 0;
	bool bracketed = length >= 2 && address[0] == '[' && address[length - 1] == ']';
	auto_free char *found = !colon      ? text_copy("127.0.0.1")
				: bracketed ? text_copy_n(address + 1, length - 2)
					    : text_copy_n(address, length);
	uint64_t number;

	*host = NULL;
	/* An IPv6 address needs brackets, because any of its colons could precede the port. */
	if (!text_to_u64(digits, UINT16_MAX, &number) ||
	    (!bracketed && memchr(address, ':', length)) || (*found && !is_numeric(found)))
		return err_set(err, ERR_INVALID,
			       "invalid address '%s': use 9090, :9090, 127.0.0.1:9090 or "
			       "[::1]:9090",
			       address);
	*port = (uint16_t)number;
	*host = steal(&found);
	return 0;
}

#define STATUS_TIMEOUT_MS 2000

/* Each connection is a thread beside the job. A client that scrapes less often connects again. */
enum {
	CONNECTIONS_MOST = 16,
	IDLE_SECONDS = 10
};

struct metrics_server {
	struct httpd *httpd;
	char *session;
	const char *const *states;
};

static void handle_request(void *arg, const struct httpd_request *request,
			   struct httpd_reply *reply)
{
	struct metrics_server *server = arg;
	auto_json json_t *status = NULL;
	bool live = text_equal(request->path, "/livez");
	struct health_probe_result answer;
	struct err err;
	int result;

	if (!text_equal(request->path, "/metrics") && !live &&
	    !text_equal(request->path, "/readyz")) {
		httpd_reply_text(reply, 404, "/metrics, /livez or /readyz\n");
		return;
	}
	result = control_client_query(server->session, "status", STATUS_TIMEOUT_MS, &status, &err);
	/* A supervisor that refuses is alive: it must not be killed because it has many clients. */
	if (result < 0 && (err.kind != ERR_RETRY || !live)) {
		httpd_reply_text(reply, 503, err.text);
		return;
	}
	if (text_equal(request->path, "/metrics")) {
		auto_free char *text = metrics_format(status, server->states, clock_wall_ms());

		httpd_reply_text(reply, 200, text);
		httpd_reply_header(reply, "Content-Type",
				   "text/plain; version=0.0.4; charset=utf-8");
		return;
	}
	answer = health_probe_decide(live ? HEALTH_PROBE_LIVE : HEALTH_PROBE_READY, 0, status);
	httpd_reply_text(reply, answer.passed ? 200 : 503, answer.phase);
}

int metrics_server_start(const char *address, const char *session, const char *const *states,
			 struct metrics_server **server, struct err *err)
{
	auto_free char *host = NULL;
	struct metrics_server *new;
	uint16_t port = 0;

	*server = NULL;
	if (metrics_server_parse_address(address, &host, &port, err) < 0)
		return -1;
	new = memory_new(sizeof(*new));
	new->session = text_copy(session);
	new->states = states;
	if (httpd_start(
		    &(struct httpd_options){
			    .address = host,
			    .port = port,
			    .handler = handle_request,
			    .arg = new,
			    .connections_most = CONNECTIONS_MOST,
			    .idle_seconds = IDLE_SECONDS,
		    },
		    &new->httpd, err) < 0) {
		metrics_server_stop(new);
		return -1;
	}
	*server = new;
	return 0;
}

void metrics_server_stop(struct metrics_server *server)
{
	if (!server)
		return;
	httpd_stop(server->httpd);
	free(server->session);
	free(server);
}
