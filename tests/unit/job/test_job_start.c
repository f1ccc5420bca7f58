/* Up to the launch: what is opened, what a restore that fails means, and what the job is started
 * with. */
#include "bare_job.h"

#include "heard.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static enum err_kind resume_fails;
static struct resume_result resumed;
static enum err_kind queue_fails, spawn_fails, shim_fails;
static bool refused_by_rules, starts_another;
static int rules_code, check_code, spawn_code;
static struct job_event posted;
static struct child_facts built;
static struct child_options spawned;
static const char *missing_evidence = "";
static const char *channel = "/s/channel";
static struct session_info orphan;
static enum expectation by_command;
static bool is_empty_directory;
static const char *fails_to_open; /* the part of job_open() that fails */

/* --- in place of the parts, by the linker's --wrap --- */

NOTED(resume_log)
NOTED(quarantine_warn_if_large)
NOTED(job_start_gang_feed)
NOTED(job_say_unsaid)
NOTED(job_prepare_requests)
NOTED(save_place_expect)
NOTED(job_start_tracker)
NOTED(status_line_share)
NOTED(job_read_what_was_left)
NOTED(job_open_control)
NOTED_WITH(observers_set_store,
	   (struct observers * observers, struct storage *storage, unsigned attempt), "%u %d",
	   attempt, observers &&storage)
NOTED_WITH(session_note_job, (const struct session *session, pid_t pid), "%d %d", (int)pid,
	   session != NULL)
NOTED_WITH(directory_lock_note_job, (int fd, pid_t pid), "%d %d", fd, (int)pid)
NOTED_WITH(child_signal, (struct child * child, int signal), "%d %d", signal, child != NULL)
NOTED_WITH(sigterm_hold_start,
	   (struct sigterm_hold * hold, struct loop *loop, struct tracker *tracker), "%d %d",
	   hold &&loop, tracker != NULL)
NOTED_WITH(report_no_store, (struct reports * reports, const char *what), "%s %d", what,
	   reports != NULL)

void __wrap_job_post(struct job *job, struct job_event event);
void __wrap_job_post(struct job *job, struct job_event event)
{
	assert_non_null(job);
	note_call("post %s", job_event_name(event.kind));
	posted = event;
}

void __wrap_workers_run(struct workers *workers, void (*work)(void *arg), void (*done)(void *arg),
			void *arg);
void __wrap_workers_run(struct workers *workers, void (*work)(void *arg), void (*done)(void *arg),
			void *arg)
{
	(void)workers;
	work(arg);
	done(arg);
}

int __wrap_resume_run(const struct resume_request *request, struct resume_result *result,
		      struct cancel *cancel, struct err *err);
int __wrap_resume_run(const struct resume_request *request, struct resume_result *result,
		      struct cancel *cancel, struct err *err)
{
	assert_true(request && cancel);
	note_call("resume %d %d", request->if_known, request->claim_only);
	*result = resumed;
	return resume_fails ? err_set(err, resume_fails, "why not") : 0;
}

const char *__wrap_resume_way_out_of_use(const struct resume_request *request);
const char *__wrap_resume_way_out_of_use(const struct resume_request *request)
{
	assert_non_null(request);
	return ": the way out";
}

bool __wrap_job_apply_restart_rules(struct job *job, int *code);
bool __wrap_job_apply_restart_rules(struct job *job, int *code)
{
	assert_non_null(job);
	if (refused_by_rules)
		*code = rules_code;
	return refused_by_rules;
}

int __wrap_job_start_snapshot_queue(struct job *job, struct err *err);
int __wrap_job_start_snapshot_queue(struct job *job, struct err *err)
{
	assert_non_null(job);
	note_call("snapshot_queue");
	return queue_fails ? err_set(err, queue_fails, "no queue") : 0;
}

int __wrap_job_check_start(struct job *job, char reason[160]);
int __wrap_job_check_start(struct job *job, char reason[160])
{
	assert_non_null(job);
	if (check_code)
		text_set(reason, 160, "refused because");
	return check_code;
}

