/* How the run ended, the exit code that says so, what each scheduler makes of it, and the message
 * that some of them show. */
#include "scheduler.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/held_directory.h"
#include "base/log.h"
#include "base/text.h"
#include "process/process.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A job that saves and exits when asked has exited by then, even if it has much to clean up. */
#define LEAVING_MOST_MS (60 * 1000)

const char *outcome_name(const struct outcome *outcome)
{
	static const char *const names[OUTCOMES] = {
		[OUTCOME_FINISHED] = "finished",       [OUTCOME_FAILED] = "failed",
		[OUTCOME_STOPPED] = "stopped",         [OUTCOME_PREEMPTED] = "preempted",
		[OUTCOME_NOT_DURABLE] = "not_durable", [OUTCOME_REFUSED] = "refused",
	};

	return names[outcome->kind];
}

bool outcome_is_crash(int wait_status)
{
	int code = wait_status_exit_code(wait_status);
	/* A shell reports the signal of its child as 128 + n. */
	int signal = code > 128 ? code - 128 : 0;

	/* 42: TensorFlow exits so after a save, to be run again. */
	if (signal == 0)
		return code != 0 && code != EXIT_PREEMPTED && code != 42;
	return signal == SIGILL || signal == SIGTRAP || signal == SIGABRT || signal == SIGBUS ||
	       signal == SIGFPE || signal == SIGSEGV || signal == SIGSYS;
}

static bool continues_after_save(const struct outcome_facts *facts)
{
	return facts->goes_on && !facts->stopped;
}

bool outcome_is_interrupt(int wait_status)
{
	return wait_status_exit_code(wait_status) == 128 + SIGINT;
}

bool outcome_may_be_leaving(const struct outcome_facts *facts)
{
	return facts->asked && facts->lived_on_ms < LEAVING_MOST_MS && !facts->went_on &&
	       !continues_after_save(facts);
}

/* Whoever stops this machine may signal all of its processes, so that the job ends of a signal
 * before its supervisor tells it anything. A shell reports the signal of its child as 128 + n. */
static bool ended_of_a_stop_signal(int wait_status)
{
	int code = wait_status_exit_code(wait_status);

	return code == 128 + SIGTERM || code == 128 + SIGINT || code == 128 + SIGHUP ||
	       code == 128 + SIGKILL;
}

/* The job was asked and crashed before its save was complete. Another start would crash again, so
 * the outcome must not be one that is restarted. In a gang an error follows from the end of another
 * member. */
static bool crashed_when_asked(const struct outcome_facts *facts)
{
	return facts->asked_to_save && !facts->saved && !facts->stopped && !facts->resumes &&
	       !facts->of_gang && outcome_is_crash(facts->wait_status);
}

static bool was_asked_to_stop(const struct outcome_facts *facts)
{
	int code = wait_status_exit_code(facts->wait_status);

	if (!facts->noticed || !facts->launched)
		return facts->noticed;
	/*
	 * After a request, exit 0 is ambiguous: some trainers save and exit with 0 when they are
	 * asked. If it is called preempted, a finished job is started once more and ends at once.
	 * If it is called finished, an unfinished job loses the rest of its training. In a gang
	 * whichever member was asked, the jobs of all end by that: in order, or in a collective
	 * that fails, and perhaps before it is heard of.
	 */
	return (facts->told_to_end || ended_of_a_stop_signal(facts->wait_status) ||
		facts->of_gang) &&
	       !(code == 0 && continues_after_save(facts));
}

/* It was asked outside a stop. A scheduler must not take the rest of its training for done. */
static bool left_because_asked(const struct outcome_facts *facts)
{
	return wait_status_exit_code(facts->wait_status) == 0 && facts->managed &&
	       !facts->noticed_late && facts->saved && outcome_may_be_leaving(facts);
}

/* A plain `docker stop` of a command that saves no checkpoints: the code that any init would give.
 */
static bool is_an_init(const struct outcome_facts *facts)
{
	return facts->noticed && facts->by_signal_only && !facts->managed;
}

struct outcome outcome_of(const struct outcome_facts *facts)
{
	int code = facts->launched ? wait_status_exit_code(facts->wait_status) : 128 + SIGTERM;
	bool refused = facts->refusal || (!facts->launched && !facts->noticed);
	/* The job's own end counts, whatever was asked of it. */
	bool own = is_an_init(facts) || crashed_when_asked(facts);
	bool asked = !own && (was_asked_to_stop(facts) || left_because_asked(facts));
	bool lost = !own && facts->launched && code == 0 && facts->strict_failed;

