/* Which cloud is this? The decision by tables; the probe against the mocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "cloud/detect.h"
#include "cloud/mock/mock.h"
#include "cloud/provider.h"

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
			{.dmi_readable = true, .dmi_vendor = "LENOVO", .gcp_host = "127.0.0.1:1"},
				DETECT_GCP},
		{"an override on another cloud",
			{.dmi_readable = true, .dmi_vendor = "Amazon EC2",
				.azure_endpoint = "http://h"}, DETECT_AZURE},
		{"two overrides", {.aws_endpoint = "http://h", .azure_endpoint = "http://h"},
			DETECT_AWS | DETECT_AZURE},
	};
	// clang-format on

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (detect_sources(&rows[i].environment) != rows[i].chosen)
			fail_msg("%s", rows[i].name);
}

static void endpoints(void **state)
{
	static const struct {
		struct environment environment;
		const char *aws, *gcp, *azure;
	} rows[] = {
		// clang-format off
		{{.aws_timeout_ms = 1}, "http://169.254.169.254", "http://169.254.169.254",
			"http://169.254.169.254"},
		{{.aws_ipv6 = true}, "http://[fd00:ec2::254]", "http://169.254.169.254",
			"http://169.254.169.254"},
		{{.aws_endpoint = "http://a:1/",
			 .gcp_host = "g:2",
			 .azure_endpoint = "http://z:3//"},
			"http://a:1", "http://g:2", "http://z:3"},
		{{.aws_endpoint = "http://a", .aws_ipv6 = true, .gcp_host = "http://g/"},
			"http://a", "http://g", "http://169.254.169.254"},
		// clang-format on
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char endpoint[160];

		detect_aws_endpoint(&rows[i].environment, endpoint, sizeof(endpoint));
		assert_string_equal(endpoint, rows[i].aws);
		detect_gcp_endpoint(&rows[i].environment, endpoint, sizeof(endpoint));
		assert_string_equal(endpoint, rows[i].gcp);
		detect_azure_endpoint(&rows[i].environment, endpoint, sizeof(endpoint));
		assert_string_equal(endpoint, rows[i].azure);
	}
}

static void the_environment(void **state)
{
	struct environment environment;

	(void)state;
	unsetenv("AWS_EC2_METADATA_SERVICE_ENDPOINT");
	setenv("GCE_METADATA_ROOT", "old", 1);
	setenv("GCE_METADATA_HOST", "new", 1);
	setenv("AWS_EC2_METADATA_DISABLED", "TRUE", 1);
	setenv("AWS_EC2_METADATA_V1_DISABLED", "no", 1);
	setenv("AWS_METADATA_SERVICE_TIMEOUT", "5", 1);
	setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", "IPv6", 1);
	setenv("REPRIEVE_GCP_NOTICE", "120s", 1);
	detect_read_environment(&environment);
	assert_true(environment.aws_ipv6);
	assert_string_equal(environment.gcp_notice, "120s");
	assert_string_equal(environment.aws_endpoint, "");
	assert_string_equal(environment.gcp_host, "new");
	assert_true(environment.aws_disabled);
	assert_true(environment.aws_tokenless_allowed);
	assert_int_equal(environment.aws_timeout_ms, 5000);
	unsetenv("GCE_METADATA_HOST");
	setenv("AWS_METADATA_SERVICE_TIMEOUT", "forever", 1);
	setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", "IPv4", 1);
	unsetenv("REPRIEVE_GCP_NOTICE");
	detect_read_environment(&environment);
	assert_false(environment.aws_ipv6);
	assert_string_equal(environment.gcp_notice, "");
	assert_string_equal(environment.gcp_host, "old");
	assert_int_equal(environment.aws_timeout_ms, 2000);
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
			found = detect_probe(mock_url(mock), &cancel);
		assert_non_null(found);
		assert_string_equal(found->name, mock_cloud_name(clouds[i]));
		mock_set_fault(mock, &(struct mock_fault){.count = -1, .html = true});
		assert_null(detect_probe(mock_url(mock), &cancel));
		mock_stop(mock);
	}
	assert_null(detect_probe("http://127.0.0.1:9", &cancel));
	cancel_release(&cancel);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_choice),
		cmocka_unit_test(endpoints),
		cmocka_unit_test(the_environment),
		cmocka_unit_test(the_probe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
