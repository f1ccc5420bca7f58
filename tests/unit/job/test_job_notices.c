/* Signals and notices become events; what is said of them; and the exit of the child. */
#include "bare_job.h"

#include "heard.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static struct cloud_options watched;
static enum err_kind cannot_watch, cannot_approve;
static bool keeps, detaches, reaps, is_command;
static struct termination_facts told;
static int64_t approve_until_ms, asked_slurm_ms;
static enum job_end judged_as;
static struct job_event posted;

/* --- in place of the parts, by the linker's --wrap --- */

NOTED(job_take_steps)
NOTED(job_tell_gang)
NOTED(job_note_child)
NOTED(termination_message_withdraw)
NOTED_WITH(notice_format_write_file, (const char *path, const struct notice *stop), "%s %s", path,
	   stop ? stop->source : "none")
NOTED_WITH(tracker_process_ended, (struct tracker * tracker, pid_t pid, int status), "%d %d %d",
	   (int)pid, status, tracker != NULL)

void __wrap_termination_message_tell(struct termination_message *message,
				     const struct termination_facts *facts);
void __wrap_termination_message_tell(struct termination_message *message,
				     const struct termination_facts *facts)
{
	assert_non_null(message);
	note_call("termination_message_tell");
	told = *facts;
}

void __wrap_job_post(struct job *job, struct job_event event);
void __wrap_job_post(struct job *job, struct job_event event)
{
	assert_non_null(job);
	note_call("post %s", job_event_name(event.kind));
	posted = event;
}

void __wrap_job_post_signal(struct job *job, struct job_event event,
			    const struct signalfd_siginfo *info);
void __wrap_job_post_signal(struct job *job, struct job_event event,
			    const struct signalfd_siginfo *info)
{
	assert_non_null(job);
	note_call("post_signal %d %u %d", event.signal, info->ssi_signo, event.ignored);
}

bool __wrap_job_keep_told_notice(struct job *job, const struct notice *stop);
bool __wrap_job_keep_told_notice(struct job *job, const struct notice *stop)
{
	assert_non_null(job);
	note_call("keep_told_notice %s", stop->source);
	return keeps;
}

int __wrap_cloud_watch_start(const struct cloud_options *options, struct cloud_watch **watch,
			     struct err *err);
int __wrap_cloud_watch_start(const struct cloud_options *options, struct cloud_watch **watch,
			     struct err *err)
{
	watched = *options;
	if (cannot_watch)
		return err_set(err, cannot_watch, "why");
	*watch = SOME(cloud_watch);
	return 0;
}

int __wrap_cloud_watch_approve(struct cloud_watch *watch, const struct notice *notice,
			       int64_t until_ms, struct err *err);
int __wrap_cloud_watch_approve(struct cloud_watch *watch, const struct notice *notice,
			       int64_t until_ms, struct err *err)
{
	assert_true(watch && notice);
	note_call("approve");
	approve_until_ms = until_ms;
	return cannot_approve ? err_set(err, cannot_approve, "why") : 0;
}

void __wrap_workers_post_owned(struct workers *workers, void (*call)(void *arg), void *arg);
void __wrap_workers_post_owned(struct workers *workers, void (*call)(void *arg), void *arg)
{
	assert_non_null(workers);
	call(arg);
	free(arg);
}

bool __wrap_checkpoint_request_reaped(struct checkpoint_request *request, pid_t pid, int status);
bool __wrap_checkpoint_request_reaped(struct checkpoint_request *request, pid_t pid, int status)
{
	assert_non_null(request);
	(void)pid, (void)status;
	return is_command;
}

bool __wrap_child_reap(struct child *child, void (*reaped)(void *arg, pid_t pid, int status),
		       void *arg);
bool __wrap_child_reap(struct child *child, void (*reaped)(void *arg, pid_t pid, int status),
		       void *arg)
{
	note_call("child_reap");
	reaped(arg, 55, 256);
	if (reaps)
		reaped(arg, child->pid, child->status);
	return reaps;
}

bool __wrap_detached_process_follow(struct detached_job *detached, struct detachment *detachment,
				    int64_t launched_ms, struct child *child,
				    char text[DETACHED_TEXT_SIZE]);
