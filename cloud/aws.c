/*
 * EC2: a token (IMDSv2), then spot/instance-action each second. What is not urgent has a thread and
 * a session of its own, so that a slow answer there delays nothing: the rebalance recommendation,
 * the Auto Scaling group's target state and scheduled maintenance.
 */
#include "watcher.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* --- access, as aws_access_decide() chooses it --- */

/* For one thread. */
struct aws_session {
	struct watcher *watcher;
	struct instance_metadata client;
};

#define AWS_INSTANCE_PATH "/latest/meta-data/instance-id"

/* How the client's last request went. */
static struct aws_attempt attempt_of(const struct instance_metadata *client, const struct err *err)
{
	if (client->response.status == 0)
		return (struct aws_attempt){.timed_out = err->os == ETIMEDOUT};
	return (struct aws_attempt){.status = client->response.status,
				    .foreign = http_header(&client->response, "Metadata-Flavor") !=
					       NULL};
}

/* Finds out how to get access. Blocks for two time-outs at most. */
static enum aws_access aws_session_open(struct aws_session *session)
{
	bool allowed = session->watcher->shared->environment.aws.allows_tokenless;
	struct cancel *cancel = &session->watcher->shared->cancel;
	struct instance_metadata *client = &session->client;
	struct aws_attempt put, tokenless = {0};
	struct reply reply;
	struct err err = {0};
	bool has_token;

	client->token_header[0] = '\0';
	has_token = instance_metadata_renew_token(client, cancel, &err) == 0;
	put = attempt_of(client, &err);
	put.shaped = has_token;
	if (put.status != 200) {
		err = (struct err){0};
		instance_metadata_send(client, "GET", AWS_INSTANCE_PATH, NULL, NULL, cancel, &err);
		tokenless = attempt_of(client, &err);
		metadata_request_reply(client, &reply);
		tokenless.shaped = aws_instance_reply(&reply);
	}
	return aws_access_decide(&put, &tokenless, allowed);
}

enum {
	POLL_MS = 1000,
	SLOW_POLL_MS = 5000,
	/* Every n-th slow poll: maintenance is announced days ahead. */
	MAINTENANCE_EVERY = 6,
	RETRY_MS = 1000,
	UNAVAILABLE_RETRY_MS = 10000,
	/* Unusable replies in a row, of slow resources, before they are reported. */
	NOTE_AFTER = 6,
	/* Unusable replies in a row before the session is opened anew: the VM may have been
	 * restored elsewhere. */
	UNKNOWN_MOST = 30,
	PROBE_TIMEOUT_MS = 300,
};

#define ACTION_PATH "/latest/meta-data/spot/instance-action"
#define GONE "it is announced no more"

/* The resources that are polled beside the interruption notice. `every`: once in so many slow
 * polls. */
static const struct resource {
	const char *path, *what;
	void (*judge)(const struct reply *reply, struct verdict *verdict);
	unsigned every;
} resources[] = {
	{"/latest/meta-data/events/recommendations/rebalance", "the rebalance recommendation",
	 aws_rebalance_reply, 1},
	{"/latest/meta-data/autoscaling/target-lifecycle-state", "the Auto Scaling group's state",
	 aws_state_reply, 1},
	{"/latest/meta-data/events/maintenance/scheduled", "scheduled maintenance",
	 aws_maintenance_reply, MAINTENANCE_EVERY},
};
#define RESOURCES (sizeof(resources) / sizeof(resources[0]))

/* Waits until there is access, and reports why there is none. False: the thread must end. */
static bool open_session(struct aws_session *session, bool reports)
{
	while (!watcher_stopping(session->watcher)) {
		enum aws_access access = aws_session_open(session);
		bool lasting =
			access == AWS_HOP_LIMIT || access == AWS_DISABLED || access == AWS_ABSENT;

		if (access == AWS_WITH_TOKEN || access == AWS_TOKENLESS)
			return true;
		if (reports)
			watcher_report(session->watcher,
				       lasting ? SOURCE_UNAVAILABLE : SOURCE_UNKNOWN,
				       aws_access_why(access));
		watcher_sleep(session->watcher, lasting ? UNAVAILABLE_RETRY_MS : RETRY_MS);
	}
	return false;
}

/* --- the interruption notice --- */

