/* AWS's shared files. */
#include "storage/aws/aws_credentials.h"

#include "unit.h"

static const char config[] =
	"# a comment\n"
	"stray = 1\n"
	"[default]\n"
	"region = eu-west-1 # where we are\n"
	"  output=json\r\n"
	"[profile my name]\n"
	"role_arn = arn:aws:iam::1:role/x#y\n"
	"Source_Profile=default\n"
	"s3 =\n"
	"    addressing_style = path\n"
	"    use = a=b\n"
	"region = us-west-2\n"
	"services = local\n"
	"[profile \"quoted one\"]\n"
	"credential_process = \"/opt/with blank\" --x 'y' ; hidden\n"
	"[not a profile]\n"
	"region = nowhere\n"
	"[services local]\n"
	"s3 =\n"
	"  endpoint_url = http://h:1\n"
	"[bad\n"
	"region = nowhere\n";
static const char credentials[] =
	"[default]\n"
	"aws_access_key_id = AK\n"
	"aws_secret_access_key=a/b+c==\n"
	"region = override\n"
	"[my name]\n"
	"aws_access_key_id=\n";

static void test_settings(void **state)
{
	static const struct {
		const char *kind, *section, *name, *value;
	} rows[] = {
		{"profile", "default", "region", "override"},
		{"profile", "default", "output", "json"},
		{"profile", "default", "aws_secret_access_key", "a/b+c=="},
		{"profile", "default", "stray", NULL},
		{"profile", "my name", "role_arn", "arn:aws:iam::1:role/x#y"},
		{"profile", "my name", "source_profile", "default"},
		{"profile", "my name", "s3.addressing_style", "path"},
		{"profile", "my name", "s3.use", "a=b"},
		{"profile", "my name", "region", "us-west-2"},
		{"profile", "my name", "s3", NULL},
		{"profile", "my name", "aws_access_key_id", NULL},
		{"profile", "quoted one", "credential_process", "\"/opt/with blank\" --x 'y'"},
		{"services", "local", "s3.endpoint_url", "http://h:1"},
		{"profile", "local", "s3.endpoint_url", NULL},
		{"profile", "a profile", "region", NULL},
		{"profile", "bad", "region", NULL},
	};
	struct aws_ini profiles = {0};

	(void)state;
	aws_ini_parse(&profiles, AWS_INI_CONFIG, config);
	aws_ini_parse(&profiles, AWS_INI_CREDENTIALS, credentials);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *value =
			aws_ini_get(&profiles, rows[i].kind, rows[i].section, rows[i].name);

		if (!rows[i].value)
			assert_null(value);
		else if (!value)
			fail_msg("row %zu: missing", i);
		else
			assert_string_equal(value, rows[i].value);
	}
	assert_true(aws_ini_has_profile(&profiles, "my name"));
	assert_false(aws_ini_has_profile(&profiles, "nobody"));
	aws_ini_release(&profiles);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_settings)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
