/* When a source that gives no usable answer becomes news. */
#include "unit.h"

#include "cloud/watcher.h"

/* One letter per answer: k known, u unknown, x unavailable; each at its second. */
static void changes_are_told_once(void **state)
{
	static const struct {
		const char *name;
		struct {
			int second;
			char outcome;
			bool told;
			enum source_health health;
		} steps[8];
	} rows[] = {
		// clang-format off
		{"armed at once, told once",
			{{0, 'k', true, SOURCE_ARMED}, {1, 'k', false, SOURCE_ARMED}}},
		{"a bad start is forgiven for 3 s",
			{{0, 'u', false, SOURCE_STARTING}, {2, 'u', false, SOURCE_STARTING},
				{3, 'u', true, SOURCE_UNKNOWN}, {4, 'u', false, SOURCE_UNKNOWN},
				{5, 'k', true, SOURCE_ARMED}}},
		{"an armed one has 30 s",
			{{0, 'k', true, SOURCE_ARMED}, {50, 'u', false, SOURCE_ARMED},
				{79, 'u', false, SOURCE_ARMED}, {80, 'u', true, SOURCE_UNKNOWN},
				{200, 'u', false, SOURCE_UNKNOWN}}},
		{"one good answer begins the 30 s anew",
			{{0, 'k', true, SOURCE_ARMED}, {1, 'u', false, SOURCE_ARMED},
				{29, 'k', false, SOURCE_ARMED}, {30, 'u', false, SOURCE_ARMED},
				{59, 'u', false, SOURCE_ARMED}, {60, 'u', true, SOURCE_UNKNOWN}}},
		{"unavailable stays until it works",
			{{0, 'x', true, SOURCE_UNAVAILABLE}, {30, 'x', false, SOURCE_UNAVAILABLE},
				{90, 'u', false, SOURCE_UNAVAILABLE}, {99, 'k', true, SOURCE_ARMED},
				{100, 'x', true, SOURCE_UNAVAILABLE}}},
		// clang-format on
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct health health;

		health = HEALTH_START(0);
		for (size_t j = 0; j < 8 && rows[i].steps[j].outcome; j++) {
			int64_t now = rows[i].steps[j].second * 1000;
			char outcome = rows[i].steps[j].outcome;
			bool told = health_note(&health,
						outcome == 'k'   ? SOURCE_ARMED
						: outcome == 'u' ? SOURCE_UNKNOWN
								 : SOURCE_UNAVAILABLE,
						now);

			if (told != rows[i].steps[j].told ||
			    health.state != rows[i].steps[j].health)
				fail_msg("%s, step %zu", rows[i].name, j);
		}
	}
}

static void names(void **state)
{
	(void)state;
	assert_string_equal(source_health_name(SOURCE_STARTING), "starting");
	assert_string_equal(source_health_name(SOURCE_ARMED), "armed");
	assert_string_equal(source_health_name(SOURCE_UNKNOWN), "unknown");
	assert_string_equal(source_health_name(SOURCE_UNAVAILABLE), "unavailable");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changes_are_told_once),
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
