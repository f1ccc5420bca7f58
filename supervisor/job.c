#include "job.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "exit_policy.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

/* After it was told to end, a job that has saved gets this long to leave by itself, whatever the notice would allow. */
#define STOP_PATIENCE_MS 10000
#define SWEEP_MS 20
#define KILL_AGAIN_MS 1000
#define END_RECORD_MS 3000

void job_failed(struct job *job, const char *what, const struct err *err)
{
	job->ours_failed = true;
	log_warn("%s: %s", what, err->text);
}

/* --- timers --- */

static int64_t window_end(const struct job *job)
{
	const struct notice *stop = notices_stop(&job->notices);

	return stop ? stop->deadline_ms : CLOCK_NEVER;
}

static void plan(struct job *job)
{
	struct budget_facts facts = {.now_ms = clock_monotonic_ms(),
		.deadline_ms = window_end(job),
		.upload_ms = job->upload_ms};

	/* From here on every moment belongs to the checkpoint. */
	if (job->snapshots)
		storage_hurry(job->resume.storage);
	tending_stop(job->tending);
	if (facts.deadline_ms == CLOCK_NEVER) {
		/* All was withdrawn, or no end is known: nothing is given up for want of time. */
		job->budget.commit_until_ms = CLOCK_NEVER;
	} else {
		job->budget = budget_split(&facts);
		job_plan(job);
	}
	if (job->snapshots)
		snapshots_set_deadline(job->snapshots, job->budget.commit_until_ms);
}

static void arm_budget(struct job *job)
{
	int64_t now = clock_monotonic_ms();
	int64_t at = CLOCK_NEVER;

	if (notices_stop(&job->notices)) {
		if (job->state == JOB_CHECKPOINTING)
			at = job->budget.ask_until_ms;
		else if (job->state == JOB_DRAINING)
			at = job->budget.stop_until_ms;
		else if (job->state == JOB_UPLOADING)
			at = job->budget.commit_until_ms;
	}
	/* Once its checkpoint is safe there is nothing to wait for; a job that we only forwarded SIGTERM to may still clean up. */
	if (job->state == JOB_DRAINING && job->options->ask != ASK_AUTO &&
		at > now + STOP_PATIENCE_MS)
		at = now + STOP_PATIENCE_MS;
	/* It dies of one SIGKILL, unless it hangs in the kernel; what it forked meanwhile gets another. */
	if (job->killed && job->state == JOB_DRAINING)
		at = now + KILL_AGAIN_MS;
	if (at == CLOCK_NEVER)
		loop_disarm(&job->loop, &job->budget_timer);
	else
		loop_arm(&job->loop, &job->budget_timer, at);
}

static void budget_spent(struct timer *timer)
{
	struct job *job = container_of(timer, struct job, budget_timer);

	/* It is saving just now: the time that it would get to end in is better spent on that. */
	if (job->state == JOB_CHECKPOINTING && job->tracker && tracker_is_saving(job->tracker) &&
		clock_monotonic_ms() < job->budget.stop_until_ms) {
		loop_arm(&job->loop, timer, job->budget.stop_until_ms);
		return;
	}
	job_feed(job, EV_BUDGET_SPENT);
}

/* --- actions --- */

/* As any entrypoint would: what the job makes of SIGTERM is its own affair. */
void job_forward_sigterm(struct job *job)
{
	log_note("forwarding SIGTERM to the job");
	job->ask.by_flag = false;
	job->facts.told_to_end = true;
	job->request.active = true;
	job->request.sent_ms = clock_monotonic_ms();
	if (job->tracker)
		tracker_requested(job->tracker);
	child_pass(&job->child, SIGTERM);
}

void job_request_because_of_notice(struct job *job)
{
	const struct notice *stop = notices_stop(&job->notices);

	job->facts.noticed = true;
	shield_notice(&job->shield, true);
	if (job_ships_first(job))
		return;
	if (job->options->ask == ASK_NONE && !job_asks_by_flag(job) &&
		text_equal(stop->source, "sigterm")) {
		job_forward_sigterm(job);
		return;
	}
	if (job->options->ask == ASK_NONE && !job_asks_by_flag(job)) {
		log_note("the job is not asked for a checkpoint (--checkpoint-signal none): its "
			 "newest complete one counts");
		return;
	}
	job->facts.told_to_end = true;
	job_request(job, "notice");
}

static void stop_child(struct job *job)
{
	/* Whoever was asked by the flag has had none, whatever its profile says of signals. */
	bool forwarded = job->facts.told_to_end && job->request.sent_ms > 0 && !job->ask.by_flag &&
			 (job->options->ask == ASK_NONE ||
				 (job->ask.method == ASK_SIGNAL && job->ask.signal == SIGTERM));

	job_end_request(job);
	job->facts.told_to_end = true;
	/* A second SIGTERM kills trainers that give their handler back after the first. */
	if (forwarded && !job->request.answered)
		shield_let_go(&job->shield);
	if (forwarded)
		return;
	job->facts.stopped = true;
	log_note("telling the job to end (SIGTERM)");
	events_add(&job->events, "stopping", "{s:s}", "signal", "TERM");
	child_pass(&job->child, SIGTERM);
	shield_let_go(&job->shield);
}

