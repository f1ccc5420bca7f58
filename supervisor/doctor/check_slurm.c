#include "doctor.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUE_SIZE 256
#define SCONTROL_MS 10000
#define GRACE_SHORT 30

/* --- the rows --- */

static void requeue_row(const struct slurm_outputs *texts, struct check_list *list)
{
	long of_job = slurm_number(texts->job, "Requeue"),
	     batch = slurm_number(texts->job, "BatchFlag");

	if (batch == 0)
		check_add(list, "requeue", CHECK_WARN, "submit a script with sbatch",
			  "this job has no batch script (srun, salloc): it cannot be requeued");
	else if (of_job == 0)
		check_add(list, "requeue", CHECK_FAIL, "submit it with sbatch --requeue",
			  "this job may not be requeued");
	else if (of_job > 0)
		check_add(list, "requeue", CHECK_OK, "", "this job may be requeued");
	else if (slurm_number(texts->config, "JobRequeue") == 0)
		check_add(list, "requeue", CHECK_WARN, "submit with sbatch --requeue",
			  "jobs are not requeued unless they ask for it (JobRequeue=0)");
	else
		check_add(list, "requeue", CHECK_OK, "", "jobs may be requeued (JobRequeue=1)");
}

static void exit_code_row(const struct slurm_outputs *texts, struct check_list *list)
{
	enum slurm_exit_rule rule = slurm_exit_rule(texts->config, EXIT_PREEMPTED);

	if (rule == SLURM_EXIT_HOLDS)
		check_add(list, "exit code", CHECK_FAIL, "remove 75 from RequeueExitHold",
			  "exit code 75 (preempted, durable) puts the job on hold "
			  "(RequeueExitHold)");
	else
		check_add(list, "exit code", CHECK_OK, "",
			  rule == SLURM_EXIT_REQUEUES
				  ? "exit code 75 requeues a job (RequeueExit), even without "
				    "scontrol"
				  : "exit code 75 does not requeue a job (RequeueExit): in a "
				    "container without scontrol it is not requeued");
}

static void grace_row(const struct slurm_outputs *texts, struct check_list *list)
{
	char parameters[VALUE_SIZE], of_old[VALUE_SIZE];
	long grace = slurm_number(texts->partition, "GraceTime");

	/* The setting has moved: SlurmctldParameters before 23.02, PreemptParameters since. */
	slurm_value(texts->config, "PreemptParameters", parameters, sizeof(parameters));
	slurm_value(texts->config, "SlurmctldParameters", of_old, sizeof(of_old));
	if (grace == 0)
		check_add(list, "grace", CHECK_WARN, "set GraceTime of the partition or QOS",
			  "preemption gives no time but KillWait (GraceTime=0)");
	else if (grace > 0)
		check_add(list, "grace", grace < GRACE_SHORT ? CHECK_WARN : CHECK_OK,
			  grace < GRACE_SHORT ? "raise GraceTime; save often (--every)" : "",
			  "preemption gives %ld s (GraceTime)", grace);
	if (strstr(parameters, "send_user_signal") || strstr(of_old, "preempt_send_user_signal"))
		check_add(list, "notice", CHECK_OK, "",
			  "the signal of --signal is sent when a job is preempted, to the batch "
			  "script too");
	else
		check_add(list, "notice", CHECK_WARN,
			  "start it with srun reprieve run, or set send_user_signal "
			  "(PreemptParameters; before 23.02 preempt_send_user_signal in "
			  "SlurmctldParameters) and use --signal=B:TERM@120",
			  "a preempted batch script gets no signal until its grace time is over: "
			  "only processes that srun started get SIGTERM before");
}

