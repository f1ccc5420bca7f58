/* Azure: fetches the VM's own name, then the scheduled events each second. The first request
 * enables them, which may take two minutes. */
#include "reply.h"
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
	struct announced announced;
};

static int send_request(struct session *session, const char *path, int64_t timeout_ms,
			struct reply *reply, struct err *err)
{
	session->client.timeout_ms = timeout_ms;
	return watcher_get(session->watcher, &session->client, path, reply, err);
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
	struct azure_events events;

	if (reply->status == 429) {
		azure_events_reply(reply, session->name, &events);
		watcher_unknown(session->watcher, events.why);
		/* The limit is of the VM, and asking more often than this only prolongs it. */
		return backoff_ms(++session->throttled, 2000, 3000, BACKOFF_WHOLE);
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

/* Returns how long to wait before the next poll, in ms. */
static int64_t poll_events(struct session *session)
{
	int64_t asked = clock_monotonic_ms(), pause = POLL_MS;
	int64_t timeout = session->enabled ? TIMEOUT_MS : FIRST_TIMEOUT_MS;
	struct reply reply;
	struct err err;

	if (clock_left_ms(session->doubtful_ms) == 0)
		fetch_vm_name(session);
	if (send_request(session, EVENTS_PATH, timeout, &reply, &err) == 0)
		pause = handle_events_reply(session, &reply);
	else if (!watcher_stopping(session->watcher))
		watcher_unknown(session->watcher, err.text);
	return clock_left_ms(asked + pause);
}

static void run_azure(struct watcher *watcher)
{
	struct session session = {.watcher = watcher};

	if (!watcher_open(watcher, METADATA_AZURE, TIMEOUT_MS, &session.client))
		return;
	watcher_starting(watcher, "the first call switches scheduled events on: up to 2 minutes");
	while (watcher_sleep(watcher, poll_events(&session)))
		;
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
