/* Azure: the VM's own name, then the scheduled events each second. The first call switches them on, which may take two minutes. */
#include "azure_reply.h"
#include "fetch.h"
#include "provider.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"

#include <string.h>

enum {
	POLL_MS = 1000,
	FIRST_TIMEOUT_MS = 130 * 1000,
	TIMEOUT_MS = 5000,
	NAME_TIMEOUT_MS = 2000,
	PROBE_TIMEOUT_MS = 300,
};

#define NAME_PATH "/metadata/instance/compute/name?api-version=2021-02-01&format=text"
#define EVENTS_PATH "/metadata/scheduledevents?api-version=2020-07-01"

static const char *const metadata_headers[] = {"Metadata: true", NULL};

struct session {
	struct watcher *watcher;
	struct http *http;
	struct http_response response;
	char endpoint[160];
	char name[AZURE_NAME_MOST];
	bool enabled; /* an answer came: from now on they come fast */
	unsigned throttled;
	/* Told and not yet vanished. */
	struct notice told[AZURE_EVENTS_MOST];
	size_t told_count;
};

static int ask(struct session *session, const char *path, int64_t timeout_ms, struct answer *answer,
	struct err *err)
{
	const struct fetch fetch = {
		.endpoint = session->endpoint,
		.path = path,
		.headers = metadata_headers,
		.timeout_ms = timeout_ms,
	};

	return fetch_answer(session->http, &fetch, &session->response, answer,
		watcher_cancel(session->watcher), err);
}

static void learn_name(struct session *session)
{
	struct answer answer;

	if (ask(session, NAME_PATH, NAME_TIMEOUT_MS, &answer, NULL) < 0 ||
		!azure_name_reply(&answer, session->name))
		session->name[0] = '\0';
}

static bool contains(const struct notice *notices, size_t count, const char *identity)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(notices[i].identity, identity) == 0)
			return true;
	return false;
}

static void remember(struct session *session, const struct azure_events *events)
{
	for (size_t i = 0; i < events->count && session->told_count < AZURE_EVENTS_MOST; i++)
		if (!contains(session->told, session->told_count, events->notices[i].identity))
			session->told[session->told_count++] = events->notices[i];
}

/* An event that is over or cancelled is simply no longer in the list. */
static void withdraw_vanished(struct session *session, const struct azure_events *events)
{
	size_t kept = 0;

	for (size_t i = 0; i < session->told_count; i++) {
		struct notice gone = session->told[i];

		if (contains(events->notices, events->count, gone.identity)) {
			session->told[kept++] = gone;
			continue;
		}
		gone.kind = NOTICE_CANCELLED;
		gone.deadline_ms = CLOCK_NEVER;
		gone.seen_ms = session->response.arrived_ms;
		text_set(gone.reason, sizeof(gone.reason), "the scheduled event was withdrawn");
		watcher_notice(session->watcher, &gone);
	}
	session->told_count = kept;
}

/* Returns how long to wait before the next poll. */
static int64_t take_events(struct session *session, const struct answer *answer)
{
	struct azure_events events;

	if (answer->status == 429) {
		azure_events_reply(answer, session->name, &events);
		watcher_unknown(session->watcher, events.why);
		return azure_backoff_ms(++session->throttled);
	}
	session->throttled = 0;
	azure_events_reply(answer, session->name, &events);
	for (size_t i = 0; i < events.count; i++)
		watcher_notice(session->watcher, &events.notices[i]);
	if (events.kind == VERDICT_UNKNOWN) {
		watcher_unknown(session->watcher, events.why);
		return POLL_MS;
	}
	session->enabled = true;
	/* Only a list that was understood as a whole proves that something is missing from it. */
	if (!events.why[0])
		withdraw_vanished(session, &events);
	remember(session, &events);
	if (session->name[0])
		watcher_known(session->watcher);
	else
		watcher_unknown(session->watcher, "this VM's own name is not answered: its events "
						  "cannot be told from others'");
	return POLL_MS;
}

static void run(struct watcher *watcher)
{
	struct session session = {.watcher = watcher};
	struct err err;

	if (http_new(&session.http, &err) < 0) {
		watcher_unavailable(watcher, err.text);
		return;
	}
	detect_azure_endpoint(
		watcher_surroundings(watcher), session.endpoint, sizeof(session.endpoint));
	watcher_set_endpoint(watcher, session.endpoint);
	watcher_starting(watcher, "the first call switches scheduled events on: up to 2 minutes");
	while (!watcher_stopping(watcher)) {
		int64_t asked = clock_monotonic_ms(), timeout, pause = POLL_MS;
		struct answer answer;

		if (!session.name[0])
			learn_name(&session);
		timeout = session.enabled ? TIMEOUT_MS : FIRST_TIMEOUT_MS;
		if (ask(&session, EVENTS_PATH, timeout, &answer, &err) == 0)
			pause = take_events(&session, &answer);
		else if (!watcher_stopping(watcher))
			watcher_unknown(watcher, err.text);
		watcher_pause(watcher, clock_left_ms(asked + pause));
	}
	http_response_release(&session.response);
	http_free(session.http);
}

static bool probe(const char *endpoint, struct cancel *cancel)
{
	const struct fetch fetch = {
		.endpoint = endpoint,
		.path = NAME_PATH,
		.headers = metadata_headers,
		.timeout_ms = PROBE_TIMEOUT_MS,
	};
	auto_(http_response_release) struct http_response response = {0};
	struct answer answer;
	char name[AZURE_NAME_MOST];

	return fetch_once(&fetch, &response, &answer, cancel) && azure_name_reply(&answer, name);
}

const struct provider provider_azure = {.name = "azure", .run = run, .probe = probe};