	/* It has waited in vain for the other members of its gang: no failure, and nothing is lost.
	 */
	if (refused && facts->refusal == EXIT_PREEMPTED)
		return (struct outcome){OUTCOME_PREEMPTED, EXIT_PREEMPTED};
	if (refused)
		return (struct outcome){OUTCOME_REFUSED,
					facts->refusal ? facts->refusal : EXIT_OWN_FAILURE};
	if (asked && facts->all_durable)
		return (struct outcome){OUTCOME_PREEMPTED, EXIT_PREEMPTED};
	if (asked || lost)
		return (struct outcome){OUTCOME_NOT_DURABLE, EXIT_NOT_DURABLE};
	if (code == 0)
		return (struct outcome){OUTCOME_FINISHED, code};
	return (struct outcome){is_an_init(facts) || code == 128 + SIGINT ? OUTCOME_STOPPED
									  : OUTCOME_FAILED,
				code};
}

/* --- exit policies --- */

/* The configurations lie in setup/, to be copied as they are. */
#define SETUP(name, file)                                                                 \
	__asm__(".section .rodata\nsetup_" #name ":\n.incbin \"" SETUP_DIRECTORY "/" file \
		".txt\"\n"                                                                \
		".byte 0\n.previous\n");                                                  \
	extern const char setup_##name[]

SETUP(posix, "posix");
SETUP(k8s, "k8s");
SETUP(kubeflow, "kubeflow");
SETUP(jobset, "jobset");
SETUP(slurm, "slurm");
SETUP(sge, "sge");
SETUP(oar, "oar");
SETUP(pbs, "pbs");
SETUP(lsf, "lsf");
SETUP(htcondor, "htcondor");
SETUP(skypilot, "skypilot");
SETUP(aws_batch, "aws-batch");
SETUP(ecs, "ecs");
SETUP(gcp_batch, "gcp-batch");
SETUP(flyte, "flyte");
SETUP(sagemaker, "sagemaker");
SETUP(systemd, "systemd");

