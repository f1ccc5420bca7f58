/* Canned answers of EC2's metadata service, and of what is not it. */
#include "answer.h"
#include "unit.h"

#include "base/clock.h"
#include "base/text.h"

#include <string.h>

/* The page of the real service. */
#define PAGE_404                                                                         \
	"<?xml version=\"1.0\" encoding=\"iso-8859-1\"?>\n<!DOCTYPE html PUBLIC "        \
	"\"-//W3C//DTD XHTML 1.0 Transitional//EN\"\n"                                   \
	"\t\"http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd\">\n<html "         \
	"xmlns=\"http://www.w3.org/1999/xhtml\" xml:lang=\"en\" lang=\"en\">\n <head>\n" \
	"  <title>404 - Not Found</title>\n </head>\n</html>\n"

static void instance_action(void **state)
{
	// clang-format off
	static const struct {
		const char *name;
		int status;
		const char *body;
		enum verdict_kind kind;
		const char *identity;
		int64_t left_ms;
	} rows[] = {
		{"nothing yet", 404, PAGE_404, VERDICT_NEGATIVE, "", 0},
		{"nothing, without a page", 404, "", VERDICT_NEGATIVE, "", 0},
		{"terminate", 200,
			"{\"action\": \"terminate\", \"time\": \"2026-04-11T22:02:00Z\"}",
			VERDICT_POSITIVE, "terminate", 120000},
		{"stop", 200, "{\"action\": \"stop\", \"time\": \"2026-04-11T22:02:00Z\"}",
			VERDICT_POSITIVE, "stop", 120000},
		{"amazon-ec2-metadata-mock's tabs", 200,
			"{\n\t\"action\": \"terminate\",\n\t\"time\": \"2026-04-11T22:01:30Z\"\n}",
			VERDICT_POSITIVE, "terminate", 90000},
		{"without the Z", 200,
			"{\"action\": \"terminate\", \"time\": \"2026-04-11T22:02:00\"}",
			VERDICT_POSITIVE, "terminate", 120000},
		{"more members", 200,
			"{\"action\": \"terminate\", \"time\": \"2026-04-11T22:02:00Z\", \"x\": "
			"[1]}", VERDICT_POSITIVE, "terminate", 120000},
		{"just over", 200,
			"{\"action\": \"terminate\", \"time\": \"2026-04-11T21:59:30Z\"}",
			VERDICT_POSITIVE, "terminate", 0},
		{"left over from an earlier failure", 200,
			"{\"action\": \"terminate\", \"time\": \"2026-04-11T21:30:00Z\"}",
			VERDICT_NEGATIVE, "", 0},
		{"left over for years", 200,
			"{\"action\": \"stop\", \"time\": \"2017-09-18T08:22:00Z\"}",
			VERDICT_NEGATIVE, "", 0},
		{"absurdly far", 200,
			"{\"action\": \"terminate\", \"time\": \"2027-04-11T22:02:00Z\"}",
			VERDICT_POSITIVE, "terminate", 600000},
		{"a time that is none", 200, "{\"action\": \"terminate\", \"time\": \"soon\"}",
			VERDICT_POSITIVE, "terminate", 100000},
		{"no time",
			200, "{\"action\": \"terminate\"}", VERDICT_POSITIVE, "terminate", 100000},
		{"time is a number", 200, "{\"action\": \"terminate\", \"time\": 1}",
			VERDICT_POSITIVE, "terminate", 100000},
		{"another action", 200,
			"{\"action\": \"reboot\", \"time\": \"2026-04-11T22:02:00Z\"}",
			VERDICT_UNKNOWN, "", 0},
		{"no action", 200, "{\"time\": \"2026-04-11T22:02:00Z\"}", VERDICT_UNKNOWN, "", 0},
		{"action is an object", 200, "{\"action\": {}}", VERDICT_UNKNOWN, "", 0},
		{"half of it", 200, "{\"action\": \"terminate\", \"ti", VERDICT_UNKNOWN, "", 0},
		{"an array", 200, "[{\"action\": \"terminate\"}]", VERDICT_UNKNOWN, "", 0},
		{"nothing at all", 200, "", VERDICT_UNKNOWN, "", 0},
		{"a login page", 200, "<html><body>Sign in</body></html>", VERDICT_UNKNOWN, "", 0},
		{"a positive with the wrong status", 500,
			"{\"action\": \"terminate\", \"time\": \"2026-04-11T22:02:00Z\"}",
			VERDICT_UNKNOWN, "", 0},
		{"no token", 401, PAGE_404, VERDICT_UNKNOWN, "", 0},
		{"turned off", 403, "", VERDICT_UNKNOWN, "", 0},
		{"throttled", 429, "", VERDICT_UNKNOWN, "", 0},
		{"busy", 503, "", VERDICT_UNKNOWN, "", 0},
		{"a redirect", 302, "", VERDICT_UNKNOWN, "", 0},
		{"another cloud's 404", 404,
			"{ \"error\": \"Not found\" }", VERDICT_UNKNOWN, "", 0},
	};
	// clang-format on

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct reply reply = answer_of(rows[i].status, rows[i].body);
		struct verdict verdict;

		aws_action_reply(&reply, &verdict);
		if (verdict.kind != rows[i].kind)
			fail_msg("%s: %d", rows[i].name, (int)verdict.kind);
		assert_string_equal(verdict.notices[0].identity, rows[i].identity);
		if (verdict.kind == VERDICT_POSITIVE) {
			assert_int_equal(verdict.notices[0].kind, NOTICE_STOP);
			assert_int_equal(verdict.notices[0].deadline_ms - NOW_MS, rows[i].left_ms);
			assert_int_equal(verdict.notices[0].seen_ms, NOW_MS);
		}
		if (verdict.kind == VERDICT_UNKNOWN)
			assert_true(verdict.why[0]);
	}
}

