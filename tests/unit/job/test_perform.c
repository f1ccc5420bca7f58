/* Each effect that the core wants is what its part is asked for, and nothing else. */
#include "bare_job.h"

#include "heard.h"

#include <signal.h>

/* --- in place of the parts, by the linker's --wrap --- */

NOTED(job_launch_child)
NOTED(job_claim_attempt_late)
NOTED(job_leave_gang)
NOTED(job_begin_shutdown)
NOTED(job_post_child_exit)
NOTED(checkpoint_request_stop)
NOTED(rank_watch_end)
NOTED(next_attempt_release)
NOTED(tracker_requested)
NOTED(sigterm_hold_end)
NOTED(snapshot_queue_cancel)
NOTED(storage_set_urgent)
NOTED(storage_clear_urgent)
NOTED(retention_worker_start)
NOTED(retention_worker_stop)
NOTED(kill_tree)
NOTED(job_refuse_client)
NOTED_WITH(cancel_raise, (struct cancel * cancel), "%d", cancel->fd)
NOTED_WITH(child_signal, (struct child * child, int signal), "%d %d", (int)child->pid, signal)
NOTED_WITH(child_forward_signal, (struct child * child, int signal), "%d %d", (int)child->pid,
	   signal)
NOTED_WITH(child_forward, (struct child * child, const struct signalfd_siginfo *info), "%d %u",
	   (int)child->pid, info->ssi_signo)
NOTED_WITH(job_add_signal_notice, (struct job * job, const struct signalfd_siginfo *info), "%u %s",
	   info->ssi_signo, job->name.text)
NOTED_WITH(next_attempt_tell,
	   (struct next_attempt * next, struct loop *loop, struct storage *storage,
	    unsigned attempt, int64_t until_ms),
	   "%u %lld %d", attempt, (long long)until_ms, next &&loop &&storage)
NOTED_WITH(checkpoint_request_start, (struct checkpoint_request * request, pid_t child), "%d %d",
	   (int)child, request->by_flag)
NOTED_WITH(job_end_flag, (struct job * job, bool answered), "%d %s", answered, job->name.text)
NOTED_WITH(job_reply_to_client, (const struct job_effect *effect, json_t *reply), "%lld",
	   effect->last + json_integer_value(reply))
NOTED_WITH(job_share_request, (struct job * job, uint64_t request), "%llu %s",
	   (unsigned long long)request, job->name.text)
NOTED_WITH(sigterm_hold_set_notice, (struct sigterm_hold * hold, bool stands), "%d %d", stands,
	   hold != NULL)
NOTED_WITH(snapshot_queue_submit,
	   (struct snapshot_queue * queue, const struct checkpoint *checkpoint), "%lld %d",
	   (long long)checkpoint->step, queue != NULL)
NOTED_WITH(snapshot_queue_set_deadline, (struct snapshot_queue * queue, int64_t deadline_ms),
	   "%lld %d", (long long)deadline_ms, queue != NULL)
NOTED_WITH(retention_worker_limit_time, (struct retention_worker * worker, int64_t ms), "%lld %d",
	   (long long)ms, worker != NULL)
NOTED_WITH(job_post, (struct job * job, struct job_event event), "%s %s",
	   job_event_name(event.kind), job->name.text)
NOTED_WITH(report_sentence,
	   (struct reports * reports, enum job_sentence sentence, const char *text,
	    const struct snapshot_outcome *snapshot),
	   "%d %s %d %d", (int)sentence, text, snapshot != NULL, reports != NULL)

static bool retention_is_busy;

bool __wrap_retention_worker_is_busy(const struct retention_worker *worker);
bool __wrap_retention_worker_is_busy(const struct retention_worker *worker)
{
	assert_non_null(worker);
	return retention_is_busy;
}

void __wrap_job_tell_clients(struct job *job, json_t *reply);
void __wrap_job_tell_clients(struct job *job, json_t *reply)
{
	(void)job;
	note_call("job_tell_clients %s %s", json_string_value(json_object_get(reply, "event")),
		  json_string_value(json_object_get(reply, "path")));
	json_decref(reply);
}

/* --- the table --- */

