/* What a member tells of its gang. */
#include "gang/gang.h"

#include "base/json.h"
#include "base/text.h"

#include <stdlib.h>

#include "unit.h"

static void fold(struct gang_view *view, struct gang_event event, int64_t now_ms)
{
	event.number = view->read + 1;
	assert_true(gang_view_fold(view, &event, now_ms));
}

static void test_who_has_gone(void **state)
{
	auto_(gang_view_release) struct gang_view view = gang_view_new(3, 0);
	struct gang_here here = gang_here_new(1);
	auto_json json_t *hosts = json_pack("[s, s, s]", "a", "b", "c");
	auto_json json_t *json = NULL;
	char *text;

	(void)state;
	fold(&view, (struct gang_event){.kind = GANG_EVENT_GO}, 0);
	fold(&view, (struct gang_event){.kind = GANG_EVENT_GONE, .member = 0}, 0);
	fold(&view, (struct gang_event){.kind = GANG_EVENT_ROUND, .member = 2, .step = 5}, 0);
	fold(&view, (struct gang_event){.kind = GANG_EVENT_GONE, .member = 2}, 0);
	json = gang_status_json(&view, &here, 60000, 4, hosts);
	text = json_dumps(json, JSON_SORT_KEYS | JSON_COMPACT);
	assert_string_equal(
		text, "{\"ended\":0,\"gone\":2,\"left\":0,\"list\":["
		      "{\"host\":\"a\",\"member\":0,\"state\":\"has gone\"},"
		      "{\"host\":\"c\",\"member\":2,\"state\":\"has gone\"},"
		      "{\"host\":\"b\",\"member\":1,\"state\":\"goes on\"}],"
		      "\"member\":1,\"members\":3,\"over\":false,\"round\":{\"gave\":false,"
		      "\"id\":\"000004-000003\",\"opened_by\":2,\"state\":\"open\",\"step\":5,"
		      "\"without\":[0]}}");
	free(text);
}

/* The answer of a large gang has a limit, and those that do not go on are in it. */
static void test_a_large_gang(void **state)
{
	auto_(gang_view_release) struct gang_view view = gang_view_new(2000, 0);
	struct gang_here here = gang_here_new(0);
	auto_json json_t *json = NULL;
	json_t *list;

	(void)state;
	fold(&view, (struct gang_event){.kind = GANG_EVENT_ENDED, .member = 1999, .code = 3}, 0);
	json = gang_status_json(&view, &here, 1000, 1, NULL);
	list = json_object_get(json, "list");
	assert_int_equal(json_array_size(list), GANG_STATUS_MEMBERS_MOST);
	assert_int_equal(json_number_or(json_array_get(list, 0), "member", 0), 1999);
	assert_string_equal(json_text_or(json_array_get(list, 0), "state", ""), "has left");
	assert_int_equal(json_number_or(json, "left", 0), 1);
}

/* At 10 s all have started; then one thing a row, at its second, and when each was last heard. */
static void test_when_each_was_heard(void **state)
{
	static const struct {
		const char *name;
		struct gang_event event; /* kind GO again: none, the round is committed */
		int at;
		int heard[3];
	} rows[] = {
		{"the start", {.kind = GANG_EVENT_GO}, 10, {10, 10, 10}},
		{"opens a round", {.kind = GANG_EVENT_ROUND, .member = 2}, 30, {10, 10, 30}},
		/* All have given a part since it was opened. */
		{"the round is committed", {.kind = GANG_EVENT_GO}, 50, {30, 30, 30}},
		{"asks", {.kind = GANG_EVENT_REQUEST, .member = 1}, 60, {30, 60, 30}},
		{"opens another", {.kind = GANG_EVENT_ROUND, .member = 0}, 70, {70, 60, 30}},
		{"leaves it out",
		 {.kind = GANG_EVENT_LEFT_OUT, .member = 1, .round = 4},
		 80,
		 {70, 80, 30}},
		{"opens a third", {.kind = GANG_EVENT_ROUND, .member = 0}, 90, {90, 80, 30}},
		/* Who opens one knows that the one before is committed. */
		{"opens a fourth", {.kind = GANG_EVENT_ROUND, .member = 1}, 100, {90, 100, 90}},
		{"comes anew", {.kind = GANG_EVENT_OVER, .member = 2}, 120, {90, 100, 90}},
	};
	auto_(gang_view_release) struct gang_view view = gang_view_new(3, 0);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool commits = i > 0 && rows[i].event.kind == GANG_EVENT_GO;

		if (commits)
			gang_view_committed(&view, view.round.number);
		else
			fold(&view, rows[i].event, rows[i].at * 1000LL);
		for (int j = 0; j < 3; j++)
			if (view.heard_ms[j] != rows[i].heard[j] * 1000LL)
				fail_msg("%s: member %d at %lld ms", rows[i].name, j,
					 (long long)view.heard_ms[j]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_has_gone),
		cmocka_unit_test(test_a_large_gang),
		cmocka_unit_test(test_when_each_was_heard),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
