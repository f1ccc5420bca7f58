#include "telemetry/telemetry.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"

static const char *const states[] = {"restoring", "running",   "checkpointing",
				     "stopping",  "uploading", "ended",
				     NULL};

static void has(const char *text, const char *line)
{
	if (!strstr(text, line))
		fail_msg("no '%s' in\n%s", line, text);
}

static void count(json_t *counters, const char *event, const char *line)
{
	auto_json json_t *json = json_loads(line, 0, NULL);

	assert_non_null(json);
	counters_add(counters, event, json);
}

static void test_events_are_counted(void **state)
{
	auto_json json_t *json = counters_new();

	(void)state;
	count(json, "durable", "{\"bytes\":100,\"bytes_sent\":40,\"seconds\":1.5}");
	count(json, "durable", "{\"bytes\":200,\"bytes_sent\":60,\"seconds\":0.5}");
	count(json, "snapshot_failed", "{}");
	count(json, "asked", "{\"again\":false}");
	count(json, "asked", "{\"again\":true}");
	count(json, "notice", "{\"kind\":\"advice\",\"source\":\"aws\"}");
	count(json, "notice", "{\"kind\":\"stop\",\"source\":\"aws\"}");
	count(json, "restored", "{\"bytes\":7,\"seconds\":2.25}");
	assert_int_equal(json_number_or(json, "snapshots", -1), 2);
	assert_int_equal(json_number_or(json, "bytes", -1), 300);
	assert_int_equal(json_number_or(json, "bytes_sent", -1), 100);
	assert_int_equal(json_number_or(json, "snapshot_bytes", -1), 200);
	assert_true(json_number_value(json_object_get(json, "snapshot_seconds")) == 0.5);
	assert_int_equal(json_number_or(json, "snapshot_failures", -1), 1);
	assert_int_equal(json_number_or(json, "requests", -1), 1);
	assert_int_equal(json_number_or(json, "notices", -1), 1);
	assert_string_equal(json_text_or(json, "noticed_by", ""), "aws");
	count(json, "notice", "{\"kind\":\"cancelled\",\"source\":\"aws\"}");
	assert_string_equal(json_text_or(json, "noticed_by", "?"), "");
	assert_int_equal(json_number_or(json, "cancelled", -1), 1);
}

static void test_text(void **state)
{
	auto_json json_t *status =
		json_loads("{\"job\":\"di\\\"g\\\\i\\nts\",\"state\":\"running\",\"attempt\":3,"
			   "\"step\":-1,\"durable_seconds\":60,"
			   "\"behind\":true,\"labels\":{\"team\":\"nlp\"},\"counters\":{"
			   "\"snapshots\":2,\"noticed_by\":\"gcp\"}}",
			   0, NULL);
	auto_free char *text = NULL;

	(void)state;
	assert_non_null(status);
	text = metrics_format(status, states, 1000000);
	has(text, "reprieve_attempt{run=\"di\\\"g\\\\i\\nts\",team=\"nlp\"} 3\n");
	has(text, ",state=\"running\"} 1\n");
	has(text, ",state=\"stopping\"} 0\n");
	has(text, "# TYPE reprieve_snapshots_total counter\n");
	has(text, "team=\"nlp\"} 2\n");
	has(text, "reprieve_durable_timestamp_seconds{run=");
	has(text, "} 940.000\n");
	has(text, ",source=\"gcp\"} 1\n");
	assert_non_null(strstr(text, "reprieve_upload_behind"));
	/* unknown: no sample */
	assert_null(strstr(text, "durable_step"));
	assert_null(strstr(text, "exit_code"));
}

/* What a sample has already, no user may name a label. */
static void test_labels_of_our_own_are_reserved(void **state)
{
	auto_json json_t *status = json_loads("{\"job\":\"x\",\"state\":\"running\",\"attempt\":3,"
					      "\"counters\":{\"noticed_by\":\"gcp\"}}",
					      0, NULL);
	auto_free char *text = metrics_format(status, states, 1000000);
	auto_json json_t *labels = json_object();
	size_t found = 0;
	struct err err;

	(void)state;
	for (char *at = strstr(text, "=\""); at; at = strstr(at + 2, "=\"")) {
		char *name = at;
		auto_free char *label = NULL;

		while (name[-1] != '{' && name[-1] != ',')
			name--;
		label = text_format("%.*s=x", (int)(at - name), name);
		if (labels_add(labels, label, &err) == 0)
			fail_msg("'%s' is not refused", label);
		found++;
	}
	assert_true(found > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_events_are_counted),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_labels_of_our_own_are_reserved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