/* It goes on where it was frozen: to end the job would lose that. */
static void hibernation_is_advice(void **state)
{
	const struct reply reply =
		answer_of(200, "{\"action\": \"hibernate\", \"time\": \"2026-04-11T22:02:00Z\"}");
	struct verdict verdict;

	(void)state;
	aws_action_reply(&reply, &verdict);
	assert_int_equal(verdict.kind, VERDICT_POSITIVE);
	assert_int_equal(verdict.notices[0].kind, NOTICE_ADVICE);
	assert_string_equal(verdict.notices[0].identity, "hibernate");
}

static void lifecycle_states(void **state)
{
	static const struct {
		int status;
		const char *body;
		enum verdict_kind kind;
		enum notice_kind notice;
	} rows[] = {
		{404, PAGE_404, VERDICT_NEGATIVE, NOTICE_NONE},
		{200, "InService", VERDICT_NEGATIVE, NOTICE_NONE},
		{200, "Standby\n", VERDICT_NEGATIVE, NOTICE_NONE},
		{200, "Detached", VERDICT_NEGATIVE, NOTICE_NONE},
		{200, "Warmed:Running", VERDICT_NEGATIVE, NOTICE_NONE},
		{200, "Warmed:Hibernated", VERDICT_POSITIVE, NOTICE_ADVICE},
		{200, "Warmed:Stopped", VERDICT_POSITIVE, NOTICE_STOP},
		{200, "Warmed:Terminated", VERDICT_POSITIVE, NOTICE_STOP},
		{200, "Terminated", VERDICT_POSITIVE, NOTICE_STOP},
		{200, "terminated", VERDICT_UNKNOWN, NOTICE_NONE},
		{200, "", VERDICT_UNKNOWN, NOTICE_NONE},
		{200, "<html>Terminated</html>", VERDICT_UNKNOWN, NOTICE_NONE},
		{503, "Terminated", VERDICT_UNKNOWN, NOTICE_NONE},
		{404, "{ \"error\": \"Not found\" }", VERDICT_UNKNOWN, NOTICE_NONE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct reply reply = answer_of(rows[i].status, rows[i].body);
		struct verdict verdict;

		aws_state_reply(&reply, &verdict);
		if (verdict.kind != rows[i].kind || verdict.notices[0].kind != rows[i].notice)
			fail_msg("%s: %d", rows[i].body, (int)verdict.kind);
		if (verdict.notices[0].kind == NOTICE_STOP) {
			assert_int_equal(verdict.notices[0].deadline_ms - NOW_MS,
					 AWS_STATE_GUESSED_MS);
			assert_true(verdict.notices[0].guessed);
		}
	}
}

#define MAINTENANCE(code, state, description, before, after)                                  \
	"[{\"NotBefore\":\"" before "\",\"Code\":\"" code "\",\"Description\":\"" description \
	"\",\"EventId\":\"instance-event-0d59937288b749b32\"" after ",\"State\":\"" state "\"}]"
#define AFTER ",\"NotAfter\":\"21 Apr 2026 09:17:23 GMT\""

/* Notices without one would be taken for the same. */
static void maintenance_without_an_identity(void **state)
{
	const struct reply reply = answer_of(200, "[{\"Code\":\"instance-stop\",\"EventId\":\"\"},{"
						  "\"Code\":\"system-reboot\"}]");
	struct verdict events;

	(void)state;
	aws_maintenance_reply(&reply, &events);
	assert_int_equal(events.count, 2);
	assert_string_equal(events.notices[0].identity, "instance-stop");
	assert_string_equal(events.notices[1].identity, "system-reboot");
}

static void scheduled_maintenance(void **state)
{
	// clang-format off
	static const struct {
		const char *name;
		int status;
		const char *body;
		enum verdict_kind kind;
		enum notice_kind notice;
		bool near;
	} rows[] = {
		{"none", 200, "[]", VERDICT_NEGATIVE, NOTICE_NONE, false},
		{"an imitation's none", 404, PAGE_404, VERDICT_NEGATIVE, NOTICE_NONE, false},
		{"in ten days", 200,
			MAINTENANCE("system-reboot", "active", "scheduled reboot",
			"21 Apr 2026 09:00:43 GMT", AFTER), VERDICT_POSITIVE, NOTICE_ADVICE, false},
		{"without an end", 200,
			MAINTENANCE("instance-stop", "active", "", "21 Apr 2026 09:00:43 GMT", ""),
			VERDICT_POSITIVE, NOTICE_ADVICE, false},
		{"with an empty end", 200,
			MAINTENANCE("instance-stop", "active", "", "21 Apr 2026 09:00:43 GMT",
			",\"NotAfter\":\"\""), VERDICT_POSITIVE, NOTICE_ADVICE, false},
		{"a day of one digit", 200,
			MAINTENANCE("instance-stop", "active", "", "1 May 2026 09:00:43 GMT", ""),
			VERDICT_POSITIVE, NOTICE_ADVICE, false},
		{"without a beginning", 200, MAINTENANCE("instance-stop", "active", "", "", ""),
			VERDICT_POSITIVE, NOTICE_ADVICE, false},
		{"in four minutes", 200,
			MAINTENANCE("instance-retirement", "active", "",
			"11 Apr 2026 22:04:00 GMT", AFTER), VERDICT_POSITIVE, NOTICE_ADVICE, true},
		{"now", 200,
			MAINTENANCE("instance-reboot", "active", "",
			"11 Apr 2026 21:59:30 GMT", AFTER), VERDICT_POSITIVE, NOTICE_ADVICE, true},
		{"its window is open for long", 200,
			MAINTENANCE("instance-reboot", "active", "",
			"11 Apr 2026 21:00:00 GMT", AFTER), VERDICT_POSITIVE, NOTICE_ADVICE, false},
		{"of the network, in four minutes", 200,
			MAINTENANCE("system-maintenance", "active", "",
			"11 Apr 2026 22:04:00 GMT", AFTER), VERDICT_POSITIVE, NOTICE_ADVICE, false},
		{"completed", 200,
			MAINTENANCE("system-reboot", "completed", "",
			"11 Apr 2026 22:04:00 GMT", AFTER), VERDICT_NEGATIVE, NOTICE_NONE, false},
		{"cancelled, by its words", 200,
			MAINTENANCE("system-reboot", "active", "[Canceled] scheduled reboot",
			"11 Apr 2026 22:04:00 GMT", AFTER), VERDICT_NEGATIVE, NOTICE_NONE, false},
		{"an object", 200, "{}", VERDICT_UNKNOWN, NOTICE_NONE, false},
		{"a list of something else", 200, "[1]", VERDICT_UNKNOWN, NOTICE_NONE, false},
		{"half", 200, "[{", VERDICT_UNKNOWN, NOTICE_NONE, false},
		{"a page", 200, "<html>", VERDICT_UNKNOWN, NOTICE_NONE, false},
		{"busy", 503, "[]", VERDICT_UNKNOWN, NOTICE_NONE, false},
	};
	// clang-format on

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct reply reply = answer_of(rows[i].status, rows[i].body);
		struct verdict events;

		aws_maintenance_reply(&reply, &events);
		if (events.kind != rows[i].kind || (events.count > 0) != (rows[i].notice != 0))
			fail_msg("%s: %d", rows[i].name, (int)events.kind);
		if (events.count == 0)
			continue;
		if (events.notices[0].kind != rows[i].notice)
			fail_msg("%s: notice %d", rows[i].name, (int)events.notices[0].kind);
		assert_int_equal(events.count, 1);
		/* Near: news once more, by its identity. */
		assert_int_equal(text_ends(events.notices[0].identity, AWS_NEAR), rows[i].near);
	}
}

