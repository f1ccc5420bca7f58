#include "doctor.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define SCONTROL_MS 10000

/* --- the rows --- */

// clang-format off
static const struct check_finding
	no_script = {"requeue", CHECK_WARN, "this job has no batch script (srun, salloc): it cannot be requeued", "submit a script with sbatch"},
	not_requeued = {"requeue", CHECK_FAIL, "this job may not be requeued", "submit it with sbatch --requeue"},
	requeued = {"requeue", CHECK_OK, "this job may be requeued", ""},
	none_requeued = {"requeue", CHECK_WARN, "jobs are not requeued unless they ask for it (JobRequeue=0)", "submit with sbatch --requeue"},
	all_requeued = {"requeue", CHECK_OK, "jobs may be requeued (JobRequeue=1)", ""},
	signal_to_shell = {"signal", CHECK_FAIL, "the signal of --signal=B: ends the script's shell, and with it the job, because it does not exec reprieve",
		"exec reprieve run ..., or, before other lines, --signal=TERM@120 with srun reprieve run ... || exit $?"},
	signal_to_none = {"signal", CHECK_FAIL, "without B: the signal of --signal only reaches what srun starts, and the script has no srun",
		"--signal=B:TERM@120 with exec reprieve run ..., or srun reprieve run ..."},
	signal_set = {"signal", CHECK_OK, "the script sets --signal", ""},
	no_signal = {"signal", CHECK_WARN, "the script sets no --signal before the time limit (sbatch's command line may)", "#SBATCH --signal=B:TERM@120"},
	no_scontrol = {"scontrol", CHECK_WARN, "this is a Slurm job, but there is no scontrol here: whether it is requeued is unknown",
		"run doctor on the node too, outside the container; without scontrol a requeue needs RequeueExit=75 in slurm.conf"},
	no_answer = {"scontrol", CHECK_WARN, "scontrol show config failed, so whether a job is requeued is unknown: $1",
		"check that slurmctld answers (scontrol ping), and try again"};
// clang-format on

static void requeue_row(const struct slurm_outputs *texts, struct check_list *list)
{
	long of_job = slurm_number(texts->job, "Requeue");

	check_add(list,
		  slurm_number(texts->job, "BatchFlag") == 0       ? &no_script
		  : of_job == 0                                    ? &not_requeued
		  : of_job > 0                                     ? &requeued
		  : slurm_number(texts->config, "JobRequeue") == 0 ? &none_requeued
								   : &all_requeued,
		  NULL, NULL);
}

/* What a batch script says of the signal ahead of the end, and of who gets it. */
struct script_look {
	bool asks;      /* --signal */
	bool to_shell;  /* --signal=B:..., to the batch shell alone */
	bool has_run;   /* `reprieve run` is in it */
	bool execs_run; /* ... in a line that begins with exec */
	bool has_srun, has_trap;
};

static void look_at_line(const char *line, struct script_look *look)
{
	struct slurm_signal_option option = slurm_signal_option(line);
	const char *run = strstr(line, "reprieve");

	line += strspn(line, " \t");
	look->asks |= option.given;
	look->to_shell |= option.to_shell;
	if (*line == '#')
		return;
	look->has_srun |= strstr(line, "srun ") != NULL;
	look->has_trap |= text_starts(line, "trap ");
	/* As a name of a path, a variable or a word: reprieve run, "$REPRIEVE" run */
	if (!run)
		run = strstr(line, "REPRIEVE");
	if (run && strstr(run, " run ")) {
		look->has_run = true;
		look->execs_run |= text_starts(line, "exec ");
	}
}

static struct script_look look_at_script(const char *script)
{
	struct script_look look = {0};

	for (const char *line = script; *line; line += *line == '\n') {
		size_t length = strcspn(line, "\n");
		auto_free char *text = text_copy_n(line, length);

		look_at_line(text, &look);
		line += length;
	}
	return look;
}

/* Who gets the signal: with B: the batch shell alone, which dies of it, unless it has become
 * reprieve by exec, or traps it; else all that srun has started, and nothing besides. */
static void signal_row(const struct slurm_outputs *texts, struct check_list *list)
{
	struct script_look look;

	if (!texts->script)
		return;
	look = look_at_script(texts->script);
	check_add(list,
		  look.asks && look.to_shell && look.has_run && !look.execs_run && !look.has_trap
			  ? &signal_to_shell
		  : look.asks && !look.to_shell && look.has_run && !look.has_srun ? &signal_to_none
		  : look.asks                                                     ? &signal_set
										  : &no_signal,
		  NULL, NULL);
}

static void no_reply_row(const struct slurm_outputs *texts, struct check_list *list)
{
	const char *why = texts->error_text;

	/* The program's name is there twice: from us, and from scontrol itself. */
	if (why && text_starts(why, "scontrol: scontrol: "))
		why += strlen("scontrol: ");
	check_add(list, texts->asked == SLURM_QUERY_NO_PROGRAM ? &no_scontrol : &no_answer, why,
		  NULL);
}

void check_slurm(const struct slurm_outputs *texts, struct check_list *list)
{
	*list = (struct check_list){0};
	if (texts->asked != SLURM_QUERY_OK) {
		no_reply_row(texts, list);
		return;
	}
	requeue_row(texts, list);
	signal_row(texts, list);
}

/* --- the facts --- */

bool inspect_slurm(struct check_list *list)
{
	struct err err = {0}, ignored;
	auto_free char *config = slurm_scontrol(SCONTROL_MS, &err, "show config");
	auto_free char *job = NULL, *script = NULL;
	char id[SLURM_JOB_ID_SIZE];
	bool in_job = slurm_job_id(getenv("SLURM_JOB_ID"), getenv("SLURM_ARRAY_JOB_ID"),
				   getenv("SLURM_ARRAY_TASK_ID"), id, sizeof(id));

	if (!config && err.kind == ERR_NOT_FOUND && !in_job)
		return false;
	if (!config) {
		check_slurm(
			&(struct slurm_outputs){
				.asked = err.kind == ERR_NOT_FOUND ? SLURM_QUERY_NO_PROGRAM
								   : SLURM_QUERY_FAILED,
				.error_text = err.text,
			},
			list);
		return true;
	}
	if (in_job) {
		job = slurm_scontrol(SCONTROL_MS, &ignored, "--oneliner show job %s", id);
		script = slurm_scontrol(SCONTROL_MS, &ignored, "write batch_script %s -", id);
	}
	check_slurm(
		&(struct slurm_outputs){
			.config = config,
			.job = job,
			.script = script,
		},
		list);
	return true;
}
