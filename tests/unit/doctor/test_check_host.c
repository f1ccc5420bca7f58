#include "doctor/check_host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct source_state ARMED = {.name = "aws", .health = SOURCE_ARMED};
static const struct source_state STARTING = {.name = "azure", .health = SOURCE_STARTING};
static const struct source_state SILENT = {.name = "aws", .health = SOURCE_STARTING};
static const struct source_state REFUSED = {
	.name = "gcp", .health = SOURCE_STARTING, .polls = 2, .why = "connection refused"};
static const struct source_state COMMAND = {
	.name = "command", .health = SOURCE_STARTING, .polls = 1, .why = "ended with 3"};
static const struct source_state COMMAND_RUNS = {.name = "command", .health = SOURCE_STARTING};
static const struct source_state COMMAND_SLOW = {
	.name = "command", .health = SOURCE_UNKNOWN, .polls = 1, .why = "did not end"};
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
	{{WELL, .notice = "aws", SOURCE(SILENT)}, "notice", DIAGNOSIS_FAIL, "no answer yet"},
	{{WELL, SOURCE(SILENT)}, "notice", DIAGNOSIS_WARN, "no answer yet"},
	{{WELL, .notice = "gcp", SOURCE(REFUSED)}, "notice", DIAGNOSIS_FAIL, "refused"},
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

static void test_commands(void **state)
{
	static const struct source_state *const sources[] = {
		&COMMAND, &COMMAND_RUNS, &COMMAND_SLOW};

	(void)state;
	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		struct machine_facts facts = {
			WELL, .notice = "auto,command:x", .sources = sources[i], .source_count = 1};
		struct diagnosis diagnosis;

		diagnosis_of_machine(&facts, &diagnosis);
		/* Nobody but the user can have named one. */
		assert_int_equal(diagnosis.rows[0].level, DIAGNOSIS_FAIL);
		assert_non_null(strstr(diagnosis.rows[0].fix, "mend the command"));
		assert_non_null(strstr(diagnosis.rows[0].text, sources[i]->why));
	}
}

static void test_how_long_to_wait(void **state)
{
	static const struct {
		const struct source_state *source;
		int64_t least_ms, most_ms;
	} waits[] = {
		{&ARMED, 0, 0},
		{&UNKNOWN, 0, 0},
		{&UNAVAILABLE, 0, 0},
		{&SILENT, 8000, 15000},
		{&REFUSED, 8000, 15000},
		{&COMMAND, 0, 0},
		{&COMMAND_RUNS, 31000, 40000},
		{&COMMAND_SLOW, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++)
		assert_in_range(diagnosis_source_wait_ms(waits[i].source), waits[i].least_ms,
			waits[i].most_ms);
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
		cmocka_unit_test(test_commands),
		cmocka_unit_test(test_how_long_to_wait),
		cmocka_unit_test(test_every_source_has_a_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
