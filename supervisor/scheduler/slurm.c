/* A job of Slurm's: what scontrol says of it, whether it requeues itself, when a signal has it end.
 */
#include "slurm.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/program.h"
#include "base/text.h"

#include <ctype.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CAPITALS_AND_DIGITS "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
/* Slurm's default. */
#define KILL_WAIT_MS 30000

/* The value of KEY at the start of a word, in the form "KEY=30" or, as `scontrol show config`
 * prints it, "KEY   = 30 sec"; NULL: there is none. */
static const char *find_value(const char *text, const char *key)
{
	size_t length = strlen(key);

	for (const char *at = text; at && (at = strstr(at, key)); at += length) {
		const char *value = at + length + strspn(at + length, " ");

		/* A blank behind "=" only where there is one before it too. */
		if ((at == text || isspace((unsigned char)at[-1])) && *value == '=')
			return value + 1 + (at[length] == ' ' ? strspn(value + 1, " ") : 0);
	}
	return NULL;
}

bool slurm_job_parse(const char *text, struct slurm_job *job)
{
	const char *state = find_value(text, "JobState"), *restarts = find_value(text, "Restarts"),
		   *requeue = find_value(text, "Requeue"), *batch = find_value(text, "BatchFlag"),
		   *preempted = find_value(text, "PreemptTime"), *end = find_value(text, "EndTime"),
		   *code = find_value(text, "ExitCode"), *partition = find_value(text, "Partition");
	size_t length = state ? strcspn(state, " \t\n") : 0;

	*job = (struct slurm_job){.restarts = -1};
	if (length == 0 || length >= sizeof(job->state) || !find_value(text, "JobId"))
		return false;
	memcpy(job->state, state, length);
	job->requeueable = requeue && *requeue == '1';
	job->batch = batch && *batch >= '1' && *batch <= '9';
	if (restarts && isdigit((unsigned char)*restarts))
		job->restarts = strtol(restarts, NULL, 10);
	/* PreemptTime is "None" or a time. */
	job->preempted = preempted && datetime_parse_local(preempted, &job->preempt_ms);
	if (partition)
		snprintf(job->partition, sizeof(job->partition), "%.*s",
			 (int)strcspn(partition, " \t\n"), partition);
	/* "CODE:SIGNAL" */
	if (code)
		sscanf(code, "%*u:%d", &job->script_signal);
	if (end && !datetime_parse_local(end, &job->end_ms))
		job->end_ms = 0;
	return true;
}

static bool is_all_digits(const char *text)
{
	return text && *text && strspn(text, "0123456789") == strlen(text);
}

bool slurm_job_id(const char *job, const char *array_job, const char *array_task, char *id,
		  size_t capacity)
{
	int length;

	if (array_job && array_task) {
		if (!is_all_digits(array_job) || !is_all_digits(array_task))
			return false;
		length = snprintf(id, capacity, "%s_%s", array_job, array_task);
	} else {
		if (!is_all_digits(job))
			return false;
		length = snprintf(id, capacity, "%s", job);
	}
	return length > 0 && (size_t)length < capacity;
}

static bool is_notice_signal(const char *name)
{
	static const char *const names[] = {"TERM", "USR1", "15", "10", NULL};
	auto_free char *word = text_copy_n(name, strspn(name, CAPITALS_AND_DIGITS));

	return text_is_one_of(text_starts(word, "SIG") ? word + 3 : word, names);
}

static struct slurm_signal_option read_signal_option(const char *value)
{
	size_t flags = strspn(value, "RB");
	bool flagged = flags > 0 && value[flags] == ':';

	return (struct slurm_signal_option){
		.given = true,
		.to_shell = flagged && memchr(value, 'B', flags),
		.is_notice = is_notice_signal(flagged ? value + flags + 1 : value),
	};
}

struct slurm_signal_option slurm_signal_option(const char *line)
{
	const char *option = text_starts(line, "#SBATCH") ? strstr(line, "--signal") : NULL;

	if (!option)
		return (struct slurm_signal_option){0};
	option += strlen("--signal");
	return read_signal_option(option + strspn(option, "=\"' \t"));
}

bool slurm_script_asks_for_notice(const char *script)
{
	bool asks = false;

	for (const char *line = script; *line; line += *line == '\n') {
		size_t length = strcspn(line, "\n");
		auto_free char *text = text_copy_n(line, length);
		struct slurm_signal_option option = slurm_signal_option(text);
		const char *start = text + strspn(text, " \t");

		if (*start && *start != '#')
			break;
		asks = option.given ? option.is_notice : asks;
		line += length;
	}
	return asks;
}