static void google_header_is_never_ec2(void **state)
{
	struct reply reply =
		answer_of(200, "{\"action\": \"terminate\", \"time\": \"2026-04-11T22:02:00Z\"}");
	struct verdict verdict;

	(void)state;
	reply.flavor = "Google";
	aws_action_reply(&reply, &verdict);
	assert_int_equal(verdict.kind, VERDICT_UNKNOWN);
	reply.status = 404;
	aws_action_reply(&reply, &verdict);
	assert_int_equal(verdict.kind, VERDICT_UNKNOWN);
}

static void rebalance(void **state)
{
	static const struct {
		int status;
		const char *body;
		enum verdict_kind kind;
	} rows[] = {
		{404, PAGE_404, VERDICT_NEGATIVE},
		{200, "{\"noticeTime\": \"2020-10-27T08:22:00Z\"}", VERDICT_POSITIVE},
		{200, "{\"noticeTime\": \"soon\"}", VERDICT_UNKNOWN},
		{200, "{}", VERDICT_UNKNOWN},
		{200, "", VERDICT_UNKNOWN},
		{503, "", VERDICT_UNKNOWN},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct reply reply = answer_of(rows[i].status, rows[i].body);
		struct verdict verdict;

		aws_rebalance_reply(&reply, &verdict);
		assert_int_equal(verdict.kind, rows[i].kind);
		if (verdict.kind == VERDICT_POSITIVE) {
			assert_int_equal(verdict.notices[0].kind, NOTICE_ADVICE);
			assert_int_equal(verdict.notices[0].deadline_ms, CLOCK_NEVER);
		}
	}
}

