/* Which sources are watched, by tables; and the probe against the mocks. */
#include "cloud/watcher.h"

#include "cloud/mock/mock.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define LAPTOP .dmi_readable = true, .dmi_vendor = "LENOVO"
#define NAMED                    \
	{                        \
		"http://h", true \
	}
#define EC2 .dmi_readable = true, .dmi_vendor = "Amazon EC2"

/* "aws file:/a", in the order in which they were chosen. */
static void write_down(const struct source_table *chosen, char *text, size_t capacity)
{
	text[0] = '\0';
	for (size_t i = 0; i < chosen->count; i++) {
		const struct watcher *source = &chosen->items[i];
		size_t used = strlen(text);

		snprintf(text + used, capacity - used, "%s%s%s%s", i > 0 ? " " : "",
			 source->provider ? source->provider->name : "auto",
			 source->argument[0] ? ":" : "", source->argument);
	}
}

static void what_is_chosen(void **state)
{
	// clang-format off
	static const struct {
		const char *sources, *deadline;
		struct environment environment;
		const char *chosen;
	} rows[] = {
		{NULL, NULL, {EC2}, "aws"},
		{"", NULL, {EC2}, "aws"},
		{"auto", NULL, {LAPTOP}, ""},
		{"auto", NULL, {.dmi_readable = false}, "auto"},
		{"auto", NULL, {.dmi_readable = false, .slurm_job = "7", .slurm_end = "1700000000"},
			"slurm auto"},
		/* before 23.02 scontrol knows the end */
		{"auto", NULL, {.dmi_readable = false, .slurm_job = "7"}, "slurm auto"},
		{"auto",
			NULL, {LAPTOP, .endpoints[METADATA_AZURE] = NAMED,
				.endpoints[METADATA_GOOGLE] = NAMED}, "gcp azure"},
		{"auto", NULL, {.dmi_readable = true, .dmi_vendor = "Xen", .dmi_bios = "4.11.amazon"},
			"aws"},
		{"auto",
			NULL, {.dmi_readable = true, .dmi_vendor = "Google",
				.dmi_product = "Google Compute Engine"}, "gcp"},
		{"auto",
			NULL, {.dmi_readable = true, .dmi_vendor = "Microsoft Corporation",
				.dmi_chassis = "7783-7084-3265-9085-8269-3286-77"}, "azure"},
		/* Hyper-V at home */
		{"auto",
			NULL, {.dmi_readable = true, .dmi_vendor = "Microsoft Corporation",
				.dmi_product = "Virtual Machine", .dmi_chassis = "1"}, ""},
		{"auto", NULL, {EC2, .endpoints[METADATA_AZURE] = NAMED}, "azure"},
		/* where tokens come from says nothing of notices */
		{"auto", NULL, {EC2, .endpoints[METADATA_AZURE_IDENTITY] = NAMED}, "aws"},
		{"auto", NULL, {.endpoints[METADATA_AWS] = NAMED}, "aws"},
		{"none", NULL, {EC2}, ""},
		{"none", "2h", {EC2}, "deadline:2h"},
		{NULL, "2h", {EC2}, "aws deadline:2h"},
		{"deadline:2h", "2h", {EC2}, "deadline:2h"},
		{"deadline:3h", "2h", {EC2}, "deadline:3h deadline:2h"},
		{"gcp,aws", NULL, {EC2}, "gcp aws"},
		{"auto,aws,auto", NULL, {EC2}, "aws"},
		{"aws, auto", NULL, {LAPTOP, .endpoints[METADATA_GOOGLE] = NAMED}, "aws gcp"},
		{"gcp,gcp:120s", NULL, {LAPTOP}, "gcp gcp:120s"},
		{"file:/a,file:/b,file:/a", NULL, {LAPTOP}, "file:/a file:/b"},
		{"slurm,file:/a", NULL, {LAPTOP}, "slurm file:/a"},
	};
	// clang-format on

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct source_table chosen = {0};
		struct err err = {0};
		char text[200];

		if (source_table_select(rows[i].sources, rows[i].deadline, &rows[i].environment,
					&chosen, &err) < 0)
			fail_msg("row %zu: %s", i, err.text);
		write_down(&chosen, text, sizeof(text));
		if (!text_equal(text, rows[i].chosen))
			fail_msg("row %zu: \"%s\"", i, text);
		source_table_release(&chosen);
	}
}

