/* What a member tells of its gang. */
#include "gang/gang.h"

#include "base/json.h"
#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void fold(struct gang_view *view, struct gang_event event)
{
	event.number = view->read + 1;
	assert_true(gang_view_fold(view, &event));
}

static void assert_says(const struct gang_view *view, const struct gang_here *here,
			const char *expected)
{
	auto_json json_t *hosts = json_pack("[s, s, s]", "a", "b", "c");
	auto_json json_t *json = gang_status_json(view, here, 4, hosts);
	char *text = json_dumps(json, JSON_SORT_KEYS | JSON_COMPACT);

	assert_string_equal(text, expected);
	free(text);
}

static void test_as_the_log_goes_on(void **state)
{
	auto_(gang_view_release) struct gang_view view = gang_view_new(3);
	struct gang_here here = gang_here_new(1);

	(void)state;
	assert_says(&view, &here,
		    "{\"ended\":0,\"gone\":0,\"left\":0,\"list\":["
		    "{\"host\":\"a\",\"member\":0,\"state\":\"goes on\"},"
		    "{\"host\":\"b\",\"member\":1,\"state\":\"goes on\"},"
		    "{\"host\":\"c\",\"member\":2,\"state\":\"goes on\"}],"
		    "\"member\":1,\"members\":3,\"over\":false,\"round\":null}");
	fold(&view, (struct gang_event){.kind = GANG_EVENT_GO});
	fold(&view, (struct gang_event){.kind = GANG_EVENT_ROUND, .member = 2, .step = 30});
	here.given = 2;
	fold(&view, (struct gang_event){.kind = GANG_EVENT_ENDED, .member = 2});
	assert_says(&view, &here,
		    "{\"ended\":1,\"gone\":0,\"left\":0,\"list\":["
		    "{\"host\":\"c\",\"member\":2,\"state\":\"has ended\"},"
		    "{\"host\":\"a\",\"member\":0,\"state\":\"goes on\"},"
		    "{\"host\":\"b\",\"member\":1,\"state\":\"goes on\"}],"
		    "\"member\":1,\"members\":3,\"over\":false,\"round\":{\"gave\":true,"
		    "\"id\":\"000004-000002\",\"opened_by\":2,\"state\":\"open\",\"step\":30}}");
	gang_view_committed(&view, 2);
	fold(&view, (struct gang_event){.kind = GANG_EVENT_REJOIN, .member = 0});
	assert_says(&view, &here,
		    "{\"ended\":1,\"gone\":0,\"left\":0,\"list\":["
		    "{\"host\":\"c\",\"member\":2,\"state\":\"has ended\"},"
		    "{\"host\":\"a\",\"member\":0,\"state\":\"goes on\"},"
		    "{\"host\":\"b\",\"member\":1,\"state\":\"goes on\"}],"
		    "\"member\":1,\"members\":3,\"over\":true,\"round\":{\"gave\":true,"
		    "\"id\":\"000004-000002\",\"opened_by\":2,\"state\":\"committed\","
		    "\"step\":30}}");
}

static void test_who_has_gone(void **state)
{
	auto_(gang_view_release) struct gang_view view = gang_view_new(3);
	struct gang_here here = gang_here_new(1);

	(void)state;
	fold(&view, (struct gang_event){.kind = GANG_EVENT_GO});
	fold(&view, (struct gang_event){.kind = GANG_EVENT_GONE, .member = 0});
	fold(&view,
	     (struct gang_event){.kind = GANG_EVENT_ROUND, .member = 2, .step = 5, .gone = 2});
	fold(&view, (struct gang_event){.kind = GANG_EVENT_GONE, .member = 2, .gone = 2});
	assert_says(&view, &here,
		    "{\"ended\":0,\"gone\":2,\"left\":0,\"list\":["
		    "{\"host\":\"a\",\"member\":0,\"state\":\"has gone\"},"
		    "{\"host\":\"c\",\"member\":2,\"state\":\"has gone\"},"
		    "{\"host\":\"b\",\"member\":1,\"state\":\"goes on\"}],"
		    "\"member\":1,\"members\":3,\"over\":false,\"round\":{\"gave\":false,"
		    "\"id\":\"000004-000003\",\"opened_by\":2,\"state\":\"open\",\"step\":5,"
		    "\"without\":[0]}}");
}

/* The answer of a large gang has a limit, and those that do not go on are in it. */
static void test_a_large_gang(void **state)
{
	auto_(gang_view_release) struct gang_view view = gang_view_new(2000);
	struct gang_here here = gang_here_new(0);
	auto_json json_t *json = NULL;
	json_t *list;

	(void)state;
	fold(&view, (struct gang_event){.kind = GANG_EVENT_ENDED, .member = 1999, .code = 3});
	json = gang_status_json(&view, &here, 1, NULL);
	list = json_object_get(json, "list");
	assert_int_equal(json_array_size(list), GANG_STATUS_MEMBERS_MOST);
	assert_int_equal(json_number_or(json_array_get(list, 0), "member", 0), 1999);
	assert_string_equal(json_text_or(json_array_get(list, 0), "state", ""), "has left");
	assert_int_equal(json_number_or(json, "left", 0), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_the_log_goes_on),
		cmocka_unit_test(test_who_has_gone),
		cmocka_unit_test(test_a_large_gang),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