pid_t slurm_job_script(const char *task, pid_t parent)
{
	uint64_t pid;

	return task && text_to_u64(task, INT_MAX, &pid) && pid > 1 && (pid_t)pid == parent
		       ? parent
		       : 0;
}

/* "train-3" of task 3 and "train-0"; "sweep_3" of element 3 and "sweep_1", with perhaps a task
 * behind it. */
static bool differ_by_index(const char *holder, const char *own, char joint, const char *index)
{
	const char *held = strrchr(holder, joint), *mine = strrchr(own, joint);
	size_t length = index ? strlen(index) : 0;

	return index && held && mine && strncmp(mine + 1, index, length) == 0 &&
	       (!mine[1 + length] || mine[1 + length] == '-') && isdigit((unsigned char)held[1]) &&
	       held - holder == mine - own && strncmp(holder, own, (size_t)(held - holder)) == 0;
}

enum slurm_neighbour slurm_job_neighbour(const char *holder, const char *own, const char *tasks,
					 const char *task, const char *element)
{
	bool of_several;
	uint64_t count;

	of_several = tasks && text_to_u64(tasks, UINT_MAX, &count) && count > 1;
	if (of_several && (text_equal(holder, own) || differ_by_index(holder, own, '-', task)))
		return SLURM_TASK;
	if (text_equal(holder, own))
		return SLURM_STRANGER;
	return differ_by_index(holder, own, '_', element) ? SLURM_ELEMENT : SLURM_STRANGER;
}

const char *slurm_neighbour_advice(enum slurm_neighbour neighbour)
{
	static const char *const advice[] = {
		[SLURM_STRANGER] = ": end that process, or choose another directory with "
				   "--checkpoint-dir",
		[SLURM_TASK] =
			": that is another task of this step. If the tasks are one training, "
			"start one supervisor a node (--ntasks-per-node=1), or give --gang "
			"auto; else give each task a --job and a --checkpoint-dir of its own",
	};

	return advice[neighbour];
}

long slurm_number(const char *text, const char *key)
{
	const char *value = find_value(text, key);

	return value && isdigit((unsigned char)*value) ? strtol(value, NULL, 10) : -1;
}

/* SIGNALING is a flag of a job that runs, while a signal is on its way to its nodes:
 * --signal, or the SIGTERM at the begin of a grace time (job_state_string() in Slurm's
 * src/common/slurm_protocol_defs.c names the flag in place of the state). */
static bool is_running(const struct slurm_job *job)
{
	return text_equal(job->state, "RUNNING") || text_equal(job->state, "SIGNALING");
}

static bool is_not_over(const struct slurm_job *job)
{
	return is_running(job) || text_equal(job->state, "SUSPENDED") ||
	       text_equal(job->state, "STOPPED");
}

static bool has_open_end(const struct slurm_job *job)
{
	return is_not_over(job) && job->preempted && job->end_ms == 0;
}

struct slurm_job_end slurm_job_end(const struct slurm_job *job, const struct slurm_times *times,
				   int64_t now_ms, int64_t deadline_ms)
{
	int64_t kill_wait_ms = times->kill_wait_ms >= 0 ? times->kill_wait_ms : KILL_WAIT_MS;
	struct slurm_job_end end = {.at_ms = deadline_ms};

	if (!is_not_over(job))
		end = (struct slurm_job_end){
			now_ms + kill_wait_ms,
			"Slurm is ending the job: SIGKILL comes KillWait after SIGTERM",
		};
	else if (has_open_end(job))
		end = (struct slurm_job_end){
			job->preempt_ms + (times->grace_ms > 0 ? times->grace_ms : kill_wait_ms),
			"the end of Slurm's grace time",
		};
	else if (job->end_ms > now_ms)
		end = (struct slurm_job_end){
			job->end_ms,
			job->preempted ? "the end of Slurm's grace time"
				       : "the end time that Slurm has set",
		};
	return end.at_ms < deadline_ms ? end : (struct slurm_job_end){.at_ms = deadline_ms};
}

char *slurm_scontrol(int64_t timeout_ms, struct err *err, const char *format, ...)
{
	auto_free char *words = NULL, *said = NULL;
	char *argv[8] = {(char *)"scontrol"}, *rest;
	va_list args;

	va_start(args, format);
	words = text_format_list(format, args);
	va_end(args);
	rest = words;
	for (size_t i = 1; i < 7 && rest; i++)
		argv[i] = strsep(&rest, " ");
	if (program_output(argv, NULL, timeout_ms, &said, err) == 0)
		return steal(&said);
	log_debug("%s", err->text);
	return NULL;
}

