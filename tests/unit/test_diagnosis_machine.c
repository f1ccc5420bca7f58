#include "diagnosis_machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct source_state ARMED = {.name = "aws", .health = SOURCE_ARMED};
static const struct source_state STARTING = {.name = "azure", .health = SOURCE_STARTING};
static const struct source_state UNKNOWN = {
	.name = "aws", .health = SOURCE_UNKNOWN, .why = "HTTP 500"};
static const struct source_state UNAVAILABLE = {.name = "aws", .health = SOURCE_UNAVAILABLE};
#define SOURCE(state) .sources = &(state), .source_count = 1
#define WELL                                                                           \
	.shim = "/lib/shim.so", .init = "systemd", .watches = 8192, .transfer_ms = -1, \
	.grace_ms = 30000

static const struct {
	struct machine_facts facts;
	const char *check;
	int level; /* -1: no such row */
	const char *says;
} rows[] = {
	{{WELL}, "notice", DIAGNOSIS_OK, "no machine of a cloud"},
	{{WELL, .notice = "none"}, "notice", DIAGNOSIS_OK, "--notice none"},
	{{WELL, .notice = "sun", .notice_error = "'sun' is none"}, "notice", DIAGNOSIS_FAIL,
		"'sun' is none"},
	{{WELL, SOURCE(ARMED)}, "notice", DIAGNOSIS_OK, "armed"},
	{{WELL, .notice = "azure", SOURCE(STARTING)}, "notice", DIAGNOSIS_WARN, "no answer yet"},
	{{WELL, SOURCE(UNKNOWN)}, "notice", DIAGNOSIS_WARN, "HTTP 500"},
	{{WELL, .notice = "auto", SOURCE(UNAVAILABLE)}, "notice", DIAGNOSIS_WARN, "unavailable"},
	{{WELL, .notice = "aws", SOURCE(UNAVAILABLE)}, "notice", DIAGNOSIS_FAIL, "unavailable"},

	{{WELL}, "shim", DIAGNOSIS_OK, "/lib/shim.so loads"},
	{{WELL, .shim_error = "wrong ELF class"}, "shim", DIAGNOSIS_WARN, "wrong ELF class"},
	{{.init = "tini"}, "shim", DIAGNOSIS_WARN, "not found"},

	{{WELL}, "init", DIAGNOSIS_OK, "systemd"},
	{{.init = "reprieve"}, "init", DIAGNOSIS_OK, "reprieve"},
	{{.init = "bash"}, "init", DIAGNOSIS_WARN, "process 1 is bash"},
	{{.init = NULL}, "init", DIAGNOSIS_OK, "not known"},
	{{WELL, .subreaper_error = "no"}, "init", DIAGNOSIS_WARN, "no"},

	{{WELL}, "inotify", -1, NULL},
	{{.watches = 128}, "inotify", DIAGNOSIS_WARN, "128 directories"},
	{{.watches = -1}, "inotify", -1, NULL},

	{{WELL}, "grace", DIAGNOSIS_OK, "30 s"},
	{{.grace_ms = 30000, .transfer_ms = 30000}, "grace", DIAGNOSIS_OK, "30 s"},
	{{.grace_ms = 30000, .transfer_ms = 31000}, "grace", DIAGNOSIS_WARN, "about 31 s"},
	{{.grace_ms = 30000, .transfer_ms = -1, .kubernetes = true}, "grace", DIAGNOSIS_OK,
		"terminationGracePeriodSeconds"},
};

static const struct diagnosis_row *find(const struct diagnosis *diagnosis, const char *check)
{
	for (size_t i = 0; i < diagnosis->count; i++)
		if (strcmp(diagnosis->rows[i].check, check) == 0)
			return &diagnosis->rows[i];
	return NULL;
}

static void test_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct diagnosis diagnosis;
		const struct diagnosis_row *row;

		diagnosis_of_machine(&rows[i].facts, &diagnosis);
		row = find(&diagnosis, rows[i].check);
		if (rows[i].level < 0) {
			assert_null(row);
			continue;
		}
		assert_non_null(row);
		if ((int)row->level != rows[i].level || !strstr(row->text, rows[i].says))
			fail_msg("row %zu: %s: %s", i, diagnosis_level_name(row->level), row->text);
		assert_int_equal(row->fix[0] != '\0', row->level != DIAGNOSIS_OK);
	}
}

static void test_every_source_has_a_row(void **state)
{
	struct source_state sources[CLOUD_SOURCES_MOST];
	struct machine_facts facts = {WELL, .sources = sources, .source_count = CLOUD_SOURCES_MOST};
	struct diagnosis diagnosis;

	(void)state;
	for (size_t i = 0; i < CLOUD_SOURCES_MOST; i++)
		sources[i] = ARMED;
	diagnosis_of_machine(&facts, &diagnosis);
	assert_int_equal(diagnosis.count, CLOUD_SOURCES_MOST + 3);
	assert_non_null(find(&diagnosis, "grace"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_every_source_has_a_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