static bool poll_action(struct aws_session *session, struct announced *announced)
{
	struct verdict verdict;
	struct reply reply;

	if (watcher_get(session->watcher, &session->client, ACTION_PATH, &reply, &verdict))
		aws_action_reply(&reply, &verdict);
	if (verdict.kind == VERDICT_UNKNOWN) {
		watcher_report(session->watcher, SOURCE_UNKNOWN, verdict.why);
		return false;
	}
	watcher_report(session->watcher, SOURCE_ARMED, "");
	/* A 404 withdraws a hibernation, which is over then. It withdraws no stop: EC2 also returns
	 * it as soon as the user ends the instance because of the notice. */
	if (reply.status != 404 || announced->count == 0 ||
	    announced->items[0].kind == NOTICE_ADVICE)
		announced_take(announced, session->watcher, &verdict, true, GONE);
	return true;
}

static void follow_action(struct aws_session *session)
{
	struct announced announced = {0};

	while (open_session(session, true))
		for (unsigned unknowns = 0; unknowns < UNKNOWN_MOST;) {
			int64_t next = clock_monotonic_ms() + POLL_MS;

			unknowns = poll_action(session, &announced) ? 0 : unknowns + 1;
			if (!watcher_sleep(session->watcher, clock_left_ms(next)))
				return;
		}
}

/* --- slow resources: they do not affect the health of the source, but unreadable ones are reported
 * --- */

static void poll_resource(struct aws_session *session, const struct resource *resource,
			  struct announced *announced, unsigned *unknowns)
{
	struct verdict verdict;
	struct reply reply;
	char text[120];

	if (watcher_get(session->watcher, &session->client, resource->path, &reply, &verdict))
		resource->judge(&reply, &verdict);
	if (verdict.kind != VERDICT_UNKNOWN) {
		*unknowns = 0;
		announced_take(announced, session->watcher, &verdict, true, GONE);
	} else if (++*unknowns == NOTE_AFTER) {
		snprintf(text, sizeof(text), "but %s cannot be read", resource->what);
		watcher_set_note(session->watcher, text);
	}
}

static void *follow_slow_resources(void *arg)
{
	struct watcher *watcher = arg;
	struct announced announced[RESOURCES] = {0};
	unsigned unknowns[RESOURCES] = {0}, polls = 0;
	struct aws_session session = {.watcher = watcher};

	if (!watcher_open(watcher, METADATA_AWS, watcher->shared->environment.aws.timeout_ms,
			  &session.client))
		return NULL;
	if (open_session(&session, false))
		do {
			for (size_t i = 0; i < RESOURCES; i++)
				if (polls % resources[i].every == 0 || announced[i].count > 0)
					poll_resource(&session, &resources[i], &announced[i],
						      &unknowns[i]);
			polls++;
		} while (watcher_sleep(watcher, SLOW_POLL_MS));
	instance_metadata_close(&session.client);
	return NULL;
}

static void run_aws(struct watcher *watcher)
{
	struct aws_session session = {.watcher = watcher};
	pthread_t thread;
	bool has_thread;

	if (watcher->shared->environment.aws.is_disabled) {
		watcher_report(watcher, SOURCE_UNAVAILABLE,
			       "AWS_EC2_METADATA_DISABLED=true is set: unset it");
		return;
	}
	if (!watcher_open(watcher, METADATA_AWS, watcher->shared->environment.aws.timeout_ms,
			  &session.client))
		return;
	/* The thread inherits this one's signal mask, which blocks all signals. */
	has_thread = pthread_create(&thread, NULL, follow_slow_resources, watcher) == 0;
	if (!has_thread)
		watcher_set_note(watcher, "but no thread is to be had for what is not urgent");
	follow_action(&session);
	if (has_thread)
		pthread_join(thread, NULL);
	instance_metadata_close(&session.client);
}

static bool probe_aws(const char *endpoint, struct cancel *cancel)
{
	auto_(instance_metadata_close) struct instance_metadata client;

	if (instance_metadata_open(&client, METADATA_AWS, endpoint, PROBE_TIMEOUT_MS, NULL) < 0)
		return false;
	if (instance_metadata_renew_token(&client, cancel, NULL) == 0)
		return http_header(&client.response, INSTANCE_METADATA_TTL);
	/* Where tokens do not reach this container, the refusal of a request without one does. */
	return client.response.status == 0 &&
	       instance_metadata_send(&client, "GET", AWS_INSTANCE_PATH, NULL, NULL, cancel,
				      NULL) == 0 &&
	       client.response.status == 401 && !http_header(&client.response, "Metadata-Flavor");
}

const struct provider provider_aws = {.name = "aws", .run = run_aws, .probe = probe_aws};

/* --- the replies --- */