static int64_t to_ms(long seconds)
{
	return seconds < 0 ? -1 : (int64_t)seconds * 1000;
}

/* For slurm_job_end(). Blocks for at most `timeout_ms` a call. */
static void query_times(const struct slurm_job *job, int64_t timeout_ms, struct slurm_times *times)
{
	auto_free char *config = NULL, *partition = NULL;
	struct err err;

	if (!is_not_over(job) || has_open_end(job))
		config = slurm_scontrol(timeout_ms, &err, "show config");
	if (has_open_end(job) && job->partition[0])
		partition = slurm_scontrol(timeout_ms, &err, "--oneliner show partition %s",
					   job->partition);
	*times = (struct slurm_times){to_ms(slurm_number(config, "KillWait")),
				      to_ms(slurm_number(partition, "GraceTime"))};
}

static bool get_job_id(char id[SLURM_JOB_ID_SIZE])
{
	if (slurm_job_id(getenv("SLURM_JOB_ID"), getenv("SLURM_ARRAY_JOB_ID"),
			 getenv("SLURM_ARRAY_TASK_ID"), id, SLURM_JOB_ID_SIZE))
		return true;
	id[0] = '\0';
	return false;
}

/* slurm_script_asks_for_notice() of this job, or SBATCH_SIGNAL in its environment. scontrol is
 * asked for the script. False also where nobody tells, as of an option on sbatch's command line.
 * Blocks for at most `timeout_ms`. */
static bool query_signal(int64_t timeout_ms)
{
	const char *value = getenv("SBATCH_SIGNAL");
	char id[SLURM_JOB_ID_SIZE];
	auto_free char *script = NULL;
	struct err err;

	if (value && read_signal_option(value).is_notice)
		return true;
	if (get_job_id(id))
		script = slurm_scontrol(timeout_ms, &err, "write batch_script %s -", id);
	return script && slurm_script_asks_for_notice(script);
}

/* Runs `scontrol show job` for the job that this process is in, and parses its output. Blocks for
 * at most `timeout_ms`. `id` gets the id of the job; "": the environment has none. */
static enum slurm_query_result query_job_once(int64_t timeout_ms, char id[SLURM_JOB_ID_SIZE],
					      struct slurm_job *job)
{
	auto_free char *said = NULL;
	struct err err = {0};

	if (get_job_id(id))
		said = slurm_scontrol(timeout_ms, &err, "--oneliner show job %s", id);
	if (said && slurm_job_parse(said, job))
		return SLURM_QUERY_OK;
	return err.kind == ERR_NOT_FOUND ? SLURM_QUERY_NO_PROGRAM : SLURM_QUERY_FAILED;
}

/* --- the requeue --- */

/* A controller that preempts many jobs at once is slow, and nothing else is left to do. */
#define SCONTROL_MS 20000
#define SETTLE_MS 15000

static bool is_first_task(const struct slurm_requeue_facts *facts)
{
	return !facts->task || text_equal(facts->task, "0");
}

/* But for its time limit. */
static bool may_requeue(const struct slurm_requeue_facts *facts)
{
	return facts->wanted && (facts->preempted || (facts->lost && facts->durable)) &&
	       is_first_task(facts);
}

static bool is_meant_to_end(const struct slurm_requeue_facts *facts)
{
	return facts->at_limit && !facts->signalled;
}

/*
 * The batch script got the signal in our place (--signal=B:TERM, without exec), and died of it. For
 * Slurm the job has failed then, and nobody else requeues it, or can cancel it any more. SIGKILL is
 * no notice, but somebody's wish to end it.
 */
static bool script_died_of_signal(const struct slurm_requeue_facts *facts)
{
	int signal = facts->job.script_signal;

	return facts->script_ended && text_equal(facts->job.state, "FAILED") && signal > 0 &&
	       signal != SIGKILL;
}

/* The rules: the first that fits decides. LEAVE: Slurm is asked to requeue it by nobody, and
 * slurm.conf decides. */
#define SAY(verdict, why) ((struct slurm_requeue){verdict, why, false})
#define NOTE(why) SAY(SLURM_SKIP_NOTE, why)
#define WARN(why) SAY(SLURM_SKIP_WARN, why)
#define LEAVE(verdict, why) ((struct slurm_requeue){verdict, why, true})
// clang-format off
static struct slurm_requeue decide_by_job(const struct slurm_requeue_facts *facts)
{
	const struct slurm_job *job = &facts->job;

