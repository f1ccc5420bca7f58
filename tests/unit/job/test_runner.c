/* What is posted is taken one after the other, with what the parts say at that moment; and the
 * rules that the core decides by, from the options and the profile. */
#include "bare_job.h"

#include "base/log.h"
#include "heard.h"

#include <signal.h>
#include <stdlib.h>

static enum job_event_kind taken[8];
static size_t taken_count;
static struct job_view seen;
static struct job_effect wanted;
static bool has_target;
static enum job_event_kind begets; /* whose step posts one more */

/* --- in place of the parts, by the linker's --wrap --- */

NOTED(child_resume)
NOTED_WITH(display_follow,
	   (struct reports * reports, const struct job_model *model, int64_t upload_began_ms),
	   "%lld %d", (long long)upload_began_ms, reports &&model)

void __wrap_job_step(struct job_model *model, const struct job_rules *rules,
		     const struct job_view *view, const struct job_event *event,
		     struct job_effects *effects);
void __wrap_job_step(struct job_model *model, const struct job_rules *rules,
		     const struct job_view *view, const struct job_event *event,
		     struct job_effects *effects)
{
	assert_non_null(rules);
	assert_int_equal(effects->count, 0);
	seen = *view;
	if (taken_count < 8)
		taken[taken_count++] = event->kind;
	if (event->kind == JOB_EV_STOP_ANNOUNCED)
		model->state = JOB_CHECKPOINTING;
	if (event->kind == JOB_EV_TIMER) {
		assert_int_equal(event->timer, TIMER_RETRY);
		model->due_ms[TIMER_RETRY] = CLOCK_NEVER;
		wanted.kind = JOB_DO_END;
	}
	if (!wanted.kind)
		return;
	if (!effects->items)
		effects->items = calloc(2, sizeof(*effects->items));
	effects->items[effects->count++] = wanted;
}

void __wrap_job_perform(struct job *job, const struct job_effect *effect,
			const struct posted_event *posted);
void __wrap_job_perform(struct job *job, const struct job_effect *effect,
			const struct posted_event *posted)
{
	note_call("perform %d for %s", (int)effect->kind, job_event_name(posted->event.kind));
	if (posted->event.kind == JOB_EV_COMPLETE) {
		assert_string_equal(posted->text, "text");
		assert_string_equal(json_string_value(posted->reply), "reply");
	}
	if (effect->kind == JOB_DO_END)
		loop_stop(&job->loop);
	if (begets && posted->event.kind == begets)
		job_post(job, (struct job_event){.kind = JOB_EV_GANG_ROUND});
}

bool __wrap_checkpoint_request_has_target(const struct checkpoint_request *request, pid_t child);
bool __wrap_checkpoint_request_has_target(const struct checkpoint_request *request, pid_t child)
{
	assert_non_null(request);
	assert_int_equal(child, 1234);
	note_call("has_target");
	return has_target;
}

size_t __wrap_rank_progress_saving(const struct rank_progress *progress);
size_t __wrap_rank_progress_saving(const struct rank_progress *progress)
{
	return progress->expected;
}

bool __wrap_save_place_is_elsewhere(const struct reports *reports);
bool __wrap_save_place_is_elsewhere(const struct reports *reports)
{
	(void)reports;
	return true;
}

bool __wrap_snapshot_queue_progress(const struct snapshot_queue *queue, uint64_t *bytes_done,
				    uint64_t *bytes_total);
bool __wrap_snapshot_queue_progress(const struct snapshot_queue *queue, uint64_t *bytes_done,
				    uint64_t *bytes_total)
{
	assert_non_null(queue);
	*bytes_done = 3;
	*bytes_total = 4;
	return true;
}

int64_t __wrap_snapshot_queue_began_ms(const struct snapshot_queue *queue);
int64_t __wrap_snapshot_queue_began_ms(const struct snapshot_queue *queue)
{
	assert_non_null(queue);
	return 5;
}

bool __wrap_snapshot_queue_awaits_gang(const struct snapshot_queue *queue);
bool __wrap_snapshot_queue_awaits_gang(const struct snapshot_queue *queue)
{
	assert_non_null(queue);
	return true;
}