bool __wrap_detached_process_follow(struct detached_job *detached, struct detachment *detachment,
				    int64_t launched_ms, struct child *child,
				    char text[DETACHED_TEXT_SIZE])
{
	assert_true(detached && launched_ms == 99);
	note_call("follow %d %d %d %zu", detachment->told_to_end, detachment->expected,
		  detachment->wrote, detachment->writer_count);
	if (!detaches)
		return false;
	child->pid = 4321;
	child->status = 0;
	text_set(text, DETACHED_TEXT_SIZE, "server");
	return true;
}

size_t __wrap_job_list_writers(void *job, pid_t *pids, size_t most);
size_t __wrap_job_list_writers(void *job, pid_t *pids, size_t most)
{
	assert_true(job && pids && most >= 2);
	return 2;
}

void __wrap_tracker_job_ended(struct tracker *tracker, enum job_end how);
void __wrap_tracker_job_ended(struct tracker *tracker, enum job_end how)
{
	assert_non_null(tracker);
	note_call("tracker_job_ended");
	judged_as = how;
}

static enum child_end ended_as;

enum child_end __wrap_job_child_end(const struct job_model *model, const struct job_rules *rules,
				    const struct child_exit *child);
enum child_end __wrap_job_child_end(const struct job_model *model, const struct job_rules *rules,
				    const struct child_exit *child)
{
	assert_true(model && rules && child);
	return ended_as;
}

void __wrap_slurm_deadline_query(struct slurm_deadline *slurm, int64_t deadline_ms,
				 struct storage *storage);
void __wrap_slurm_deadline_query(struct slurm_deadline *slurm, int64_t deadline_ms,
				 struct storage *storage)
{
	assert_non_null(slurm->loop);
	note_call("slurm_deadline_query %d", storage != NULL);
	asked_slurm_ms = deadline_ms;
}

/* --- */

static struct job *some_job(void)
{
	static struct job job;
	static struct signals_inherited inherited;
	static char word[] = "x", session[] = "/s", *command[] = {word, NULL};

	bare_job_init(&job);
	bare_config.command = command;
	sigemptyset(&inherited.ignored);
	job.inherited = &inherited;
	job.session.directory = session;
	job.workers = SOME(workers);
	job.child.pid = 1234;
	job.model.launched_ms = 99;
	job.model.state = JOB_RUNNING;
	job.expected = EXPECT_BY_OPTION;
	memset(&told, 0, sizeof(told));
	return &job;
}

static struct notice stop_of(const char *source, int64_t deadline_ms)
{
	struct notice notice = {.kind = NOTICE_STOP, .seen_ms = 1, .deadline_ms = deadline_ms};

	text_set(notice.source, sizeof(notice.source), source);
	text_set(notice.identity, sizeof(notice.identity), source);
	text_set(notice.reason, sizeof(notice.reason), "reason");
	return notice;
}

static void add(struct job *job, const struct notice *notice)
{
	(void)HEARD(job_add_notice(job, notice));
}

#define ANNOUNCED(source) "notice_format_write_file /s/notice " source "; "
#define STOPS(source) \
	ANNOUNCED(source) "termination_message_tell; job_tell_gang; post stop_announced; "

