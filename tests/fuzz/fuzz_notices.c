/* The answers of the clouds' metadata services: every body is shown to every parser, with any
 * status and with or without Google's header. */
#include "fuzz.h"

#include "base/clock.h"
#include "base/instance_metadata.h"
#include "cloud/watcher.h"

enum {
	ARRIVED_MS = 50000,
	HOUR_MS = 3600 * 1000
};
/* 2026-04-11T22:00:00Z */
#define ARRIVED_WALL_MS 1775944800000

static void check_notice(const struct reply *reply, const struct notice *notice)
{
	CHECK(reply->status == 200);
	CHECK(notice->seen_ms == reply->arrived_ms);
	CHECK(notice->source[0] && notice->identity[0] && notice->reason[0]);
	CHECK(fuzz_is_utf8(notice->identity) && fuzz_is_one_line(notice->identity));
	CHECK(fuzz_is_utf8(notice->reason) && fuzz_is_one_line(notice->reason));
	if (notice->kind == NOTICE_ADVICE) {
		CHECK(notice->deadline_ms == CLOCK_NEVER);
		return;
	}
	CHECK(notice->kind == NOTICE_STOP);
	CHECK(notice->deadline_ms >= notice->seen_ms);
	CHECK(notice->deadline_ms <= notice->seen_ms + HOUR_MS);
}

static void check_verdict(const struct reply *reply, const struct verdict *verdict)
{
	CHECK(memchr(verdict->why, '\0', sizeof(verdict->why)));
	if (verdict->kind == VERDICT_POSITIVE)
		check_notice(reply, &verdict->notices[0]);
	else
		CHECK(verdict->notices[0].kind == NOTICE_NONE);
}

/* These three clouds' own answers never have Google's header. */
static void check_others(const struct reply *reply, const struct verdict *verdict)
{
	check_verdict(reply, verdict);
	CHECK(!reply->flavor || verdict->kind == VERDICT_UNKNOWN);
}

static void ask_aws(const struct reply *reply)
{
	static void (*const parsers[])(const struct reply *reply, struct verdict *verdict) =
		{aws_action_reply, aws_rebalance_reply, aws_state_reply};
	char token[METADATA_TOKEN_MOST];
	struct verdict events;
	struct verdict verdict;

	for (size_t i = 0; i < COUNT(parsers); i++) {
		parsers[i](reply, &verdict);
		check_others(reply, &verdict);
	}
	aws_maintenance_reply(reply, &events);
	CHECK(events.count <= VERDICT_NOTICES);
	CHECK((events.kind == VERDICT_POSITIVE) == (events.count > 0));
	for (size_t i = 0; i < events.count; i++)
		check_notice(reply, &events.notices[i]);
	if (instance_metadata_read_token(reply->body, reply->size, token))
		CHECK(token[0] && fuzz_is_one_line(token));
	(void)aws_instance_reply(reply);
}

static void ask_azure(const struct reply *reply, const char *name)
{
	struct verdict events;
	char own[AZURE_NAME_MOST];

	azure_events_reply(reply, name, &events);
	CHECK(events.count <= VERDICT_NOTICES);
	CHECK((events.kind == VERDICT_POSITIVE) == (events.count > 0));
	CHECK(name[0] || events.count == 0);
	for (size_t i = 0; i < events.count; i++)
		check_notice(reply, &events.notices[i]);
	if (azure_name_reply(reply, own))
		CHECK(own[0] && fuzz_is_one_line(own));
}

static void ask_google(const struct reply *reply, int64_t since_ms)
{
	static void (*const parsers[])(const struct reply *reply, const struct gcp_context *context,
				       struct verdict *verdict) =
		{gcp_preempted_reply, gcp_maintenance_reply, gcp_upcoming_reply};
	const struct gcp_context context = {.notice_ms = GCP_NOTICE_MS, .since_ms = since_ms};
	struct verdict verdict;

	for (size_t i = 0; i < COUNT(parsers); i++) {
		parsers[i](reply, &context, &verdict);
		check_verdict(reply, &verdict);
		CHECK(reply->flavor || verdict.kind == VERDICT_UNKNOWN);
	}
}

static void ask_termination(const struct termination_form *form, const struct reply *reply)
{
	struct verdict verdict;

	termination_reply(form, reply, &verdict);
	check_others(reply, &verdict);
	(void)termination_instance_reply(form, reply);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int statuses[] = {200, 404, 503};

	for (size_t i = 0; i < 2 * COUNT(statuses); i++) {
		const struct reply reply = {
			.status = statuses[i / 2],
			.flavor = i % 2 ? "Google" : NULL,
			.body = size ? (const char *)data : NULL,
			.size = size,
			.arrived_ms = ARRIVED_MS,
			.arrived_wall_ms = ARRIVED_WALL_MS,
		};

		ask_aws(&reply);
		ask_azure(&reply, "vmss_3");
		ask_azure(&reply, "");
		ask_google(&reply, CLOCK_NEVER);
		ask_google(&reply, ARRIVED_MS - GCP_MAINTENANCE_MS + 1000);
		ask_termination(&termination_alibaba, &reply);
		ask_termination(&termination_tencent, &reply);
	}
	return 0;
}