int64_t __wrap_snapshot_queue_advanced_ms(const struct snapshot_queue *queue);
int64_t __wrap_snapshot_queue_advanced_ms(const struct snapshot_queue *queue)
{
	assert_non_null(queue);
	return 6;
}

static enum err_kind cannot_open;

int __wrap_job_open(struct job *job, struct err *err);
int __wrap_job_open(struct job *job, struct err *err)
{
	if (cannot_open)
		return err_set(err, cannot_open, "cannot");
	return loop_init(&job->loop, err);
}

/* Something happens at once, and something is due. */
void __wrap_job_begin_resume(struct job *job);
void __wrap_job_begin_resume(struct job *job)
{
	note_call("job_begin_resume");
	job->model.due_ms[TIMER_RETRY] = clock_monotonic_ms() + 20;
	job_post(job, (struct job_event){.kind = JOB_EV_ADVICE});
}

int __wrap_job_finish(struct job *job);
int __wrap_job_finish(struct job *job)
{
	assert_true(job->loop.stopped);
	note_call("job_finish");
	return 75;
}

NOTED(job_close)

#define SAYS(type, name, parameter, answer) \
	type __wrap_##name(parameter);      \
	type __wrap_##name(parameter)       \
	{                                   \
		assert_non_null(of);        \
		return answer;              \
	}

/* The answers that are true, one at a time. */
static unsigned true_bit;
static bool has_page;

SAYS(struct progress_page *, tracker_page, const struct tracker *of,
     has_page ? SOME(progress_page) : NULL)
SAYS(bool, tracker_is_saving, struct tracker *of, true_bit == 0)
SAYS(bool, tracker_has_own_word, const struct tracker *of, true_bit == 1)
SAYS(bool, tracker_is_replacing, const struct tracker *of, true_bit == 2)
SAYS(bool, tracker_has_only_running_files, const struct tracker *of, true_bit == 3)
SAYS(bool, tracker_holds_less, struct tracker *of, true_bit == 4)
SAYS(bool, tracker_has_running_work, const struct tracker *of, true_bit == 5)
SAYS(int64_t, tracker_provable_ms, struct tracker *of, 21)
SAYS(int64_t, tracker_partners_until_ms, const struct tracker *of, 22)
SAYS(int64_t, tracker_last_write_ms, const struct tracker *of, 23)
SAYS(uint64_t, tracker_running_generation, const struct tracker *of, 24)
SAYS(size_t, progress_page_count_polling, const struct progress_page *of, true_bit == 6)
SAYS(int64_t, progress_page_last_step, struct progress_page *of, 25)

/* --- */

static struct job *start_runner(void)
{
	static struct job job;
	struct err err;

	bare_job_init(&job);
	assert_int_equal(loop_init(&job.loop, &err), 0);
	job.child.pid = 1234;
	taken_count = 0;
	wanted = (struct job_effect){0};
	begets = 0;
	return &job;
}

static void stop_runner(struct job *job)
{
	job_release_runner(job);
	loop_release(&job->loop);
}

static void events_are_taken_in_the_order_of_the_posts(void **state)
{
	struct job *job = start_runner();

	(void)state;
	wanted.kind = JOB_DO_ASK;
	begets = JOB_EV_ADVICE;
	job_post(job, (struct job_event){.kind = JOB_EV_ADVICE});
	job_post_with(job, (struct job_event){.kind = JOB_EV_COMPLETE}, strdup("text"),
		      json_string("reply"));
	assert_true(job->runner.steps.armed);
	job_take_steps(job);
	assert_int_equal(taken_count, 3);
	assert_int_equal(taken[0], JOB_EV_ADVICE);
	assert_int_equal(taken[1], JOB_EV_COMPLETE);
	assert_int_equal(taken[2], JOB_EV_GANG_ROUND);
	assert_calls("perform 7 for advice; perform 7 for complete; perform 7 for gang_round; "
		     "display_follow 0 1; ");
	assert_false(job->runner.steps.armed);
	/* And again, after there was none. */
	job_post(job, (struct job_event){.kind = JOB_EV_SIGNALLED});
	job_take_steps(job);
	assert_int_equal(taken_count, 4);
	assert_int_equal(taken[3], JOB_EV_SIGNALLED);
	stop_runner(job);
}