	return !job->batch ? NOTE("not requeued: no batch script started this job (srun, salloc)")
		/* Somebody else has requeued it: this process belongs to an earlier start. */
		: job->restarts > facts->restarts || text_equal(job->state, "PENDING") || text_equal(job->state, "REQUEUED")
			? NOTE("Slurm has requeued this job already")
		: facts->script_ended && text_equal(job->state, "COMPLETED")
			? WARN("not requeued: the batch script has ended before the training: it has to wait for it")
		/* Cancelled, timed out, or preempted with no grace time left: scontrol says COMPLETING for all of them. Slurm requeues preempted
		 * jobs by itself; the others are meant to end. */
		: !is_running(job) && !script_died_of_signal(facts)
			? NOTE("not requeued: Slurm has ended this job (scancel, the time limit without --signal), or requeues it itself (preemption)")
		: !job->requeueable ? LEAVE(SLURM_SKIP_WARN, "not requeued: the job does not allow it: submit it with sbatch --requeue")
		: SAY(SLURM_REQUEUE, facts->lost ? "the newest work is not durable: the job will resume from an earlier checkpoint" : NULL);
}

struct slurm_requeue slurm_requeue_decide(const struct slurm_requeue_facts *facts)
{
	return !facts->wanted || (!facts->preempted && !facts->lost) ? SAY(SLURM_SKIP_SILENTLY, NULL)
		: !is_first_task(facts) ? NOTE("whether the job is requeued is for its first task to say")
		: is_meant_to_end(facts) ? LEAVE(SLURM_SKIP_NOTE, "not requeued: this is the job's own time limit; submit it again to continue, or write "
			"#SBATCH --signal=B:TERM@120 into the script, which requeues it")
		: facts->lost && !facts->durable ? LEAVE(SLURM_SKIP_WARN, "not requeued: nothing is durable, so the job would start from scratch; find out why, "
			"then run `scontrol requeue`")
		: facts->asked == SLURM_QUERY_NO_PROGRAM ? WARN("not requeued: scontrol is not installed here; with RequeueExit=75 in slurm.conf, Slurm requeues a "
			"batch script that exits with this code")
		: facts->asked == SLURM_QUERY_FAILED ? WARN("not requeued: scontrol does not tell the state of this job, which may have been cancelled; requeue it "
			"by hand")
		: decide_by_job(facts);
}
// clang-format on

/* By the exit code alone Slurm may start it again, if the batch script ends with it as well. */
static void say_decision(const struct slurm_requeue *decision, int exit_code)
{
	auto_free char *said =
		decision->code_may_requeue
			? text_format("%s (where slurm.conf has %d in RequeueExit, Slurm requeues "
				      "it all the same: look at squeue)",
				      decision->why, exit_code)
			: text_copy(decision->why);

	if (decision->verdict == SLURM_SKIP_NOTE)
		log_note("%s", said);
	else
		log_warn("%s", said);
}

/* "Incomplete": Slurm itself refuses a job that was cancelled after query_job_once(). One that has
 * failed cannot be. */
static void requeue(const struct slurm_requeue_run *run, const char *id, bool failed)
{
	auto_free char *said = NULL;
	struct err err;

	log_note("requeueing Slurm's job %s", id);
	run->requeueing(run->arg, id);
	said = slurm_scontrol(SCONTROL_MS, &err, "requeue %s%s", failed ? "" : "Incomplete ", id);
	if (!said)
		log_warn("cannot requeue the job: %s; try `scontrol requeue %s`", err.text, id);
}

/* After its script's end a job is COMPLETING, whatever comes of it, for a moment. */
static void query_job(struct slurm_requeue_facts *facts, char id[SLURM_JOB_ID_SIZE])
{
	int64_t until_ms = clock_monotonic_ms() + SETTLE_MS;
	const struct timespec moment = {.tv_nsec = 500 * 1000 * 1000};

	facts->asked = query_job_once(SCONTROL_MS, id, &facts->job);
	while (facts->script_ended && facts->asked == SLURM_QUERY_OK &&
	       (text_equal(facts->job.state, "COMPLETING") || is_running(&facts->job)) &&
	       clock_monotonic_ms() < until_ms) {
		nanosleep(&moment, NULL);
		facts->asked = query_job_once(SCONTROL_MS, id, &facts->job);
	}
}

