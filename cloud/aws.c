/*
 * EC2: a token (IMDSv2), then spot/instance-action each second. What is not urgent has a thread and
 * a session of its own, so that a slow answer there delays nothing: the rebalance recommendation,
 * the Auto Scaling group's target state and scheduled maintenance.
 */
#include "reply.h"
#include "watcher.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>

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
#define REBALANCE_PATH "/latest/meta-data/events/recommendations/rebalance"
#define STATE_PATH "/latest/meta-data/autoscaling/target-lifecycle-state"
#define MAINTENANCE_PATH "/latest/meta-data/events/maintenance/scheduled"

/* A path that is polled. */
struct resource {
	struct announced announced;
	/* So many unusable answers in a row. */
	unsigned unknowns;
};

static void announce_events(struct watcher *watcher, struct announced *announced,
			    const struct aws_events *events)
{
	/* A machine that was hibernated and resumed, a maintenance that was cancelled. */
	struct aws_events told = *events;

	announced_withdraw_missing(announced, watcher, events->notices, events->count,
				   "it is announced no more");
	aws_events_leave_out_far(&told, announced->items, announced->count);
	announced_add(announced, watcher, told.notices, told.count);
}

static void announce_verdict(struct watcher *watcher, struct announced *announced,
			     const struct verdict *verdict)
{
	struct aws_events events = {.kind = verdict->kind};

	if (verdict->kind == VERDICT_UNKNOWN)
		return;
	if (verdict->kind == VERDICT_POSITIVE)
		events.notices[events.count++] = verdict->notice;
	announce_events(watcher, announced, &events);
}

/* --- the interruption notice --- */

/* A 404 withdraws a hibernation, which is over then. It withdraws no stop: EC2 also returns it as
 * soon as the user ends the instance because of the notice. */
static bool may_withdraw_action(const struct announced *announced, const struct reply *reply)
{
	return reply->status != 404 || announced->count == 0 ||
	       announced->items[0].kind == NOTICE_ADVICE;
}

static bool poll_action(struct aws_session *session, struct announced *announced)
{
	struct verdict verdict;
	struct reply reply;
	struct err err = {0};

	if (watcher_get(session->watcher, &session->client, ACTION_PATH, &reply, &err) < 0)
		verdict_set(&verdict, VERDICT_UNKNOWN, "%s", err.text);
	else
		aws_action_reply(&reply, &verdict);
	if (verdict.kind == VERDICT_UNKNOWN) {
		watcher_unknown(session->watcher, verdict.why);
		return false;
	}
	watcher_known(session->watcher);
	if (may_withdraw_action(announced, &reply))
		announce_verdict(session->watcher, announced, &verdict);
	return true;
}

static void poll_session(struct aws_session *session, struct announced *announced)
{
	unsigned unknowns = 0;

	while (unknowns < UNKNOWN_MOST) {
		int64_t next = clock_monotonic_ms() + POLL_MS;

		unknowns = poll_action(session, announced) ? 0 : unknowns + 1;
		if (!watcher_sleep(session->watcher, clock_left_ms(next)))
			return;
	}
}

static int64_t access_retry_ms(enum aws_access access)
{
	return access == AWS_HOP_LIMIT || access == AWS_DISABLED || access == AWS_ABSENT
		       ? UNAVAILABLE_RETRY_MS
		       : RETRY_MS;
}

/* False: not now; the reason has been reported. */
static bool open_session(struct aws_session *session)
{
	enum aws_access access = aws_session_open(session);

	if (watcher_stopping(session->watcher))
		return false;
	if (access == AWS_WITH_TOKEN || access == AWS_TOKENLESS)
		return true;
	if (access_retry_ms(access) == RETRY_MS)
		watcher_unknown(session->watcher, aws_access_why(access));
	else
		watcher_unavailable(session->watcher, aws_access_why(access));
	watcher_sleep(session->watcher, access_retry_ms(access));
	return false;
}

