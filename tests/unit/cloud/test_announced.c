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
	/* A letter for each notice that is there, a capital if it is near; what is told of it. */
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
		/* It takes the place of the one to come, which is not withdrawn. */
		{"B", "+b near"},
		{"B", ""},
		{"", ""},
		{"", "-b-b near"},
	};
	char told[100];
	struct watcher_shared shared = {.options = {.notice = write_down, .arg = told}};
	struct announced announced = {0};
	struct watcher watcher = {.shared = &shared, .health = HEALTH_START(0)};

	(void)state;
	assert_int_equal(cancel_init(&shared.cancel, NULL), 0);
	pthread_mutex_init(&shared.mutex, NULL);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct verdict verdict = {0};

		for (const char *name = rows[i].there; *name; name++)
			verdict_notice(&verdict, NOTICE_ADVICE, "test",
				       *name == 'B' ? "b" AWS_NEAR : (const char[]){*name, '\0'},
				       CLOCK_NEVER, 0, "%s", "");
		told[0] = '\0';
		announced_take(&announced, &watcher, &verdict, true, "gone");
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