/* What waits at the end is freed, which the sanitizers see. */
static void what_still_waits_at_the_end_is_dropped(void **state)
{
	struct job *job = start_runner();
	struct snapshot_outcome outcome = {0};
	char *matched[] = {(char[]){"--exclude x: x"}, NULL};

	(void)state;
	outcome.matched = matched;
	job_post_with(job, (struct job_event){.kind = JOB_EV_COMPLETE}, strdup("text"),
		      json_string("reply"));
	job_post_snapshot(job, &outcome, json_string("reply"));
	assert_string_equal(json_string_value(job->runner.first->next->reply), "reply");
	assert_string_equal(job->runner.first->next->snapshot->matched[0], "--exclude x: x");
	stop_runner(job);
	assert_int_equal(taken_count, 0);
}

/* A stopped job gets a signal only when it continues. */
static void a_signal_continues_a_stopped_job(void **state)
{
	struct job *job = start_runner();
	const struct signalfd_siginfo info = {.ssi_signo = SIGTERM};

	(void)state;
	job_post_signal(job, (struct job_event){.kind = JOB_EV_SIGNAL, .signal = SIGTERM}, &info);
	assert_int_equal(job->runner.first->signal.ssi_signo, SIGTERM);
	job_take_steps(job);
	assert_calls("child_resume; display_follow 0 1; ");
	job_post(job, (struct job_event){.kind = JOB_EV_SIGNALLED});
	job_take_steps(job);
	assert_calls("display_follow 0 1; ");
	stop_runner(job);
}

/* What a client has asked for and is not taken yet is not taken any more; the rest is. */
static void a_client_that_is_gone_is_forgotten(void **state)
{
	struct job *job = start_runner();

	(void)state;
	for (int i = 0; i < 2; i++)
		job_post(job, (struct job_event){.kind = JOB_EV_CLIENT, .client = some_place + i});
	job_post(job, (struct job_event){.kind = JOB_EV_ADVICE});
	job_forget_client(job, some_place + 1);
	assert_int_equal(taken[0], JOB_EV_CLIENT_GONE);
	job_take_steps(job);
	assert_int_equal(taken_count, 4);
	assert_int_equal(taken[1], JOB_EV_CLIENT);
	assert_int_equal(taken[2], JOB_EVENTS);
	assert_int_equal(taken[3], JOB_EV_ADVICE);
	stop_runner(job);
}

/* A look at all processes is taken only where it matters, and where SIGTERM may ask. */
static void processes_are_looked_at_only_where_it_matters(void **state)
{
	struct job *job = start_runner();

	(void)state;
	has_target = true;
	for (int kind = 0; kind < JOB_EV_TIMER; kind++) {
		bool matters = kind == JOB_EV_CLIENT || kind == JOB_EV_STOP_ANNOUNCED ||
			       kind == JOB_EV_STOP_CANCELLED || kind == JOB_EV_SNAPSHOT_DONE;

		for (unsigned ready = 0; ready < 4; ready++) {
			bool looks = matters && ready == 3;

			job->rules.ask = ready & 1 ? REQUEST_AUTO : REQUEST_SIGNAL;
			job->ask.loop = ready & 2 ? &job->loop : NULL;
			calls[0] = '\0';
			job_post(job, (struct job_event){.kind = (enum job_event_kind)kind});
			job_take_steps(job);
			assert_int_equal(strstr(calls, "has_target") != NULL, looks);
			assert_int_equal(seen.has_target, looks);
		}
	}
	stop_runner(job);
}

