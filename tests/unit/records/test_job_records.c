/* Which names are those of a job's records: what others put there is none of them. */
#include "storage/records/job_records.h"

#include "base/json.h"
#include "base/text.h"

#include "unit.h"

#include <string.h>

static void test_names_of_manifests(void **state)
{
	static const struct {
		const char *name;
		struct snapshot_id id; /* 0: it is none */
	} rows[] = {
		{"000001-000012.json", {1, 12}},
		{"999999-999999.json", {999999, 999999}},
		{"000001-000012", {0, 0}},
		{"000001-000012.json.tmp", {0, 0}},
		{"000001-000012.jso", {0, 0}},
		{"000001-000012-json", {0, 0}},
		{"1-12.json", {0, 0}},
		{"000001-.json", {0, 0}},
		{"-000012.json", {0, 0}},
		{".json", {0, 0}},
		{"", {0, 0}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct snapshot_id id = {0};
		bool is_one = job_record_parse_id(rows[i].name, &id);

		if (is_one != (rows[i].id.attempt > 0) ||
		    (is_one && snapshot_id_compare(id, rows[i].id) != 0))
			fail_msg("%s", rows[i].name);
	}
}

static void test_names_of_numbered_records(void **state)
{
	static const struct {
		const char *name;
		uint32_t number, attempt; /* 0: it is none of that kind */
	} rows[] = {
		{"000012.json", 12, 12},
		{"000012.end.json", 0, 12},
		{"1.json", 1, 1},
		{"4294967295.json", UINT32_MAX, UINT32_MAX},
		{"4294967296.json", 0, 0},
		{"000000000000001.json", 1, 1},
		{"0000000000000001.json", 0, 0},
		{"000000.json", 0, 0},
		{"000012", 0, 0},
		{"000012json", 0, 0},
		{"000012.json.tmp", 0, 0},
		{"-00012.json", 0, 0},
		{"a00012.json", 0, 0},
		{".json", 0, 0},
		{"", 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t number = 0, attempt = 0;
		bool numbered = job_record_parse_number(rows[i].name, &number);
		bool of_attempt = job_record_parse_attempt(rows[i].name, &attempt);

		if (numbered != (rows[i].number > 0) || number * numbered != rows[i].number)
			fail_msg("%s: %u", rows[i].name, number);
		if (of_attempt != (rows[i].attempt > 0) || attempt * of_attempt != rows[i].attempt)
			fail_msg("%s, of an attempt: %u", rows[i].name, attempt);
	}
}

static void test_claims(void **state)
{
	static const struct {
		const char *body;
		struct snapshot_id start; /* 0: none */
		bool right;
	} rows[] = {
		{"{'attempt': 7, 'start': '000003-000012', 'policy': 'latest'}", {3, 12}, true},
		{"{'attempt': 7, 'start': null, 'policy': 'none'}", {0, 0}, true},
		{"{'attempt': 8, 'start': null, 'policy': 'none'}", {0, 0}, false},
		{"{'start': null, 'policy': 'none'}", {0, 0}, false},
		{"{'attempt': 7, 'start': '000007-000001', 'policy': 'latest'}", {0, 0}, false},
		{"{'attempt': 7, 'start': '000009-000001', 'policy': 'latest'}", {0, 0}, false},
		{"{'attempt': 7, 'start': 'the newest', 'policy': 'latest'}", {0, 0}, false},
		{"{'attempt': 7, 'start': '', 'policy': 'latest'}", {0, 0}, false},
		{"{'attempt': 7, 'start': 3, 'policy': 'latest'}", {0, 0}, false},
		{"{'attempt': 7, 'start': null, 'policy': 'perhaps'}", {0, 0}, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct lineage_attempt attempt = {.number = 7};
		auto_free char *text = text_copy(rows[i].body);
		auto_json json_t *body = NULL;

		for (char *quote; (quote = strchr(text, '\''));)
			*quote = '"';
		body = json_loads(text, 0, NULL);
		assert_non_null(body);
		if (job_record_decode_claim(body, &attempt) != rows[i].right)
			fail_msg("%s", rows[i].body);
		if (rows[i].right && snapshot_id_compare(attempt.start, rows[i].start) != 0)
			fail_msg("%s: another start", rows[i].body);
	}
}

static void test_the_pause_before_a_claim_is_looked_at_again(void **state)
{
	static const struct {
		bool guessed, unproven;
		int64_t put_took_ms, pause_ms;
	} rows[] = {
		{false, false, 0, 0},   {false, false, 9000, 0},   {false, true, 0, 0},
		{false, true, 30, 120}, {false, true, 9000, 1000}, {true, false, 0, 300},
		{true, true, 100, 400}, {true, false, 9000, 5000},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct store_health health = {.if_absent_guessed = rows[i].guessed,
						    .if_absent_unproven = rows[i].unproven};

		assert_int_equal(own_claim_window_ms(&health, rows[i].put_took_ms),
				 rows[i].pause_ms);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_pause_before_a_claim_is_looked_at_again),
		cmocka_unit_test(test_names_of_manifests),
		cmocka_unit_test(test_claims),
		cmocka_unit_test(test_names_of_numbered_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
