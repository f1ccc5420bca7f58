/*
 * Compute Engine: a plain GET for the current value and its ETag, then GETs that return when the
 * value changes. Each key has a thread of its own, because such a GET blocks one.
 */
#include "watcher.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* --- the replies --- */

/* False: `verdict` is set, because the reply is not this server's or has no value. */
static bool read_value(const struct reply *reply, char *value, size_t capacity,
		       struct verdict *verdict)
{
	bool is_google = reply->flavor && text_equal(reply->flavor, "Google");
	bool is_gke = reply->server && strstr(reply->server, "GKE");

	*verdict = (struct verdict){0};
	if (is_google && reply->status == 404) {
		verdict_set(verdict, VERDICT_ABSENT, "%s",
			    is_gke ? "GKE's metadata server does not serve this key: use "
				     "hostNetwork, or rely on SIGTERM (about 15 s)"
				   : "the metadata server does not serve this key here (GKE's does "
				     "not): "
				     "use hostNetwork, or rely on SIGTERM");
		return false;
	}
	if (reply->status == 200 && !is_google) {
		verdict_set(verdict, VERDICT_UNKNOWN,
			    "answered 200 without Metadata-Flavor: this is not Google's metadata "
			    "server");
		return false;
	}
	if (reply->status != 200 || !reply_text(reply, value, capacity) || !value[0]) {
		verdict_unexpected(verdict, reply);
		return false;
	}
	return true;
}

bool gcp_notice_parse(const char *text, int64_t *milliseconds)
{
	return text_to_duration_ms(text, milliseconds) && *milliseconds > 0 &&
	       *milliseconds <= GCP_NOTICE_MOST_MS;
}

void gcp_preempted_reply(const struct reply *reply, const struct gcp_context *context,
			 struct verdict *verdict)
{
	char value[64];

	if (!read_value(reply, value, sizeof(value), verdict))
		return;
	if (strcmp(value, "FALSE") == 0)
		verdict_set(verdict, VERDICT_NEGATIVE, "%s", "");
	else if (strcmp(value, "TRUE") == 0)
		verdict_notice(verdict, NOTICE_STOP, "gcp", "preempted",
			       reply->arrived_ms + context->notice_ms, reply->arrived_ms,
			       "spot VM preempted")
			->guessed = true;
	else
		verdict_set(verdict, VERDICT_UNKNOWN, "answered neither TRUE nor FALSE");
}

static void judge_termination(const struct reply *reply, const struct gcp_context *context,
			      struct verdict *verdict)
{
	int64_t end_ms = CLOCK_NEVER;

	if (context->since_ms != CLOCK_NEVER)
		end_ms = context->since_ms + GCP_MAINTENANCE_MS;
	if (end_ms == CLOCK_NEVER || end_ms - reply->arrived_ms > GCP_MAINTENANCE_NEAR_MS) {
		verdict_notice(verdict, NOTICE_ADVICE, "gcp", "maintenance", CLOCK_NEVER,
			       reply->arrived_ms,
			       "the VM will be stopped for host maintenance within the hour");
		return;
	}
	verdict_notice(verdict, NOTICE_STOP, "gcp", "maintenance",
		       end_ms > reply->arrived_ms ? end_ms : reply->arrived_ms, reply->arrived_ms,
		       "the VM is stopped for host maintenance")
		->guessed = true;
}

void gcp_maintenance_reply(const struct reply *reply, const struct gcp_context *context,
			   struct verdict *verdict)
{
	char value[64];

	if (!read_value(reply, value, sizeof(value), verdict))
		return;
	if (strcmp(value, "NONE") == 0)
		verdict_set(verdict, VERDICT_NEGATIVE, "%s", "");
	else if (strcmp(value, "MIGRATE_ON_HOST_MAINTENANCE") == 0)
		verdict_notice(verdict, NOTICE_ADVICE, "gcp", "migration", CLOCK_NEVER,
			       reply->arrived_ms, "the VM will be migrated for host maintenance");
	else if (strcmp(value, "TERMINATE_ON_HOST_MAINTENANCE") == 0)
		judge_termination(reply, context, verdict);
	else
		verdict_set(verdict, VERDICT_UNKNOWN, "answered an unknown maintenance event");
}