/* The first stop, an earlier one, one that is withdrawn, and the last. */
static void notices_are_merged(void **state)
{
	struct job *job = some_job();
	struct notice later = stop_of("aws", 90000), earlier = stop_of("gcp", 60000);
	struct notice advice = {.kind = NOTICE_ADVICE, .source = "azure", .identity = "a"};
	const char *said;

	(void)state;
	assert_true(job_deadline_ms(job) == CLOCK_NEVER);
	said = HEARD(job_add_notice(job, &advice));
	assert_non_null(strstr(said, "an early checkpoint is taken, the job continues"));
	assert_calls(ANNOUNCED("none") "post advice; ");
	add(job, &later);
	assert_calls(STOPS("aws"));
	assert_true(posted.stop.deadline_ms == 90000);
	assert_false(posted.stop.alone);
	assert_string_equal(told.source, "aws");
	assert_string_equal(told.reason, "reason");
	assert_null(told.outcome);
	assert_int_equal(told.exit_code, 0);
	add(job, &earlier);
	assert_calls(STOPS("gcp"));
	assert_true(posted.stop.deadline_ms == 60000);
	assert_true(job_deadline_ms(job) == 60000);
	add(job, &later);
	assert_calls("");
	earlier.kind = NOTICE_CANCELLED;
	add(job, &earlier);
	assert_calls(STOPS("aws"));
	advice.kind = NOTICE_CANCELLED;
	add(job, &advice);
	assert_calls(ANNOUNCED("aws"));
	later.kind = NOTICE_CANCELLED;
	add(job, &later);
	assert_calls(ANNOUNCED("none") "keep_told_notice aws; termination_message_withdraw; "
				       "post stop_cancelled; ");
	later.kind = NOTICE_STOP;
	add(job, &later);
	assert_true(posted.stop.alone);
	assert_false(posted.stop.by_sigterm);
	/* The others have been told. */
	calls[0] = '\0';
	keeps = true;
	later.kind = NOTICE_CANCELLED;
	add(job, &later);
	keeps = false;
	assert_calls(ANNOUNCED("none") "keep_told_notice aws; ");
	assert_non_null(strstr(events, "notice {"));
}

static void the_end_is_told(void **state)
{
	struct job *job = some_job();
	struct notice stop = stop_of("aws", 90000);
	struct outcome outcome = {OUTCOME_PREEMPTED, 75};

	(void)state;
	job_tell_why(job, &outcome);
	assert_calls("termination_message_tell; ");
	assert_null(told.source);
	assert_null(told.reason);
	assert_string_equal(told.outcome, "preempted");
	assert_int_equal(told.exit_code, 75);
	add(job, &stop);
	calls[0] = '\0';
	outcome.exit_code = 1;
	job_tell_why(job, &outcome);
	assert_calls("termination_message_tell; ");
	assert_string_equal(told.source, "aws");
	/* What has worked needs no reason. */
	outcome.exit_code = 0;
	job_tell_why(job, &outcome);
	assert_calls("termination_message_withdraw; ");
}

/* --- sources --- */

static const char *source_says(struct job *job, const char *name, enum source_health health,
			       const char *why, bool optional)
{
	struct source_state state = {.health = health, .optional = optional};

	(void)job;
	text_set(state.name, sizeof(state.name), name);
	text_set(state.why, sizeof(state.why), why);
	return HEARD(watched.health(watched.arg, &state));
}

static void what_a_source_says_of_itself(void **state)
{
	struct job *job = some_job();
	struct err err;

	(void)state;
	assert_int_equal(job_start_notice_watch(job, &err), 0);
	assert_ptr_equal(job->watch, SOME(cloud_watch));
	assert_string_equal(source_says(job, "aws", SOURCE_STARTING, "", false), "");
	assert_string_equal(job->cloud, "");
	assert_events("source {\"health\":\"starting\",\"name\":\"aws\",\"why\":\"\"}; ");
	assert_string_equal(source_says(job, "gcp", SOURCE_UNAVAILABLE, "no cloud", true), "");
	assert_null(strstr(source_says(job, "aws", SOURCE_ARMED, "", false), "warning"));
	assert_string_equal(job->cloud, "aws");
	assert_non_null(strstr(source_says(job, "file", SOURCE_ARMED, "lacks", false), "warning"));
	assert_string_equal(job->cloud, "aws");
	assert_non_null(strstr(source_says(job, "aws", SOURCE_UNKNOWN, "bad", false), "warning"));
	assert_non_null(strstr(source_says(job, "aws", SOURCE_UNAVAILABLE, "bad", false), "bad"));
	assert_string_equal(job->unsaid, "");
	/* Of what has nothing to save it is said once it has. */
	job->resume_request.if_known = true;
	assert_string_equal(source_says(job, "aws", SOURCE_UNAVAILABLE, "bad", false), "");
	assert_non_null(strstr(HEARD(job_say_unsaid(job)), "bad"));
	assert_string_equal(HEARD(job_say_unsaid(job)), "");
	job->model.attempt = ATTEMPT_CLAIMED;
	assert_non_null(strstr(source_says(job, "aws", SOURCE_UNAVAILABLE, "bad", false), "bad"));
	{
		struct notice stop = stop_of("aws", 5000);

		calls[0] = '\0';
		(void)HEARD(watched.notice(watched.arg, &stop));
		assert_calls(STOPS("aws"));
	}
}