enum expectation __wrap_expectation_of(char *const *command, const struct profile *profile);
enum expectation __wrap_expectation_of(char *const *command, const struct profile *profile)
{
	(void)profile;
	assert_non_null(command);
	return by_command;
}

bool __wrap_expectation_starts_another_run(char *const *command);
bool __wrap_expectation_starts_another_run(char *const *command)
{
	assert_non_null(command);
	return starts_another;
}

bool __wrap_file_directory_is_empty(const char *path);
bool __wrap_file_directory_is_empty(const char *path)
{
	assert_non_null(path);
	return is_empty_directory;
}

const char *__wrap_tracker_channel(const struct tracker *tracker);
const char *__wrap_tracker_channel(const struct tracker *tracker)
{
	assert_non_null(tracker);
	return channel;
}

struct progress_page *__wrap_tracker_page(const struct tracker *tracker);
struct progress_page *__wrap_tracker_page(const struct tracker *tracker)
{
	assert_non_null(tracker);
	return SOME(progress_page);
}

const char *__wrap_progress_page_path(const struct progress_page *page);
const char *__wrap_progress_page_path(const struct progress_page *page)
{
	assert_non_null(page);
	return "/s/page";
}

const char *__wrap_tracker_missing_evidence(const struct tracker *tracker);
const char *__wrap_tracker_missing_evidence(const struct tracker *tracker)
{
	assert_non_null(tracker);
	return missing_evidence;
}

const struct latest_checkpoint *__wrap_tracker_latest_checkpoint(const struct tracker *tracker);
const struct latest_checkpoint *__wrap_tracker_latest_checkpoint(const struct tracker *tracker)
{
	static const struct latest_checkpoint latest = {.generation = 6};

	assert_non_null(tracker);
	return &latest;
}

void __wrap_child_environment_build(struct child_environment *environment,
				    const struct child_facts *facts);
void __wrap_child_environment_build(struct child_environment *environment,
				    const struct child_facts *facts)
{
	assert_non_null(environment);
	note_call("environment %s %s %s", facts->notice, facts->channel ? facts->channel : "-",
		  facts->page ? facts->page : "-");
	built = *facts;
}

int __wrap_child_environment_add_shim(struct child_environment *environment, const char *of,
				      struct err *err);
int __wrap_child_environment_add_shim(struct child_environment *environment, const char *of,
				      struct err *err)
{
	assert_non_null(environment);
	note_call("add_shim %s", of ? of : "-");
	return shim_fails ? err_set(err, shim_fails, "no shim") : 0;
}

int __wrap_child_spawn(const struct child_options *options, struct child *child, struct err *err);
int __wrap_child_spawn(const struct child_options *options, struct child *child, struct err *err)
{
	note_call("spawn");
	spawned = *options;
	if (spawn_fails) {
		child->exit_code = spawn_code;
		return err_set(err, spawn_fails, "no such command");
	}
	child->pid = 1234;
	child->running = true;
	return 0;
}

void __wrap_session_each_orphan(bool (*each)(void *arg, const struct session_info *info),
				void *arg);
void __wrap_session_each_orphan(bool (*each)(void *arg, const struct session_info *info), void *arg)
{
	if (orphan.job)
		assert_true(each(arg, &orphan));
}

static const char *refused_command;

const char *__wrap_detached_process_refuse_command(char *const *command);
const char *__wrap_detached_process_refuse_command(char *const *command)
{
	assert_non_null(command);
	return refused_command;
}

