#include "slurm.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/program.h"
#include "base/text.h"

#include <ctype.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

bool slurm_job_is_running(const struct slurm_job *job)
{
	return text_equal(job->state, "RUNNING") || text_equal(job->state, "SIGNALING");
}

static bool is_not_over(const struct slurm_job *job)
{
	return slurm_job_is_running(job) || text_equal(job->state, "SUSPENDED") ||
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

void slurm_times_query(const struct slurm_job *job, int64_t timeout_ms, struct slurm_times *times)
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

bool slurm_signal_query(int64_t timeout_ms)
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

enum slurm_query_result slurm_job_query(int64_t timeout_ms, char id[SLURM_JOB_ID_SIZE],
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
