/* Azure: fetches the VM's own name, then the scheduled events each second. The first request
 * enables them, which may take two minutes. */
#include "announced.h"
#include "azure_reply.h"
#include "azure_share.h"
#include "metadata_request.h"
#include "provider.h"
#include "watcher.h"

#include "base/backoff.h"
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
	APPROVE_TIMEOUT_MS = 2000,
	/* The least time between two requests for the name: every request counts against the VM's
	 * limit. */
	DOUBT_MS = 5000,
	NAMELESS_MS = 1000,
	/* How often to look while another supervisor sends the request: often first, then less,
	 * because the first request may take long. */
	SHARE_POLL_MS = 20,
	SHARE_POLL_LATER_MS = 200,
	/* Nobody has had a reply yet: the holder of the lock waits for the first one. */
	FIRST_STALE_MS = 10 * 1000,
};

#define NAME_PATH "/metadata/instance/compute/name?api-version=2021-02-01&format=text"
#define EVENTS_PATH "/metadata/scheduledevents?api-version=2020-07-01"

struct session {
	struct watcher *watcher;
	struct instance_metadata client;
	char name[AZURE_NAME_MOST];
	/* monotonic: when to ask for the name again; CLOCK_NEVER: it is not in doubt */
	int64_t doubtful_ms;
	bool must_ask;         /* ask in any case: the VM may have been restored elsewhere */
	int64_t name_asked_ms; /* monotonic */
	bool enabled;          /* a reply came: from now on they are fast */
	unsigned throttled;
	int64_t due_ms; /* monotonic: when the next reply is due */
	struct azure_share share;
	struct announced announced;
};

static int send_request(struct session *session, const char *path, int64_t timeout_ms,
			struct reply *reply, struct err *err)
{
	session->client.timeout_ms = timeout_ms;
	return metadata_request_get(&session->client, path, reply, watcher_cancel(session->watcher),
				    err);
}

/* An old name is kept until there is another: without a name no event can be reported. */
static void fetch_vm_name(struct session *session)
{
	char name[AZURE_NAME_MOST];
	struct reply reply;

	session->name_asked_ms = clock_monotonic_ms();
	session->doubtful_ms = session->name_asked_ms + (session->name[0] ? DOUBT_MS : NAMELESS_MS);
	if (send_request(session, NAME_PATH, NAME_TIMEOUT_MS, &reply, NULL) < 0 ||
	    !azure_name_reply(&reply, name))
		return;
	text_set(session->name, sizeof(session->name), name);
	session->doubtful_ms = CLOCK_NEVER;
	session->must_ask = false;
}

static void doubt_vm_name(struct session *session, int64_t at_ms)
{
	if (at_ms < session->name_asked_ms + DOUBT_MS)
		at_ms = session->name_asked_ms + DOUBT_MS;
	if (at_ms < session->doubtful_ms)
		session->doubtful_ms = at_ms;
}

/* Returns how long to wait before the next poll, in ms. */
static int64_t handle_events_reply(struct session *session, const struct reply *reply)
{
	/* The limit is of the VM, and asking more often than this only prolongs it. */
	struct backoff backoff = {.first_ms = 2000, .most_ms = 3000, .random = BACKOFF_WHOLE};
	struct azure_events events;

	if (reply->status == 429) {
		azure_events_reply(reply, session->name, &events);
		watcher_unknown(session->watcher, events.why);
		backoff.tries = ++session->throttled;
		return backoff_ms(&backoff);
	}
	session->throttled = 0;
	azure_events_reply(reply, session->name, &events);
	announced_add(&session->announced, session->watcher, events.notices, events.count);
	if (events.kind == VERDICT_UNKNOWN) {
		session->must_ask = true;
		doubt_vm_name(session, clock_monotonic_ms());
		watcher_unknown(session->watcher, events.why);
		return POLL_MS;
	}
	session->enabled = true;
	/* With a wrong name, every event seems to concern other VMs. */
	if (events.others > 0)
		doubt_vm_name(session, clock_monotonic_ms() + DOUBT_MS);
	else if (!session->must_ask && session->name[0])
		session->doubtful_ms = CLOCK_NEVER;
	/* Only a list that was understood entirely proves that something is missing. */
	if (!events.why[0])
		announced_withdraw_missing(&session->announced, session->watcher, events.notices,
					   events.count, "the scheduled event was withdrawn");
	if (session->name[0])
		watcher_known(session->watcher);
	else
		watcher_unknown(session->watcher, "this VM's own name is not answered: its events "
						  "cannot be told from others'");
	return POLL_MS;
}

static void share(struct session *session, const struct reply *reply, int64_t asked_ms)
{
	struct azure_shared shared = {
		.asked_ms = asked_ms,
		.arrived_ms = reply->arrived_ms,
		.arrived_wall_ms = reply->arrived_wall_ms,
		.status = reply->status,
	};

	/* `shared` must not free the body, which belongs to the response. */
	if (reply->status != 0)
		shared.body = session->client.response.body;
	text_set(shared.name, sizeof(shared.name), session->name);
	azure_share_write(&session->share, &shared);
}