static void what_is_refused(void **state)
{
	static const struct {
		const char *sources, *deadline, *says;
	} rows[] = {
		{"none,aws", NULL, "\"none\" cannot be combined"},
		{"aws,none", NULL, "\"none\" cannot be combined"},
		{"mars", NULL, "unknown notice source \"mars\""},
		{"aws,", NULL, "unknown notice source \"\""},
		{"AWS", NULL, "unknown notice source \"AWS\""},
		{"aws:x", NULL, "unknown notice source \"aws:x\""},
		{"auto:x", NULL, "unknown notice source \"auto:x\""},
		{"file:", NULL, ""},
		{"gcp:soon", NULL, ""},
		{"aws", "soon", ""},
		{"file:/1,file:/2,file:/3,file:/4,file:/5,file:/6,file:/7,file:/8,file:/9,file:/10,"
		 "file:/11,file:/12,file:/13",
		 NULL, "more than 12"},
	};
	const struct environment laptop = {LAPTOP};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct source_table chosen = {0};
		struct err err = {0};

		if (source_table_select(rows[i].sources, rows[i].deadline, &laptop, &chosen,
					&err) == 0)
			fail_msg("row %zu is not refused", i);
		if (err.kind != ERR_INVALID || !strstr(err.text, rows[i].says))
			fail_msg("row %zu: %s", i, err.text);
		source_table_release(&chosen);
	}
}

static void the_environment(void **state)
{
	struct environment environment;

	(void)state;
	unsetenv("AWS_EC2_METADATA_SERVICE_ENDPOINT");
	setenv("GCE_METADATA_HOST", "new", 1);
	setenv("AWS_EC2_METADATA_DISABLED", "TRUE", 1);
	setenv("AWS_METADATA_SERVICE_TIMEOUT", "5", 1);
	setenv("REPRIEVE_GCP_NOTICE", "120s", 1);
	detect_read_environment(&environment);
	assert_string_equal(environment.gcp_notice, "120s");
	assert_string_equal(environment.endpoints[METADATA_AWS].url, "http://169.254.169.254");
	assert_false(environment.endpoints[METADATA_AWS].is_named);
	assert_string_equal(environment.endpoints[METADATA_GOOGLE].url, "http://new");
	assert_true(environment.endpoints[METADATA_GOOGLE].is_named);
	assert_true(environment.aws.is_disabled);
	assert_int_equal(environment.aws.timeout_ms, 5000);
	unsetenv("GCE_METADATA_HOST");
	unsetenv("REPRIEVE_GCP_NOTICE");
	detect_read_environment(&environment);
	assert_string_equal(environment.gcp_notice, "");
	assert_false(environment.endpoints[METADATA_GOOGLE].is_named);
}

/* Each cloud is recognised by its shape, though all have the same address. */
static void the_probe(void **state)
{
	static const enum mock_cloud clouds[] = {MOCK_AWS, MOCK_GCP, MOCK_AZURE};
	struct cancel cancel;

	(void)state;
	assert_int_equal(cancel_init(&cancel, NULL), 0);
	for (size_t i = 0; i < sizeof(clouds) / sizeof(clouds[0]); i++) {
		const struct provider *found;
		struct mock *mock;

		assert_int_equal(mock_start(&(struct mock_options){.cloud = clouds[i]}, &mock,
					    NULL),
				 0);
		/* It gives a cloud a second, which a machine that is busy with other tests may
		 * need for itself. */
		found = NULL;
		for (int tries = 0; !found && tries < 10; tries++)
			found = source_table_probe(mock_url(mock), &cancel);
		assert_non_null(found);
		assert_string_equal(found->name, mock_clouds[clouds[i]].name);
		mock_control(mock, "fault", "{\"fault\": \"html\"}", NULL);
		assert_null(source_table_probe(mock_url(mock), &cancel));
		mock_stop(mock);
	}
	assert_null(source_table_probe("http://127.0.0.1:9", &cancel));
	cancel_release(&cancel);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_chosen),
		cmocka_unit_test(what_is_refused),
		cmocka_unit_test(the_environment),
		cmocka_unit_test(the_probe),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
