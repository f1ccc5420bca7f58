#include "doctor/doctor.h"

#include <string.h>

#include "unit.h"

static const struct source_state ARMED = {.name = "aws", .health = SOURCE_ARMED};
static const struct source_state STARTING = {.name = "azure", .health = SOURCE_STARTING};
static const struct source_state SILENT = {.name = "aws", .health = SOURCE_STARTING};
static const struct source_state REFUSED = {
	.name = "gcp",
	.health = SOURCE_STARTING,
	.polls = 2,
	.why = "connection refused",
};
static const struct source_state UNKNOWN = {
	.name = "aws",
	.health = SOURCE_UNKNOWN,
	.why = "HTTP 500",
};
static const struct source_state NO_CLOUD = {.name = "auto",
					     .health = SOURCE_UNAVAILABLE,
					     .why = "no cloud answers"};
static const struct source_state NO_CLOUD_BUT_SLURM = {
	.name = "auto",
	.health = SOURCE_UNAVAILABLE,
	.optional = true,
};
static const struct source_state UNAVAILABLE = {.name = "aws", .health = SOURCE_UNAVAILABLE};
#define SOURCE(state) .sources = &(state), .source_count = 1
#define WELL                                                                           \
	.shim = "/lib/shim.so", .init = "systemd", .watches = 8192, .transfer_ms = -1, \
	.grace_ms = 30000

static const struct {
	struct host_facts facts;
	const char *check;
	int level; /* -1: no such row */
	const char *says;
} rows[] = {
	// clang-format off
	{{WELL}, "notice", CHECK_OK, "not in a known cloud"},
	{{WELL, .notice = "none"}, "notice", CHECK_OK, "--notice none"},
	{{WELL, .notice = "sun", .notice_error = "'sun' is none"}, "notice", CHECK_FAIL,
		"'sun' is none"},
	{{WELL, SOURCE(ARMED)}, "notice", CHECK_OK, "armed"},
	{{WELL, .notice = "azure", SOURCE(STARTING)}, "notice", CHECK_WARN, "no reply yet"},
	{{WELL, .notice = "aws", SOURCE(SILENT)}, "notice", CHECK_FAIL, "no reply yet"},
	{{WELL, SOURCE(SILENT)}, "notice", CHECK_WARN, "no reply yet"},
	{{WELL, .notice = "gcp", SOURCE(REFUSED)}, "notice", CHECK_FAIL, "refused"},
	{{WELL, SOURCE(UNKNOWN)}, "notice", CHECK_WARN, "HTTP 500"},
	{{WELL, .notice = "auto", SOURCE(UNAVAILABLE)}, "notice", CHECK_WARN, "unavailable"},
	{{WELL, SOURCE(NO_CLOUD)}, "notice", CHECK_WARN, "no cloud answers"},
	{{WELL, SOURCE(NO_CLOUD_BUT_SLURM)}, "notice", CHECK_OK, "no cloud announces"},
	{{WELL, .notice = "aws", SOURCE(UNAVAILABLE)}, "notice", CHECK_FAIL, "unavailable"},

	{{WELL}, "shim", CHECK_OK, "/lib/shim.so loads"},
	{{WELL, .shim_error = "wrong ELF class"}, "shim", CHECK_WARN, "wrong ELF class"},
	{{.init = "tini"}, "shim", CHECK_WARN, "not found"},

	{{WELL}, "init", CHECK_OK, "systemd"},
	{{.init = "reprieve"}, "init", CHECK_OK, "reprieve"},
	{{.init = "bash"}, "init", CHECK_WARN, "process 1 is bash"},
	{{.init = NULL}, "init", CHECK_OK, "unknown"},
	{{WELL, .subreaper_error = "no"}, "init", CHECK_WARN, "no"},

	{{WELL}, "inotify", -1, NULL},
	{{.watches = 128}, "inotify", CHECK_WARN, "128 directories"},
	{{.watches = -1}, "inotify", -1, NULL},

	{{WELL}, "grace", CHECK_OK, "30 s"},
	{{.grace_ms = 30000, .transfer_ms = 30000}, "grace", CHECK_OK, "30 s"},
	{{.grace_ms = 30000, .transfer_ms = 31000}, "grace", CHECK_WARN, "about 31 s"},
	{{.grace_ms = 30000, .transfer_ms = -1, .kubernetes = true}, "grace", CHECK_OK,
		"terminationGracePeriodSeconds"},
	// clang-format on
};

static const struct check_result *find(const struct check_list *check_list, const char *check)
{
	for (size_t i = 0; i < check_list->count; i++)
		if (strcmp(check_list->rows[i].check, check) == 0)
			return &check_list->rows[i];
	return NULL;
}

static void test_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct check_list check_list;
		const struct check_result *row;

		check_host(&rows[i].facts, &check_list);
		row = find(&check_list, rows[i].check);
		if (rows[i].level < 0) {
			assert_null(row);
			continue;
		}
		assert_non_null(row);
		if ((int)row->level != rows[i].level || !strstr(row->text, rows[i].says))
			fail_msg("row %zu: %s: %s", i, check_level_name(row->level), row->text);
		assert_int_equal(row->fix[0] != '\0', row->level != CHECK_OK);
	}
}

static void test_every_source_has_a_row(void **state)
{
	struct source_state sources[CLOUD_SOURCES_MOST];
	struct host_facts facts = {WELL, .sources = sources, .source_count = CLOUD_SOURCES_MOST};
	struct check_list check_list;

	(void)state;
	for (size_t i = 0; i < CLOUD_SOURCES_MOST; i++)
		sources[i] = ARMED;
	check_host(&facts, &check_list);
	assert_int_equal(check_list.count, CLOUD_SOURCES_MOST + 3);
	assert_non_null(find(&check_list, "grace"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_every_source_has_a_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
