/* Tokens signed with RS256: the same as what openssl dgst makes of the same key and claims. */
#include "unit.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "storage/gcs/google_credentials.h"

#include "test_key.h"

#include <stdlib.h>
#include <string.h>

static const char elliptic_key[] =
	"-----BEGIN PRIVATE KEY-----\n"
	"MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg2IOaxS1bPRLH8JdR\n"
	"Koepues8rW6ZmjkXM8RI8apuYlehRANCAATm6rWqStDTn57wgGi7NY5dvL0hfFA3\n"
	"5bSHG0DZ8LGJd10M2pmsa4g27V9FnSFaNNeAkugqNaAV5i4H2Q128u3I\n"
	"-----END PRIVATE KEY-----\n";

static const char expected[] =
	"eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6ImsxIn0.eyJpc3MiOiJyb2JvdCIsImlhdCI6MTcw"
	"MDAwMDAwMH0.UAPQJxbfpL1fAr3WzHhJZYYtOm7yTsPFiKBkpwhRiaM0jjyL0QckdQqGyimO0m4HAM_hvure"
	"SttlLlaQTl2vJyyU1wXEvhzuO4h754t2MT1bOc3Uag1qfcGtShfTW0hjEsl_p65uax2h_R7D3RAkTGByhh3Z"
	"rpDAn3Pi1RUy-F_T4IvgnSvxqCPwbcEZNORHOtifaaSueOlFFB-ZTkOsIX9WLFeAy2pIApDnQ20MIb5k4iAs"
	"ZFItYYcQCr5mBwAuUSkxAIx4mKvGCKBZvd8I3rlzQWgW2utWwUOEVDOnPl5zmX9LZTVZZS2GYQ-_QErE3EMR"
	"cIfN1seEdXBjtH7ztA";

static void as_openssl_signs(void **state)
{
	auto_json json_t *claims = json_pack("{s:s, s:i}", "iss", "robot", "iat", 1700000000);
	auto_free char *token = NULL;
	struct err err = {0};

	(void)state;
	assert_int_equal(jwt_sign(test_key, "k1", claims, &token, &err), 0);
	assert_string_equal(token, expected);
}

static void no_keys(void **state)
{
	const char *const rows[] =
		{"", "SECRET", elliptic_key,
		 "-----BEGIN PRIVATE KEY-----\nSECRET\n-----END PRIVATE KEY-----\n"};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_json json_t *claims = json_object();
		auto_free char *token = NULL;
		struct err err = {0};

		assert_int_equal(jwt_sign(rows[i], NULL, claims, &token, &err), -1);
		assert_int_equal(err.kind, ERR_INVALID);
		assert_null(strstr(err.text, "SECRET"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_openssl_signs),
		cmocka_unit_test(no_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
