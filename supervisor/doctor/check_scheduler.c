#include "doctor.h"

#include "base/cleanup.h"
#include "base/program.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCONTROL_MS 10000
#define QSTAT_MS 5000

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
	bool no_program = !config && err.kind == ERR_NOT_FOUND;

	if (no_program && !in_job)
		return false;
	if (config && in_job) {
		job = slurm_scontrol(SCONTROL_MS, &ignored, "--oneliner show job %s", id);
		script = slurm_scontrol(SCONTROL_MS, &ignored, "write batch_script %s -", id);
	}
	check_slurm(
		&(struct slurm_outputs){
			.asked = config       ? SLURM_QUERY_OK
				 : no_program ? SLURM_QUERY_NO_PROGRAM
					      : SLURM_QUERY_FAILED,
			.error_text = err.text,
			.config = config,
			.job = job,
			.script = script,
		},
		list);
	return true;
}

/* --- Grid Engine, OAR and LSF: is the job told of its end, and queued again? --- */

/* The word behind `key` at the beginning of a line, as in `qstat -j`; "": there is none. */
static void read_value(const char *text, const char *key, char *value, size_t capacity)
{
	*value = '\0';
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!text_starts(line, key))
			continue;
		line += strlen(key);
		line += strspn(line, " \t");
		snprintf(value, capacity, "%.*s", (int)strcspn(line, " \t\n"), line);
		return;
	}
}

// clang-format off
static const struct check_finding
	no_qstat = {"notice", CHECK_WARN, "qstat does not say whether this job has -notify", "check that qstat -j $JOB_ID answers"},
	no_notice = {"notice", CHECK_FAIL, "without -notify or s_rt this job is killed without a notice", "#$ -notify"},
	notice = {"notice", CHECK_OK, "the job has -notify or s_rt", ""},
	moved = {"moved", CHECK_WARN, "with -ckpt $1, a job that is moved is killed without a notice", "save often (--every)"},
	short_notice = {"grace", CHECK_WARN, "the queue gives $1 from the notice to the end, and --grace is $2", "lower --grace, or raise notify of the queue"},
	to_first = {"notice", CHECK_OK, "a job with $1 has its end announced to its first process: start reprieve by exec", ""},
	no_policy = {"exit code", CHECK_WARN, "$1 queues the job again at exit code $2", "reprieve run --exit-policy, or REPRIEVE_EXIT_POLICY"};
// clang-format on

static void notice_row(const struct batch_facts *facts, struct check_list *list)
{
	char notify[16], checkpointing[64], grace[32];
	unsigned hours, minutes, seconds;

	read_value(facts->job, "notify:", notify, sizeof(notify));
	read_value(facts->job, "checkpoint_object:", checkpointing, sizeof(checkpointing));
	check_add(list,
		  !facts->job                                                 ? &no_qstat
		  : text_equal(notify, "TRUE") || strstr(facts->job, "s_rt=") ? &notice
									      : &no_notice,
		  NULL, NULL);
	if (checkpointing[0])
		check_add(list, &moved, checkpointing, NULL);
	read_value(facts->queue, "notify", notify, sizeof(notify));
	if (sscanf(notify, "%u:%u:%u", &hours, &minutes, &seconds) == 3 &&
	    (int64_t)((hours * 60 + minutes) * 60 + seconds) * 1000 < facts->grace_ms)
		check_add(list, &short_notice, notify,
			  text_duration(facts->grace_ms, grace, sizeof(grace)));
}

void check_batch(const struct batch_facts *facts, struct check_list *list)
{
	const struct exit_policy *policy = exit_policy_find(facts->scheduler->name);
	char code[80];

	*list = (struct check_list){0};
	if (facts->scheduler->to_all && policy && policy->preempted)
		notice_row(facts, list);
	if (!facts->scheduler->to_all)
		check_add(list, &to_first, facts->scheduler->option, NULL);
	if (!policy || !policy->preempted || text_equal(facts->policy, facts->scheduler->name))
		return;
	snprintf(code, sizeof(code), "%d: give --exit-policy %s", policy->preempted,
		 facts->scheduler->name);
	check_add(list, &no_policy, facts->scheduler->title, code);
}

static char *ask(const char *program, const char *option, const char *of)
{
	char *argv[] = {(char *)program, (char *)option, (char *)of, NULL}, *said = NULL;

	if (of && program_output(argv, NULL, QSTAT_MS, &said, NULL) == 0)
		return said;
	free(said);
	return NULL;
}

const char *inspect_batch(int64_t grace_ms, struct check_list *list)
{
	const struct batch_scheduler *scheduler = batch_scheduler_find(getenv);
	const char *policy = getenv("REPRIEVE_EXIT_POLICY");
	auto_free char *job = NULL, *queue = NULL;

	if (!scheduler || scheduler->asked_to_requeue)
		return NULL;
	if (scheduler->to_all) {
		job = ask("qstat", "-j", getenv("JOB_ID"));
		queue = ask("qconf", "-sq", getenv("QUEUE"));
	}
	check_batch(
		&(struct batch_facts){
			.scheduler = scheduler,
			.job = job,
			.queue = queue,
			.policy = policy ? policy : "",
			.grace_ms = grace_ms,
		},
		list);
	return list->count > 0 ? scheduler->title : NULL;
}
