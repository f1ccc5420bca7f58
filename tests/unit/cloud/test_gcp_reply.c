/* Canned answers of the Compute Engine metadata server, and of what is not it. */
#include "unit.h"

#include "base/clock.h"
#include "cloud/watcher.h"

#include <string.h>

static const struct gcp_context usual = {.notice_ms = GCP_NOTICE_MS, .since_ms = CLOCK_NEVER};

static void preempted_and_maintenance(void **state)
{
	// clang-format off
	static const struct {
		const char *name;
		int status;
		const char *flavor, *server, *body;
		enum verdict_kind preempted, maintenance;
	} rows[] = {
		{"not preempted", 200, "Google", NULL, "FALSE", VERDICT_NEGATIVE, VERDICT_UNKNOWN},
		{"preempted", 200, "Google", NULL, "TRUE", VERDICT_POSITIVE, VERDICT_UNKNOWN},
		{"with a newline",
			200, "Google", NULL, "TRUE\n", VERDICT_POSITIVE, VERDICT_UNKNOWN},
		{"in other letters", 200, "Google", NULL, "true", VERDICT_UNKNOWN, VERDICT_UNKNOWN},
		{"more than TRUE",
			200, "Google", NULL, "TRUE FALSE", VERDICT_UNKNOWN, VERDICT_UNKNOWN},
		{"no maintenance", 200, "Google", NULL, "NONE", VERDICT_UNKNOWN, VERDICT_NEGATIVE},
		{"migration", 200, "Google", NULL,
			"MIGRATE_ON_HOST_MAINTENANCE", VERDICT_UNKNOWN, VERDICT_POSITIVE},
		{"termination", 200, "Google", NULL,
			"TERMINATE_ON_HOST_MAINTENANCE", VERDICT_UNKNOWN, VERDICT_POSITIVE},
		{"TRUE without the header",
			200, NULL, NULL, "TRUE", VERDICT_UNKNOWN, VERDICT_UNKNOWN},
		{"NONE without the header",
			200, NULL, NULL, "NONE", VERDICT_UNKNOWN, VERDICT_UNKNOWN},
		{"FALSE with another header",
			200, "Amazon", NULL, "FALSE", VERDICT_UNKNOWN, VERDICT_UNKNOWN},
		{"empty", 200, "Google", NULL, "", VERDICT_UNKNOWN, VERDICT_UNKNOWN},
		{"a page", 200, "Google", NULL,
			"<!DOCTYPE html><html lang=en>", VERDICT_UNKNOWN, VERDICT_UNKNOWN},
		{"away for a second",
			503, "Google", NULL, "TRUE", VERDICT_UNKNOWN, VERDICT_UNKNOWN},
		{"header missing in the request", 403, "Google", "Metadata Server for VM",
			"<!DOCTYPE html>", VERDICT_UNKNOWN, VERDICT_UNKNOWN},
		{"throttled", 429, "Google", NULL, "", VERDICT_UNKNOWN, VERDICT_UNKNOWN},
		{"GKE", 404, "Google", "GKE Metadata Server", "", VERDICT_ABSENT, VERDICT_ABSENT},
		{"another server without the key",
			404, "Google", NULL, "<!DOCTYPE html>", VERDICT_ABSENT, VERDICT_ABSENT},
		{"another cloud", 404, NULL, NULL,
			"{ \"error\": \"Not found\" }", VERDICT_UNKNOWN, VERDICT_UNKNOWN},
	};
	// clang-format on

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct reply reply = {
			.status = rows[i].status,
			.body = rows[i].body,
			.size = strlen(rows[i].body),
			.flavor = rows[i].flavor,
			.server = rows[i].server,
			.arrived_ms = 1000,
		};
		struct verdict preempted, maintenance;

		gcp_preempted_reply(&reply, &usual, &preempted);
		gcp_maintenance_reply(&reply, &usual, &maintenance);
		if (preempted.kind != rows[i].preempted || maintenance.kind != rows[i].maintenance)
			fail_msg("%s: %d %d", rows[i].name, (int)preempted.kind,
				 (int)maintenance.kind);
		if (preempted.kind == VERDICT_POSITIVE) {
			assert_int_equal(preempted.notices[0].kind, NOTICE_STOP);
			assert_int_equal(preempted.notices[0].deadline_ms, 31000);
		}
		if (maintenance.kind == VERDICT_POSITIVE) {
			assert_int_equal(maintenance.notices[0].kind, NOTICE_ADVICE);
			assert_int_equal(maintenance.notices[0].deadline_ms, CLOCK_NEVER);
		}
		if (preempted.kind == VERDICT_ABSENT)
			assert_non_null(strstr(preempted.why, "hostNetwork"));
	}
}

