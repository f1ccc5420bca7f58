/* reprieve doctor: tries a store before a job depends on it, and says what to mend. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"
#include "diagnosis.h"
#include "diagnosis_slurm.h"
#include "program_output.h"
#include "query.h"
#include "slurm_requeue.h"
#include "verbs.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define MEASURE_DEFAULT ((uint64_t)64 << 20)
#define MEASURE_MOST ((uint64_t)512 << 20)
#define SCONTROL_MS 10000
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
		"how fast it is;\nand under Slurm, what its configuration means for a preempted "
		"job.\n\n"
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

static json_t *rows_json(const struct diagnosis *diagnosis)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < diagnosis->count; i++) {
		const struct diagnosis_row *row = &diagnosis->rows[i];

		json_array_append_new(
			rows, json_pack("{s:s, s:s, s:s, s:o}", "check", row->check, "level",
				      diagnosis_level_name(row->level), "text", row->text, "fix",
				      row->fix[0] ? json_string(row->fix) : json_null()));
	}
	return rows;
}

static void print_json(const char *store, const struct store_probe *probe,
	const struct diagnosis *diagnosis, const struct diagnosis *slurm)
{
	json_t *all = json_pack("{s:s, s:s, s:o, s:o, s:o}", "store", store, "level",
		diagnosis_level_name(diagnosis_worst(diagnosis)), "up_bytes_per_second",
		rate_json(probe, PROBE_UPLOAD), "down_bytes_per_second",
		rate_json(probe, PROBE_DOWNLOAD), "checks", rows_json(diagnosis));

	if (slurm)
		json_object_set_new(all, "slurm", rows_json(slurm));
	json_print(all, true);
}

/* --- Slurm --- */

/* What scontrol answers; NULL where it does not. The caller frees. */
static char *scontrol(const char *const *words)
{
	const char *argv[8] = {"scontrol"};
	auto_free char *said = NULL;
	struct err err;

	for (size_t i = 0; i < 6 && words[i]; i++)
		argv[i + 1] = words[i];
	return program_output((char *const *)argv, SCONTROL_MS, &said, &err) < 0 ? NULL
										 : take(&said);
}

static int output_appends(void)
{
	struct stat about;

	if (fstat(STDERR_FILENO, &about) < 0 || !S_ISREG(about.st_mode))
		return -1;
	return (fcntl(STDERR_FILENO, F_GETFL) & O_APPEND) != 0;
}

/* False where there is no Slurm. */
static bool diagnose_slurm(struct diagnosis *diagnosis)
{
	auto_free char *config = scontrol((const char *const[]){"show", "config", NULL});
	auto_free char *job = NULL, *partition = NULL, *script = NULL;
	char id[48], name[64];
	bool in_job = slurm_job_id(getenv("SLURM_JOB_ID"), getenv("SLURM_ARRAY_JOB_ID"),
		getenv("SLURM_ARRAY_TASK_ID"), id, sizeof(id));

	if (!config)
		return false;
	if (in_job) {
		job = scontrol((const char *const[]){"--oneliner", "show", "job", id, NULL});
		script = scontrol((const char *const[]){"write", "batch_script", id, "-", NULL});
	}
	if (diagnosis_slurm_partition(job, name, sizeof(name)))
		partition = scontrol(
			(const char *const[]){"--oneliner", "show", "partition", name, NULL});
	diagnosis_of_slurm(&(struct slurm_texts){.config = config,
				   .job = job,
				   .partition = partition,
				   .script = script,
				   .log_appends = job ? output_appends() : -1},
		diagnosis);
	return true;
}

int cmd_doctor(int argc, char **argv)
{
	auto_(query_end) struct query query = {0};
	struct options options = {.size = SIZE_DEFAULT, .measure = MEASURE_DEFAULT};
	struct store_probe probe;
	struct diagnosis diagnosis, slurm;
	bool of_slurm;
	struct err err;
	int code = query_begin_with(argc, argv, &usage, &options, &query);

	if (code >= 0)
		return code;
	if (storage_probe(query.store, options.measure, &probe, NULL, &err) < 0)
		return query_failed(&query, &err);
	diagnosis_of_store(&probe, query.store, options.size, &diagnosis);
	of_slurm = diagnose_slurm(&slurm);
	if (query.json)
		print_json(query.store, &probe, &diagnosis, of_slurm ? &slurm : NULL);
	else
		print_rows(&diagnosis);
	if (of_slurm && !query.json) {
		printf("\nSlurm:\n");
		print_rows(&slurm);
	}
	if (of_slurm && diagnosis_worst(&slurm) == DIAGNOSIS_FAIL)
		return EXIT_FAILURE;
	return diagnosis_worst(&diagnosis) == DIAGNOSIS_FAIL ? EXIT_FAILURE : 0;
}