static const struct row {
	struct job_effect effect;
	const char *with, *without; /* tracker, store and retention; NULL: as with them */
	const char *says, *event;
} rows[] = {
	// clang-format off
	{{.kind = JOB_DO_LAUNCH}, "job_launch_child; ", NULL, NULL, NULL},
	{{.kind = JOB_DO_CANCEL_RESTORE}, "cancel_raise 77; ", NULL, NULL, NULL},
	{{.kind = JOB_DO_CLAIM}, "job_claim_attempt_late; ", NULL, NULL, NULL},
	{{.kind = JOB_DO_PASS_SIGNAL}, "child_forward 1234 10; ", NULL, NULL, NULL},
	{{.kind = JOB_DO_TAKE_FOR_NOTICE}, "job_add_signal_notice 10 j; ", NULL, NULL, NULL},
	{{.kind = JOB_DO_TELL_NEXT_ATTEMPT, .at_ms = 500}, "next_attempt_tell 7 500 1; ", NULL, NULL,
		NULL},
	{{.kind = JOB_DO_ASK}, "checkpoint_request_stop; checkpoint_request_start 1234 1; ", NULL,
		NULL, NULL},
	{{.kind = JOB_DO_STOP_TRYING}, "checkpoint_request_stop; ", NULL, NULL, NULL},
	{{.kind = JOB_DO_STOP_ASKING}, "checkpoint_request_stop; rank_watch_end; job_end_flag 0 j; ",
		NULL, NULL, NULL},
	{{.kind = JOB_DO_CONFIRM_FLAG}, "job_end_flag 1 j; ", NULL, NULL, NULL},
	{{.kind = JOB_DO_REPLY, .last = true}, "job_reply_to_client 6; ", NULL, NULL, NULL},
	{{.kind = JOB_DO_REFUSE}, "job_refuse_client; ", NULL, NULL, NULL},
	{{.kind = JOB_DO_SHARE_REQUEST, .request = 9}, "job_share_request 9 j; ", NULL, NULL, NULL},
	{{.kind = JOB_DO_FORWARD_SIGTERM}, "tracker_requested; child_forward_signal 1234 15; ",
		"child_forward_signal 1234 15; ", "reprieve: forwarding SIGTERM to the job\n", NULL},
	{{.kind = JOB_DO_TERMINATE}, "child_forward_signal 1234 15; ", NULL,
		"reprieve: stopping the job (SIGTERM)\n", "stopping {\"signal\":\"TERM\"}; "},
	{{.kind = JOB_DO_KILL}, "child_signal 1234 9; kill_tree; job_post_child_exit; ", NULL, NULL, NULL},
	{{.kind = JOB_DO_HOLD_SIGTERM}, "sigterm_hold_set_notice 1 1; ", NULL, NULL, NULL},
	{{.kind = JOB_DO_UNHOLD_SIGTERM}, "sigterm_hold_set_notice 0 1; ", NULL, NULL, NULL},
	{{.kind = JOB_DO_RELEASE_SIGTERM}, "sigterm_hold_end; ", NULL, NULL, NULL},
	{{.kind = JOB_DO_TAKE_SNAPSHOT}, "snapshot_queue_submit 1200 1; ",
		"snapshot_queue_submit 1200 0; ", NULL, NULL},
	{{.kind = JOB_DO_CANCEL_SNAPSHOTS}, "snapshot_queue_cancel; cancel_raise 77; ",
		"cancel_raise 77; ", NULL, NULL},
	{{.kind = JOB_DO_SET_COMMIT_DEADLINE, .at_ms = 8}, "snapshot_queue_set_deadline 8 1; ", "",
		NULL, NULL},
	{{.kind = JOB_DO_HURRY_STORE}, "storage_set_urgent; ", "", NULL, NULL},
	{{.kind = JOB_DO_CALM_STORE}, "storage_clear_urgent; ", "", NULL, NULL},
	{{.kind = JOB_DO_STOP_RETENTION}, "retention_worker_stop; ", NULL, NULL, NULL},
	{{.kind = JOB_DO_LIMIT_RETENTION, .at_ms = 8}, "retention_worker_limit_time 8 1; ",
		"retention_worker_limit_time 8 0; ", NULL, NULL},
	{{.kind = JOB_DO_LEAVE_GANG}, "job_leave_gang; ", NULL, NULL, NULL},
	{{.kind = JOB_DO_SAY, .sentence = SAY_SAVED}, "report_sentence 9 a/b 1 1; ", NULL, NULL, NULL},
	{{.kind = JOB_DO_SAY, .sentence = SAY_SUPERSEDED},
		"report_sentence 21 a/b 1 1; next_attempt_release; ",
		NULL, NULL, NULL},
	{{.kind = JOB_DO_SAY, .sentence = SAY_SAVING},
		"report_sentence 6 a/b 1 1; job_tell_clients saving a/b; ", NULL, NULL, NULL},
	{{.kind = JOB_DO_SAY, .sentence = SAY_SAVING_QUIETLY},
		"report_sentence 7 a/b 1 1; job_tell_clients saving a/b; ", NULL, NULL, NULL},
	{{.kind = JOB_DO_END}, "job_begin_shutdown; ", NULL, NULL, NULL},
	// clang-format on
};