static void a_view_is_what_the_parts_say(void **state)
{
	struct job *job = start_runner();
	struct job_view view = job_look(job, true);

	(void)state;
	assert_int_equal(view.reported_step, -1);
	assert_false(view.any_rank);
	assert_false(view.uploading);
	assert_true(view.saves_elsewhere);
	job->snapshots = SOME(snapshot_queue);
	job->child.running = true;
	job->ranks.progress.count = 1;
	job->in_gang.feed.heard_ms = 7;
	job->in_gang.feed.leaves_alone = true;
	for (unsigned bits = 0; bits < 4; bits++) {
		struct gang_view *gang = &job->in_gang.feed.view;

		gang->committed = bits & 1;
		gang->round.final = bits & 2;
		gang->round.state = GANG_ROUND_OPEN;
		gang->round.number = 3;
		view = job_look(job, true);
		assert_int_equal(view.gang_has_saved, bits & 1);
		assert_int_equal(view.awaits_final, (bits & 2) && gang_view_is_open(gang));
	}
	assert_true(view.awaits_final);
	assert_false(view.rank_saving);
	job->ranks.progress.expected = 1;
	assert_true(job_look(job, true).rank_saving);
	assert_true(view.child_running && view.any_rank && view.uploading && view.awaits_gang);
	assert_true(view.gang_needs_job);
	assert_int_equal(view.bytes_done, 3);
	assert_int_equal(view.bytes_total, 4);
	assert_int_equal(view.upload_began_ms, 5);
	assert_int_equal(view.accepted_ms, 6);
	assert_int_equal(view.gang_heard_ms, 7);
	stop_runner(job);
}

static void a_view_of_the_directory_is_what_the_tracker_says(void **state)
{
	struct job *job = start_runner();
	struct job_view view;

	(void)state;
	job->tracker = SOME(tracker);
	for (true_bit = 0; true_bit < 7; true_bit++) {
		has_page = true;
		job->model.state = JOB_RUNNING;
		view = job_look(job, false);
		assert_int_equal(view.saving, true_bit == 0);
		assert_int_equal(view.own_word, true_bit == 1);
		assert_int_equal(view.replacing, true_bit == 2);
		assert_int_equal(view.only_running, true_bit == 3);
		assert_int_equal(view.holds_less, true_bit == 4);
		assert_int_equal(view.running_work, true_bit == 5);
		assert_int_equal(view.polled, true_bit == 6);
		assert_int_equal(view.closed_ms, 0);
		assert_int_equal(view.partners_until_ms, 22);
		assert_int_equal(view.last_write_ms, 23);
		assert_int_equal(view.running_generation, 24);
		assert_int_equal(view.reported_step, 25);
		/* What its end would prove matters once it was told to end. */
		job->model.state = JOB_STOPPING;
		assert_int_equal(job_look(job, false).closed_ms, 21);
		has_page = false;
		view = job_look(job, false);
		assert_false(view.polled);
		assert_int_equal(view.reported_step, -1);
	}
	stop_runner(job);
}

/* The soonest timer of the model is armed, unless the loop has ended. */
static void the_soonest_timer_is_armed(void **state)
{
	struct job *job = start_runner();

	(void)state;
	job_take_steps(job);
	assert_false(job->runner.due.armed);
	job->model.due_ms[TIMER_RISK] = clock_monotonic_ms() + 60000;
	job->model.due_ms[TIMER_RETRY] = clock_monotonic_ms() + 90000;
	job_take_steps(job);
	assert_true(job->runner.due.armed);
	assert_true(job->runner.due.at_ms == job->model.due_ms[TIMER_RISK]);
	job->loop.stopped = true;
	job_take_steps(job);
	assert_false(job->runner.due.armed);
	stop_runner(job);
}

/* From the first event to the end, and what is due comes as an event. */
static void the_loop_takes_what_happens_and_what_is_due(void **state)
{
	static struct job job;

	(void)state;
	bare_job_init(&job);
	sigfillset(&job.early_signals);
	taken_count = 0;
	wanted = (struct job_effect){0};
	assert_int_equal(job_run(&job), 75);
	assert_int_equal(taken_count, 2);
	assert_int_equal(taken[0], JOB_EV_ADVICE);
	assert_int_equal(taken[1], JOB_EV_TIMER);
	assert_int_equal(sigismember(&job.early_signals, SIGTERM), 0);
	assert_non_null(strstr(calls, "job_begin_resume; "));
	assert_non_null(strstr(calls, "job_finish; job_close; "));
	stop_runner(&job);
}

/* What the user has got wrong has the code of a wrong option. */
static void a_job_that_cannot_be_opened(void **state)
{
	static struct job job;

	(void)state;
	bare_job_init(&job);
	cannot_open = ERR_INVALID;
	assert_int_equal(job_run(&job), EXIT_USAGE);
	assert_calls("job_close; ");
	cannot_open = ERR_FAILED;
	assert_int_equal(job_run(&job), EXIT_OWN_FAILURE);
	assert_calls("job_close; ");
}