static void follow_action(struct watcher *watcher)
{
	struct aws_session session = {.watcher = watcher};
	struct announced announced = {0};

	if (!watcher_open(watcher, METADATA_AWS, watcher->shared->environment.aws.timeout_ms,
			  &session.client))
		return;
	while (!watcher_stopping(watcher))
		if (open_session(&session))
			poll_session(&session, &announced);
	instance_metadata_close(&session.client);
}

/* --- slow resources: they do not affect the health of the source, but unreadable ones are reported
 * --- */

static void count_reply(struct watcher *watcher, struct resource *resource, const char *what,
			bool usable)
{
	char text[120];

	if (usable) {
		resource->unknowns = 0;
	} else if (++resource->unknowns == NOTE_AFTER) {
		snprintf(text, sizeof(text), "but %s cannot be read", what);
		watcher_set_note(watcher, text);
	}
}

static void poll_resource(struct aws_session *session, const char *path, const char *what,
			  struct resource *resource,
			  void (*judge_reply)(const struct reply *reply, struct verdict *verdict))
{
	struct verdict verdict = {.kind = VERDICT_UNKNOWN};
	struct reply reply;

	if (watcher_get(session->watcher, &session->client, path, &reply, NULL) == 0)
		judge_reply(&reply, &verdict);
	count_reply(session->watcher, resource, what, verdict.kind != VERDICT_UNKNOWN);
	announce_verdict(session->watcher, &resource->announced, &verdict);
}

static void poll_maintenance(struct aws_session *session, struct resource *resource)
{
	struct aws_events events = {.kind = VERDICT_UNKNOWN};
	struct reply reply;

	if (watcher_get(session->watcher, &session->client, MAINTENANCE_PATH, &reply, NULL) == 0)
		aws_maintenance_reply(&reply, &events);
	count_reply(session->watcher, resource, "scheduled maintenance",
		    events.kind != VERDICT_UNKNOWN);
	if (events.kind != VERDICT_UNKNOWN)
		announce_events(session->watcher, &resource->announced, &events);
}

static void *follow_slow_resources(void *arg)
{
	struct watcher *watcher = arg;
	struct resource rebalance = {0}, state = {0}, maintenance = {0};
	struct aws_session session = {.watcher = watcher};
	enum aws_access access = AWS_UNDECIDED;

	if (!watcher_open(watcher, METADATA_AWS, watcher->shared->environment.aws.timeout_ms,
			  &session.client))
		return NULL;
	for (unsigned polls = 0;; polls++) {
		while (access != AWS_WITH_TOKEN && access != AWS_TOKENLESS) {
			access = aws_session_open(&session);
			if (access != AWS_WITH_TOKEN && access != AWS_TOKENLESS &&
			    !watcher_sleep(watcher, access_retry_ms(access)))
				break;
		}
		if (watcher_stopping(watcher))
			break;
		poll_resource(&session, REBALANCE_PATH, "the rebalance recommendation", &rebalance,
			      aws_rebalance_reply);
		poll_resource(&session, STATE_PATH, "the Auto Scaling group's state", &state,
			      aws_state_reply);
		if (polls % MAINTENANCE_EVERY == 0 || maintenance.announced.count > 0)
			poll_maintenance(&session, &maintenance);
		if (!watcher_sleep(watcher, SLOW_POLL_MS))
			break;
	}
	instance_metadata_close(&session.client);
	return NULL;
}

static void run_aws(struct watcher *watcher)
{
	pthread_t thread;
	bool has_thread;

	if (watcher->shared->environment.aws.is_disabled) {
		watcher_unavailable(watcher, "AWS_EC2_METADATA_DISABLED=true is set: unset it");
		return;
	}
	/* The thread inherits this one's signal mask, which blocks all signals. */
	has_thread = pthread_create(&thread, NULL, follow_slow_resources, watcher) == 0;
	if (!has_thread)
		watcher_set_note(watcher, "but no thread is to be had for what is not urgent");
	follow_action(watcher);
	if (has_thread)
		pthread_join(thread, NULL);
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