/* Three spellings of one name: in the API, in the documentation's sample, and in one consumer. */
static const char *window_time(json_t *object, const char *camel, const char *snake,
			       const char *other, char buffer[32])
{
	const char *text = json_text_or(object, camel, NULL);
	int64_t when;

	if (!text)
		text = json_text_or(object, snake, NULL);
	if (!text && other)
		text = json_text_or(object, other, NULL);
	if (!text || !datetime_parse(text, &when))
		return NULL;
	return datetime_iso(when, buffer);
}

static void judge_upcoming(const struct reply *reply, json_t *object, struct verdict *verdict)
{
	char start[32], end[32], until[40] = "", identity[80];
	const char *at =
		window_time(object, "windowStartTime", "window_start_time", "startTime", start);
	const char *over = window_time(object, "windowEndTime", "window_end_time", NULL, end);
	const char *status = json_text_or(object, "maintenanceStatus",
					  json_text_or(object, "maintenance_status", ""));

	/* {} and {"error": "no notifications have been received yet, try again later"} both mean
	 * that there is none. */
	if (json_object_size(object) == 0 || json_object_get(object, "error")) {
		verdict_set(verdict, VERDICT_NEGATIVE, "%s", "");
		return;
	}
	if (!at) {
		verdict_set(verdict, VERDICT_UNKNOWN,
			    "answered an upcoming maintenance without a time");
		return;
	}
	if (over)
		snprintf(until, sizeof(until), " to %s", over);
	/* Another time, or the beginning of the window, makes another identity and so is news. */
	snprintf(identity, sizeof(identity), "upcoming-maintenance %s%s", at,
		 text_equal(status, "ONGOING") ? " ongoing" : "");
	verdict_notice(verdict, NOTICE_ADVICE, "gcp", identity, CLOCK_NEVER, reply->arrived_ms,
		       "host maintenance %s %s%s",
		       text_equal(status, "ONGOING") ? "goes on since" : "is planned for", at,
		       until);
}

void gcp_upcoming_reply(const struct reply *reply, const struct gcp_context *context,
			struct verdict *verdict)
{
	auto_json json_t *object = NULL;
	char value[4096];

	(void)context;
	if (!read_value(reply, value, sizeof(value), verdict))
		return;
	if (strcmp(value, "NONE") == 0) {
		verdict_set(verdict, VERDICT_NEGATIVE, "%s", "");
		return;
	}
	object = value[0] == '{' ? json_parse(value, strlen(value), NULL) : NULL;
	if (!object)
		verdict_set(verdict, VERDICT_UNKNOWN, "answered no upcoming maintenance");
	else
		judge_upcoming(reply, object, verdict);
}

bool gcp_etag_is_usable(const char *etag)
{
	size_t length = 0;

	for (; etag && etag[length]; length++)
		if (!isalnum((unsigned char)etag[length]) || length == 64)
			return false;
	return length > 0;
}

/* --- the source --- */

enum {
	/* Also bounds how late a STOP that the clock triggers may be (a maintenance whose hour is
	 * nearly over). */
	HANG_SECONDS = 30,
	HANG_TIMEOUT_MS = (HANG_SECONDS + 10) * 1000,
	PLAIN_TIMEOUT_MS = 2000,
	ABSENT_RETRY_MS = 30000,
	ABSENT_MOST = 10,
	/* The least time between two requests, if a GET that should wait returns at once. */
	SPIN_MS = 1000,
	PROBE_TIMEOUT_MS = 300,
};

#define KEY_BASE "/computeMetadata/v1/instance/"

