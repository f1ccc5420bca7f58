/* Canned answers of Azure's metadata service, and of what is not it. The VM is vmss_4. */
#include "answer.h"
#include "unit.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

#define DOCUMENT(events) "{\"DocumentIncarnation\": 2, \"Events\": [" events "]}"
#define EVENT(type, status, resources, not_before)                                       \
	"{\"EventId\":\"C7061BAC\",\"EventStatus\":\"" status "\",\"EventType\":\"" type \
	"\",\"ResourceType\":\"VirtualMachine\",\"Resources\":[" resources               \
	"],\"NotBefore\":\"" not_before                                                  \
	"\",\"Description\":\"\",\"EventSource\":\"Platform\",\"DurationInSeconds\":-1}"
#define MINE "\"vmss_3\",\"VMSS_4\""
#define IN_30_S "Sat, 11 Apr 2026 22:00:30 GMT"

static void scheduled_events(void **state)
{
	// clang-format off
	static const struct {
		const char *name;
		int status;
		const char *body;
		enum verdict_kind kind;
		enum notice_kind notice;
		int64_t left_ms;
	} rows[] = {
		{"none", 200, DOCUMENT(""), VERDICT_NEGATIVE, NOTICE_NONE, 0},
		{"numbers as strings", 200, "{\"DocumentIncarnation\":\"1\",\"Events\":[]}",
			VERDICT_NEGATIVE, NOTICE_NONE, 0},
		{"preempt", 200, DOCUMENT(EVENT("Preempt", "Scheduled", MINE, IN_30_S)),
			VERDICT_POSITIVE, NOTICE_STOP, 30000},
		{"preempt, as the mock server of Microsoft writes times", 200,
			DOCUMENT(EVENT("Preempt", "Scheduled", MINE, "2026-04-11T22:00:30Z")),
			VERDICT_POSITIVE, NOTICE_STOP, 30000},
		{"terminate", 200,
			DOCUMENT(EVENT("Terminate", "Scheduled", MINE,
			"Sat, 11 Apr 2026 22:10:00 GMT")), VERDICT_POSITIVE, NOTICE_STOP, 600000},
		{"reboot", 200,
			DOCUMENT(EVENT("Reboot", "Scheduled", MINE,
			"Sat, 11 Apr 2026 22:15:00 GMT")), VERDICT_POSITIVE, NOTICE_STOP, 900000},
		{"redeploy", 200,
			DOCUMENT(EVENT("Redeploy", "Scheduled", MINE,
			"Sat, 11 Apr 2026 22:10:00 GMT")), VERDICT_POSITIVE, NOTICE_STOP, 600000},
		{"redeploy in a week", 200,
			DOCUMENT(EVENT("Redeploy", "Scheduled", MINE,
			"Sat, 18 Apr 2026 22:00:00 GMT")), VERDICT_POSITIVE, NOTICE_ADVICE, 0},
		{"started", 200, DOCUMENT(EVENT("Preempt", "Started", MINE, "")), VERDICT_POSITIVE,
			NOTICE_STOP, 5000},
		{"a broken date", 200, DOCUMENT(EVENT("Preempt", "Scheduled", MINE, "soon")),
			VERDICT_POSITIVE, NOTICE_STOP, 5000},
		{"a date that is over", 200,
			DOCUMENT(EVENT("Preempt", "Scheduled", MINE,
			"Sat, 11 Apr 2026 21:59:00 GMT")), VERDICT_POSITIVE, NOTICE_STOP, 0},
		{"freeze", 200, DOCUMENT(EVENT("Freeze", "Scheduled", MINE, IN_30_S)),
			VERDICT_NEGATIVE, NOTICE_NONE, 0},
		{"other machines'", 200,
			DOCUMENT(EVENT("Preempt", "Scheduled", "\"vmss_40\",\"vmss_\"", IN_30_S)),
			VERDICT_NEGATIVE, NOTICE_NONE, 0},
		{"nobody's", 200, DOCUMENT(EVENT("Preempt", "Scheduled", "", IN_30_S)),
			VERDICT_NEGATIVE, NOTICE_NONE, 0},
		{"another's unknown type", 200,
			DOCUMENT(EVENT("Melt", "Scheduled", "\"vmss_1\"", IN_30_S)),
			VERDICT_NEGATIVE, NOTICE_NONE, 0},
		{"my unknown type", 200, DOCUMENT(EVENT("Melt", "Scheduled", MINE, IN_30_S)),
			VERDICT_UNKNOWN, NOTICE_NONE, 0},
		{"cancelled", 200, DOCUMENT(EVENT("Preempt", "Canceled", MINE, IN_30_S)),
			VERDICT_NEGATIVE, NOTICE_NONE, 0},
		{"completed", 200, DOCUMENT(EVENT("Reboot", "Completed", MINE, "")),
			VERDICT_NEGATIVE, NOTICE_NONE, 0},
		{"noise, then mine", 200,
			DOCUMENT(EVENT("Freeze", "Scheduled", MINE, IN_30_S) "," EVENT("Preempt",
			"Scheduled", "\"vmss_1\"", IN_30_S) "," EVENT("Preempt", "Scheduled", MINE,
			IN_30_S)), VERDICT_POSITIVE, NOTICE_STOP, 30000},
		{"a broken one beside mine", 200,
			DOCUMENT("{}," EVENT("Preempt", "Scheduled", MINE, IN_30_S) ", 5"),
			VERDICT_POSITIVE, NOTICE_STOP, 30000},
		{"only broken ones", 200, DOCUMENT("{}"), VERDICT_UNKNOWN, NOTICE_NONE, 0},
		{"no incarnation", 200, "{\"Events\":[]}", VERDICT_UNKNOWN, NOTICE_NONE, 0},
		{"no events", 200, "{\"DocumentIncarnation\":1}", VERDICT_UNKNOWN, NOTICE_NONE, 0},
		{"events is an object", 200, "{\"DocumentIncarnation\":1,\"Events\":{}}",
			VERDICT_UNKNOWN, NOTICE_NONE, 0},
		{"an error as 200", 200,
			"{ \"error\": \"Bad request\" }", VERDICT_UNKNOWN, NOTICE_NONE, 0},
		{"an error", 400,
			"{ \"error\": \"Bad request. Required metadata header not specified\" }",
			VERDICT_UNKNOWN, NOTICE_NONE, 0},
		{"an error with a document", 500,
			DOCUMENT(EVENT("Preempt", "Scheduled", MINE, IN_30_S)), VERDICT_UNKNOWN,
			NOTICE_NONE, 0},
		{"throttled", 429,
			"{ \"error\": \"Too many requests\" }", VERDICT_UNKNOWN, NOTICE_NONE, 0},
		{"half of it", 200,
			"{\"DocumentIncarnation\":1,\"Events\":[", VERDICT_UNKNOWN, NOTICE_NONE, 0},
		{"a page", 200, "<html></html>", VERDICT_UNKNOWN, NOTICE_NONE, 0},
		{"empty", 200, "", VERDICT_UNKNOWN, NOTICE_NONE, 0},
	};
	// clang-format on

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct reply reply = answer_of(rows[i].status, rows[i].body);
		struct verdict events;

		azure_events_reply(&reply, "vmss_4", &events);
		if (events.kind != rows[i].kind)
			fail_msg("%s: %d (%s)", rows[i].name, (int)events.kind, events.why);
		assert_int_equal(events.count, rows[i].kind == VERDICT_POSITIVE ? 1 : 0);
		if (events.count == 0)
			continue;
		assert_int_equal(events.notices[0].kind, rows[i].notice);
		assert_string_equal(events.notices[0].identity, "C7061BAC");
		if (rows[i].notice == NOTICE_STOP)
			assert_int_equal(events.notices[0].deadline_ms - NOW_MS, rows[i].left_ms);
	}
}

