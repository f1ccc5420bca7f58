/* What `scontrol` prints, and a job's script. */
#include "fuzz.h"

#include "base/cleanup.h"
#include "doctor/doctor.h"
#include "frameworks/frameworks.h"
#include "scheduler/slurm.h"

static void diagnose(const char *text)
{
	const struct slurm_outputs texts = {
		.config = text,
		.job = text,
		.script = text,
	};
	struct check_list check_list;

	check_slurm(&texts, &check_list);
	CHECK(check_list.count == 2);
	for (size_t i = 0; i < check_list.count; i++)
		CHECK(check_list.rows[i].check && check_list.rows[i].text[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_free char *text = fuzz_text(data, size);
	const struct lightning_slurm_facts facts = {.script = text, .directory_is_root = true};
	struct slurm_job job;
	char id[24];

	if (slurm_job_parse(text, &job))
		CHECK(job.state[0] && !strpbrk(job.state, " \t\n") && job.restarts >= -1);
	if (slurm_job_id(text, NULL, NULL, id, sizeof(id)))
		CHECK(strcmp(id, text) == 0 && strspn(id, "0123456789") == strlen(id));
	diagnose(text);
	(void)lightning_slurm_is_safe(&facts);
	return 0;
}