static void preemption_rows(const struct slurm_outputs *texts, struct check_list *list)
{
	char type[VALUE_SIZE], mode[VALUE_SIZE];

	if (!slurm_value(texts->config, "PreemptType", type, sizeof(type)))
		return;
	if (strstr(type, "none")) {
		check_add(list, "preempt", CHECK_OK, "", "no job preempts another (%s)", type);
		return;
	}
	if (!slurm_value(texts->partition, "PreemptMode", mode, sizeof(mode)))
		slurm_value(texts->config, "PreemptMode", mode, sizeof(mode));
	if (strstr(mode, "REQUEUE"))
		check_add(list, "preempt", CHECK_OK, "", "preempted jobs are requeued");
	else if (strstr(mode, "OFF")) {
		check_add(list, "preempt", CHECK_OK, "", "jobs are not preempted here");
		return;
	} else
		check_add(list, "preempt", CHECK_WARN, "PreemptMode=REQUEUE",
			  strstr(mode, "SUSPEND")
				  ? "preempted jobs are suspended where they are, not moved (%s)"
				  : "preempted jobs are cancelled (%s): a job starts again only if "
				    "it gets its notice and requeues itself in time",
			  mode);
	grace_row(texts, list);
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
	if (look.asks && look.to_shell && look.has_run && !look.execs_run && !look.has_trap)
		check_add(list, "signal", CHECK_FAIL,
			  "exec reprieve run ..., or, before other lines, --signal=TERM@120 with "
			  "srun reprieve run ... || exit $?",
			  "the signal of --signal=B: ends the script's shell, and with it the job, "
			  "because it does not exec reprieve");
	else if (look.asks && !look.to_shell && look.has_run && !look.has_srun)
		check_add(list, "signal", CHECK_FAIL,
			  "--signal=B:TERM@120 with exec reprieve run ..., or srun reprieve run "
			  "...",
			  "without B: the signal of --signal only reaches what srun starts, and "
			  "the script has no srun");
	else if (look.asks)
		check_add(list, "signal", CHECK_OK, "", "the script sets --signal");
	else
		check_add(list, "signal", CHECK_WARN, "#SBATCH --signal=B:TERM@120",
			  "the script sets no --signal before the time limit (sbatch's command "
			  "line may)");
}

static void no_reply_row(const struct slurm_outputs *texts, struct check_list *list)
{
	const char *why = texts->error_text;

	if (texts->asked == SLURM_QUERY_NO_PROGRAM) {
		check_add(list, "scontrol", CHECK_WARN,
			  "run doctor on the node too, outside the container; without scontrol a "
			  "requeue needs RequeueExit=75 in slurm.conf",
			  "this is a Slurm job, but there is no scontrol here: requeueing and "
			  "grace time are unknown");
		return;
	}
	/* The program's name is there twice: from us, and from scontrol itself. */
	if (text_starts(why, "scontrol: scontrol: "))
		why += strlen("scontrol: ");
	check_add(list, "scontrol", CHECK_WARN,
		  "check that slurmctld answers (scontrol ping), and try again",
		  "scontrol show config failed, so requeueing and grace time are unknown: %s", why);
}

void check_slurm(const struct slurm_outputs *texts, struct check_list *list)
{
	*list = (struct check_list){0};
	if (texts->asked != SLURM_QUERY_OK) {
		no_reply_row(texts, list);
		return;
	}
	requeue_row(texts, list);
	exit_code_row(texts, list);
	preemption_rows(texts, list);
	signal_row(texts, list);
}

/* --- the facts --- */

bool check_slurm_partition(const char *job, char *name, size_t capacity)
{
	char value[VALUE_SIZE];

	if (!slurm_value(job, "Partition", value, sizeof(value)) || !value[0] ||
	    strlen(value) >= capacity)
		return false;
	text_set(name, capacity, value);
	return true;
}

bool inspect_slurm(struct check_list *list)
{
	struct err err = {0}, ignored;
	auto_free char *config = slurm_scontrol(SCONTROL_MS, &err, "show config");
	auto_free char *job = NULL, *partition = NULL, *script = NULL;
	char id[48], name[64];
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
	if (check_slurm_partition(job, name, sizeof(name)))
		partition =
			slurm_scontrol(SCONTROL_MS, &ignored, "--oneliner show partition %s", name);
	check_slurm(
		&(struct slurm_outputs){
			.config = config,
			.job = job,
			.partition = partition,
			.script = script,
		},
		list);
	return true;
}
