#include "telemetry/notification.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "telemetry/labels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct notification example(const char *event)
{
	return (struct notification){
		.event = event,
		.job = "digits",
		.host = "node-7",
		.attempt = 3,
		.source = "aws",
		.reason = "spot interruption",
		.seconds_left = 118,
		.durable = "3-12, step 1200",
	};
}

static void test_texts(void **state)
{
	struct notification over = example("ended"), nothing = example("notice");
	static const char *const events[] = {"notice", "cancelled", "ended"};
	static const char *const texts[] =
		{"digits: preemption notice from aws (spot "
		 "interruption), 118 s left; durable: 3-12, step 1200",
		 "digits: the preemption notice was withdrawn, the job continues; durable: 3-12, "
		 "step "
		 "1200",
		 "digits: preempted (exit 75), attempt 3 on node-7; durable: 3-12, step 1200"};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct notification notification = example(events[i]);
		auto_free char *text = NULL;

		notification.outcome = over.outcome = "preempted";
		notification.exit_code = 75;
		text = notification_text(&notification);
		assert_string_equal(text, texts[i]);
	}
	nothing.durable = "";
	nothing.seconds_left = -1;
	auto_free char *text = notification_text(&nothing);
	assert_string_equal(text, "digits: preemption notice from aws (spot interruption); "
				  "durable: nothing");
}

static void test_slack_gets_the_text_alone(void **state)
{
	static const char *const urls[] = {
		"https://hooks.slack.com/services/T/B/X",
		"slack:https://chat.example/hooks/x",
	};
	struct notification notification = example("notice");

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		auto_free char *body = notification_body(urls[i], &notification);
		auto_json json_t *json = json_loads(body, 0, NULL);

		assert_int_equal(json_object_size(json), 1);
		assert_non_null(json_text_or(json, "text", NULL));
	}
	assert_string_equal(notification_url(urls[1]), "https://chat.example/hooks/x");
	assert_string_equal(notification_url(urls[0]), urls[0]);
}

static void test_others_get_the_facts(void **state)
{
	static const char *const texts[] = {"team=nlp,project=x", "team=vision"};
	auto_json json_t *labels = labels_json(texts, 2);
	struct notification notification = example("notice");
	auto_free char *body = NULL;
	auto_json json_t *json = NULL;

	(void)state;
	notification.labels = labels;
	body = notification_body("https://example.org/hook", &notification);
	json = json_loads(body, 0, NULL);
	assert_string_equal(json_text_or(json, "source", ""), "aws");
	assert_int_equal(json_number_or(json, "attempt", 0), 3);
	assert_true(json_is_null(json_object_get(json, "outcome")));
	assert_null(json_object_get(json, "exit_code"));
	assert_string_equal(json_text_or(json_object_get(json, "labels"), "team", ""), "vision");
	assert_string_equal(json_text_or(json_object_get(json, "labels"), "project", ""), "x");
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
	struct err err;

	(void)state;
	assert_int_equal(labels_check("team=nlp", &err), 0);
	assert_int_equal(labels_check("team=,_x9=a b:c", &err), 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(labels_check(wrong[i], &err), -1);
		assert_int_equal(err.kind, ERR_INVALID);
	}
	for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++) {
		assert_int_equal(labels_check(reserved[i], &err), -1);
		assert_int_equal(err.kind, ERR_INVALID);
		assert_non_null(strstr(err.text, "choose another name"));
	}
	for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++)
		assert_int_equal(labels_check(fine[i], &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_slack_gets_the_text_alone),
		cmocka_unit_test(test_others_get_the_facts),
		cmocka_unit_test(test_the_origin_names_no_secret),
		cmocka_unit_test(test_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