/* Those who observe hurry with all that has become of the job, but while it just runs; and -v tells
 * each change of the state, with its event. */
static void observers_hurry_from_a_notice_on(void **state)
{
	struct job *job = start_runner();

	(void)state;
	log_set_level(LOG_LEVEL_DEBUG);
	job->model.state = JOB_RUNNING;
	job_post(job, (struct job_event){.kind = JOB_EV_ADVICE});
	assert_string_equal(HEARD(job_take_steps(job)), "");
	assert_false(job->observers.hurried);
	job_post(job, (struct job_event){.kind = JOB_EV_STOP_ANNOUNCED});
	assert_non_null(
		strstr(HEARD(job_take_steps(job)), "stop_announced: running -> checkpointing"));
	assert_true(job->observers.hurried);
	log_set_level(LOG_LEVEL_NOTE);
	stop_runner(job);
}

static void what_came_of_a_snapshot_is_told_whole(void **state)
{
	struct job *job = start_runner();

	(void)state;
	for (unsigned bit = 0; bit < 5; bit++) {
		struct snapshot_outcome outcome = {
			.durable = bit == 0,
			.result = {.empty = bit == 1, .changed = bit == 2},
			.lacks_newest = bit == 3,
			.not_whole = bit == 4,
			.err.kind = ERR_RETRY,
			.checkpoint.step = 8,
			.running_generation = 9,
			.took_ms = 10,
		};
		const struct snapshot_event *told;

		job_post_snapshot(job, &outcome, NULL);
		told = &job->runner.first->event.snapshot;
		assert_int_equal(told->durable, bit == 0);
		assert_int_equal(told->empty, bit == 1);
		assert_int_equal(told->changed, bit == 2);
		assert_int_equal(told->lacks_newest, bit == 3);
		assert_int_equal(told->not_whole, bit == 4);
		assert_int_equal(told->error, ERR_RETRY);
		assert_int_equal(told->checkpoint.step, 8);
		assert_int_equal(told->running_generation, 9);
		assert_int_equal(told->took_ms, 10);
		job_take_steps(job);
	}
	stop_runner(job);
}

/* --- the rules --- */

/* Which signal asks, and whether the flag may: by the way that the user or the profile has chosen.
 */
static void how_the_job_is_asked(void **state)
{
	static const struct {
		enum request_method ask;
		int signal;
		bool chosen;
		int asks_with;
		bool by_sigterm, may_flag;
	} rows[] = {
		// clang-format off
		{REQUEST_AUTO, 0, false, SIGTERM, true, true},
		{REQUEST_AUTO, SIGUSR1, true, SIGTERM, true, true},
		{REQUEST_NONE, 0, false, SIGTERM, true, true},
		{REQUEST_NONE, 0, true, SIGTERM, true, false},
		{REQUEST_SIGNAL, SIGUSR1, true, SIGUSR1, false, false},
		{REQUEST_SIGNAL, SIGUSR1, false, SIGUSR1, false, true},
		{REQUEST_SIGNAL, SIGTERM, true, SIGTERM, true, false},
		{REQUEST_COMMAND, 0, true, SIGTERM, false, false},
		{REQUEST_COMMAND, SIGTERM, true, SIGTERM, false, false},
		{REQUEST_FLAG, 0, true, SIGTERM, false, false},
		{REQUEST_FLAG, 0, false, SIGTERM, false, true},
		// clang-format on
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job *job = start_runner();
		struct job_rules rules;

		bare_config.ask = rows[i].ask;
		bare_config.ask_chosen = rows[i].chosen;
		bare_config.checkpoint_signal = rows[i].signal;
		rules = job_rules_from(job);
		assert_int_equal(rules.ask, rows[i].ask);
		assert_int_equal(rules.request_signal, rows[i].asks_with);
		assert_int_equal(rules.asks_by_sigterm, rows[i].by_sigterm);
		assert_int_equal(rules.may_flag, rows[i].may_flag);
		stop_runner(job);
	}
}

