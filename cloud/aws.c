/*
 * EC2: a token (IMDSv2), then spot/instance-action each second. What is not urgent has a thread and
 * a session of its own, so that a slow answer there delays nothing: the rebalance recommendation,
 * the Auto Scaling group's target state and scheduled maintenance.
 */
#include "watcher.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <errno.h>
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
#define GONE "it is announced no more"

/* What is polled beside the interruption notice, each `every` slow polls. */
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