/* One key that is followed. */
struct subscription {
	struct watcher *watcher;
	const char *key, *query; /* "" or "alt=json" */
	void (*judge_reply)(const struct reply *reply, const struct gcp_context *context,
			    struct verdict *verdict);
	struct instance_metadata client;
	char etag[72]; /* "": the next request is a plain GET */
	struct gcp_context context;
	unsigned failures;
	/* advice, which a negative reply withdraws; kind NONE: nothing was reported */
	struct notice announced;
	bool served;   /* the server has this key */
	bool answered; /* a negative reply was seen: a positive one now has just begun */
	bool decides_health;
};

static bool send_request(struct subscription *subscription, struct reply *reply,
			 struct verdict *verdict)
{
	bool hangs = subscription->etag[0];
	char path[256];

	subscription->client.timeout_ms = hangs ? HANG_TIMEOUT_MS : PLAIN_TIMEOUT_MS;
	if (hangs)
		snprintf(path, sizeof(path),
			 KEY_BASE "%s?wait_for_change=true&last_etag=%s&timeout_sec=%d%s%s",
			 subscription->key, subscription->etag, HANG_SECONDS,
			 subscription->query[0] ? "&" : "", subscription->query);
	else
		snprintf(path, sizeof(path), KEY_BASE "%s%s%s", subscription->key,
			 subscription->query[0] ? "?" : "", subscription->query);
	return watcher_get(subscription->watcher, &subscription->client, path, reply, verdict);
}

/* Reports a reply without a value; returns how long to wait before the next request, in ms. */
static int64_t handle_failure(struct subscription *subscription, enum verdict_kind kind,
			      const char *why)
{
	subscription->etag[0] = '\0';
	subscription->failures++;
	/* If the server had this key before, a 404 is temporary. */
	if (kind == VERDICT_ABSENT &&
	    (!subscription->served || subscription->failures > ABSENT_MOST)) {
		if (subscription->decides_health)
			watcher_report(subscription->watcher, SOURCE_UNAVAILABLE, why);
		return ABSENT_RETRY_MS;
	}
	if (subscription->decides_health)
		watcher_report(subscription->watcher, SOURCE_UNKNOWN, why);
	/* The server is away for less than a second just when a maintenance event begins: never
	 * wait longer than that. */
	return backoff_ms(subscription->failures, 200, 1000, BACKOFF_WHOLE);
}

static void withdraw_announced(struct subscription *subscription)
{
	announced_withdraw(subscription->watcher, &subscription->announced,
			   "the host maintenance is over, or another one");
}

static void handle_verdict(struct subscription *subscription, const struct verdict *verdict)
{
	struct gcp_context *context = &subscription->context;

	if (verdict->kind == VERDICT_POSITIVE) {
		if (!text_equal(subscription->announced.identity, verdict->notices[0].identity))
			withdraw_announced(subscription);
		/* A value that was there at the start may be old. */
		if (context->since_ms == CLOCK_NEVER && subscription->answered)
			context->since_ms = verdict->notices[0].seen_ms;
		watcher_notice(subscription->watcher, &verdict->notices[0]);
		subscription->announced = verdict->notices[0];
		return;
	}
	subscription->answered = true;
	context->since_ms = CLOCK_NEVER;
	/* A preemption is never withdrawn. */
	if (!subscription->decides_health)
		withdraw_announced(subscription);
}

static int64_t handle_reply(struct subscription *subscription, const struct reply *reply,
			    int64_t asked_ms)
{
	struct verdict verdict;
	bool hung = subscription->etag[0], same;

	subscription->judge_reply(reply, &subscription->context, &verdict);
	if (verdict.kind == VERDICT_UNKNOWN || verdict.kind == VERDICT_ABSENT)
		return handle_failure(subscription, verdict.kind, verdict.why);
	subscription->failures = 0;
	subscription->served = true;
	if (subscription->decides_health)
		watcher_report(subscription->watcher, SOURCE_ARMED, "");
	handle_verdict(subscription, &verdict);
	if (!gcp_etag_is_usable(reply->etag)) {
		subscription->etag[0] = '\0';
		return SPIN_MS;
	}
	same = text_equal(subscription->etag, reply->etag);
	text_set(subscription->etag, sizeof(subscription->etag), reply->etag);
	return hung && same && reply->arrived_ms - asked_ms < SPIN_MS ? SPIN_MS : 0;
}