/* Only of a framework that trains on after a save, when a signal has asked it. */
static void when_exit_0_is_no_answer(void **state)
{
	(void)state;
	for (unsigned bits = 0; bits < 16; bits++) {
		struct job *job = start_runner();
		const struct profile profile = {
			.zero_is_asked = !(bits & 1),
			.ask = bits & 2 ? PROFILE_ASK_SIGNAL : PROFILE_ASK_NONE,
			.after = bits & 4 ? PROFILE_AFTER_CONTINUES : PROFILE_AFTER_ENDS,
		};

		job->profile.profile = bits & 8 ? &profile : NULL;
		assert_int_equal(job_rules_from(job).zero_is_finished, bits == 15);
		stop_runner(job);
	}
}

/* A requeue is Slurm's. */
static void who_requeues(void **state)
{
	struct job *job = start_runner();

	(void)state;
	unsetenv("SLURM_JOB_ID");
	bare_config.requeue = true;
	assert_false(job_rules_from(job).requeues);
	setenv("SLURM_JOB_ID", "", 1);
	assert_false(job_rules_from(job).requeues);
	setenv("SLURM_JOB_ID", "7", 1);
	assert_true(job_rules_from(job).requeues);
	bare_config.requeue = false;
	assert_false(job_rules_from(job).requeues);
	unsetenv("SLURM_JOB_ID");
	stop_runner(job);
}

static void each_rule_is_that_of_its_option(void **state)
{
	struct job *job = start_runner();
	struct job_rules rules = job_rules_from(job);

	(void)state;
	assert_false(rules.ends_when_asked || rules.expects_saves || rules.place_chosen ||
		     rules.has_store || rules.of_gang || rules.every_auto || rules.retains);
	bare_config.quiet_ms = 1;
	bare_config.snapshot_interval_ms = 2;
	bare_config.flush_ms = 3;
	bare_config.grace_ms = 4;
	bare_config.every_ms = 5;
	bare_config.mtbf_ms = 6;
	rules = job_rules_from(job);
	assert_int_equal(rules.quiet_ms, 1);
	assert_int_equal(rules.snapshot_interval_ms, 2);
	assert_int_equal(rules.flush_ms, 3);
	assert_int_equal(rules.grace_ms, 4);
	assert_int_equal(rules.every_ms, 5);
	assert_int_equal(rules.mtbf_ms, 6);
	for (unsigned bit = 0; bit < 7; bit++) {
		bare_config.ask_ends_job = bit == 0;
		job->expected = bit == 1 ? EXPECT_BY_OPTION : EXPECT_NOTHING;
		bare_config.directory_chosen = bit == 2;
		job->store = bit == 3 ? "file:///s" : NULL;
		job->gang.members = bit == 4 ? 2 : 1;
		bare_config.every_auto = bit == 5;
		bare_config.retention.policy.keep_last = bit == 6;
		rules = job_rules_from(job);
		assert_int_equal(rules.ends_when_asked, bit == 0);
		assert_int_equal(rules.expects_saves, bit == 1);
		assert_int_equal(rules.place_chosen, bit == 2);
		assert_int_equal(rules.has_store, bit == 3);
		assert_int_equal(rules.of_gang, bit == 4);
		assert_int_equal(rules.every_auto, bit == 5);
		assert_int_equal(rules.retains, bit == 6);
	}
	stop_runner(job);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_are_taken_in_the_order_of_the_posts),
		cmocka_unit_test(what_still_waits_at_the_end_is_dropped),
		cmocka_unit_test(a_signal_continues_a_stopped_job),
		cmocka_unit_test(a_client_that_is_gone_is_forgotten),
		cmocka_unit_test(processes_are_looked_at_only_where_it_matters),
		cmocka_unit_test(a_view_is_what_the_parts_say),
		cmocka_unit_test(a_view_of_the_directory_is_what_the_tracker_says),
		cmocka_unit_test(the_soonest_timer_is_armed),
		cmocka_unit_test(the_loop_takes_what_happens_and_what_is_due),
		cmocka_unit_test(a_job_that_cannot_be_opened),
		cmocka_unit_test(observers_hurry_from_a_notice_on),
		cmocka_unit_test(what_came_of_a_snapshot_is_told_whole),
		cmocka_unit_test(how_the_job_is_asked),
		cmocka_unit_test(when_exit_0_is_no_answer),
		cmocka_unit_test(who_requeues),
		cmocka_unit_test(each_rule_is_that_of_its_option),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
