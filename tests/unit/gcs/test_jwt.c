/* Tokens signed with RS256: the same as what openssl dgst makes of the same key and claims. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "storage/gcs/jwt.h"

#include <stdlib.h>
#include <string.h>

/* Made for this test, and good for nothing else. */
static const char key[] =
	"-----BEGIN PRIVATE KEY-----\n"
	"MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDUlUbLR7ySlmS8\n"
	"Qm9iFj9LS4NujWepRfGecZMMcMo1VAhuFlsvQ0d+7uJMObLfV+2HrGOF3QuLaECK\n"
	"yRth/Ep3tNgOLh6cjdgUKtpjQ4lz+Wzy8hRevPpmCyH3G4gD4xjnXcN4bfRa0H7o\n"
	"rWFBiOD+zObynXUBRYwHxgzwEXU6SDEOF7z8srBZLZJnJ/9GRERXa0g+/1sfXRL9\n"
	"4L2XvYwBbBB7mo5cG6OwjYppxKVfW44TJu0YO5XC4uPKBmxkJaGK9wiSvUJNnRIf\n"
	"IkzB3MraPNCIsESphdAJfgKU7Dv382Xzr1azsDzMhIQ5wpKHEjZ/xxWxwdJsCeGN\n"
	"kQRFrHy7AgMBAAECggEAD0xCFh0un004/j6OUxHZx9qCdfaxZ9eI3dzmIZuOREyB\n"
	"93YeursjOSm0ru/qBN4y0Yl2IgB4X7WxYKtnOo5pciLZTMVEiQHrc6Fqf4ExMjTY\n"
	"AnBUR0W0g++3fS0F2o3Bpt4IU9wfHQKVrLspXV9zHYhI8wWiEWTcAQU0vM6XeomX\n"
	"cfCj+WJWWzWMsMkm3DnFXW3D6w6ho8q10ThryKspM5qEFRahom90D9g6dcp7V+tR\n"
	"SLbBTxus/PJhLudgqApCQ0Wx2dH/BABtUzXyFxp0FNlWsjuf+rXMO3qvxNTMsZOk\n"
	"/VB9e62zlPqsct5DnJ5FDhG+Th9DeQ9iJ9oqOAu2+QKBgQD3uOTxGN7+wOhQMTTY\n"
	"L1aoYyauFa75Aj57q/uzvhOrzS619uUZs2322ZNPn2Ctv2YfA/A2NxclhI8kHKO+\n"
	"ykJ37n7NrK29kznqapDWe0fqDrnsK7JTVeXH6smvffrV3jDz6t3N4xcALlZ9vXI1\n"
	"NFCZTJ2lNqWder4QaraaIGbwwwKBgQDbr8oVUn+wdh+lp3Og94mQTxwd2Ty7VFBO\n"
	"kYt0tRJm0QmmR810PTbxoA5cTJsJmOupQ/R7Fj+Z3uFqgzSd+0pz3c8CoEycrOIn\n"
	"4PlJM5AHKh54E7saC/DJlPFSx/Nn6Fz9bmXsbhqjdAQ0mGk8TKf06xGuFFe/kZQp\n"
	"jDbJ4vGEqQKBgBuSCnkC6Z603aY/M8Bz1FM9ZcquQyEXrNia1ZK1rv7KAU7jQbBQ\n"
	"lgaJRKnx9RKhYL5G8+80xnC4hi3guiC75hXvB1HgzB1zS1jZr3EPm3tjVDIC0wAP\n"
	"aVmMuhG8FbTD2/LpyvHlOmQcxCeOdC2Tuvy02D7RDDGwvYKaPeR9grd9AoGBAJrk\n"
	"1xcxk9ZXcvjZmC1mWxfkr25cPPXX/Mdo12ryQIc93A/hkHrkrlivAXESkj2yFHbD\n"
	"8xzWEwHqpAT1faPmChiny82OOHY/bzWu6hUyxdpHWDRRtRooUR3QZlZ3pKcernIB\n"
	"5NtOxnl4035B9/EMG2AUXeLfdP8dJdolgnvWB3QBAoGAQGZ2GyK3g8Jd43Pbs4ZS\n"
	"eOjbEShXXYpC/kjrVTvrKyxjLp/Bvm+KbmVlY3T3SbovmKZU2aA8NhcX6pUAEiQg\n"
	"OIOkB7tRS2JuduxSXOvlF3Ux38OjovM4AmtC0yBp85qU6csY6q5UC5fvMpVGe6zE\n"
	"LPxB8idZVAKJJPAImUALqXk=\n"
	"-----END PRIVATE KEY-----\n";

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
	assert_int_equal(jwt_sign(key, "k1", claims, &token, &err), 0);
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