static void *follow_key(void *arg)
{
	struct subscription *subscription = arg;

	if (!watcher_open(subscription->watcher, METADATA_GOOGLE, PLAIN_TIMEOUT_MS,
			  &subscription->client))
		return NULL;
	while (!watcher_stopping(subscription->watcher)) {
		struct reply reply;
		struct verdict verdict;
		int64_t asked = clock_monotonic_ms(), pause;

		if (send_request(subscription, &reply, &verdict))
			pause = handle_reply(subscription, &reply, asked);
		else
			pause = handle_failure(subscription, VERDICT_UNKNOWN, verdict.why);
		watcher_sleep(subscription->watcher, pause);
	}
	instance_metadata_close(&subscription->client);
	return NULL;
}

/* The length after "gcp:", else REPRIEVE_GCP_NOTICE, else the default. */
static int64_t notice_length_ms(struct watcher *watcher)
{
	int64_t notice_ms;

	if (gcp_notice_parse(watcher->argument, &notice_ms) ||
	    gcp_notice_parse(watcher->shared->environment.gcp_notice, &notice_ms))
		return notice_ms;
	return GCP_NOTICE_MS;
}

static void run_gcp(struct watcher *watcher)
{
	struct subscription keys[] = {
		{.key = "preempted", .judge_reply = gcp_preempted_reply, .decides_health = true},
		{.key = "maintenance-event", .judge_reply = gcp_maintenance_reply},
		{
			.key = "upcoming-maintenance",
			.query = "alt=json",
			.judge_reply = gcp_upcoming_reply,
		},
	};
	enum {
		KEYS = sizeof(keys) / sizeof(keys[0])
	};
	pthread_t threads[KEYS];
	bool has_thread[KEYS] = {false};

	for (size_t i = 0; i < KEYS; i++) {
		keys[i].watcher = watcher;
		keys[i].query = keys[i].query ? keys[i].query : "";
		keys[i].context = (struct gcp_context){.notice_ms = notice_length_ms(watcher),
						       .since_ms = CLOCK_NEVER};
	}
	/* The threads inherit this one's signal mask, which blocks all signals. If no thread can be
	 * started, only advice is lost. */
	for (size_t i = 1; i < KEYS; i++)
		has_thread[i] = pthread_create(&threads[i], NULL, follow_key, &keys[i]) == 0;
	follow_key(&keys[0]);
	for (size_t i = 1; i < KEYS; i++)
		if (has_thread[i])
			pthread_join(threads[i], NULL);
}

static int check_argument(const char *argument, struct err *err)
{
	int64_t ignored;

	if (argument[0] && !gcp_notice_parse(argument, &ignored))
		return err_set(err, ERR_INVALID,
			       "gcp:%s: invalid preemption notice; use gcp, or gcp:120s on a VM "
			       "configured with one",
			       argument);
	return 0;
}

static bool probe_gcp(const char *endpoint, struct cancel *cancel)
{
	auto_(instance_metadata_close) struct instance_metadata client;
	struct reply reply;

	return metadata_request_once(&client, METADATA_GOOGLE, endpoint, KEY_BASE, PROBE_TIMEOUT_MS,
				     &reply, cancel) &&
	       reply.status == 200 && text_equal(reply.flavor, "Google");
}

const struct provider provider_gcp =
	{.name = "gcp", .run = run_gcp, .probe = probe_gcp, .check = check_argument};