/* What each scheduler reads comes from its own documentation or source, named beside it. */
// clang-format off
const struct exit_policy exit_policy_table[] = {
	{"posix", "anything that looks at exit codes", 0, 0, setup_posix,
		"Codes of sysexits(3): 75 is EX_TEMPFAIL (run it again), 74 EX_IOERR."},
	/* kubernetes.io/docs/concepts/workloads/controllers/job, "Pod failure policy" */
	{"k8s", "Kubernetes Job", 0, 0, setup_k8s,
		"Rules are read in their order, the first that fits decides; Ignore: the pod is made again and backoffLimit is not touched. It needs "
		"restartPolicy: Never."},
	/* training-operator: IsRetryableExitCode() in pkg/util/train (older: only 130, 137, 138,
	 * 143; newer: all from 128 on) */
	{"kubeflow", "Kubeflow training operator, restartPolicy: ExitCode", 143, 138, setup_kubeflow,
		"1 to 127 are permanent, 128 and more are tried again; older versions only know 130, 137, 138 and 143 as such. So 143 stands for 75 and "
		"138 for 74."},
	/* jobset.sigs.k8s.io, API reference: failurePolicy.rules; `status` is
	 * required in its pod conditions */
	{"jobset", "JobSet", 0, 0, setup_jobset,
		"A Job that failed by its podFailurePolicy fails for the reason PodFailurePolicy; the JobSet then restarts all its Jobs, since ranks "
		"cannot go on alone."},
	/* slurm.conf(5): RequeueExit, RequeueExitHold */
	{"slurm", "Slurm", 0, 0, setup_slurm,
		"Every code but 0 is FAILED. Reprieve asks scontrol to requeue what was preempted (--requeue); where there is no scontrol, slurm.conf "
		"has to list the code."},
	/* submit(1) of Grid Engine 8.1.9, "FORBID_RESCHEDULE" in sge_conf(5); tests/sge */
	{"sge", "Grid Engine", 99, 99, setup_sge,
		"99 queues the job again, whatever -r says, and without any limit on the number; 100 stops it in an error state; any other code ends it. So "
		"99 stands for 75 and 74, and 100 is never ours."},
	/* oarsub(1) of OAR 2.5.9, "idempotent"; tests/oar */
	{"oar", "OAR", 99, 99, setup_oar,
		"99 of a job of the type idempotent that has run for more than 60 s submits it again, with another OAR_JOB_ID; any other code ends it, and so "
		"does 99 within the first 60 s. So 99 stands for 75 and 74."},
	/* PBS Professional 2022.1, Hooks Guide, "execjob_epilogue", and Reference Guide,
	 * "kill_delay" */
	{"pbs", "PBS, OpenPBS", 0, 0, setup_pbs,
		"No code queues a job again, but what PBS itself preempts is, if it may be run again (-r y): SIGTERM goes to all, then SIGKILL after kill_delay "
		"(10 s). A hook can ask for the rest. By the manual; not tried."},
	/* lsb.queues(5) of LSF 10.1, "REQUEUE_EXIT_VALUES"; bsub(1), -Q, -wa, -wt */
	{"lsf", "LSF", 0, 0, setup_lsf,
		"The codes in the queue's REQUEUE_EXIT_VALUES, or after -Q, queue the job again under its number; any other code ends it. By the manual; not "
		"tried."},
	/* htcondor.readthedocs.io, "Self-Checkpointing Applications", "Working with exit codes" */
	{"htcondor", "HTCondor", 85, 85, setup_htcondor,
		"After checkpoint_exit_code (85) the job's files are kept and it is started again; a job that is evicted gets SIGTERM, and is queued again "
		"whatever its code. By the manual; not tried."},
	/* docs.skypilot.co, managed jobs: job_recovery.recover_on_exit_codes */
	{"skypilot", "SkyPilot managed jobs", 0, 0, setup_skypilot,
		"A machine that is gone is recovered by itself; a command that ended is a failure, unless its code is listed. 137 does not count."},
	/* docs.aws.amazon.com/batch, RetryStrategy and EvaluateOnExit: five rules at most, 1 to 10
	 * attempts, no match is a retry */
	{"aws-batch", "AWS Batch", 0, 0, setup_aws_batch,
		"The first of at most five rules that fits decides; a job without a fitting rule is tried again, so the last rule ends it."},
	/* docs.aws.amazon.com/AmazonECS: stopTimeout, and Fargate Spot's warning;
	 * docs.aws.amazon.com/step-functions: runTask.sync fails at a code but 0 */
	{"ecs", "Amazon ECS, also on Fargate Spot", 0, 0, setup_ecs,
		"ECS acts on no code: a service starts every task again, also one that has finished, and run-task none. So Step Functions runs the task, "
		"whose code fails the state unless it is 0, and tries it again. Fargate Spot sends SIGTERM 2 min ahead, of which a container gets its "
		"stopTimeout: 30 s unless given, 120 s at most."},
	/* cloud.google.com/batch/docs/automate-task-retries: 50001 is the preemption of a spot
	 * VM; 0 to 10 retries */
	{"gcp-batch", "Google Cloud Batch", 0, 0, setup_gcp_batch,
		"With a RETRY_TASK policy, what matches none of its codes fails. Codes from 50000 on are its own; 50001 is a spot VM that was taken."},
	/* flyteorg/flyte issue 8067: 137 and 247 are read as an interruption, 143
	 * as the user's error */
	{"flyte", "Flyte, interruptible tasks", 247, 137, setup_flyte,
		"137 and 247 are an interruption and go to the system's retries; every other code, 143 too, is the user's error. So 247 stands for 75 "
		"and 137 for 74."},
	/* docs.aws.amazon.com/sagemaker, managed spot training; the training
	 * toolkit's contract of /opt/ml */
	{"sagemaker", "SageMaker managed spot training", 0, 0, setup_sagemaker,
		"It starts the job again by itself after an interruption (SIGTERM, then 120 s), whatever the code; a code but 0 at any other time is a "
		"failure, whose reason is the first KiB of /opt/ml/output/failure."},
	/* systemd.service(5), systemd.kill(5) */
	{"systemd", "a systemd unit", 0, 0, setup_systemd,
		"RestartForceExitStatus starts it again after these codes, RestartPreventExitStatus never after those. KillMode=mixed sends SIGTERM to "
		"Reprieve alone."},
};
// clang-format on

const size_t exit_policy_count = sizeof(exit_policy_table) / sizeof(exit_policy_table[0]);

const struct exit_policy *exit_policy_find(const char *name)
{
	for (size_t i = 0; i < exit_policy_count; i++)
		if (text_equal(exit_policy_table[i].name, name))
			return &exit_policy_table[i];
	return NULL;
}

int exit_policy_code(const struct exit_policy *policy, const struct outcome *outcome)
{
	if (!policy)
		return outcome->exit_code;
	if (outcome->kind == OUTCOME_PREEMPTED && policy->preempted)
		return policy->preempted;
	if (outcome->kind == OUTCOME_NOT_DURABLE && policy->not_durable)
		return policy->not_durable;
	return outcome->exit_code;
}

char *exit_policy_names(void)
{
	char *names = text_copy(exit_policy_table[0].name);

	for (size_t i = 1; i < exit_policy_count; i++)
		text_append(&names, ", %s", exit_policy_table[i].name);
	return names;
}

/* --- the signals of schedulers --- */

#define BIT(signal) (UINT64_C(1) << ((signal)-1))
#define USER_SIGNALS (BIT(SIGUSR1) | BIT(SIGUSR2))