static void a_longer_notice_where_configured(void **state)
{
	static const struct {
		const char *text;
		bool good;
		int64_t notice_ms;
	} rows[] = {
		{"120s", true, 120000}, {"2m", true, 120000}, {"0", false, 0},
		{"", false, 0},         {"1h", false, 0},     {"long", false, 0},
	};
	struct reply reply = {
		.status = 200,
		.body = "TRUE",
		.size = 4,
		.flavor = "Google",
		.arrived_ms = 1000,
	};
	struct gcp_context context = usual;
	struct verdict verdict;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool good = gcp_notice_parse(rows[i].text, &context.notice_ms);

		if (good != rows[i].good)
			fail_msg("%s", rows[i].text);
		if (!good)
			continue;
		gcp_preempted_reply(&reply, &context, &verdict);
		assert_int_equal(verdict.notices[0].deadline_ms, 1000 + rows[i].notice_ms);
		assert_true(verdict.notices[0].guessed);
	}
}

static void a_termination_for_maintenance_nears(void **state)
{
	static const char body[] = "TERMINATE_ON_HOST_MAINTENANCE";
	static const struct {
		int64_t since_ms, arrived_ms;
		enum notice_kind kind;
		int64_t deadline_ms;
	} rows[] = {
		{CLOCK_NEVER, 1000, NOTICE_ADVICE, CLOCK_NEVER},
		{1000, 1000, NOTICE_ADVICE, CLOCK_NEVER},
		{1000, 1000 + 54 * 60000, NOTICE_ADVICE, CLOCK_NEVER},
		{1000, 1000 + 55 * 60000, NOTICE_STOP, 1000 + 60 * 60000},
		{1000, 1000 + 61 * 60000, NOTICE_STOP, 1000 + 61 * 60000},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct reply reply = {
			.status = 200,
			.body = body,
			.size = sizeof(body) - 1,
			.flavor = "Google",
			.arrived_ms = rows[i].arrived_ms,
		};
		const struct gcp_context context = {.since_ms = rows[i].since_ms};
		struct verdict verdict;

		gcp_maintenance_reply(&reply, &context, &verdict);
		assert_int_equal(verdict.kind, VERDICT_POSITIVE);
		assert_int_equal(verdict.notices[0].kind, rows[i].kind);
		assert_true(verdict.notices[0].deadline_ms == rows[i].deadline_ms);
	}
}

static void upcoming_maintenance(void **state)
{
	// clang-format off
	static const struct {
		const char *body;
		enum verdict_kind kind;
		const char *reason;
	} rows[] = {
		{"NONE", VERDICT_NEGATIVE, NULL},
		{"{ \"error\": \"no notifications have been received yet, try again later\" }",
			VERDICT_NEGATIVE, NULL},
		{"{ }", VERDICT_NEGATIVE, NULL},
		{"{\"type\":\"SCHEDULED\",\"canReschedule\":true,"
			"\"windowStartTime\":\"2026-05-01T10:00:00Z\","
			"\"windowEndTime\":\"2026-05-01T14:00:00Z\","
			"\"maintenanceStatus\":\"PENDING\"}",
			VERDICT_POSITIVE,
			"host maintenance is planned for 2026-05-01T10:00:00Z to "
			"2026-05-01T14:00:00Z"},
		{"{\"type\":\"UNSCHEDULED\",\"can_reschedule\":\"true\","
			"\"window_start_time\":\"2026-05-01T03:00:00-07:00\","
			"\"maintenance_status\":\"ONGOING\"}",
			VERDICT_POSITIVE, "host maintenance goes on since 2026-05-01T10:00:00Z"},
		{"{\"startTime\":\"2026-05-01T10:00:00Z\"}", VERDICT_POSITIVE,
			"host maintenance is planned for 2026-05-01T10:00:00Z"},
		{"{\"type\":\"SCHEDULED\"}", VERDICT_UNKNOWN, NULL},
		{"{\"windowStartTime\":", VERDICT_UNKNOWN, NULL},
		{"soon", VERDICT_UNKNOWN, NULL},
		{"<html>", VERDICT_UNKNOWN, NULL},
	};
	// clang-format on

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct reply reply = {
			.status = 200,
			.body = rows[i].body,
			.size = strlen(rows[i].body),
			.flavor = "Google",
		};
		struct verdict verdict;

		gcp_upcoming_reply(&reply, &usual, &verdict);
		if (verdict.kind != rows[i].kind)
			fail_msg("%s: %d", rows[i].body, (int)verdict.kind);
		if (verdict.kind != VERDICT_POSITIVE)
			continue;
		assert_int_equal(verdict.notices[0].kind, NOTICE_ADVICE);
		assert_string_equal(verdict.notices[0].reason, rows[i].reason);
	}
}

static void etags(void **state)
{
	(void)state;
	assert_true(gcp_etag_is_usable("411261ca6c9e654e"));
	assert_true(gcp_etag_is_usable("0"));
	assert_false(gcp_etag_is_usable(NULL));
	assert_false(gcp_etag_is_usable(""));
	assert_false(gcp_etag_is_usable("\"quoted\""));
	assert_false(gcp_etag_is_usable("a&timeout_sec=0"));
	assert_false(gcp_etag_is_usable(
		"00000000000000000000000000000000000000000000000000000000000000000"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(preempted_and_maintenance),
		cmocka_unit_test(a_longer_notice_where_configured),
		cmocka_unit_test(a_termination_for_maintenance_nears),
		cmocka_unit_test(upcoming_maintenance),
		cmocka_unit_test(etags),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