static void a_watch_that_cannot_be_had(void **state)
{
	struct job *job = some_job();
	struct err err = {0};
	const char *said;

	(void)state;
	cannot_watch = ERR_INVALID;
	assert_int_equal(job_start_notice_watch(job, &err), -1);
	assert_string_equal(err.text, "--notice or --deadline: why");
	assert_false(job->reports.failed);
	cannot_watch = ERR_FAILED;
	said = HEARD(assert_int_equal(job_start_notice_watch(job, &err), 0));
	cannot_watch = ERR_NONE;
	assert_non_null(strstr(said, "no preemption notice except SIGTERM will be seen: why"));
	assert_true(job->reports.failed);
}

/* Only what was asked for, at a stop that stands, with all that was saved durable. */
static void when_a_notice_is_acknowledged(void **state)
{
	(void)state;
	for (unsigned bits = 0; bits < 32; bits++) {
		struct job *job = some_job();
		struct notice stop = stop_of("azure", 5000);
		struct outcome outcome = {bits & 8 ? OUTCOME_PREEMPTED : OUTCOME_FAILED, 75};

		stop.approvable = true;
		if (bits & 1)
			add(job, &stop);
		calls[0] = events[0] = '\0';
		bare_config.acknowledge = bits & 2;
		job->watch = bits & 4 ? SOME(cloud_watch) : NULL;
		job->model.facts.all_durable = bits & 16;
		(void)HEARD(job_acknowledge_notice(job, &outcome));
		assert_calls(bits == 31 ? "approve; " : "");
		assert_events(bits == 31
				      ? "acknowledged {\"approvable\":true,\"source\":\"azure\"}; "
				      : "");
	}
}

static void what_comes_of_an_acknowledgement(void **state)
{
	static const struct {
		bool approvable;
		enum err_kind error;
		const char *says;
	} rows[] = {{false, ERR_NONE, "is not acknowledged"},
		    {true, ERR_FAILED, "cannot acknowledge the notice of azure: why"},
		    {true, ERR_NONE, "acknowledged: azure may take this machine now"}};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct job *job = some_job();
		struct notice stop = stop_of("azure", 5000);
		struct outcome outcome = {OUTCOME_PREEMPTED, 75};
		int64_t now_ms = clock_monotonic_ms();

		stop.approvable = rows[i].approvable;
		add(job, &stop);
		calls[0] = '\0';
		bare_config.acknowledge = job->model.facts.all_durable = true;
		job->watch = SOME(cloud_watch);
		cannot_approve = rows[i].error;
		assert_non_null(strstr(HEARD(job_acknowledge_notice(job, &outcome)), rows[i].says));
		assert_calls(rows[i].approvable ? "approve; " : "");
		if (rows[i].approvable)
			assert_true(approve_until_ms >= now_ms + 2000);
	}
}

/* --- the exit of the child --- */

static void reap(struct job *job)
{
	const struct signalfd_siginfo info = {.ssi_signo = SIGCHLD};

	job_on_signal(job, &info);
}

