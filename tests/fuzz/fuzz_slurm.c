/* What `scontrol` prints, and a job's script. */
#include "fuzz.h"

#include "base/cleanup.h"
#include "doctor/check_slurm.h"
#include "scheduler/slurm_job.h"
#include "frameworks/lightning_slurm.h"

static void diagnose(const char *text)
{
	const struct slurm_texts texts = {
		.config = text, .job = text, .partition = text, .script = text, .log_appends = -1};
	struct diagnosis diagnosis;
	char name[32] = "untouched";

	diagnosis_of_slurm(&texts, &diagnosis);
	CHECK(diagnosis.count >= 3 &&
		diagnosis.count <= sizeof(diagnosis.rows) / sizeof(diagnosis.rows[0]));
	for (size_t i = 0; i < diagnosis.count; i++)
		CHECK(diagnosis.rows[i].check && diagnosis.rows[i].text[0]);
	if (diagnosis_slurm_partition(text, name, sizeof(name)))
		CHECK(name[0] && strchr(name, '\n') == NULL);
	else
		CHECK(strcmp(name, "untouched") == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_free char *text = fuzz_text(data, size);
	const struct slurm_road_facts facts = {.script = text, .directory_is_root = true};
	struct slurm_job job;
	char id[24];

	if (slurm_job_parse(text, &job))
		CHECK(job.state[0] && !strpbrk(job.state, " \t\n") && job.restarts >= -1);
	if (slurm_job_id(text, NULL, NULL, id, sizeof(id)))
		CHECK(strcmp(id, text) == 0 && strspn(id, "0123456789") == strlen(id));
	diagnose(text);
	(void)slurm_road_is_sound(&facts);
	return 0;
}