enum aws_access aws_access_decide(const struct aws_attempt *put, const struct aws_attempt *get,
				  bool tokenless_allowed)
{
	bool refused = put->status == 400 || put->status == 403 || put->status == 404 ||
		       put->status == 405;

	if (put->foreign || get->foreign)
		return AWS_FOREIGN;
	if (put->status == 200)
		return put->shaped ? AWS_WITH_TOKEN : AWS_FOREIGN;
	if (put->status == 0 && get->status == 0)
		return put->timed_out && get->timed_out ? AWS_ABSENT : AWS_REFUSED;
	if (!refused && !put->timed_out)
		return AWS_UNDECIDED;
	if (get->status == 401)
		return put->timed_out ? AWS_HOP_LIMIT : AWS_UNDECIDED;
	if (get->status == 403)
		return AWS_DISABLED;
	if (get->status == 200 && get->shaped)
		return tokenless_allowed ? AWS_TOKENLESS : AWS_HOP_LIMIT;
	if (get->status == 200 || get->status == 404 || get->status == 400)
		return AWS_FOREIGN;
	return AWS_UNDECIDED;
}

const char *aws_access_why(enum aws_access access)
{
	static const char *const whys[] = {
		[AWS_HOP_LIMIT] = "token answers do not reach this container (hop limit 1): set "
				  "--http-put-response-hop-limit 2 with aws ec2 "
				  "modify-instance-metadata-options, or use the host's network",
		[AWS_DISABLED] = "the metadata service is turned off (403): set --http-endpoint "
				 "enabled with aws ec2 modify-instance-metadata-options",
		[AWS_ABSENT] = "nothing answers: this is not EC2, or a firewall rule blocks the "
			       "metadata service (the cluster's network policy must allow it)",
		[AWS_REFUSED] = "it refuses connections: it is being started, or a firewall rule "
				"blocks it (the cluster's network policy must allow it)",
		[AWS_FOREIGN] = "something else than EC2's metadata service answers: name the "
				"right cloud with --notice",
	};

	return whys[access] ? whys[access] : "the token request was neither granted nor refused";
}

bool aws_instance_reply(const struct reply *reply)
{
	char id[64];

	return reply->status == 200 && !reply->flavor && reply_text(reply, id, sizeof(id)) &&
	       text_starts(id, "i-") && strspn(id + 2, "0123456789abcdef") == strlen(id + 2) &&
	       id[2];
}

/* NULL: the verdict is set, NEGATIVE where the resource is absent. */
static json_t *read_json(const struct reply *reply, char first, struct verdict *verdict)
{
	*verdict = (struct verdict){0};
	if (!reply_is_absent(reply))
		return reply_json(reply, first, verdict);
	verdict_set(verdict, VERDICT_NEGATIVE, "%s", "");
	return NULL;
}

void aws_action_reply(const struct reply *reply, struct verdict *verdict)
{
	static const char *const actions[] = {"terminate", "stop", "hibernate", NULL};
	auto_json json_t *object = NULL;
	const char *action;
	int64_t when, left = AWS_NOTICE_GUESSED_MS;
	char at[32] = "a time that was not told";
	bool guessed = true;

	object = read_json(reply, '{', verdict);
	if (!object)
		return;
	action = json_text_or(object, "action", NULL);
	if (!text_is_one_of(action, actions)) {
		verdict_set(verdict, VERDICT_UNKNOWN, "answered 200 without a known action");
		return;
	}
	if (datetime_parse(json_text_or(object, "time", ""), &when)) {
		guessed = false;
		datetime_iso(when, at);
		if (!reply_left_ms(reply, when, AWS_NOTICE_MOST_MS, &left, verdict))
			return;
	}
	/*
	 * Freezing begins with the notice (EC2 user guide, "hibernation"): nothing can be made
	 * durable before it, and ending the job would lose what is frozen with it. A checkpoint
	 * that was begun is finished after the resumption.
	 */
	if (strcmp(action, "hibernate") == 0) {
		verdict_notice(
			verdict, NOTICE_ADVICE, "aws", action, CLOCK_NEVER, reply->arrived_ms,
			"spot hibernate at %s: the machine is being frozen with the job in its "
			"memory",
			at);
		return;
	}
	verdict_notice(verdict, NOTICE_STOP, "aws", action, reply->arrived_ms + left,
		       reply->arrived_ms, "spot %s at %s", action, at)
		->guessed = guessed;
}

void aws_rebalance_reply(const struct reply *reply, struct verdict *verdict)
{
	auto_json json_t *object = NULL;
	int64_t when;
	char at[32];

	object = read_json(reply, '{', verdict);
	if (!object)
		return;
	if (!datetime_parse(json_text_or(object, "noticeTime", ""), &when)) {
		verdict_set(verdict, VERDICT_UNKNOWN, "answered 200 without a noticeTime");
		return;
	}
	verdict_notice(verdict, NOTICE_ADVICE, "aws", "rebalance", CLOCK_NEVER, reply->arrived_ms,
		       "rebalance recommended at %s", datetime_iso(when, at));
}

