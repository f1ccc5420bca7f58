/* Grid Engine, OAR and LSF: whether the job is told of its end, and queued again (doctor.h). */
#include "base/program.h"
#include "doctor.h"

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

static void notice_row(const struct batch_facts *facts, struct check_list *list)
{
	char notify[16], checkpointing[64], grace[32];
	unsigned hours, minutes, seconds;

	read_value(facts->job, "notify:", notify, sizeof(notify));
	read_value(facts->job, "checkpoint_object:", checkpointing, sizeof(checkpointing));
	if (!facts->job)
		check_add(list, "notice", CHECK_WARN, "check that qstat -j $JOB_ID answers",
			  "qstat does not say whether this job has -notify");
	else if (!text_equal(notify, "TRUE") && !strstr(facts->job, "s_rt="))
		check_add(list, "notice", CHECK_FAIL, "#$ -notify",
			  "without -notify or s_rt this job is killed without a notice");
	else
		check_add(list, "notice", CHECK_OK, "", "the job has -notify or s_rt");
	if (checkpointing[0])
		check_add(list, "moved", CHECK_WARN, "save often (--every)",
			  "with -ckpt %s, a job that is moved is killed without a notice",
			  checkpointing);
	read_value(facts->queue, "notify", notify, sizeof(notify));
	if (sscanf(notify, "%u:%u:%u", &hours, &minutes, &seconds) == 3 &&
	    (int64_t)((hours * 60 + minutes) * 60 + seconds) * 1000 < facts->grace_ms)
		check_add(list, "grace", CHECK_WARN, "lower --grace, or raise notify of the queue",
			  "the queue gives %s from the notice to the end, and --grace is %s",
			  notify, text_duration(facts->grace_ms, grace, sizeof(grace)));
}

void check_batch(const struct batch_facts *facts, struct check_list *list)
{
	const struct exit_policy *policy = exit_policy_find(facts->scheduler->name);

	*list = (struct check_list){0};
	if (facts->scheduler->to_all && policy && policy->preempted)
		notice_row(facts, list);
	if (!facts->scheduler->to_all)
		check_add(list, "notice", CHECK_OK, "",
			  "a job with %s has its end announced to its first process: start "
			  "reprieve "
			  "by exec",
			  facts->scheduler->option);
	if (policy && policy->preempted && !text_equal(facts->policy, facts->scheduler->name))
		check_add(list, "exit code", CHECK_WARN,
			  "reprieve run --exit-policy, or REPRIEVE_EXIT_POLICY",
			  "%s queues the job again at exit code %d: give --exit-policy %s",
			  facts->scheduler->title, policy->preempted, facts->scheduler->name);
}

static char *ask(const char *program, const char *option, const char *of)
{
	char *argv[] = {(char *)program, (char *)option, (char *)of, NULL}, *said = NULL;

	if (of && program_output(argv, ANSWER_MS, &said, NULL) == 0)
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