static void the_way_in(void **state)
{
	// clang-format off
	static const struct {
		const char *name;
		struct aws_attempt put, get;
		bool tokenless_allowed;
		enum aws_access access;
	} rows[] = {
		{"version 2", {.status = 200, .shaped = true}, {0}, true, AWS_WITH_TOKEN},
		{"200 with a page", {.status = 200}, {0}, true, AWS_FOREIGN},
		{"version 1 only",
			{.status = 404}, {.status = 200, .shaped = true}, true, AWS_TOKENLESS},
		{"version 1 only, method refused",
			{.status = 405}, {.status = 200, .shaped = true}, true, AWS_TOKENLESS},
		{"hop limit, token required",
			{.timed_out = true}, {.status = 401}, true, AWS_HOP_LIMIT},
		{"hop limit, version 1 allowed there",
			{.timed_out = true}, {.status = 200, .shaped = true}, true, AWS_TOKENLESS},
		{"hop limit, version 1 not allowed here",
			{.timed_out = true}, {.status = 200, .shaped = true}, false, AWS_HOP_LIMIT},
		{"not EC2", {.timed_out = true}, {.timed_out = true}, true, AWS_ABSENT},
		{"turned off", {.status = 403}, {.status = 403}, true, AWS_DISABLED},
		{"a proxy in between", {.status = 403}, {.status = 401}, true, AWS_UNDECIDED},
		{"another service", {.status = 404}, {.status = 404}, true, AWS_FOREIGN},
		{"another service says something",
			{.status = 404}, {.status = 200}, true, AWS_FOREIGN},
		{"Azure", {.status = 400}, {.status = 400}, true, AWS_FOREIGN},
		{"Google", {.status = 403, .foreign = true}, {.status = 403, .foreign = true}, true,
			AWS_FOREIGN},
		{"throttled", {.status = 429}, {0}, true, AWS_UNDECIDED},
		{"busy", {.status = 503}, {.status = 200, .shaped = true}, true, AWS_UNDECIDED},
		{"refused while it starts", {0}, {0}, true, AWS_REFUSED},
		{"a slow start", {.timed_out = true}, {0}, true, AWS_REFUSED},
	};
	// clang-format on

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		enum aws_access access =
			aws_access_decide(&rows[i].put, &rows[i].get, rows[i].tokenless_allowed);

		if (access != rows[i].access)
			fail_msg("%s: %d", rows[i].name, (int)access);
	}
}

/* They fit where they are shown, and name a fix. */
static void reasons_are_whole(void **state)
{
	const enum aws_access rows[] = {AWS_HOP_LIMIT, AWS_DISABLED, AWS_ABSENT, AWS_FOREIGN};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_in_range(strlen(aws_access_why(rows[i])), 20,
				sizeof(((struct source_state *)NULL)->why) - 1);
}

static void instance_ids(void **state)
{
	static const struct {
		int status;
		const char *body;
		bool good;
	} rows[] = {
		{200, "i-1234567890abcdef0", true},
		{200, "i-1a2b3c4d\n", true},
		{200, "i-", false},
		{200, "i-xyz", false},
		{200, "<html>", false},
		{404, "i-1a2b3c4d", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct reply reply = answer_of(rows[i].status, rows[i].body);

		assert_int_equal(aws_instance_reply(&reply), rows[i].good);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(instance_action),
		cmocka_unit_test(hibernation_is_advice),
		cmocka_unit_test(lifecycle_states),
		cmocka_unit_test(scheduled_maintenance),
		cmocka_unit_test(maintenance_without_an_identity),
		cmocka_unit_test(google_header_is_never_ec2),
		cmocka_unit_test(rebalance),
		cmocka_unit_test(the_way_in),
		cmocka_unit_test(reasons_are_whole),
		cmocka_unit_test(instance_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
