/* Which cloud is this? By tables. */
#include "unit.h"

#include "cloud/watcher.h"

#include <stdlib.h>

static void the_choice(void **state)
{
	// clang-format off
	static const struct {
		const char *name;
		struct environment environment;
		unsigned chosen;
	} rows[] = {
		{"EC2",
			{.dmi_readable = true, .dmi_vendor = "Amazon EC2",
				.dmi_product = "p4d.24xlarge"}, DETECT_AWS},
		{"EC2, Xen", {.dmi_readable = true, .dmi_vendor = "Xen", .dmi_bios = "4.11.amazon"},
			DETECT_AWS},
		{"Google",
			{.dmi_readable = true, .dmi_vendor = "Google",
				.dmi_product = "Google Compute Engine"}, DETECT_GCP},
		{"Azure",
			{.dmi_readable = true, .dmi_vendor = "Microsoft Corporation",
				.dmi_chassis = "7783-7084-3265-9085-8269-3286-77"}, DETECT_AZURE},
		{"Hyper-V at home",
			{.dmi_readable = true, .dmi_vendor = "Microsoft Corporation",
				.dmi_product = "Virtual Machine", .dmi_chassis = "1"}, 0},
		{"a laptop",
			{.dmi_readable = true, .dmi_vendor = "LENOVO", .dmi_product = "20XW"}, 0},
		{"firmware hidden", {.dmi_readable = false}, DETECT_PROBE},
		{"an override on a laptop",
			{.dmi_readable = true, .dmi_vendor = "LENOVO",
				.endpoints[METADATA_GOOGLE] = {"http://127.0.0.1:1", true}},
				DETECT_GCP},
		{"an override on another cloud",
			{.dmi_readable = true, .dmi_vendor = "Amazon EC2",
				.endpoints[METADATA_AZURE] = {"http://h", true}}, DETECT_AZURE},
		{"where tokens come from says nothing of notices",
			{.dmi_readable = true, .dmi_vendor = "Amazon EC2",
				.endpoints[METADATA_AZURE_IDENTITY] = {"http://h", true}},
			DETECT_AWS},
		{"two overrides",
			{.endpoints[METADATA_AWS] = {"http://h", true},
				.endpoints[METADATA_AZURE] = {"http://h", true}},
			DETECT_AWS | DETECT_AZURE},
	};
	// clang-format on

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (detect_sources(&rows[i].environment) != rows[i].chosen)
			fail_msg("%s", rows[i].name);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_choice),
		cmocka_unit_test(the_environment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
