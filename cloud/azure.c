/* Azure: fetches the VM's own name, then the scheduled events each second. The first request
 * enables them, which may take two minutes. */
#include "watcher.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* --- the replies --- */

bool azure_name_reply(const struct reply *reply, char name[AZURE_NAME_MOST])
{
	if (reply->status != 200 || reply->flavor || !reply_text(reply, name, AZURE_NAME_MOST) ||
	    !name[0])
		return false;
	for (const char *at = name; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr("-_.", *at))
			return false;
	return true;
}

static bool event_concerns_vm(json_t *event, const char *name)
{
	json_t *resources = json_object_get(event, "Resources"), *resource;
	size_t i;

	json_array_foreach(resources, i, resource) if (json_is_string(resource) &&
						       strcasecmp(json_string_value(resource),
								  name) == 0) return true;
	return false;
}

/* A number, possibly written as a string. */
static bool is_number(json_t *value)
{
	uint64_t ignored;

	return json_is_integer(value) ||
	       text_to_u64(json_string_value(value), UINT64_MAX, &ignored);
}

static void add_event_notice(struct verdict *verdict, const struct reply *reply, json_t *event)
{
	const char *id = json_text_or(event, "EventId", ""),
		   *type = json_text_or(event, "EventType", "");
	const char *status = json_text_or(event, "EventStatus", "");
	int64_t when, left = AZURE_STARTED_MS;
	char at[32] = "once";
	struct notice *notice;
	bool is_far;

	if (datetime_parse(json_text_or(event, "NotBefore", ""), &when)) {
		left = when - reply->arrived_wall_ms;
		if (left < 0)
			left = 0;
		datetime_iso(when, at);
	}
	is_far = left > AZURE_FAR_MS;
	notice = verdict_notice(verdict, is_far ? NOTICE_ADVICE : NOTICE_STOP, "azure", id,
				is_far ? CLOCK_NEVER : reply->arrived_ms + left, reply->arrived_ms,
				"%s %s, at %s", type,
				strcmp(status, "Started") == 0 ? "started" : "scheduled", at);
	notice->guessed = strcmp(at, "once") == 0;
	/* An approval covers all machines of the event, so this must be the only one. */
	notice->approvable = strcmp(status, "Scheduled") == 0 &&
			     json_array_size(json_object_get(event, "Resources")) == 1;
}

static void set_unknown(struct verdict *verdict, const char *why)
{
	/* A notice that was understood counts, whatever else is in the list. */
	if (verdict->kind != VERDICT_POSITIVE)
		verdict->kind = VERDICT_UNKNOWN;
	text_set(verdict->why, sizeof(verdict->why), why);
}

static void read_event(struct verdict *verdict, const struct reply *reply, json_t *event,
		       const char *name)
{
	static const char *const stops[] = {"Reboot", "Redeploy", "Preempt", "Terminate", NULL};
	const char *id = json_text_or(event, "EventId", "");
	const char *status = json_text_or(event, "EventStatus", "");
	const char *type = json_text_or(event, "EventType", NULL);
	/* A pause of seconds, which does not affect training. */
	bool freezes = text_equal(type, "Freeze");

	if (!id[0] || !json_is_array(json_object_get(event, "Resources"))) {
		set_unknown(verdict, "an event without EventId or Resources");
		return;
	}
	if (!name[0]) {
		set_unknown(verdict, "an event is announced, but this VM's own name is not known");
		return;
	}
	if (!event_concerns_vm(event, name)) {
		verdict->others++;
		return;
	}
	if (!freezes && !text_is_one_of(type, stops)) {
		set_unknown(verdict, "an event of an unknown type for this VM");
		return;
	}
	/* Completed and Canceled events are over, as if they had disappeared. */
	if (freezes || (strcmp(status, "Scheduled") != 0 && strcmp(status, "Started") != 0))
		return;
	add_event_notice(verdict, reply, event);
}

void azure_events_reply(const struct reply *reply, const char *name, struct verdict *verdict)
{
	auto_json json_t *document = NULL;
	json_t *list, *event;
	size_t i;

	*verdict = (struct verdict){0};
	document = reply_json(reply, '{', verdict);
	if (!document)
		return;
	list = json_object_get(document, "Events");
	if (!json_is_array(list) || !is_number(json_object_get(document, "DocumentIncarnation"))) {
		set_unknown(verdict, "answered JSON that is not a list of scheduled events");
		return;
	}
	verdict->kind = VERDICT_NEGATIVE;
	json_array_foreach(list, i, event) read_event(verdict, reply, event, name);
}