static void the_exit_is_posted_once_its_files_are_judged(void **state)
{
	static const struct {
		enum child_end end;
		enum job_end as;
	} rows[] = {{CHILD_END_CLEAN, JOB_END_CLEAN},
		    {CHILD_END_AMBIGUOUS, JOB_END_AMBIGUOUS},
		    {CHILD_END_CRASHED, JOB_END_CRASHED}};
	struct err err;

	(void)state;
	reaps = true;
	for (size_t i = 0; i < 3; i++) {
		struct job *job = some_job();
		struct notice stop = stop_of("aws", clock_monotonic_ms() + 60000);

		assert_int_equal(loop_init(&job->loop, &err), 0);
		job->tracker = SOME(tracker);
		ended_as = rows[i].end;
		job->child.status = W_EXITCODE(3, 0);
		reap(job);
		assert_calls("job_take_steps; child_reap; tracker_process_ended 55 256 1; "
			     "follow 0 1 0 2; tracker_job_ended; ");
		assert_int_equal(judged_as, rows[i].as);
		assert_false(job->exit.limit.armed);
		assert_events("child_exited {\"code\":3,\"signal\":null}; ");
		job_post_child_exit(job);
		assert_calls("post child_exited; ");
		assert_int_equal(posted.child.wait_status, W_EXITCODE(3, 0));
		/* Once. */
		job_post_child_exit(job);
		assert_calls("");
		/* A disk that hangs does not outlive the deadline. */
		add(job, &stop);
		calls[0] = events[0] = '\0';
		job->child.status = SIGKILL;
		reap(job);
		assert_events("child_exited {\"code\":null,\"signal\":\"SIGKILL\"}; ");
		assert_true(job->exit.limit.armed);
		assert_true(job->exit.limit.at_ms == stop.deadline_ms);
		calls[0] = '\0';
		job->exit.limit.fired(&job->exit.limit);
		assert_calls("post child_exited; ");
		assert_false(job->exit.limit.armed);
		loop_release(&job->loop);
	}
}

static void without_a_tracker_nothing_is_judged(void **state)
{
	struct job *job = some_job();
	const struct profile profile = {.resume_codes = {3}};

	(void)state;
	reaps = true;
	job->child.status = W_EXITCODE(3, 0);
	job->profile.profile = &profile;
	reap(job);
	assert_true(posted.child.resumes);
	calls[0] = '\0';
	bare_config.signal_rules.success[0] = UINT64_C(1) << 3;
	job->child.status = W_EXITCODE(3, 0);
	reap(job);
	assert_calls("job_take_steps; child_reap; follow 0 1 0 2; post child_exited; ");
	assert_int_equal(posted.child.wait_status, W_EXITCODE(3, 0));
	assert_int_equal(posted.child.mapped_status, 0);
	assert_false(posted.child.resumes);
	/* The command that asks for checkpoints is no process of the job. */
	job->tracker = SOME(tracker);
	is_command = true;
	reaps = false;
	reap(job);
	is_command = false;
	assert_calls("job_take_steps; child_reap; ");
}

static void another_process_takes_the_place_of_the_child(void **state)
{
	struct job *job = some_job();

	(void)state;
	reaps = detaches = true;
	job->tracker = SOME(tracker);
	job->child.status = 256;
	job->expected = EXPECT_NOTHING;
	job->reports.save_place.saved_here = true;
	reap(job);
	detaches = false;
	assert_calls("job_take_steps; child_reap; tracker_process_ended 55 256 1; follow 0 0 1 2; "
		     "tracker_process_ended 1234 256 1; job_note_child; ");
	assert_events("detached {\"command\":\"server\",\"pid\":4321}; ");
	assert_false(job->exit.judged_later);
}

/* --- signals --- */

static void a_signal_is_posted_as_it_is_mapped(void **state)
{
	struct job *job = some_job();
	struct signalfd_siginfo info = {.ssi_signo = SIGHUP};
	static struct signals_inherited inherited;

	(void)state;
	job_on_signal(job, &info);
	assert_calls("post_signal 1 1 0; ");
	bare_config.signal_rules.counts_as[SIGHUP] = SIGTERM;
	job_on_signal(job, &info);
	assert_calls("post_signal 15 15 0; ");
	bare_config.signal_rules.counts_as[SIGHUP] = SIGNAL_RULES_DROPPED;
	job_on_signal(job, &info);
	assert_calls("");
	bare_config.signal_rules.counts_as[SIGHUP] = 0;
	sigemptyset(&inherited.ignored);
	sigaddset(&inherited.ignored, SIGHUP);
	job->inherited = &inherited;
	job_on_signal(job, &info);
	assert_calls("post_signal 1 1 1; ");
}

