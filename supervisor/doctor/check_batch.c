/* Grid Engine, OAR and LSF: whether the job is told of its end, and queued again (doctor.h). */
#include "doctor.h"

#include "base/cleanup.h"
#include "base/program.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_MS 5000

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
	no_answer = {"notice", CHECK_WARN, "qstat does not say whether this job has -notify", "check that qstat -j $JOB_ID answers"},
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
		  !facts->job                                                 ? &no_answer
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

	if (of && program_output(argv, NULL, ANSWER_MS, &said, NULL) == 0)
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
