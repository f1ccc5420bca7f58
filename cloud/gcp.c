/*
 * Compute Engine: a plain GET (its ETag, and what is TRUE already), then GETs that hang until the value changes. The maintenance
 * event has a thread of its own, because a hanging GET holds one.
 */
#include "fetch.h"
#include "gcp_reply.h"
#include "provider.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"

#include <pthread.h>
#include <stdio.h>

enum {
	HANG_SECONDS = 30,
	HANG_TIMEOUT_MS = (HANG_SECONDS + 10) * 1000,
	PLAIN_TIMEOUT_MS = 2000,
	ABSENT_RETRY_MS = 30000,
	/* When a GET that should hang does not: never spin. */
	SPIN_MS = 1000,
	PROBE_TIMEOUT_MS = 300,
};

#define KEY_BASE "/computeMetadata/v1/instance/"

/* One key being followed. */
struct subscription {
	struct watcher *watcher;
	const char *key;
	void (*reply)(const struct answer *answer, struct verdict *verdict);
	bool decides_health;
	char endpoint[160];
	struct http *http;
	struct http_response response;
	char etag[72]; /* "": the next request is a plain one */
	bool told;     /* a positive was told: a negative withdraws advice */
	unsigned failures;
};

static int ask(struct subscription *subscription, struct answer *answer, struct err *err)
{
	static const char *const headers[] = {"Metadata-Flavor: Google", NULL};
	bool hangs = subscription->etag[0];
	char path[256];
	const struct fetch fetch = {
		.endpoint = subscription->endpoint,
		.path = path,
		.headers = headers,
		.timeout_ms = hangs ? HANG_TIMEOUT_MS : PLAIN_TIMEOUT_MS,
	};

	if (hangs)
		snprintf(path, sizeof(path),
			KEY_BASE "%s?wait_for_change=true&last_etag=%s&timeout_sec=%d",
			subscription->key, subscription->etag, HANG_SECONDS);
	else
		snprintf(path, sizeof(path), KEY_BASE "%s", subscription->key);
	return fetch_answer(subscription->http, &fetch, &subscription->response, answer,
		watcher_cancel(subscription->watcher), err);
}

/* Tells what the answer means; returns how long to wait before the next request. */
static int64_t take_failure(
	struct subscription *subscription, enum verdict_kind kind, const char *why)
{
	subscription->etag[0] = '\0';
	subscription->failures++;
	if (kind == VERDICT_ABSENT) {
		if (subscription->decides_health)
			watcher_unavailable(subscription->watcher, why);
		return ABSENT_RETRY_MS;
	}
	if (subscription->decides_health)
		watcher_unknown(subscription->watcher, why);
	return gcp_backoff_ms(subscription->failures);
}

static void take_notice(struct subscription *subscription, const struct verdict *verdict)
{
	if (verdict->kind == VERDICT_POSITIVE) {
		watcher_notice(subscription->watcher, &verdict->notice);
		subscription->told = verdict->notice.kind == NOTICE_ADVICE;
	} else if (subscription->told) {
		struct notice withdrawn = {.kind = NOTICE_CANCELLED, .deadline_ms = CLOCK_NEVER};

		text_set(withdrawn.source, sizeof(withdrawn.source), "gcp");
		text_set(withdrawn.identity, sizeof(withdrawn.identity), "maintenance");
		text_set(
			withdrawn.reason, sizeof(withdrawn.reason), "the host maintenance is over");
		withdrawn.seen_ms = clock_monotonic_ms();
		watcher_notice(subscription->watcher, &withdrawn);
		subscription->told = false;
	}
}

static int64_t take_answer(
	struct subscription *subscription, const struct answer *answer, int64_t asked_ms)
{
	struct verdict verdict;
	bool hung = subscription->etag[0], same;

	subscription->reply(answer, &verdict);
	if (verdict.kind == VERDICT_UNKNOWN || verdict.kind == VERDICT_ABSENT)
		return take_failure(subscription, verdict.kind, verdict.why);
	subscription->failures = 0;
	if (subscription->decides_health)
		watcher_known(subscription->watcher);
	take_notice(subscription, &verdict);
	if (!gcp_etag_is_usable(answer->etag)) {
		subscription->etag[0] = '\0';
		return SPIN_MS;
	}
	same = text_equal(subscription->etag, answer->etag);
	text_set(subscription->etag, sizeof(subscription->etag), answer->etag);
	return hung && same && answer->arrived_ms - asked_ms < SPIN_MS ? SPIN_MS : 0;
}

static void follow(struct subscription *subscription)
{
	struct err err;

	if (http_new(&subscription->http, &err) < 0) {
		watcher_unavailable(subscription->watcher, err.text);
		return;
	}
	while (!watcher_stopping(subscription->watcher)) {
		struct answer answer;
		int64_t asked = clock_monotonic_ms(), pause;

		if (ask(subscription, &answer, &err) == 0)
			pause = take_answer(subscription, &answer, asked);
		else if (watcher_stopping(subscription->watcher))
			break;
		else
			pause = take_failure(subscription, VERDICT_UNKNOWN, err.text);
		watcher_pause(subscription->watcher, pause);
	}
	http_response_release(&subscription->response);
	http_free(subscription->http);
}

static void *follow_maintenance(void *arg)
{
	follow(arg);
	return NULL;
}

static void run(struct watcher *watcher)
{
	struct subscription preempted = {
		.watcher = watcher,
		.key = "preempted",
		.reply = gcp_preempted_reply,
		.decides_health = true,
	};
	struct subscription maintenance = {
		.watcher = watcher,
		.key = "maintenance-event",
		.reply = gcp_maintenance_reply,
	};
	pthread_t thread;
	bool has_thread;

	detect_gcp_endpoint(
		watcher_surroundings(watcher), preempted.endpoint, sizeof(preempted.endpoint));
	text_set(maintenance.endpoint, sizeof(maintenance.endpoint), preempted.endpoint);
	watcher_set_endpoint(watcher, preempted.endpoint);
	/* It inherits this thread's signal mask, which blocks all. Without a thread to be had, advice is what is lost. */
	has_thread = pthread_create(&thread, NULL, follow_maintenance, &maintenance) == 0;
	follow(&preempted);
	if (has_thread)
		pthread_join(thread, NULL);
}

static bool probe(const char *endpoint, struct cancel *cancel)
{
	static const char *const headers[] = {"Metadata-Flavor: Google", NULL};
	const struct fetch fetch = {
		.endpoint = endpoint,
		.path = "/computeMetadata/v1/instance/",
		.headers = headers,
		.timeout_ms = PROBE_TIMEOUT_MS,
	};
	auto_(http_response_release) struct http_response response = {0};
	struct answer answer;

	return fetch_once(&fetch, &response, &answer, cancel) && answer.status == 200 &&
	       text_equal(answer.flavor, "Google");
}

const struct provider provider_gcp = {.name = "gcp", .run = run, .probe = probe};