static void kill_child(struct job *job)
{
	if (!job->killed) {
		log_warn("the job has not ended: killing it (SIGKILL)");
		events_add(&job->events, "stopping", "{s:s}", "signal", "KILL");
	}
	job->killed = job->facts.stopped = true;
	child_signal(&job->child, SIGKILL);
	child_kill_tree();
}

static void withdraw_request(struct job *job)
{
	log_note("the notice was withdrawn: the job goes on");
	job_end_request(job);
	job_forget_plan(job);
	shield_notice(&job->shield, false);
	job->facts.noticed = false;
	job->facts.told_to_end = false;
	if (job->snapshots)
		storage_relax(job->resume.storage);
	if (job->snapshots)
		snapshots_set_deadline(job->snapshots, CLOCK_NEVER);
}

static void act(struct job *job, enum job_action action)
{
	switch (action) {
	case DO_NOTHING:
		break;
	case DO_LAUNCH_CHILD:
		job_launch(job);
		break;
	case DO_CANCEL_RESTORE:
		job->facts.noticed = true;
		cancel_raise(&job->cancel);
		break;
	case DO_REQUEST_CHECKPOINT:
		plan(job);
		job_request_because_of_notice(job);
		break;
	case DO_REPLAN:
		plan(job);
		break;
	case DO_WITHDRAW_REQUEST:
		withdraw_request(job);
		break;
	case DO_STOP_CHILD:
		stop_child(job);
		break;
	case DO_KILL_CHILD:
		kill_child(job);
		break;
	case DO_FLUSH_SNAPSHOTS:
		shield_let_go(&job->shield);
		job_end_request(job);
		job_flush(job);
		break;
	case DO_CANCEL_SNAPSHOTS:
		if (!job->flush.given_up)
			log_warn("out of time: the snapshot under way is given up");
		if (job->snapshots)
			snapshots_cancel(job->snapshots);
		cancel_raise(&job->cancel);
		break;
	}
}

static void begin_the_end(struct job *job);

void job_feed(struct job *job, enum job_event event)
{
	struct job_transition step = job_machine_step(job->state, event);
	bool moved = step.next != job->state;

	if (job->state == JOB_OVER)
		return;
	if (event == EV_NOTICE && job->state == JOB_UPLOADING && !job->facts.noticed)
		job->facts.noticed_late = true;
	if (moved)
		log_debug("%s -> %s", job_state_name(job->state), job_state_name(step.next));
	job->state = step.next;
	if (event == EV_NOTICE)
		job->facts.noticed = true;
	act(job, step.action);
	if (job->state != step.next)
		return; /* the action itself led on (a command that cannot be executed) */
	if (moved || step.action == DO_REPLAN || event == EV_BUDGET_SPENT)
		arm_budget(job);
	if (moved && job->state == JOB_OVER)
		begin_the_end(job);
}

/* --- the end --- */

static void sweep(struct timer *timer)
{
	struct job *job = container_of(timer, struct job, sweep_timer);
	size_t left = child_kill_tree();

	child_reap(&job->child, NULL, NULL);
	if (left == 0 || clock_monotonic_ms() > job->budget.commit_until_ms)
		loop_stop(&job->loop);
	else
		loop_arm(&job->loop, &job->sweep_timer, clock_monotonic_ms() + SWEEP_MS);
}

/* A preempted job leaves nothing running: what goes on writing here would meet the next attempt. Otherwise orphans are none of our
 * business, as with any init. */
static void begin_the_end(struct job *job)
{
	if (job->facts.told_to_end && job->facts.launched)
		sweep(&job->sweep_timer);
	else
		loop_stop(&job->loop);
}

AUTO(struct cancel, cancel_release);

/* The record only says how it ended: nobody waits for it long, nor past the deadline. */
static int64_t end_record_until(const struct job *job)
{
	int64_t until_ms = clock_monotonic_ms() + END_RECORD_MS, end_ms = window_end(job);

	return end_ms < until_ms ? end_ms : until_ms;
}

/* Nor may whoever is told by a webhook take the record's time. */
static int64_t end_notice_until(const struct job *job)
{
	int64_t now = clock_monotonic_ms();

	return now + (end_record_until(job) - now) / 2;
}