/* --- the Auto Scaling group --- */

void aws_state_reply(const struct reply *reply, struct verdict *verdict)
{
	/* "Retrieving the target lifecycle state through instance metadata", EC2 Auto Scaling user
	 * guide. */
	static const char *const stays[] = {"InService", "Standby", "Detached", "Warmed:Running",
					    NULL};
	static const char *const ends[] = {"Warmed:Stopped", "Warmed:Terminated", "Terminated",
					   NULL};
	char state[64];

	/* 404 before the first transition, and outside any group. */
	*verdict = (struct verdict){0};
	if (reply_is_absent(reply)) {
		verdict_set(verdict, VERDICT_NEGATIVE, "%s", "");
		return;
	}
	if (reply->status != 200 || reply->flavor || !reply_text(reply, state, sizeof(state))) {
		verdict_unexpected(verdict, reply);
		return;
	}
	if (text_is_one_of(state, stays))
		verdict_set(verdict, VERDICT_NEGATIVE, "%s", "");
	else if (text_equal(state, "Warmed:Hibernated"))
		verdict_notice(verdict, NOTICE_ADVICE, "aws", "autoscaling", CLOCK_NEVER,
			       reply->arrived_ms,
			       "the Auto Scaling group hibernates this instance");
	else if (text_is_one_of(state, ends))
		verdict_notice(verdict, NOTICE_STOP, "aws", "autoscaling",
			       reply->arrived_ms + AWS_STATE_GUESSED_MS, reply->arrived_ms,
			       "the Auto Scaling group takes this instance out (%s)", state)
			->guessed = true;
	else
		verdict_set(verdict, VERDICT_UNKNOWN, "answered an unknown lifecycle state");
}

/* --- scheduled maintenance --- */

/* Returns true if the event ends the instance. system-maintenance concerns network or power, and
 * may leave it running. */
static bool ends_the_instance(const char *code)
{
	static const char *const codes[] = {"instance-stop", "instance-retirement",
					    "instance-reboot", "system-reboot", NULL};

	return text_is_one_of(code, codes);
}

static bool event_is_ahead(json_t *event)
{
	const char *state = json_text_or(event, "State", "active");
	const char *description = json_text_or(event, "Description", "");

	return strcmp(state, "active") == 0 && !text_starts(description, "[Canceled]") &&
	       !text_starts(description, "[Completed]");
}

/* The window may be hours long, and leaving before the machine does gains nothing: advice. */
static void add_maintenance(struct verdict *verdict, const struct reply *reply, json_t *event)
{
	const char *code = json_text_or(event, "Code", "");
	const char *id = json_text_or(event, "EventId", "");
	char at[32] = "a time that was not told", until[40] = "", end[32];
	auto_free char *identity = NULL;
	int64_t when, over, left = INT64_MAX;
	bool near;

	if (datetime_parse(json_text_or(event, "NotBefore", ""), &when)) {
		left = when - reply->arrived_wall_ms;
		datetime_iso(when, at);
	}
	/* NotAfter is often missing or empty. */
	if (datetime_parse(json_text_or(event, "NotAfter", ""), &over))
		snprintf(until, sizeof(until), " to %s", datetime_iso(over, end));
	near = ends_the_instance(code) && left <= AWS_MAINTENANCE_NEAR_MS && left >= -STALE_MS;
	identity = text_format("%s%s", id[0] ? id : code, near ? AWS_NEAR : "");
	verdict_notice(verdict, NOTICE_ADVICE, "aws", identity, CLOCK_NEVER, reply->arrived_ms,
		       "scheduled maintenance: %s at %s%s", code, at, until);
}

void aws_maintenance_reply(const struct reply *reply, struct verdict *verdict)
{
	auto_json json_t *list = NULL;
	json_t *event;
	size_t i;

	/* EC2 returns an empty list; imitations of it return 404. */
	list = read_json(reply, '[', verdict);
	if (!list)
		return;
	verdict->kind = VERDICT_NEGATIVE;
	json_array_foreach(list, i, event)
	{
		if (!json_is_object(event) || !json_text_or(event, "Code", "")[0]) {
			verdict_set(verdict, VERDICT_UNKNOWN,
				    "answered JSON that is not a list of events");
			return;
		}
		if (event_is_ahead(event))
			add_maintenance(verdict, reply, event);
	}
}