/* --- the source --- */

enum {
	POLL_MS = 1000,
	FIRST_TIMEOUT_MS = 130 * 1000,
	TIMEOUT_MS = 5000,
	NAME_TIMEOUT_MS = 2000,
	PROBE_TIMEOUT_MS = 300,
	APPROVE_TIMEOUT_MS = 2000,
	/* The least time between two requests for the name, if there is one and if there is none:
	 * every request counts against the VM's limit. */
	DOUBT_MS = 5000,
	NAMELESS_MS = 1000,
};

#define NAME_PATH "/metadata/instance/compute/name?api-version=2021-02-01&format=text"
#define EVENTS_PATH "/metadata/scheduledevents?api-version=2020-07-01"

struct session {
	struct watcher *watcher;
	struct instance_metadata client;
	char name[AZURE_NAME_MOST];
	/* Events for others, or for nobody: the VM may have been restored elsewhere. */
	bool is_doubtful;
	int64_t name_asked_ms; /* monotonic; 0: never */
	bool enabled;          /* a reply came: from now on they are fast */
	unsigned throttled;
	struct announced announced;
};

/* An old name is kept until there is another: without a name no event can be reported. */
static void fetch_vm_name(struct session *session)
{
	char name[AZURE_NAME_MOST];
	struct verdict verdict;
	struct reply reply;

	session->name_asked_ms = clock_monotonic_ms();
	session->client.timeout_ms = NAME_TIMEOUT_MS;
	if (!watcher_get(session->watcher, &session->client, NAME_PATH, &reply, &verdict) ||
	    !azure_name_reply(&reply, name))
		return;
	text_set(session->name, sizeof(session->name), name);
}

static bool must_ask_for_name(const struct session *session)
{
	int64_t pause_ms = session->name[0] ? DOUBT_MS : NAMELESS_MS;

	return (!session->name[0] || session->is_doubtful) &&
	       (session->name_asked_ms == 0 ||
		clock_left_ms(session->name_asked_ms + pause_ms) == 0);
}

static void handle_events(struct session *session, const struct verdict *events)
{
	/* Only a list that was understood entirely proves that something is missing. */
	announced_take(&session->announced, session->watcher, events,
		       events->kind != VERDICT_UNKNOWN && !events->why[0],
		       "the scheduled event was withdrawn");
	/* With a wrong name, every event seems to concern other VMs. */
	session->is_doubtful = events->kind == VERDICT_UNKNOWN || events->others > 0;
	if (events->kind == VERDICT_UNKNOWN) {
		watcher_report(session->watcher, SOURCE_UNKNOWN, events->why);
		return;
	}
	session->enabled = true;
	if (session->name[0])
		watcher_report(session->watcher, SOURCE_ARMED, "");
	else
		watcher_report(session->watcher, SOURCE_UNKNOWN,
			       "this VM's own name is not answered: its events cannot be told from "
			       "others'");
}

/* Returns how long to wait before the next poll, in ms. */
static int64_t poll_events(struct session *session)
{
	int64_t asked = clock_monotonic_ms(), pause = POLL_MS;
	struct verdict events;
	struct reply reply;
	bool replied;

	if (must_ask_for_name(session))
		fetch_vm_name(session);
	session->client.timeout_ms = session->enabled ? TIMEOUT_MS : FIRST_TIMEOUT_MS;
	replied = watcher_get(session->watcher, &session->client, EVENTS_PATH, &reply, &events);
	if (replied)
		azure_events_reply(&reply, session->name, &events);
	if (replied && reply.status != 429) {
		session->throttled = 0;
		handle_events(session, &events);
	} else {
		watcher_report(session->watcher, SOURCE_UNKNOWN, events.why);
		/* The limit is of the VM, and asking more often than this only prolongs it. */
		if (replied)
			pause = backoff_ms(++session->throttled, 2000, 3000, BACKOFF_WHOLE);
	}
	return clock_left_ms(asked + pause);
}

static void run_azure(struct watcher *watcher)
{
	struct session session = {.watcher = watcher};

	if (!watcher_open(watcher, METADATA_AZURE, TIMEOUT_MS, &session.client))
		return;
	watcher_report(watcher, SOURCE_STARTING,
		       "the first call switches scheduled events on: up to 2 minutes");
	while (watcher_sleep(watcher, poll_events(&session)))
		;
	instance_metadata_close(&session.client);
}

int azure_approve(const struct environment *environment, const char *identity,
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
};
