#include "telemetry/telemetry.h"

#include "base/cleanup.h"
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"

static json_t *example(const char *event)
{
	return json_pack("{s:s, s:s, s:s, s:i, s:s, s:s, s:i, s:s}", "event", event, "job",
			 "digits", "host", "node-7", "attempt", 3, "source", "aws", "reason",
			 "spot interruption", "seconds_left", 118, "durable", "3-12, step 1200");
}

/* What a service that is no Slack's is told. */
static void assert_text(json_t *facts, const char *text)
{
	auto_free char *body = notification_body("https://example.org/hook", facts);
	auto_json json_t *json = json_loads(body, 0, NULL);

	assert_string_equal(json_text_or(json, "text", ""), text);
	json_object_del(json, "text");
	assert_true(json_equal(json, facts));
	json_decref(facts);
}

static void test_texts(void **state)
{
	json_t *over = example("ended"), *nothing = example("notice");

	(void)state;
	assert_text(example("notice"), "digits: preemption notice from aws (spot "
				       "interruption), 118 s left; durable: 3-12, step 1200");
	assert_text(example("cancelled"),
		    "digits: the preemption notice was withdrawn, the job continues; durable: "
		    "3-12, step 1200");
	json_object_set_new(over, "outcome", json_string("preempted"));
	json_object_set_new(over, "exit_code", json_integer(75));
	assert_text(over,
		    "digits: preempted (exit 75), attempt 3 on node-7; durable: 3-12, step 1200");
	json_object_set_new(nothing, "durable", json_string(""));
	json_object_del(nothing, "seconds_left");
	assert_text(nothing, "digits: preemption notice from aws (spot interruption); "
			     "durable: nothing");
}

static void test_slack_gets_the_text_alone(void **state)
{
	static const char *const urls[] = {
		"https://hooks.slack.com/services/T/B/X",
		"slack:https://chat.example/hooks/x",
	};
	auto_json json_t *notification = example("notice");

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		auto_free char *body = notification_body(urls[i], notification);
		auto_json json_t *json = json_loads(body, 0, NULL);

		assert_int_equal(json_object_size(json), 1);
		assert_non_null(json_text_or(json, "text", NULL));
	}
	assert_string_equal(notification_url(urls[1]), "https://chat.example/hooks/x");
	assert_string_equal(notification_url(urls[0]), urls[0]);
}

/* It stands in the log, and with --log in the store. */
static void test_the_origin_names_no_secret(void **state)
{
	static const char *const rows[][2] = {
		{"https://hooks.example.com/services/SECRET", "https://hooks.example.com"},
		{"http://user:SECRET@host:8080/x", "http://host:8080"},
		{"http://user:SEC/RET@host?x", "the webhook"},
		{"https://host/SECRET@x", "https://host"},
		{"https://SECRET@host", "https://host"},
		{"https://host?token=SECRET", "https://host"},
		{"HTTPS://host#x", "HTTPS://host"},
		{"SECRET", "the webhook"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_free char *origin = notification_origin(rows[i][0]);

		assert_string_equal(origin, rows[i][1]);
	}
}

static void test_labels(void **state)
{
	static const char *const wrong[] = {"",     "team",  "=nlp",   "7up=x",
					    "a=1,", "a=1,b", "te am=x"};
	/* of the metrics, or of Prometheus: twice in a sample, they make a scrape invalid */
	static const char *const reserved[] = {"run=x", "state=x",        "source=x",
					       "job=x", "instance=",      "__name__=x",
					       "__=x",  "team=nlp,job=x", "job=x,team=nlp"};
	static const char *const fine[] = {"jobs=x", "jo=x",     "my_job=x",       "Job=x",
					   "_job=x", "team=job", "team=nlp,runs=3"};
	auto_json json_t *labels = json_object();
	struct err err;

	(void)state;
	assert_int_equal(labels_add(labels, "team=nlp,project=x", &err), 0);
	assert_int_equal(labels_add(labels, "team=vision", &err), 0);
	assert_string_equal(json_text_or(labels, "team", ""), "vision");
	assert_string_equal(json_text_or(labels, "project", ""), "x");
	assert_int_equal(labels_add(labels, "team=,_x9=a b:c", &err), 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(labels_add(labels, wrong[i], &err), -1);
		assert_int_equal(err.kind, ERR_INVALID);
	}
	for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++) {
		assert_int_equal(labels_add(labels, reserved[i], &err), -1);
		assert_int_equal(err.kind, ERR_INVALID);
		assert_non_null(strstr(err.text, "choose another name"));
	}
	for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++)
		assert_int_equal(labels_add(labels, fine[i], &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_slack_gets_the_text_alone),
		cmocka_unit_test(test_the_origin_names_no_secret),
		cmocka_unit_test(test_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