#define OPENS(name, parameters)                                              \
	int __wrap_##name parameters;                                        \
	int __wrap_##name parameters                                         \
	{                                                                    \
		note_call("%s", #name);                                      \
		return text_equal(fails_to_open, #name)                      \
			       ? err_set(err, ERR_FAILED, "%s fails", #name) \
			       : 0;                                          \
	}

OPENS(loop_init, (struct loop * loop __attribute__((unused)), struct err *err))
OPENS(cancel_init, (struct cancel * cancel __attribute__((unused)), struct err *err))
OPENS(signals_open,
      (struct signals * signals __attribute__((unused)), struct loop *loop __attribute__((unused)),
       void (*on_signal)(void *arg, const struct signalfd_siginfo *info) __attribute__((unused)),
       void *arg __attribute__((unused)), struct err *err))
/* The storage allows one call at a time. */
int __wrap_workers_new(struct loop *loop, unsigned threads, struct workers **workers,
		       struct err *err);
int __wrap_workers_new(struct loop *loop, unsigned threads, struct workers **workers,
		       struct err *err)
{
	assert_true(loop && workers && threads == 1);
	note_call("workers_new");
	return text_equal(fails_to_open, "workers_new")
		       ? err_set(err, ERR_FAILED, "workers_new fails")
		       : 0;
}

OPENS(job_open_observers, (struct job * job __attribute__((unused)), struct err *err))
OPENS(event_log_open, (struct event_log * log __attribute__((unused)),
		       const char *path __attribute__((unused)), struct err *err))
OPENS(session_open,
      (const char *job __attribute__((unused)), unsigned member __attribute__((unused)),
       struct session *session __attribute__((unused)), struct err *err))
OPENS(observers_open_metrics, (struct observers * observers __attribute__((unused)),
			       const char *session __attribute__((unused)), struct err *err))
OPENS(job_start_notice_watch, (struct job * job __attribute__((unused)), struct err *err))

/* --- */

static struct job *fresh(void)
{
	static struct job job;
	static char word[] = "train", *command[] = {word, NULL}, directory[] = "/s";

	workspace_release(&job.workspace);
	json_decref(job.resume_request.about);
	bare_job_init(&job);
	bare_config.command = command;
	bare_config.checkpoint_dir = "/nowhere/ckpt";
	resumed = (struct resume_result){.step = -1};
	resume_fails = queue_fails = spawn_fails = shim_fails = ERR_NONE;
	refused_by_rules = starts_another = is_empty_directory = false;
	rules_code = check_code = 0;
	by_command = EXPECT_BY_COMMAND;
	missing_evidence = "";
	orphan = (struct session_info){0};
	text_set(job.name.text, sizeof(job.name.text), "j");
	job.session.directory = directory;
	job.store = "file:///store";
	return &job;
}

/* --- opening --- */

#define OPENED "loop_init; cancel_init; signals_open; workers_new; job_open_observers; "
#define READS "event_log_open; session_open; job_open_control; "

/* What the supervisor cannot be without ends it; what it can do without is said. */
static void what_cannot_be_opened(void **state)
{
	static const struct {
		const char *part, *calls;
		bool ends;
		const char *says;
	} rows[] = {
		{"loop_init", "loop_init; ", true, "loop_init fails"},
		{"cancel_init", "loop_init; cancel_init; ", true, "cancel_init fails"},
		{"signals_open", "loop_init; cancel_init; signals_open; ", true,
		 "signals: signals_open fails"},
		{"workers_new", "loop_init; cancel_init; signals_open; workers_new; ", true,
		 "worker: workers_new fails"},
		{"job_open_observers", OPENED, true, "job_open_observers fails"},
		{"event_log_open", OPENED READS "observers_open_metrics; job_start_notice_watch; ",
		 false, "no event log is written: event_log_open fails"},
		{"session_open", OPENED READS "observers_open_metrics; job_start_notice_watch; ",
		 false, "no runtime directory, so no shim"},
		{"observers_open_metrics",
		 OPENED READS "observers_open_metrics; job_start_notice_watch; ", false,
		 "no metrics are served: "},
		{"job_start_notice_watch",
		 OPENED READS "observers_open_metrics; job_start_notice_watch; ", true,
		 "job_start_notice_watch fails"},
		{NULL, OPENED READS "observers_open_metrics; job_start_notice_watch; ", false, ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job *job = fresh();
		struct err err = {0};
		const char *heard;
		int result;

		bare_config.termination_log = "/t";
		fails_to_open = rows[i].part;
		heard = HEARD(result = job_open(job, &err));
		assert_int_equal(result, rows[i].ends ? -1 : 0);
		assert_calls(rows[i].calls);
		assert_non_null(strstr(rows[i].ends ? err.text : heard, rows[i].says));
		assert_int_equal(job->reports.failed, !rows[i].ends && rows[i].part);
		assert_string_equal(job->message.path, "/t");
	}
	fails_to_open = NULL;
}

/* Its work would be done by a server that is nobody's child. */
static void a_command_that_leaves_its_work_to_others(void **state)
{
	struct job *job = fresh();
	struct err err = {0};

	(void)state;
	refused_command = "a server does the work";
	assert_int_equal(job_open(job, &err), -1);
	refused_command = NULL;
	assert_int_equal(err.kind, ERR_INVALID);
	assert_string_equal(err.text, "not started: a server does the work");
	assert_calls("");
}

/* --- what is expected --- */

static void when_checkpoints_are_expected(void **state)
{
	(void)state;
	for (int row = 0; row < 8; row++) {
		struct job *job = fresh();

		by_command = row == 7 ? EXPECT_BY_COMMAND : EXPECT_NOTHING;
		bare_config.ask = row == 4 ? REQUEST_SIGNAL : REQUEST_AUTO;
		bare_config.restore = row == 5 ? RESTORE_NONE : RESTORE_LATEST;
		job->gang.members = row == 0 ? 2 : 1;
		job->store_is_needed = row == 1;
		bare_config.directory_chosen = row == 2;
		bare_config.job = row == 3 ? "j" : NULL;
		assert_int_equal(job_expects_checkpoints(job), row < 6    ? EXPECT_BY_OPTION
							       : row == 6 ? EXPECT_NOTHING
									  : EXPECT_BY_COMMAND);
	}
}

/* --- the restore --- */

/* First of all it reads what a killed supervisor has left in the directory. */
static const char *resume(struct job *job)
{
	static const char first[] = "job_read_what_was_left; ";
	const char *heard = HEARD(job_begin_resume(job));

	assert_true(text_starts(calls, first));
	memmove(calls, calls + sizeof(first) - 1, strlen(calls + sizeof(first) - 1) + 1);
	return heard;
}

/* Another start would meet the same, or may find it otherwise. */
static void which_code_a_refusal_has(void **state)
{
	static const struct {
		enum err_kind kind;
		int code;
	} rows[] = {
		{ERR_INVALID, EXIT_CONFIGURATION}, {ERR_UNFIT, EXIT_CONFIGURATION},
		{ERR_DENIED, EXIT_CONFIGURATION},  {ERR_NOT_FOUND, EXIT_CONFIGURATION},
		{ERR_VERSION, EXIT_CONFIGURATION}, {ERR_RETRY, EXIT_OWN_FAILURE},
		{ERR_EXISTS, EXIT_OWN_FAILURE},    {ERR_NO_SPACE, EXIT_OWN_FAILURE},
		{ERR_CORRUPT, EXIT_OWN_FAILURE},   {ERR_CANCELLED, EXIT_OWN_FAILURE},
		{ERR_FAILED, EXIT_OWN_FAILURE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(job_refusal_code(rows[i].kind), rows[i].code);
}

/* The job starts without a store that nobody has asked for; anything else is said and refused. */
static void a_restore_that_fails(void **state)
{
	static const struct {
		const char *name;
		bool in_use, refused_directory, needed, strict, damaged;
		uint32_t attempt;
		int code; /* -1: it is started */
		const char *says;
	} rows[] = {
		// clang-format off
		{"by default", false, false, false, false, false, 0, -1,
			"checkpoints will not be saved: why not"},
		{"needed", false, false, true, false, false, 0, EXIT_OWN_FAILURE, "error: why not\n"},
		{"strict", false, false, false, true, false, 0, EXIT_OWN_FAILURE, "error: why not\n"},
		{"claimed", false, false, false, false, false, 3, EXIT_OWN_FAILURE, "error: why not\n"},
		{"in use", true, false, false, false, false, 0, EXIT_OWN_FAILURE,
			"error: not started: why not: the way out\n"},
		{"a foreign directory", false, true, false, false, false, 0, EXIT_OWN_FAILURE,
			"error: not started: why not\n"},
		{"all are damaged", false, false, true, false, true, 3, EXIT_CONFIGURATION, "error: why not\n"},
		// clang-format on
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job *job = fresh();

		resume_fails = ERR_RETRY;
		resumed.in_use = rows[i].in_use;
		resumed.directory_refused = rows[i].refused_directory;
		resumed.all_damaged = rows[i].damaged;
		resumed.attempt.number = rows[i].attempt;
		job->store_is_needed = rows[i].needed;
		bare_config.strict = rows[i].strict;
		if (!strstr(resume(job), rows[i].says))
			fail_msg("%s: not said", rows[i].name);
		if (rows[i].code < 0) {
			assert_calls("resume 0 0; resume_log; post restored; ");
			assert_null(job->store);
			assert_true(job->reports.failed);
			assert_int_equal(posted.claim.phase, ATTEMPT_NONE);
		} else {
			assert_calls("resume 0 0; post restore_failed; ");
			assert_int_equal(posted.code, rows[i].code);
			assert_non_null(job->store);
		}
	}
}

/* What is claimed can be saved; by the records of the first member. */
static void what_a_claim_begins(void **state)
{
	(void)state;
	for (uint32_t member = 0; member < 2; member++) {
		struct job *job = fresh();

		job->gang.member = member;
		resumed.attempt.number = 3;
		resumed.storage = SOME(storage);
		resumed.kind = RESUME_RESTORED;
		resumed.from = (struct snapshot_id){2, 9};
		resumed.step = 40;
		resumed.any_checkpoint = true;
		assert_string_equal(resume(job), "");
		assert_calls(member == 0 ? "resume 0 0; quarantine_warn_if_large; resume_log; "
					   "job_say_unsaid; snapshot_queue; job_start_gang_feed; "
					   "observers_set_store 3 1; post restored; "
					 : "resume 0 0; quarantine_warn_if_large; resume_log; "
					   "job_say_unsaid; snapshot_queue; job_start_gang_feed; "
					   "post restored; ");
		assert_int_equal(posted.claim.phase, ATTEMPT_CLAIMED);
		assert_true(posted.claim.managed && posted.claim.restored);
		assert_true(posted.claim.any_checkpoint && posted.claim.any_durable);
		assert_int_equal(posted.claim.step, 40);
	}
}

static void what_is_known_of_the_start(void **state)
{
	struct job *job = fresh();

	(void)state;
	/* Nothing is claimed yet: the store does not know the job. */
	resume(job);
	assert_calls("resume 0 0; quarantine_warn_if_large; resume_log; post restored; ");
	assert_int_equal(posted.claim.phase, ATTEMPT_UNCLAIMED);
	assert_false(posted.claim.managed || posted.claim.restored || posted.claim.any_durable);
	/* What lies there is newer than what is durable. */
	job = fresh();
	resumed.attempt.number = 3;
	resumed.kind = RESUME_KEPT;
	resumed.any_checkpoint = resumed.newer_than_store = true;
	resume(job);
	assert_true(posted.claim.managed);
	assert_false(posted.claim.restored || posted.claim.any_checkpoint);
	/* No queue can be had. */
	job = fresh();
	resumed.attempt.number = 3;
	queue_fails = ERR_FAILED;
	assert_non_null(strstr(resume(job), "checkpoints will not be saved: no queue"));
	assert_int_equal(posted.claim.phase, ATTEMPT_NONE);
	assert_null(strstr(calls, "job_start_gang_feed"));
	/* Nothing follows an end that has come meanwhile. */
	job = fresh();
	job->loop.stopped = true;
	resume(job);
	assert_calls("resume 0 0; quarantine_warn_if_large; ");
}

static void earlier_attempts_refuse_a_start(void **state)
{
	struct job *job = fresh();

	(void)state;
	refused_by_rules = true;
	rules_code = EXIT_NO_PROGRESS;
	resume(job);
	assert_int_equal(posted.kind, JOB_EV_RESTORE_FAILED);
	assert_int_equal(posted.code, EXIT_NO_PROGRESS);
}

static void without_a_store_nothing_is_restored(void **state)
{
	struct job *job = fresh();

	(void)state;
	job->store = NULL;
	resume(job);
	assert_calls("report_no_store checkpoints will not be saved 1; post restored; ");
	assert_int_equal(posted.claim.phase, ATTEMPT_NONE);
	assert_int_equal(posted.claim.step, -1);
	/* Of what saves nothing it is said at the first checkpoint. */
	job = fresh();
	job->store = NULL;
	by_command = EXPECT_NOTHING;
	resume(job);
	assert_calls("post restored; ");
}

/* What is refused is refused at once, unless the others have to be told, or the job may be done. */
static void a_start_that_is_refused(void **state)
{
	static const struct {
		bool stored, of_gang, by_command, at_once;
	} rows[] = {{true, false, false, true},
		    {false, false, false, true},
		    {false, false, true, true},
		    {true, true, false, false},
		    {true, false, true, false}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job *job = fresh();
		const char *said;

		check_code = 127;
		resume_fails = ERR_FAILED;
		job->store = rows[i].stored ? "file:///store" : NULL;
		job->gang.members = rows[i].of_gang ? 2 : 1;
		job->command_refused = rows[i].by_command;
		err_set(&job->command_err, ERR_NOT_FOUND, "no such command");
		said = resume(job);
		assert_calls(rows[i].at_once ? "post restore_failed; "
					     : "resume 0 0; post restore_failed; ");
		assert_int_equal(posted.code, 127);
		assert_int_equal(strstr(said, "no such command") != NULL, rows[i].by_command);
		if (!rows[i].at_once) {
			assert_string_equal(job->resume_request.refused, "refused because");
			assert_int_equal(job->resume_request.command_refused, rows[i].by_command);
		}
	}
}

static void what_the_restore_is_asked_for(void **state)
{
	struct job *job = fresh();
	json_t *about;

	(void)state;
	bare_config.gang_poke = true;
	job->name.given = true;
	resume(job);
	assert_false(job->workspace.unnamed);
	assert_true(job->resume_request.private_store && job->resume_request.named);
	assert_false(job->resume_request.if_known || job->resume_request.without_pokes);
	assert_non_null(
		strstr(events, "started {\"checkpoint_dir\":\"/nowhere/ckpt\",\"job\":\"j\","
			       "\"store\":\"file:///store\",\"supervisor_pid\":"));
	about = job->resume_request.about;
	assert_string_equal(json_text_or(about, "directory", ""), "/nowhere/ckpt");
	assert_int_equal(json_array_size(json_object_get(about, "command")), 1);
	assert_true(json_text_or(about, "host", "")[0] != '\0');
	/* Nothing is written of what nobody expects to save, in an empty directory. */
	for (unsigned bits = 0; bits < 4; bits++) {
		job = fresh();
		bare_config.store = "s3://b";
		by_command = bits & 1 ? EXPECT_NOTHING : EXPECT_BY_COMMAND;
		is_empty_directory = bits & 2;
		resume(job);
		assert_true(job->workspace.unnamed);
		assert_false(job->resume_request.private_store);
		assert_true(job->resume_request.without_pokes);
		assert_int_equal(job->resume_request.if_known, bits == 3);
	}
}

/* --- a claim of a job that runs --- */

static void a_late_claim(void **state)
{
	static const struct {
		bool fails, in_use, another;
		const char *says;
	} rows[] = {
		{false, false, false, ""},
		{true, false, false, "checkpoints will not be saved: why not"},
		{true, true, false, "nothing of this run is saved: why not"},
		{true, true, true,
		 "checkpoints are saved by the run that this command has started"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job *job = fresh();
		const char *said;

		job->resume_request.if_known = true;
		job->child.pid = 1234;
		resumed.attempt.number = 3;
		resume_fails = rows[i].fails ? ERR_FAILED : ERR_NONE;
		resumed.in_use = rows[i].in_use;
		starts_another = rows[i].another;
		said = HEARD(job_claim_attempt_late(job));
		assert_non_null(strstr(said, rows[i].says));
		assert_calls(rows[i].fails ? "resume 0 1; session_note_job 1234 1; job_say_unsaid; "
					     "post claimed; "
					   : "resume 0 1; session_note_job 1234 1; resume_log; "
					     "job_say_unsaid; snapshot_queue; "
					     "job_start_gang_feed; observers_set_store 3 0; "
					     "post claimed; ");
		assert_int_equal(posted.claim.phase,
				 rows[i].fails ? ATTEMPT_NONE : ATTEMPT_CLAIMED);
		assert_int_equal(job->store == NULL, rows[i].fails);
		assert_int_equal(job->reports.failed, rows[i].fails && !rows[i].another);
		assert_events(rows[i].fails ? "claim_failed {\"why\":\"why not\"}; " : "");
	}
}

/* --- the launch --- */

static struct job *launchable(void)
{
	struct job *job = fresh();

	job->tracker = SOME(tracker);
	sigemptyset(&job->early_signals);
	workspace_init(&job->workspace, "/nowhere/ckpt");
	return job;
}

static void what_a_job_is_launched_with(void **state)
{
	struct job *job = launchable();

	(void)state;
	job->resume.kind = RESUME_RESTORED;
	job->resume.step = 40;
	bare_config.signal_rules.to_group = true;
	sigaddset(&job->early_signals, SIGUSR2);
	job->workspace.lock_fd = 8;
	assert_string_equal(HEARD(job_launch_child(job)), "");
	assert_calls("job_start_tracker; environment /s/notice /s/channel /s/page; "
		     "add_shim /s/channel; status_line_share; spawn; "
		     "directory_lock_note_job 8 1234; session_note_job 1234 1; "
		     "job_prepare_requests; save_place_expect; post launched; "
		     "child_signal 12 1; ");
	assert_events("launched {\"pid\":1234}; ");
	job->workspace.lock_fd = -1;
	assert_true(built.resuming && spawned.to_group);
	assert_int_equal(built.step, 40);
	assert_ptr_equal(spawned.argv, bare_config.command);
	assert_ptr_equal(spawned.set, job->environment.pairs);
	assert_false(posted.fresh);
	assert_null(built.run);
	/* Without a shim, and from nothing. */
	job = launchable();
	bare_config.shim = SHIM_USE_OFF;
	bare_config.sigterm_hold = bare_config.run_identity = true;
	missing_evidence = "inotify is full";
	assert_non_null(strstr(HEARD(job_launch_child(job)), "inotify is full"));
	assert_calls("job_start_tracker; environment /s/notice - /s/page; status_line_share; "
		     "spawn; session_note_job 1234 1; job_prepare_requests; save_place_expect; "
		     "post launched; ");
	assert_false(built.resuming);
	assert_non_null(built.run);
	assert_ptr_equal(job->sigterm_hold.arg, job);
	/* Without a tracker. */
	job = launchable();
	job->tracker = NULL;
	bare_config.sigterm_hold = true;
	(void)HEARD(job_launch_child(job));
	assert_calls("job_start_tracker; environment /s/notice - -; add_shim -; "
		     "sigterm_hold_start 1 0; status_line_share; spawn; session_note_job 1234 1; "
		     "job_prepare_requests; save_place_expect; post launched; ");
}

static void a_launch_that_fails(void **state)
{
	struct job *job = launchable();

	(void)state;
	spawn_fails = ERR_NOT_FOUND;
	spawn_code = 127;
	assert_non_null(strstr(HEARD(job_launch_child(job)), "error: no such command"));
	assert_int_equal(posted.kind, JOB_EV_LAUNCH_FAILED);
	assert_int_equal(posted.code, 127);
	assert_null(strstr(calls, "session_note_job"));
	job = launchable();
	shim_fails = ERR_FAILED;
	assert_non_null(strstr(HEARD(job_launch_child(job)), "without the shim (no shim)"));
	assert_int_equal(posted.kind, JOB_EV_LAUNCHED);
	job = launchable();
	shim_fails = ERR_FAILED;
	bare_config.shim = SHIM_USE_ON;
	assert_non_null(strstr(HEARD(job_launch_child(job)), "error: --shim on: no shim"));
	assert_int_equal(posted.kind, JOB_EV_LAUNCH_FAILED);
	assert_int_equal(posted.code, EXIT_CONFIGURATION);
	assert_null(strstr(calls, "spawn"));
}

/* What lies there already, and is newer than what is durable, is saved at once. */
static void what_lies_there_is_saved(void **state)
{
	(void)state;
	for (unsigned bits = 0; bits < 4; bits++) {
		struct job *job = launchable();

		job->resume.newer_than_store = bits & 1;
		if (!(bits & 2))
			job->tracker = NULL;
		job->resume.step = 40;
		(void)HEARD(job_launch_child(job));
		assert_int_equal(posted.fresh, bits == 3);
		assert_int_equal(posted.checkpoint.generation, bits == 3 ? 6 : 0);
		assert_int_equal(posted.checkpoint.step, bits == 3 ? 40 : 0);
		assert_int_equal(posted.checkpoint.reported_step, bits == 3 ? -1 : 0);
	}
}

/* Only of the same job: one of another has to do with none of it. */
static void an_orphan_of_this_job_is_told_of(void **state)
{
	(void)state;
	for (int own = 0; own < 2; own++) {
		struct job *job = launchable();
		const char *said;

		orphan = (struct session_info){.pid = 77, .job = own ? "j" : "other"};
		said = HEARD(job_launch_child(job));
		assert_int_equal(strstr(said, "still runs on this machine (process 77)") != NULL,
				 own);
	}
}

static void whom_the_lock_names(void **state)
{
	(void)state;
	for (unsigned bits = 0; bits < 4; bits++) {
		struct job *job = fresh();

		job->workspace.lock_fd = bits & 1 ? 8 : -1;
		job->child.running = bits & 2;
		job->child.pid = 1234;
		job_note_child(job);
		job->workspace.lock_fd = -1;
		assert_calls(bits == 3 ? "directory_lock_note_job 8 1234; session_note_job 1234 1; "
				       : "session_note_job 1234 1; ");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_cannot_be_opened),
		cmocka_unit_test(a_command_that_leaves_its_work_to_others),
		cmocka_unit_test(when_checkpoints_are_expected),
		cmocka_unit_test(which_code_a_refusal_has),
		cmocka_unit_test(a_restore_that_fails),
		cmocka_unit_test(what_a_claim_begins),
		cmocka_unit_test(what_is_known_of_the_start),
		cmocka_unit_test(earlier_attempts_refuse_a_start),
		cmocka_unit_test(without_a_store_nothing_is_restored),
		cmocka_unit_test(a_start_that_is_refused),
		cmocka_unit_test(what_the_restore_is_asked_for),
		cmocka_unit_test(a_late_claim),
		cmocka_unit_test(what_a_job_is_launched_with),
		cmocka_unit_test(a_launch_that_fails),
		cmocka_unit_test(what_lies_there_is_saved),
		cmocka_unit_test(an_orphan_of_this_job_is_told_of),
		cmocka_unit_test(whom_the_lock_names),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	fresh();
	return failed;
}