static void perform(struct job *job, const struct job_effect *effect, bool with)
{
	auto_json json_t *reply = json_integer(5);
	char path[] = "a/b";
	struct snapshot_outcome snapshot = {0};
	struct posted_event posted = {
		.event = {.kind = JOB_EV_SIGNAL, .signal = SIGUSR1},
		.reply = reply,
		.text = path,
		.snapshot = &snapshot,
		.signal = {.ssi_signo = SIGUSR1},
	};

	bare_job_init(job);
	text_set(job->name.text, sizeof(job->name.text), "j");
	job->child.pid = 1234;
	job->cancel.fd = 77;
	job->resume.attempt.number = 7;
	job->resume.storage = SOME(storage);
	job->model.newest.step = 1200;
	job->ask.by_flag = true;
	if (with) {
		job->tracker = SOME(tracker);
		job->snapshots = SOME(snapshot_queue);
		job->retention_worker = SOME(retention_worker);
	}
	job_perform(job, effect, &posted);
}

static void each_effect_is_asked_of_its_part(void **state)
{
	static struct job job;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *says = rows[i].says ? rows[i].says : "";

		assert_string_equal(HEARD(perform(&job, &rows[i].effect, true)), says);
		assert_calls(rows[i].with);
		assert_events(rows[i].event ? rows[i].event : "");
		assert_string_equal(HEARD(perform(&job, &rows[i].effect, false)), says);
		assert_calls(rows[i].without ? rows[i].without : rows[i].with);
	}
}

/* One that comes before there is a job to get it. */
static void a_signal_is_kept_for_the_job(void **state)
{
	static struct job job;
	const struct job_effect effect = {.kind = JOB_DO_KEEP_SIGNAL};

	(void)state;
	perform(&job, &effect, true);
	assert_calls("");
	for (int signal = 1; signal < NSIG; signal++)
		assert_int_equal(sigismember(&job.early_signals, signal) == 1, signal == SIGUSR1);
}

/* A SIGTERM that is passed on is not the flag. */
static void a_forwarded_sigterm_is_no_flag(void **state)
{
	static struct job job;
	const struct job_effect effect = {.kind = JOB_DO_FORWARD_SIGTERM};

	(void)state;
	(void)HEARD(perform(&job, &effect, true));
	assert_false(job.ask.by_flag);
}

/* What does not begin is over: the core waits for it. */
static void a_retention_that_does_not_begin_is_over(void **state)
{
	static struct job job;
	const struct job_effect effect = {.kind = JOB_DO_START_RETENTION};

	(void)state;
	retention_is_busy = true;
	perform(&job, &effect, true);
	assert_calls("retention_worker_start; ");
	retention_is_busy = false;
	perform(&job, &effect, true);
	assert_calls("retention_worker_start; job_post retention_done j; ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_effect_is_asked_of_its_part),
		cmocka_unit_test(a_signal_is_kept_for_the_job),
		cmocka_unit_test(a_forwarded_sigterm_is_no_flag),
		cmocka_unit_test(a_retention_that_does_not_begin_is_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
