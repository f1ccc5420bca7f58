/* Alibaba and Tencent: spot/termination-time has a time, or is 404 as long as there is none. */
#include "watcher.h"

#include "base/text.h"

#include <ctype.h>
#include <string.h>

enum {
	/* A notice comes minutes ahead; the vendors recommend polling no more often. */
	POLL_MS = 5000,
	RETRY_MS = 2000,
	TIMEOUT_MS = 2000,
};

/* --- the reply --- */

const struct termination_form termination_alibaba = {.source = "alibaba", .id_prefix = "i-"};
/* "2018-08-18 12:05:33", in Beijing time without saying so. */
const struct termination_form termination_tencent = {
	.source = "tencent",
	.id_prefix = "ins-",
	.zone_ms = 8 * 3600 * 1000,
};

bool termination_instance_reply(const struct termination_form *form, const struct reply *reply)
{
	char id[64];

	if (reply->status != 200 || reply->flavor || !reply_text(reply, id, sizeof(id)) ||
	    !text_starts(id, form->id_prefix) || !id[strlen(form->id_prefix)])
		return false;
	for (const char *at = id + strlen(form->id_prefix); *at; at++)
		if (!isalnum((unsigned char)*at))
			return false;
	return true;
}

static bool has_zone(const char *text)
{
	return strchr(text, 'Z') || strchr(text, 'z') || strchr(text, '+') ||
	       (strlen(text) > 10 && strchr(text + 10, '-'));
}

void termination_reply(const struct termination_form *form, const struct reply *reply,
		       struct verdict *verdict)
{
	char text[64], at[32];
	int64_t when, left;

	*verdict = (struct verdict){0};
	if (reply_is_absent(reply)) {
		verdict_set(verdict, VERDICT_NEGATIVE, "%s", "");
		return;
	}
	if (reply->status != 200 || reply->flavor || !reply_text(reply, text, sizeof(text))) {
		verdict_unexpected(verdict, reply);
		return;
	}
	if (!text[0]) {
		verdict_set(verdict, VERDICT_NEGATIVE, "%s", "");
		return;
	}
	if (!isdigit((unsigned char)text[0]) || !datetime_parse(text, &when)) {
		verdict_set(verdict, VERDICT_UNKNOWN, "answered 200 without a time");
		return;
	}
	if (!has_zone(text))
		when -= form->zone_ms;
	if (!reply_left_ms(reply, when, TERMINATION_MOST_MS, &left, verdict))
		return;
	verdict_notice(verdict, NOTICE_STOP, form->source, "termination", reply->arrived_ms + left,
		       reply->arrived_ms, "spot instance reclaimed at %s", datetime_iso(when, at));
}

/* --- the source --- */

struct session {
	struct watcher *watcher;
	const struct termination_form *form;
	const char *path;
	struct instance_metadata client; /* Alibaba's hardened mode has a token, as IMDSv2 */
	bool is_known; /* the reply with the instance's id has shown that it is this cloud */
};

static void check_instance_id(struct session *session, struct verdict *verdict)
{
	struct reply reply;

	if (!watcher_get(session->watcher, &session->client, "/latest/meta-data/instance-id",
			 &reply, verdict))
		return;
	session->is_known = termination_instance_reply(session->form, &reply);
	if (reply.status != 200)
		verdict_unexpected(verdict, &reply);
	else if (!session->is_known)
		verdict_set(verdict, VERDICT_UNKNOWN,
			    "something else than this cloud's metadata service answers: name the "
			    "right cloud with --notice");
}

static void poll_termination(struct session *session)
{
	struct reply reply;
	struct verdict verdict;

	if (!session->is_known)
		check_instance_id(session, &verdict);
	if (session->is_known &&
	    watcher_get(session->watcher, &session->client, session->path, &reply, &verdict))
		termination_reply(session->form, &reply, &verdict);
	watcher_report(session->watcher,
		       verdict.kind == VERDICT_UNKNOWN ? SOURCE_UNKNOWN : SOURCE_ARMED,
		       verdict.kind == VERDICT_UNKNOWN ? verdict.why : "");
	if (verdict.kind == VERDICT_POSITIVE)
		watcher_notice(session->watcher, &verdict.notices[0]);
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