// clang-format off
static const struct batch_scheduler schedulers[] = {
	/* sbatch(1) */
	{"slurm", "Slurm", "SLURM_JOB_ID", "--signal", BIT(SIGUSR1), false, true},
	/* submit(1), queue_conf(5): USR2 before SIGKILL, USR1 before SIGSTOP and at s_rt. JOB_ID is
	 * too common a name. */
	{"sge", "Grid Engine", "SGE_JOB_SPOOL_DIR", "-notify", USER_SIGNALS, true, false},
	/* oarsub(1) */
	{"oar", "OAR", "OAR_JOB_ID", "--checkpoint", USER_SIGNALS, false, false},
	/* bsub(1): -wa SIGNAL; lsb.queues(5): USR2 at the run limit */
	{"lsf", "LSF", "LSB_JOBID", "-wa", BIT(SIGUSR2), true, false},
};
// clang-format on

const struct batch_scheduler *batch_scheduler_find(char *(*get)(const char *name))
{
	for (size_t i = 0; i < sizeof(schedulers) / sizeof(schedulers[0]); i++) {
		const char *value = get(schedulers[i].variable);

		if (value && *value)
			return &schedulers[i];
	}
	return NULL;
}

/* --- the termination message --- */

#define KUBERNETES_LOG "/dev/termination-log"
#define SAGEMAKER_OUTPUT "/opt/ml/output"

const char *termination_line(const struct termination_facts *facts,
			     char line[TERMINATION_LINE_SIZE])
{
	char notice[300] = "", end[180] = "";

	if (facts->source)
		snprintf(notice, sizeof(notice), "preempted: %s (%s)%s", facts->reason,
			 facts->source, facts->outcome ? "; " : "");
	if (facts->outcome)
		snprintf(end, sizeof(end), "%s%sdurable: %s; exit %d",
			 facts->source ? "" : facts->outcome, facts->source ? "" : "; ",
			 facts->durable[0] ? facts->durable : "nothing", facts->exit_code);
	snprintf(line, TERMINATION_LINE_SIZE, "%s%s", notice, end);
	return line;
}

/* `held` without our earlier line at its beginning. */
static const char *text_of_job(const char *before, const char *held)
{
	if (!text_starts(held, before) || !before[0])
		return held;
	held += strlen(before);
	return *held == '\n' ? held + 1 : held;
}

char *termination_text(const char *line, const char *before, const char *held)
{
	const char *words = text_of_job(before, held);
	size_t room = TERMINATION_TEXT_MOST - strlen(line) - 2, length = strlen(words);

	if (length > room)
		words += length - room;
	return text_format("%s%s%s", line, line[0] ? "\n" : "", words);
}

static int write_text(const char *path, const char *line, const char *before, struct err *err)
{
	auto_(bytes_release) struct bytes held = {.limit = 1 << 20};
	auto_free char *text = NULL;
	auto_close int old = -1;
	auto_close int fd = -1;
	struct err none;

	/* A text that cannot be read, or is too long, is not kept. */
	old = held_directory_open_file(path, O_RDONLY, 0, &none);
	if (old < 0 || file_read_all(old, &held, &none) < 0 ||
	    bytes_append(&held, "", 1, &none) < 0)
		bytes_release(&held);
	text = termination_text(line, before, held.data ? (const char *)held.data : "");
	fd = held_directory_open_file(path, O_WRONLY | O_CREAT | O_TRUNC, 0666, err);
	return fd < 0 ? -1 : file_write_all(fd, text, strlen(text), err);
}

static void write_line(const char *path, const char *line, const char *before)
{
	struct err err;

	if (write_text(path, line, before, &err) < 0)
		log_warn("cannot write the termination message: %s", err.text);
}

/* NULL: no file is to be written. */
static const char *path_of(const struct termination_message *message)
{
	if (message->path)
		return message->path[0] ? message->path : NULL;
	return access(KUBERNETES_LOG, W_OK) == 0 ? KUBERNETES_LOG : NULL;
}

static void replace_line(struct termination_message *message, const char *line)
{
	const char *path = path_of(message);

	if (!path)
		return;
	write_line(path, line, message->line);
	text_set(message->line, sizeof(message->line), line);
}

void termination_message_tell(struct termination_message *message,
			      const struct termination_facts *facts)
{
	bool wanted = !message->path || message->path[0];
	char line[TERMINATION_LINE_SIZE];

	if (!facts->source && !facts->outcome)
		return;
	replace_line(message, termination_line(facts, line));
	if (facts->outcome && wanted && getenv("TRAINING_JOB_NAME") &&
	    file_is_directory(SAGEMAKER_OUTPUT))
		write_line(SAGEMAKER_OUTPUT "/failure", line, "");
}

void termination_message_withdraw(struct termination_message *message)
{
	if (message->line[0])
		replace_line(message, "");
}