/* A requeue kills all tasks of the step, KillWait after SIGTERM. They had the notice at the same
 * time, so a third of what is left does for them. SIGTERM and SIGINT, which main() blocks, end the
 * wait. False: nobody was waited for. */
static bool wait_for_other_tasks(int64_t deadline_ms)
{
	const char *tasks = getenv("SLURM_STEP_NUM_TASKS");
	int64_t wait_ms = (deadline_ms - clock_monotonic_ms()) / 3;
	struct timespec wait = {.tv_sec = wait_ms / 1000, .tv_nsec = wait_ms % 1000 * 1000000};
	sigset_t ends;
	uint64_t count;

	if (deadline_ms == 0 || deadline_ms == CLOCK_NEVER || wait_ms <= 0 || !tasks ||
	    !text_to_u64(tasks, UINT_MAX, &count) || count < 2)
		return false;
	log_note("the other tasks of this job may save for %.0f s more: a requeue will kill them",
		 (double)wait_ms / 1000);
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	sigtimedwait(&ends, NULL, &wait);
	return true;
}

void slurm_requeue_run(const struct slurm_requeue_run *run)
{
	const char *restarts = getenv("SLURM_RESTART_COUNT");
	struct slurm_requeue_facts facts = run->facts;
	char id[SLURM_JOB_ID_SIZE] = "";
	struct slurm_requeue decision;

	facts.task = getenv("SLURM_PROCID");
	facts.restarts = restarts ? strtol(restarts, NULL, 10) : 0;
	if (may_requeue(&facts) && facts.at_limit)
		facts.signalled = query_signal(SCONTROL_MS);
	if (may_requeue(&facts) && !is_meant_to_end(&facts))
		query_job(&facts, id);
	decision = slurm_requeue_decide(&facts);
	/* Meanwhile its user may cancel it. */
	if (decision.verdict == SLURM_REQUEUE && wait_for_other_tasks(run->deadline_ms)) {
		query_job(&facts, id);
		decision = slurm_requeue_decide(&facts);
	}
	if (decision.why)
		say_decision(&decision, facts.exit_code);
	if (decision.verdict != SLURM_REQUEUE)
		return;
	requeue(run, id, script_died_of_signal(&facts));
}

/* --- the deadline of a signal --- */

/* scontrol is slow when many jobs are preempted at once. A later answer would help little. */
#define SIGNAL_SCONTROL_MS 5000

static void query_worker(void *arg)
{
	struct slurm_deadline *slurm_deadline = arg;
	char id[SLURM_JOB_ID_SIZE];

	slurm_deadline->asked = query_job_once(SIGNAL_SCONTROL_MS, id, &slurm_deadline->answer);
	if (slurm_deadline->asked == SLURM_QUERY_OK)
		query_times(&slurm_deadline->answer, SIGNAL_SCONTROL_MS, &slurm_deadline->times);
}

static void on_answered(void *arg)
{
	struct slurm_deadline *slurm_deadline = arg;
	int64_t ahead_ms = clock_monotonic_ms() - clock_wall_ms();
	struct slurm_job_end end;

	slurm_deadline->asking = false;
	if (slurm_deadline->asked != SLURM_QUERY_OK)
		return;
	end = slurm_job_end(&slurm_deadline->answer, &slurm_deadline->times,
			    slurm_deadline->signal_wall_ms, slurm_deadline->deadline_ms - ahead_ms);
	if (end.why)
		slurm_deadline->earlier(slurm_deadline->arg, ahead_ms + end.at_ms, end.why);
}

void slurm_deadline_query(struct slurm_deadline *slurm_deadline, int64_t deadline_ms)
{
	const char *id = getenv("SLURM_JOB_ID");
	struct err err;

	if (!id || !*id || slurm_deadline->asking)
		return;
	/* A worker of its own: an upload and a busy controller must not wait for each other. */
	if (!slurm_deadline->workers &&
	    workers_new(slurm_deadline->loop, 1, &slurm_deadline->workers, &err) < 0) {
		log_debug("cannot ask Slurm when the job ends: %s", err.text);
		return;
	}
	slurm_deadline->asking = true;
	slurm_deadline->signal_wall_ms = clock_wall_ms();
	slurm_deadline->deadline_ms = deadline_ms;
	workers_run(slurm_deadline->workers, query_worker, on_answered, slurm_deadline);
}

void slurm_deadline_release(struct slurm_deadline *slurm_deadline)
{
	workers_free(slurm_deadline->workers);
	slurm_deadline->workers = NULL;
}
