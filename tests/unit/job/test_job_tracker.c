/* What the tracker tells becomes events. */
#include "bare_job.h"

#include <stdlib.h>

static struct tracker_options tracked;
static struct latest_checkpoint latest;
static struct job_event posted;
static bool is_own = true;
static const char *channel;

/* --- in place of the parts, by the linker's --wrap --- */

NOTED(job_post_child_exit)
NOTED_WITH(save_place_note_elsewhere, (struct reports * reports, const char *path), "%s %d", path,
	   reports != NULL)
NOTED_WITH(job_note_complete_in_gang, (struct job * job, const struct latest_checkpoint *of),
	   "%d %d", of == &latest, job != NULL)
NOTED_WITH(sigterm_hold_add, (struct sigterm_hold * hold, pid_t pid, pid_t sender, bool for_ours),
	   "%d %d %d %d", (int)pid, (int)sender, for_ours, hold != NULL)

void __wrap_tracker_new(const struct tracker_options *options, struct tracker **made);
void __wrap_tracker_new(const struct tracker_options *options, struct tracker **made)
{
	tracked = *options;
	*made = SOME(tracker);
}

const char *__wrap_tracker_channel(const struct tracker *tracker);
const char *__wrap_tracker_channel(const struct tracker *tracker)
{
	assert_ptr_equal(tracker, SOME(tracker));
	return channel;
}

NOTED_WITH(session_note_place,
	   (const struct session *session, const char *directory, const char *boot), "%s %d",
	   directory, session &&boot)

struct progress_page *__wrap_tracker_page(const struct tracker *tracker);
struct progress_page *__wrap_tracker_page(const struct tracker *tracker)
{
	assert_non_null(tracker);
	return SOME(progress_page);
}

int64_t __wrap_progress_page_last_step(struct progress_page *page);
int64_t __wrap_progress_page_last_step(struct progress_page *page)
{
	assert_non_null(page);
	return 44;
}

const struct latest_checkpoint *__wrap_tracker_latest_checkpoint(const struct tracker *tracker);
const struct latest_checkpoint *__wrap_tracker_latest_checkpoint(const struct tracker *tracker)
{
	assert_non_null(tracker);
	return &latest;
}

static bool anew;

NOTED_WITH(report_begun_anew, (struct reports * reports, int64_t saved, int64_t found), "%d %d %d",
	   (int)saved, (int)found, reports != NULL)

bool __wrap_tracker_has_begun_anew(struct tracker *tracker, int64_t *saved, int64_t *found);
bool __wrap_tracker_has_begun_anew(struct tracker *tracker, int64_t *saved, int64_t *found)
{
	assert_ptr_equal(tracker, SOME(tracker));
	*saved = 10;
	*found = 50;
	return anew;
}

bool __wrap_save_place_note_write(struct reports *reports, const char *path);
bool __wrap_save_place_note_write(struct reports *reports, const char *path)
{
	assert_true(reports && path);
	return is_own;
}

bool __wrap_job_has_sent_sigterm(const struct job *job, pid_t pid, int64_t since_ms);
bool __wrap_job_has_sent_sigterm(const struct job *job, pid_t pid, int64_t since_ms)
{
	assert_non_null(job);
	return pid == 1234 && since_ms == 9;
}

void __wrap_job_post(struct job *job, struct job_event event);
void __wrap_job_post(struct job *job, struct job_event event)
{
	assert_non_null(job);
	note_call("post %s", job_event_name(event.kind));
	posted = event;
}

void __wrap_job_post_with(struct job *job, struct job_event event, char *text, json_t *reply);
void __wrap_job_post_with(struct job *job, struct job_event event, char *text, json_t *reply)
{
	assert_non_null(job);
	note_call("post %s %s %s", job_event_name(event.kind), text ? text : "-",
		  reply ? json_string_value(json_object_get(reply, "event")) : "-");
	posted = event;
	free(text);
	json_decref(reply);
}

/* --- */

static struct job *tracked_job(unsigned members, unsigned member)
{
	static struct job job;