static void which_signal_is_which_notice(void **state)
{
	static const struct {
		int signal;
		unsigned sender;
		pid_t script;
		const char *source, *identity, *reason;
	} rows[] = {
		// clang-format off
		{SIGTERM, 7, 0, "sigterm", "sigterm", "SIGTERM"},
		{SIGUSR1, 7, 0, "slurm", "sigusr1", "SIGUSR1 (--signal)"},
		{SIGTERM, 7, 8, "sigterm", "sigterm", "SIGTERM"},
		{SIGTERM, 7, 7, "slurm", "script", "the script that started reprieve has ended"},
		{SIGUSR1, 7, 7, "slurm", "script", "the script that started reprieve has ended"},
		// clang-format on
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job *job = some_job();
		struct signalfd_siginfo info = {.ssi_signo = (uint32_t)rows[i].signal,
						.ssi_pid = rows[i].sender};
		const struct notice *stop;

		job->slurm_script = rows[i].script;
		bare_config.grace_ms = 30000;
		(void)HEARD(job_add_signal_notice(job, &info));
		stop = notices_stop(&job->notices);
		assert_string_equal(stop->source, rows[i].source);
		assert_string_equal(stop->identity, rows[i].identity);
		assert_memory_equal(stop->reason, rows[i].reason, strlen(rows[i].reason));
		assert_true(stop->deadline_ms == stop->seen_ms + 30000);
		assert_true(asked_slurm_ms == stop->deadline_ms);
		assert_int_equal(posted.stop.by_sigterm, strcmp(rows[i].source, "sigterm") == 0);
	}
}

/* Slurm knows better than its signal; but only while the notice stands, and its script is there. */
static void slurm_gives_a_deadline(void **state)
{
	struct job *job = some_job();
	struct signalfd_siginfo info = {.ssi_signo = SIGUSR1};

	(void)state;
	bare_config.grace_ms = 30000;
	job->resume.storage = SOME(storage);
	(void)HEARD(job_add_signal_notice(job, &info));
	assert_non_null(strstr(calls, "slurm_deadline_query 0; "));
	job->snapshots = SOME(snapshot_queue);
	job->loop.stopped = true;
	calls[0] = '\0';
	(void)HEARD(job_add_signal_notice(job, &info));
	assert_null(strstr(calls, "slurm_deadline_query"));
	(void)HEARD(job->slurm_deadline.earlier(job->slurm_deadline.arg, 5, "limit"));
	assert_true(job_deadline_ms(job) != 5);
	job->loop.stopped = false;
	calls[0] = '\0';
	(void)HEARD(job_add_signal_notice(job, &info));
	assert_non_null(strstr(calls, "slurm_deadline_query 1; "));
	job->slurm_script = 7;
	assert_true(job_slurm_script_ended(job));
	(void)HEARD(job->slurm_deadline.earlier(job->slurm_deadline.arg, 5, "limit"));
	assert_true(job_deadline_ms(job) != 5);
	job->slurm_script = getppid();
	assert_false(job_slurm_script_ended(job));
	(void)HEARD(job->slurm_deadline.earlier(job->slurm_deadline.arg, 5, "limit"));
	assert_true(job_deadline_ms(job) == 5);
	assert_string_equal(notices_stop(&job->notices)->reason, "limit");
	job->notices.count = 0;
	job->slurm_script = 0;
	(void)HEARD(job->slurm_deadline.earlier(job->slurm_deadline.arg, 5, "limit"));
	assert_null(notices_stop(&job->notices));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(notices_are_merged),
		cmocka_unit_test(the_end_is_told),
		cmocka_unit_test(what_a_source_says_of_itself),
		cmocka_unit_test(a_watch_that_cannot_be_had),
		cmocka_unit_test(when_a_notice_is_acknowledged),
		cmocka_unit_test(what_comes_of_an_acknowledgement),
		cmocka_unit_test(the_exit_is_posted_once_its_files_are_judged),
		cmocka_unit_test(without_a_tracker_nothing_is_judged),
		cmocka_unit_test(another_process_takes_the_place_of_the_child),
		cmocka_unit_test(a_signal_is_posted_as_it_is_mapped),
		cmocka_unit_test(which_signal_is_which_notice),
		cmocka_unit_test(slurm_gives_a_deadline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
