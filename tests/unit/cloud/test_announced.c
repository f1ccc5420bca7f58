/* What was told is taken back when it is gone, and not before. */
#include "unit.h"

#include "base/text.h"
#include "cloud/watcher.h"

#include <stdio.h>
#include <string.h>

/* What the watch is told: "+a" for a notice, "-a" for one that is withdrawn. */
static void write_down(void *arg, const struct notice *notice)
{
	char *told = arg;
	size_t used = strlen(told);

	snprintf(told + used, 100 - used, "%s%s", notice->kind == NOTICE_CANCELLED ? "-" : "+",
		 notice->identity);
}

static void polls(void **state)
{
	/* A letter for each notice that is there; what is told of it. */
	static const struct {
		const char *there, *told;
	} rows[] = {
		{"", ""},
		{"a", "+a"},
		{"a", ""},
		{"ab", "+b"},
		{"b", ""},
		/* Back again: it was one answer that did not know of it. */
		{"ab", ""},
		{"b", ""},
		{"b", "-a"},
		{"b", ""},
		{"", ""},
		{"", "-b"},
		{"b", "+b"},
	};
	char told[100];
	struct watcher_shared shared = {.options = {.notice = write_down, .arg = told}};
	struct announced announced = {0};
	struct watcher watcher = {.shared = &shared, .health = HEALTH_START(0)};

	(void)state;
	assert_int_equal(cancel_init(&shared.cancel, NULL), 0);
	pthread_mutex_init(&shared.mutex, NULL);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct notice notices[ANNOUNCED_MOST] = {0};
		size_t count = strlen(rows[i].there);

		for (size_t j = 0; j < count; j++) {
			notices[j].kind = NOTICE_ADVICE;
			snprintf(notices[j].source, sizeof(notices[j].source), "test");
			snprintf(notices[j].identity, sizeof(notices[j].identity), "%c",
				 rows[i].there[j]);
		}
		told[0] = '\0';
		announced_withdraw_missing(&announced, &watcher, notices, count, "gone");
		announced_add(&announced, &watcher, notices, count);
		if (!text_equal(told, rows[i].told))
			fail_msg("row %zu: %s", i, told);
	}
	pthread_mutex_destroy(&shared.mutex);
	cancel_release(&shared.cancel);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(polls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
