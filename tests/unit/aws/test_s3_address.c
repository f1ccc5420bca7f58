/* Where a bucket is. */
#include "storage/aws/s3_address.h"

#include "base/cleanup.h"
#include "base/text.h"

#include "unit.h"

#include <string.h>

static void test_places(void **state)
{
	// clang-format off
	static const struct {
		const char *url, *endpoint, *region;
		enum s3_style style;
		const char *host, *path, *bucket_path;
		bool tls;
	} rows[] = {
		{"s3://bucket/pre", NULL, "eu-west-1", S3_STYLE_AUTO,
			"bucket.s3.eu-west-1.amazonaws.com", "/pre/k/1", "/", true},
		{"s3://bucket", NULL, "us-east-1", S3_STYLE_AUTO,
			"bucket.s3.us-east-1.amazonaws.com", "/k/1", "/", true},
		{"s3://bucket///a/b//", NULL, "us-east-1", S3_STYLE_AUTO,
			"bucket.s3.us-east-1.amazonaws.com", "/a/b/k/1", "/", true},
		{"s3://bucket/p", NULL, "cn-north-1", S3_STYLE_AUTO,
			"bucket.s3.cn-north-1.amazonaws.com.cn", "/p/k/1", "/", true},
		{"s3://my.bucket/p", NULL, "eu-west-1", S3_STYLE_AUTO,
			"s3.eu-west-1.amazonaws.com", "/my.bucket/p/k/1", "/my.bucket", true},
		{"s3://Old_Bucket/p", NULL, "us-east-1", S3_STYLE_AUTO,
			"s3.us-east-1.amazonaws.com", "/Old_Bucket/p/k/1", "/Old_Bucket", true},
		{"s3://bucket/p", NULL, "eu-west-1", S3_STYLE_PATH,
			"s3.eu-west-1.amazonaws.com", "/bucket/p/k/1", "/bucket", true},
		{"s3://bucket/p", "http://127.0.0.1:9000", "us-east-1", S3_STYLE_AUTO,
			"127.0.0.1:9000", "/bucket/p/k/1", "/bucket", false},
		{"s3://bucket/p", "http://s3.localhost:9000/", "us-east-1", S3_STYLE_VIRTUAL,
			"bucket.s3.localhost:9000", "/p/k/1", "/", false},
		{"s3://bucket/p", "https://host:443/base/", "auto", S3_STYLE_AUTO, "host",
			"/base/bucket/p/k/1", "/base/bucket", true},
		{"s3://bucket/p", "http://host:80", "auto", S3_STYLE_AUTO, "host", "/bucket/p/k/1",
			"/bucket", false},
		{"s3://bucket/p", "HTTPS://host:80", "auto", S3_STYLE_AUTO, "host:80",
			"/bucket/p/k/1", "/bucket", true},
		{"s3://bucket/my pre fix/\xc3\xbcn+x(1)",
			NULL, "us-east-1", S3_STYLE_AUTO, "bucket.s3.us-east-1.amazonaws.com",
			"/my%20pre%20fix/%C3%BCn%2Bx%281%29/k/1", "/", true},
	};
	// clang-format on

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_(s3_address_release) struct s3_address address;
		auto_free char *host = NULL, *path = NULL, *bucket_path = NULL;
		struct err err = {0};

		if (s3_address_init(&address, rows[i].url, rows[i].endpoint, rows[i].region,
				    rows[i].style, &err) < 0)
			fail_msg("%s: %s", rows[i].url, err.text);
		host = s3_address_host(&address);
		path = s3_address_path(&address, "k/1");
		bucket_path = s3_address_path(&address, NULL);
		assert_string_equal(host, rows[i].host);
		assert_string_equal(path, rows[i].path);
		assert_string_equal(bucket_path, rows[i].bucket_path);
		assert_int_equal(address.tls, rows[i].tls);
	}
}

static void test_refused(void **state)
{
	static const struct {
		const char *url, *endpoint, *region;
	} rows[] = {
		{"s3://", NULL, "us-east-1"},
		{"s3:///prefix", NULL, "us-east-1"},
		{"s3://ab", NULL, "us-east-1"},
		{"s3://-bucket", NULL, "us-east-1"},
		{"s3://buck et", NULL, "us-east-1"},
		{"s3://bucket@host/p", NULL, "us-east-1"},
		{"s3://bucket/a/../b", NULL, "us-east-1"},
		{"s3://bucket/.", NULL, "us-east-1"},
		{"s3://bucket/a//b", NULL, "us-east-1"},
		{"s3://bucket/a\nb", NULL, "us-east-1"},
		{"s3://bucket/p", "host:9000", "us-east-1"},
		{"s3://bucket/p", "ftp://host", "us-east-1"},
		{"s3://bucket/p", "http://", "us-east-1"},
		{"s3://bucket/p", "http://user:secret@host", "us-east-1"},
		{"s3://bucket/p", "http://host?x=1", "us-east-1"},
		{"s3://bucket/p", "http://ho st", "us-east-1"},
		{"s3://bucket/p", "http://host/a b", "us-east-1"},
		{"s3://bucket/p", "http://host/a\r\nX: y", "us-east-1"},
		{"s3://bucket/p", "http://:80", "us-east-1"},
		{"s3://bucket/p", "https://:9000/", "us-east-1"},
		{"s3://bucket/p", NULL, ""},
		{"s3://bucket/p", NULL, "evil.example/"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct s3_address address;
		struct err err = {0};

		if (s3_address_init(&address, rows[i].url, rows[i].endpoint, rows[i].region,
				    S3_STYLE_AUTO, &err) == 0)
			fail_msg("accepted: %s", rows[i].url);
		assert_int_equal(err.kind, ERR_INVALID);
		assert_null(strstr(err.text, "secret"));
	}
}

static void test_in_the_clear(void **state)
{
	static const struct {
		const char *endpoint;
		bool clear;
	} rows[] = {
		{NULL, false},
		{"https://host", false},
		{"HTTPS://host", false},
		{"http://host", true},
		{"HTTP://host:9000", true},
		{"http://10.0.0.1:9000/base", true},
		{"http://localhost:9000", false},
		{"http://127.0.0.1", false},
		{"http://[::1]:9000", false},
		{"http://localhost.host", true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_(s3_address_release) struct s3_address address;
		struct err err;

		assert_int_equal(s3_address_init(&address, "s3://bucket", rows[i].endpoint,
						 "us-east-1", S3_STYLE_AUTO, &err),
				 0);
		if (s3_address_is_in_the_clear(&address) != rows[i].clear)
			fail_msg("%s", rows[i].endpoint);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_in_the_clear),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
