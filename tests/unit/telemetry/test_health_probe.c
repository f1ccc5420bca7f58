#include "telemetry/telemetry.h"

#include "base/cleanup.h"
#include "base/json.h"

#include "unit.h"

static void test_table(void **state)
{
	static const struct {
		enum health_probe_kind kind;
		struct {
			const char *state; /* "": it refuses to say */
			bool sending;
			int64_t at_risk_ms; /* -1: there is no store */
		} facts;
		bool passed;
		const char *phase;
	} rows[] = {
		{HEALTH_PROBE_LIVE, {"running", false, 5}, true, "training"},
		{HEALTH_PROBE_LIVE, {"restoring", false, -1}, true, "restoring"},
		{HEALTH_PROBE_LIVE, {"uploading", true, 999999}, true, "draining"},
		{HEALTH_PROBE_LIVE, {"", false, -1}, true, "unknown"},
		{HEALTH_PROBE_READY, {"", false, -1}, false, "unknown"},
		{HEALTH_PROBE_READY, {"running", false, 5}, true, "training"},
		{HEALTH_PROBE_READY, {"running", true, 5}, true, "saving"},
		{HEALTH_PROBE_READY, {"restoring", false, -1}, false, "restoring"},
		{HEALTH_PROBE_READY, {"checkpointing", false, 5}, false, "saving"},
		{HEALTH_PROBE_READY, {"stopping", false, 5}, false, "draining"},
		{HEALTH_PROBE_READY, {"ended", false, 5}, false, "ended"},
		{HEALTH_PROBE_FRESH, {"running", false, 60000}, true, "training"},
		{HEALTH_PROBE_FRESH, {"running", false, 60001}, false, "training"},
		{HEALTH_PROBE_FRESH, {"running", false, -1}, true, "training"},
		/* whatever takes its time is not interrupted */
		{HEALTH_PROBE_FRESH, {"running", true, 9999999}, true, "saving"},
		{HEALTH_PROBE_FRESH, {"restoring", false, 9999999}, true, "restoring"},
		{HEALTH_PROBE_FRESH, {"checkpointing", false, 9999999}, true, "saving"},
		{HEALTH_PROBE_FRESH, {"stopping", false, 9999999}, true, "draining"},
		{HEALTH_PROBE_FRESH, {"uploading", true, 9999999}, true, "draining"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_json json_t *status = json_object();
		struct health_probe_result answer;

		json_object_set_new(status, "state", json_string(rows[i].facts.state));
		if (rows[i].facts.sending)
			json_object_set_new(status, "saving", json_object());
		if (rows[i].facts.at_risk_ms >= 0)
			json_object_set_new(status, "at_risk_seconds",
					    json_real((double)rows[i].facts.at_risk_ms / 1000));
		if (!rows[i].facts.state[0])
			json_decref(steal(&status));
		answer = health_probe_decide(rows[i].kind, 60000, status);

		assert_int_equal(answer.passed, rows[i].passed);
		assert_string_equal(answer.phase, rows[i].phase);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_table)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
