/* reprieve doctor: tries a store before a job depends on it, and says what to mend. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"
#include "diagnosis.h"
#include "query.h"
#include "verbs.h"

#include <stdio.h>
#include <stdlib.h>

#define MEASURE_DEFAULT ((uint64_t)64 << 20)
#define MEASURE_MOST ((uint64_t)512 << 20)
#define SIZE_DEFAULT 40000000000u

struct options {
	uint64_t size, measure;
};

static int set_size(void *arg, const char *value, struct err *err)
{
	if (!text_to_bytes(value, &((struct options *)arg)->size))
		return err_set(err, ERR_INVALID, "'%s' is no size: write 40GB or 512MB", value);
	return 0;
}

static int set_measure(void *arg, const char *value, struct err *err)
{
	struct options *options = arg;

	if (!text_to_bytes(value, &options->measure) || options->measure > MEASURE_MOST)
		return err_set(err, ERR_INVALID, "'%s' is no size up to 512MiB (0: do not measure)",
			value);
	return 0;
}

static const struct query_option own_options[] = {
	{"size", false, set_size},
	{"measure", false, set_measure},
	{0},
};

static const struct query_usage usage = {
	.text = "Try a store: what these credentials may do there, whether the clock is right, and "
		"how fast it is.\n\n"
		"  reprieve doctor\n"
		"  reprieve doctor --store s3://bucket/runs --size 40GB\n\n"
		"Usage: reprieve doctor [--store URL] [--size SIZE] [--measure SIZE] [--json]\n\n"
		"      --size SIZE      of a checkpoint: does it fit in a notice? (default: 40GB)\n"
		"      --measure SIZE   how much is sent and read back to measure (default: 64MiB; "
		"0: nothing)\n\n"
		"Objects of its own are written below tmp/ and removed again.\n"
		"Exit status: 0 if nothing failed, 1 otherwise.\n",
	.words_most = 0,
	.no_job = true,
	.options = own_options,
};

static void print_rows(const struct diagnosis *diagnosis)
{
	for (size_t i = 0; i < diagnosis->count; i++) {
		const struct diagnosis_row *row = &diagnosis->rows[i];

		printf("%-4s  %-9s  %s\n", diagnosis_level_name(row->level), row->check, row->text);
		if (row->fix[0])
			printf("%-4s  %-9s  %s\n", "", "", row->fix);
	}
}

static json_t *rate_json(const struct store_probe *probe, enum probe_step step)
{
	const struct probe_answer *answer = &probe->steps[step];

	if (!answer->worked)
		return json_null();
	return json_integer((json_int_t)(probe->bytes * 1000 /
					 (uint64_t)(answer->took_ms > 0 ? answer->took_ms : 1)));
}

static void print_json(
	const char *store, const struct store_probe *probe, const struct diagnosis *diagnosis)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < diagnosis->count; i++) {
		const struct diagnosis_row *row = &diagnosis->rows[i];

		json_array_append_new(
			rows, json_pack("{s:s, s:s, s:s, s:o}", "check", row->check, "level",
				      diagnosis_level_name(row->level), "text", row->text, "fix",
				      row->fix[0] ? json_string(row->fix) : json_null()));
	}
	json_print(json_pack("{s:s, s:s, s:o, s:o, s:o}", "store", store, "level",
			   diagnosis_level_name(diagnosis_worst(diagnosis)), "up_bytes_per_second",
			   rate_json(probe, PROBE_UPLOAD), "down_bytes_per_second",
			   rate_json(probe, PROBE_DOWNLOAD), "checks", rows),
		true);
}

int cmd_doctor(int argc, char **argv)
{
	auto_(query_end) struct query query = {0};
	struct options options = {.size = SIZE_DEFAULT, .measure = MEASURE_DEFAULT};
	struct store_probe probe;
	struct diagnosis diagnosis;
	struct err err;
	int code = query_begin_with(argc, argv, &usage, &options, &query);

	if (code >= 0)
		return code;
	if (storage_probe(query.store, options.measure, &probe, NULL, &err) < 0)
		return query_failed(&query, &err);
	diagnosis_of_store(&probe, query.store, options.size, &diagnosis);
	if (query.json)
		print_json(query.store, &probe, &diagnosis);
	else
		print_rows(&diagnosis);
	return diagnosis_worst(&diagnosis) == DIAGNOSIS_FAIL ? EXIT_FAILURE : 0;
}