/* Sends a request and shares the reply. */
static void poll_events(struct session *session)
{
	int64_t asked = clock_monotonic_ms(), pause = POLL_MS;
	int64_t timeout = session->enabled ? TIMEOUT_MS : FIRST_TIMEOUT_MS;
	struct reply reply;
	struct err err;

	if (clock_left_ms(session->doubtful_ms) == 0)
		fetch_vm_name(session);
	if (send_request(session, EVENTS_PATH, timeout, &reply, &err) == 0) {
		share(session, &reply, asked);
		pause = handle_events_reply(session, &reply);
	} else if (!watcher_stopping(session->watcher)) {
		/* Shares the failure too, so that the others need not find it out one by one. */
		reply = (struct reply){.arrived_ms = clock_monotonic_ms()};
		share(session, &reply, asked);
		watcher_unknown(session->watcher, err.text);
	}
	session->due_ms = asked + pause;
}

static void handle_shared_reply(struct session *session, const struct azure_shared *shared)
{
	const struct reply reply = {
		.status = shared->status,
		.body = (const char *)shared->body.data,
		.size = shared->body.size,
		.arrived_ms = shared->arrived_ms,
		.arrived_wall_ms = shared->arrived_wall_ms,
	};

	if (shared->name[0])
		text_set(session->name, sizeof(session->name), shared->name);
	session->due_ms = shared->asked_ms + POLL_MS;
	if (shared->status == 0)
		watcher_unknown(session->watcher, "the metadata service did not answer");
	else if (!shared->is_early)
		session->due_ms = shared->asked_ms + handle_events_reply(session, &reply);
}

/* Returns how long to wait before looking again, in ms. */
static int64_t read_share_or_poll(struct session *session, struct azure_shared *shared)
{
	int64_t late, stale = session->enabled ? AZURE_SHARE_STALE_MS : FIRST_STALE_MS;

	if (azure_share_read(&session->share, shared))
		handle_shared_reply(session, shared);
	late = clock_monotonic_ms() - session->due_ms;
	if (late < 0)
		return -late;
	if (azure_share_try_lock(&session->share)) {
		/* Another supervisor may have sent a request between the read and the lock. */
		if (azure_share_read(&session->share, shared))
			handle_shared_reply(session, shared);
		else
			poll_events(session);
		azure_share_unlock(&session->share);
	} else if (late > stale) {
		poll_events(session);
	} else {
		return late < 1000 ? SHARE_POLL_MS : SHARE_POLL_LATER_MS;
	}
	return clock_left_ms(session->due_ms);
}

static void run_azure(struct watcher *watcher)
{
	struct session session = {.watcher = watcher, .due_ms = clock_monotonic_ms()};
	struct azure_shared shared = {.body = {.limit = 256 * 1024}};
	const char *endpoint = watcher_environment(watcher)->endpoints[METADATA_AZURE].url;
	struct err err;

	if (instance_metadata_open(&session.client, METADATA_AZURE, endpoint, TIMEOUT_MS, &err) <
	    0) {
		watcher_unavailable(watcher, err.text);
		return;
	}
	watcher_set_endpoint(watcher, endpoint);
	azure_share_open(&session.share, watcher_shared_directory(watcher), endpoint);
	watcher_starting(watcher, "the first call switches scheduled events on: up to 2 minutes");
	while (watcher_sleep(watcher, read_share_or_poll(&session, &shared)))
		;
	azure_share_close(&session.share);
	bytes_release(&shared.body);
	instance_metadata_close(&session.client);
}

static int approve_event(const struct environment *environment, const char *identity,
			 struct cancel *cancel, struct err *err)
{
	auto_(instance_metadata_close) struct instance_metadata client = {0};
	auto_free char *body = text_format("{\"StartRequests\":[{\"EventId\":\"%s\"}]}", identity);

	/* The id comes from the service, but is put into JSON here. */
	if (strspn(identity, "0123456789abcdefABCDEF-") != strlen(identity))
		return err_set(err, ERR_INVALID, "the event has no valid id");
	if (instance_metadata_open(&client, METADATA_AZURE,
				   environment->endpoints[METADATA_AZURE].url, APPROVE_TIMEOUT_MS,
				   err) < 0 ||
	    instance_metadata_send(&client, "POST", EVENTS_PATH, NULL, body, cancel, err) < 0)
		return -1;
	if (client.response.status != 200)
		return err_set(err, ERR_FAILED, "the metadata service answered %d",
			       client.response.status);
	return 0;
}

static bool probe_azure(const char *endpoint, struct cancel *cancel)
{
	auto_(instance_metadata_close) struct instance_metadata client;
	char name[AZURE_NAME_MOST];
	struct reply reply;

	return metadata_request_once(&client, METADATA_AZURE, endpoint, NAME_PATH, PROBE_TIMEOUT_MS,
				     &reply, cancel) &&
	       azure_name_reply(&reply, name);
}

const struct provider provider_azure = {
	.name = "azure",
	.run = run_azure,
	.probe = probe_azure,
	.approve = approve_event,
};
