/*
 * Compute Engine: a plain GET for the current value and its ETag, then GETs that return when the
 * value changes. Each key has a thread of its own, because such a GET blocks one.
 */
#include "reply.h"
#include "watcher.h"

#include "base/backoff.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"

#include <pthread.h>
#include <stdio.h>

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

static int send_request(struct subscription *subscription, struct reply *reply, struct err *err)
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
	return watcher_get(subscription->watcher, &subscription->client, path, reply, err);
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
			watcher_unavailable(subscription->watcher, why);
		return ABSENT_RETRY_MS;
	}
	if (subscription->decides_health)
		watcher_unknown(subscription->watcher, why);
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
		if (!text_equal(subscription->announced.identity, verdict->notice.identity))
			withdraw_announced(subscription);
		/* A value that was there at the start may be old. */
		if (context->since_ms == CLOCK_NEVER && subscription->answered)
			context->since_ms = verdict->notice.seen_ms;
		watcher_notice(subscription->watcher, &verdict->notice);
		subscription->announced = verdict->notice;
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
		watcher_known(subscription->watcher);
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
	struct err err;

	if (!watcher_open(subscription->watcher, METADATA_GOOGLE, PLAIN_TIMEOUT_MS,
			  &subscription->client))
		return NULL;
	while (!watcher_stopping(subscription->watcher)) {
		struct reply reply;
		int64_t asked = clock_monotonic_ms(), pause;

		if (send_request(subscription, &reply, &err) == 0)
			pause = handle_reply(subscription, &reply, asked);
		else if (watcher_stopping(subscription->watcher))
			break;
		else
			pause = handle_failure(subscription, VERDICT_UNKNOWN, err.text);
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