static void end_attempt(struct job *job, const struct outcome *outcome, int64_t until_ms)
{
	auto_(cancel_release) struct cancel cancel = {.fd = -1};
	struct err err;
	json_t *about;

	/* Also of an attempt that was preempted while it restored: without a record it would look as if the machine had been lost. */
	if (!job->snapshots && (job->facts.launched || !job->facts.noticed))
		return;
	if (!job->resume.storage || job->resume.attempt.number == 0 ||
		cancel_init(&cancel, &err) < 0)
		return;
	cancel_set_deadline(&cancel, until_ms);
	about = job_end_facts(job, outcome);
	if (storage_end_attempt(job->resume.storage, job->resume.attempt.number, outcome->name,
		    about, &cancel, &err) < 0 &&
		err.kind != ERR_EXISTS)
		log_debug("the end of the attempt is not recorded: %s", err.text);
	json_decref(about);
}

static void say_what_is_not_durable(
	const struct job *job, const struct outcome *outcome, const char *durable)
{
	char step[40] = "", why[80] = "", patience[32];

	if (job->any_sealed && job->newest_sealed.step >= 0)
		snprintf(step, sizeof(step), " (step %lld)", (long long)job->newest_sealed.step);
	if (job->flush.given_up)
		snprintf(why, sizeof(why), ": the store has taken nothing for %s (--flush-time)",
			text_duration(job->options->flush_ms, patience, sizeof(patience)));
	log_warn("the job has ended, but its newest checkpoint%s in %s is NOT durable%s; durable: "
		 "%s (exit %d)",
		step, job->workspace.directory, why, durable, outcome->exit_code);
}

static void say_how_it_ended(struct job *job, const struct outcome *outcome)
{
	char id[SNAPSHOT_ID_TEXT] = "nothing";
	bool any = job->snapshots && !snapshot_id_is_none(snapshots_newest(job->snapshots));

	if (any)
		snapshot_id_format(snapshots_newest(job->snapshots), id);
	events_add(&job->events, "over", "{s:s, s:i, s:s?}", "outcome", outcome->name, "exit_code",
		outcome->exit_code, "durable", any ? id : NULL);
	if (text_equal(outcome->name, "preempted"))
		log_note("preempted; durable: %s. Run the same command again to go on from there "
			 "(exit %d)",
			id, outcome->exit_code);
	else if (text_equal(outcome->name, "lost"))
		log_error("%s, and the newest work is NOT durable; durable: %s (exit %d)",
			job->facts.noticed ? "preempted" : "ended", id, outcome->exit_code);
	else if (job->facts.managed && job->facts.launched && !job_is_durable(job))
		say_what_is_not_durable(job, outcome, id);
}

static int finish(struct job *job)
{
	struct outcome outcome;
	int64_t until_ms;

	job->facts.all_durable = job_is_durable(job);
	job->facts.saved = job->request.answered;
	job->facts.asked_to_save =
		job->request.sent_ms > 0 && (job->ask.by_flag || job_can_ask(job));
	job->facts.resumes =
		profile_resumes(job->profile.profile, outcome_child_code(job->facts.wait_status));
	job->facts.goes_on = job->profile.profile && !job->profile.profile->zero_is_asked &&
			     job->profile.profile->ask == PROFILE_ASK_SIGNAL &&
			     job->profile.profile->after == PROFILE_AFTER_GOES_ON;
	job->facts.strict_failed =
		job->options->strict && (job->ours_failed || !job->facts.all_durable);
	outcome = outcome_of(&job->facts);
	if (job->refusal && !job->facts.launched)
		outcome = (struct outcome){"refused", job->refusal};
	if (job->done)
		outcome = (struct outcome){"finished", 0};
	outcome.exit_code = exit_policy_code(job->options->exit_policy, &outcome);
	tending_stop(job->tending);
	if (job->snapshots)
		snapshots_stop_ahead(job->snapshots);
	/* First, because what follows may wait for a store that does not answer. */
	say_how_it_ended(job, &outcome);
	job_write_end_message(job, &outcome);
	/* Waits for a snapshot that was given up, so that the storage is ours. The watchers still post what they see. */
	workers_end(job->workers);
	job_notify_end(job, &outcome, end_notice_until(job));
	until_ms = end_record_until(job);
	end_attempt(job, &outcome, until_ms);
	job_tell_observers_of_end(job, &outcome, until_ms);
	job_requeue(job, &outcome);
	job_acknowledge(job, &outcome);
	return outcome.exit_code;
}

int job_run(struct job *job)
{
	struct err err;
	int code;

	job->state = JOB_RESTORING;
	sigemptyset(&job->early_signals);
	job->upload_ms = job->pace.save_ms = -1;
	job->durable_step = -1;
	job->point.usual_ms = -1;
	job->budget.commit_until_ms = CLOCK_NEVER;
	job->budget_timer.fired = budget_spent;
	job->sweep_timer.fired = sweep;
	if (job_open(job, &err) < 0) {
		log_error("%s", err.text);
		job_close(job);
		return err.kind == ERR_INVALID ? EXIT_USAGE : EXIT_OWN_FAILURE;
	}
	job_begin_resume(job);
	if (job->state != JOB_OVER && loop_run(&job->loop, &err) < 0)
		log_error("%s", err.text);
	code = finish(job);
	job_close(job);
	return code;
}