/* An approval is for all machines of the event. */
static void approvable(void **state)
{
	static const struct {
		const char *body;
		bool approvable;
	} rows[] = {
		{DOCUMENT(EVENT("Preempt", "Scheduled", "\"vmss_4\"", IN_30_S)), true},
		{DOCUMENT(EVENT("Preempt", "Scheduled", MINE, IN_30_S)), false},
		{DOCUMENT(EVENT("Preempt", "Started", "\"vmss_4\"", "")), false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct reply reply = {
			.status = 200,
			.body = rows[i].body,
			.size = strlen(rows[i].body),
			.arrived_ms = NOW_MS,
			.arrived_wall_ms = NOW_WALL_MS,
		};
		struct verdict events;

		azure_events_reply(&reply, "vmss_4", &events);
		assert_int_equal(events.count, 1);
		assert_int_equal(events.notices[0].approvable, rows[i].approvable);
	}
}

/* Without the own name an event may be anybody's; none is none all the same. */
static void without_a_name(void **state)
{
	static const char busy[] = DOCUMENT(EVENT("Preempt", "Scheduled", "\"\"", IN_30_S));
	static const char idle[] = DOCUMENT("");
	struct reply reply = {.status = 200, .body = busy, .size = sizeof(busy) - 1};
	struct verdict events;

	(void)state;
	azure_events_reply(&reply, "", &events);
	assert_int_equal(events.kind, VERDICT_UNKNOWN);
	assert_int_equal(events.count, 0);
	reply = (struct reply){.status = 200, .body = idle, .size = sizeof(idle) - 1};
	azure_events_reply(&reply, "", &events);
	assert_int_equal(events.kind, VERDICT_NEGATIVE);
}

static void names(void **state)
{
	static const struct {
		int status;
		const char *body;
		const char *name; /* NULL: refused */
	} rows[] = {
		{200, "aks-spot-123-vmss_4", "aks-spot-123-vmss_4"},
		{200, "vm.with-dots\n", "vm.with-dots"},
		{200, "", NULL},
		{200, "{\"name\": \"x\"}", NULL},
		{200, "<html>", NULL},
		{200, "two words", NULL},
		{404, "vmss_4", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct reply reply = {
			.status = rows[i].status,
			.body = rows[i].body,
			.size = strlen(rows[i].body),
		};
		char name[AZURE_NAME_MOST];

		assert_int_equal(azure_name_reply(&reply, name), rows[i].name != NULL);
		if (rows[i].name)
			assert_string_equal(name, rows[i].name);
	}
}

/* What is not announced as documented is not silently passed over, whichever part is missing. */
static void incomplete_events(void **state)
{
	static const struct {
		const char *name, *body;
		enum verdict_kind kind;
	} rows[] = {
		{"no id",
		 DOCUMENT("{\"EventStatus\":\"Scheduled\",\"EventType\":\"Preempt\","
			  "\"Resources\":[\"vmss_4\"]}"),
		 VERDICT_UNKNOWN},
		{"an empty id",
		 DOCUMENT("{\"EventId\":\"\",\"EventStatus\":\"Scheduled\","
			  "\"EventType\":\"Preempt\",\"Resources\":[\"vmss_4\"]}"),
		 VERDICT_UNKNOWN},
		{"no resources",
		 DOCUMENT("{\"EventId\":\"C7061BAC\",\"EventStatus\":\"Scheduled\","
			  "\"EventType\":\"Preempt\"}"),
		 VERDICT_UNKNOWN},
		{"no status",
		 DOCUMENT("{\"EventId\":\"C7061BAC\",\"EventType\":\"Preempt\","
			  "\"Resources\":[\"vmss_4\"]}"),
		 VERDICT_NEGATIVE},
		{"no time",
		 DOCUMENT("{\"EventId\":\"C7061BAC\",\"EventStatus\":\"Scheduled\","
			  "\"EventType\":\"Preempt\",\"Resources\":[\"vmss_4\"]}"),
		 VERDICT_POSITIVE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct reply reply = {
			.status = 200,
			.body = rows[i].body,
			.size = strlen(rows[i].body),
			.arrived_ms = NOW_MS,
			.arrived_wall_ms = NOW_WALL_MS,
		};
		struct verdict events;

		azure_events_reply(&reply, "vmss_4", &events);
		if (events.kind != rows[i].kind)
			fail_msg("%s: %d (%s)", rows[i].name, (int)events.kind, events.why);
		if (events.kind == VERDICT_UNKNOWN)
			assert_string_equal(events.why, "an event without EventId or Resources");
		if (events.kind == VERDICT_POSITIVE)
			assert_true(events.notices[0].guessed);
	}
}

/* More events for this VM than there is room for: the first ones are kept. In memory of exactly
 * that size, so that a sanitizer sees a write beyond it. */
static void more_events_than_fit(void **state)
{
	static const char event[] = EVENT("Preempt", "Scheduled", MINE, IN_30_S);
	const size_t most = VERDICT_NOTICES;
	struct verdict *events = malloc(sizeof(*events));

	(void)state;
	assert_non_null(events);
	for (size_t count = most - 1; count <= most + 2; count++) {
		char body[(VERDICT_NOTICES + 2) * sizeof(event) + 100];
		struct reply reply = {
			.status = 200,
			.body = body,
			.arrived_ms = NOW_MS,
			.arrived_wall_ms = NOW_WALL_MS,
		};

		strcpy(body, "{\"DocumentIncarnation\": 2, \"Events\": [");
		for (size_t i = 0; i < count; i++) {
			strcat(body, i ? "," : "");
			strcat(body, event);
		}
		strcat(body, "]}");
		reply.size = strlen(body);
		azure_events_reply(&reply, "vmss_4", events);
		assert_int_equal(events->kind, VERDICT_POSITIVE);
		assert_int_equal(events->count, count < most ? count : most);
		assert_false(events->notices[0].guessed);
	}
	free(events);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scheduled_events),  cmocka_unit_test(approvable),
		cmocka_unit_test(without_a_name),    cmocka_unit_test(names),
		cmocka_unit_test(incomplete_events), cmocka_unit_test(more_events_than_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