	bare_job_init(&job);
	job.gang = (struct gang_identity){.members = members, .member = member};
	job.child.pid = 1234;
	job.workspace.directory = (char *)"/ckpt";
	job_start_tracker(&job);
	assert_ptr_equal(job.tracker, SOME(tracker));
	return &job;
}

/* Without a channel nothing is left to be read. */
static void where_what_a_kill_leaves_is_of_use(void **state)
{
	(void)state;
	calls[0] = '\0';
	tracked_job(1, 0);
	assert_calls("");
	channel = "/run/channel";
	tracked_job(1, 0);
	channel = NULL;
	assert_calls("session_note_place /ckpt 1; ");
}

/* The user is told, and the checkpoint counts like any other. */
static void a_job_that_begins_anew(void **state)
{
	(void)state;
	tracked_job(1, 0);
	calls[0] = '\0';
	anew = true;
	tracked.on_complete(tracked.arg);
	anew = false;
	assert_calls("report_begun_anew 10 50 1; job_note_complete_in_gang 1 1; "
		     "post complete - saved; ");
}

/* A gang knows its checkpoints by the steps of all, and its writers. */
static void what_a_gang_changes(void **state)
{
	(void)state;
	tracked_job(1, 0);
	assert_false(tracked.marker_elsewhere);
	assert_null(tracked.writer);
	tracked_job(2, 0);
	assert_false(tracked.marker_elsewhere);
	assert_non_null(tracked.writer);
	tracked_job(2, 1);
	assert_true(tracked.marker_elsewhere);
	for (unsigned members = 1; members < 3; members++) {
		tracked_job(members, 0);
		latest = (struct latest_checkpoint){.generation = 3,
						    .step = 7,
						    .resume_step = 6,
						    .written_ms = 5,
						    .fresh = members == 1,
						    .late = members == 2};
		tracked.on_complete(tracked.arg);
		assert_calls("job_note_complete_in_gang 1 1; post complete - saved; ");
		assert_int_equal(posted.checkpoint.step, members == 1 ? 6 : 7);
		assert_int_equal(posted.checkpoint.generation, 3);
		assert_int_equal(posted.checkpoint.written_ms, 5);
		assert_int_equal(posted.checkpoint.reported_step, 44);
		assert_int_equal(posted.fresh, members == 1);
		assert_int_equal(posted.late, members == 2);
	}
}

static void whose_writes_they_are(void **state)
{
	(void)state;
	tracked_job(1, 0);
	for (int own = 0; own < 2; own++) {
		is_own = own;
		tracked.saving(tracked.arg, "a/b");
		assert_calls("post save_started a/b -; ");
		assert_int_equal(posted.foreign, !own);
		tracked.on_running(tracked.arg, "a/b");
		assert_calls("post running_written; ");
		assert_int_equal(posted.foreign, !own);
	}
	tracked.saved_elsewhere(tracked.arg, "/elsewhere");
	assert_calls("save_place_note_elsewhere /elsewhere 1; ");
	tracked.ended(tracked.arg);
	assert_calls("job_post_child_exit; ");
}

/* One that replaces ours is known; one past us counts only where the child itself has got it. */
static void whose_sigterm_it_is(void **state)
{
	struct job *job = tracked_job(1, 0);

	(void)state;
	tracked.held(tracked.arg, 1234, 7, 9);
	tracked.held(tracked.arg, 1234, 7, 8);
	assert_calls("sigterm_hold_add 1234 7 1 1; sigterm_hold_add 1234 7 0 1; ");
	job_on_signalled(job, 1234);
	assert_calls("post signalled; ");
	job_on_signalled(job, 1235);
	assert_calls("");
}

static void what_the_job_has_reported(void **state)
{
	struct job *job = tracked_job(1, 0);

	(void)state;
	assert_int_equal(job_reported_step(job), 44);
	job->tracker = NULL;
	assert_int_equal(job_reported_step(job), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(where_what_a_kill_leaves_is_of_use),
		cmocka_unit_test(what_a_gang_changes),
		cmocka_unit_test(a_job_that_begins_anew),
		cmocka_unit_test(whose_writes_they_are),
		cmocka_unit_test(whose_sigterm_it_is),
		cmocka_unit_test(what_the_job_has_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
