/* Alibaba and Tencent: spot/termination-time has a time, or is 404 as long as there is none. */
#include "reply.h"

#include "watcher.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"

#include <stdio.h>

enum {
	/* A notice comes minutes ahead; the vendors recommend polling no more often. */
	POLL_MS = 5000,
	RETRY_MS = 2000,
	TIMEOUT_MS = 2000,
};

struct session {
	struct watcher *watcher;
	const struct termination_form *form;
	const char *path;
	struct instance_metadata client; /* Alibaba's hardened mode has a token, as IMDSv2 */
	bool is_known; /* the reply with the instance's id has shown that it is this cloud */
};

static bool check_instance_id(struct session *session)
{
	struct verdict verdict = {.why = ""};
	struct reply reply;
	struct err err;

	if (watcher_get(session->watcher, &session->client, "/latest/meta-data/instance-id", &reply,
			&err) < 0)
		verdict_set(&verdict, VERDICT_UNKNOWN, "%s", err.text);
	else if (reply.status != 200)
		verdict_unexpected(&verdict, &reply);
	else if (!termination_instance_reply(session->form, &reply))
		verdict_set(&verdict, VERDICT_UNKNOWN,
			    "something else than this cloud's metadata service answers: name the "
			    "right cloud with --notice");
	session->is_known = !verdict.why[0];
	if (!session->is_known)
		watcher_unknown(session->watcher, verdict.why);
	return session->is_known;
}

static void poll_termination(struct session *session)
{
	struct reply reply;
	struct verdict verdict;
	struct err err;

	if (!session->is_known && !check_instance_id(session))
		return;
	if (watcher_get(session->watcher, &session->client, session->path, &reply, &err) < 0)
		verdict_set(&verdict, VERDICT_UNKNOWN, "%s", err.text);
	else
		termination_reply(session->form, &reply, &verdict);
	if (verdict.kind == VERDICT_UNKNOWN) {
		watcher_unknown(session->watcher, verdict.why);
		return;
	}
	watcher_known(session->watcher);
	if (verdict.kind == VERDICT_POSITIVE)
		watcher_notice(session->watcher, &verdict.notice);
}

static void run_service(struct watcher *watcher, const struct termination_form *form,
			enum metadata_service service, const char *path)
{
	struct session session = {.watcher = watcher, .form = form, .path = path};

	if (!watcher_open(watcher, service, TIMEOUT_MS, &session.client))
		return;
	do
		poll_termination(&session);
	while (watcher_sleep(watcher, session.is_known ? POLL_MS : RETRY_MS));
	instance_metadata_close(&session.client);
}

static void run_alibaba(struct watcher *watcher)
{
	run_service(watcher, &termination_alibaba, METADATA_ALIBABA,
		    "/latest/meta-data/instance/spot/termination-time");
}

static void run_tencent(struct watcher *watcher)
{
	run_service(watcher, &termination_tencent, METADATA_TENCENT,
		    "/latest/meta-data/spot/termination-time");
}

const struct provider provider_alibaba = {.name = "alibaba", .run = run_alibaba};
const struct provider provider_tencent = {.name = "tencent", .run = run_tencent};
