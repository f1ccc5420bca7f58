#include "step.h"
#include "core.h"
#include "model.h"

#include "base/text.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

/* From the first SIGTERM of a wish. */
#define STOP_WISH_MS 1000

/* --- names --- */

const char *const job_state_names[JOB_STATES + 1] = {
	[JOB_RESTORING] = "restoring",         [JOB_RUNNING] = "running",
	[JOB_CHECKPOINTING] = "checkpointing", [JOB_STOPPING] = "stopping",
	[JOB_UPLOADING] = "uploading",         [JOB_OVER] = "ended",
};

const char *save_reason_name(enum save_reason reason)
{
	static const char *const names[SAVE_REASONS] = {
		[SAVED_BY_ITSELF] = "change",   [SAVED_AT_EXIT] = "exit",
		[SAVED_ON_REQUEST] = "request", [SAVED_AT_INTERVAL] = "interval",
		[SAVED_ON_ADVICE] = "advice",   [SAVED_AT_NOTICE] = "notice",
	};

	return names[reason];
}

/* --- effects --- */

void job_effects_release(struct job_effects *effects)
{
	free(effects->items);
	*effects = (struct job_effects){0};
}

void act_on(const struct step *step, struct job_effect effect)
{
	struct job_effects *effects = step->effects;

	if (effects->count == effects->capacity) {
		effects->capacity = 2 * effects->capacity + 16;
		effects->items =
			memory_grow(effects->items, effects->capacity, sizeof(effects->items[0]));
	}
	effects->items[effects->count++] = effect;
}

void act(const struct step *step, enum job_effect_kind kind)
{
	act_on(step, (struct job_effect){.kind = kind});
}

void act_at(const struct step *step, enum job_effect_kind kind, int64_t at_ms)
{
	act_on(step, (struct job_effect){.kind = kind, .at_ms = at_ms});
}

void say(const struct step *step, enum job_sentence sentence)
{
	act_on(step, (struct job_effect){.kind = JOB_DO_SAY, .sentence = sentence});
}

void arm(const struct step *step, enum job_timer timer, int64_t at_ms)
{
	step->model->due_ms[timer] = at_ms;
}

void set_durable(struct job_model *model, const struct checkpoint *checkpoint)
{
	model->durable.written_ms = checkpoint->written_ms;
	model->durable.step = checkpoint->step;
	model->durable.reported_step = checkpoint->reported_step;
	model->durable.as_of_start = checkpoint->as_of_start;
}

void disarm(const struct step *step, enum job_timer timer)
{
	step->model->due_ms[timer] = CLOCK_NEVER;
}

int64_t job_next_due_ms(const struct job_model *model, enum job_timer *timer)
{
	*timer = TIMER_BUDGET;
	for (int i = 0; i < JOB_TIMERS; i++)
		if (model->due_ms[i] < model->due_ms[*timer])
			*timer = (enum job_timer)i;
	return model->due_ms[*timer];
}

struct job_model job_model_new(const struct job_rules *rules)
{
	struct job_model model = {
		.state = JOB_RESTORING,
		.stop.deadline_ms = CLOCK_NEVER,
		.budget.commit_until_ms = CLOCK_NEVER,
		.attempt = rules->has_store ? ATTEMPT_CLAIMING : ATTEMPT_NONE,
		.durable = {.step = -1, .reported_step = -1},
		.measured = {.save_ms = -1, .upload_ms = -1},
		.facts.managed = rules->expects_saves,
	};

	for (int i = 0; i < JOB_TIMERS; i++)
		model.due_ms[i] = CLOCK_NEVER;
	return model;
}

/* --- the start --- */

static void on_launched(const struct step *step, const struct job_event *event)
{
	step->model->facts.launched = true;
	step->model->launched_ms = step->view->now_ms;
	begin_measuring(step);
	if (event->fresh)
		on_existing(step, event);
}

static void on_start_failed(const struct step *step, int code)
{
	step->model->facts.refusal = code;
	live(step, JOB_EV_START_FAILED);
}

/* --- signals to the supervisor --- */

static bool manages_checkpoints(const struct step *step)
{
	return step->model->facts.managed || asks_by_flag(step->rules, step->view);
}

/* Who ends a process and then its group sends two SIGTERMs in a row, and means one: timeout(1),
 * Slurm and systemd do. Repetitions do not extend a wish: of one every 0.6 s, each second one is
 * new. */
static bool repeats_wish(const struct step *step)
{
	int64_t now_ms = step->view->now_ms;

	if (step->model->wish_ms > 0 && now_ms - step->model->wish_ms < STOP_WISH_MS)
		return true;
	step->model->wish_ms = now_ms;
	return false;
}

/* SIGTERM, or what the scheduler sends instead, as SIGUSR1 for `sbatch --signal=B:USR1@SECONDS`. */
static void on_stop_signal(const struct step *step, bool by_term)
{
	struct job_model *model = step->model;
	bool repeats = by_term && repeats_wish(step);

	/* There is nothing to save: only forward each signal, as an init does. If the job answers
	 * it with its first checkpoint and ends, it has not finished: it was told to end. */
	if (model->state != JOB_RESTORING && !manages_checkpoints(step)) {
		model->facts.noticed = model->facts.by_signal_only = true;
		model->facts.told_to_end = true;
		act(step, JOB_DO_RELEASE_SIGTERM);
		act(step, JOB_DO_PASS_SIGNAL);
		return;
	}
	/* A later SIGTERM ends the wait for the save under way. */
	if (repeats || (by_term && end_deferral(step)))
		return;
	act(step, JOB_DO_TAKE_FOR_NOTICE);
}

/* A job that handles one of these may save, and leave with 0. */
static bool ends_a_job(const struct job_event *event)
{
	return !event->ignored &&
	       (event->signal == SIGINT || event->signal == SIGQUIT || event->signal == SIGHUP);
}

/* No job is running yet: Ctrl-C and the like end the supervisor itself, except for signals that
 * nohup ignores. All others are kept for the job. */
static void on_early_signal(const struct step *step, const struct job_event *event)
{
	if (event->ignored)
		return;
	if (!ends_a_job(event)) {
		act(step, JOB_DO_KEEP_SIGNAL);
		return;
	}
	act(step, JOB_DO_CANCEL);
	on_start_failed(step, 128 + event->signal);
}

/* A stop that follows sets told_ms anew. */
static void pass_signal(const struct step *step, const struct job_event *event)
{
	if (event->signal == SIGINT && step->model->state != JOB_STOPPING)
		step->model->told_ms = step->view->now_ms;
	act(step, JOB_DO_PASS_SIGNAL);
}

static void on_signal(const struct step *step, const struct job_event *event)
{
	const struct job_rules *rules = step->rules;

	/* SIGTERM is a notice even if it was ignored when we were started (`trap '' TERM` in the
	 * calling script), because its sender takes the machine away all the same. */
	if (event->signal == SIGTERM)
		on_stop_signal(step, true);
	else if (rules->notice_signals >> (event->signal - 1) & 1 && manages_checkpoints(step))
		on_stop_signal(step, false);
	else if (event->signal == SIGUSR1 && job_can_request(rules, step->view))
		request_checkpoint(step, SAVED_ON_REQUEST);
	else if (step->model->state == JOB_RESTORING)
		on_early_signal(step, event);
	else if (step->model->state == JOB_UPLOADING && event->signal == SIGINT && !event->ignored)
		on_flush_interrupted(step);
	else
		pass_signal(step, event);
}

/* --- notices --- */

static void on_stop_announced(const struct step *step, const struct stop_event *stop)
{
	struct job_model *model = step->model;

	model->stop.stands = true;
	model->stop.by_sigterm = stop->by_sigterm;
	model->stop.deadline_ms = stop->deadline_ms;
	model->facts.by_signal_only = stop->by_sigterm && stop->alone;
	live(step, JOB_EV_STOP_ANNOUNCED);
	tell_next_attempt(step);
}

static void on_stop_cancelled(const struct step *step)
{
	step->model->stop.stands = step->model->stop.by_sigterm = false;
	step->model->stop.deadline_ms = CLOCK_NEVER;
	step->model->gang.answered = step->model->gang.excused = false;
	live(step, JOB_EV_STOP_CANCELLED);
	tell_next_attempt(step);
}

/* --- the job ends --- */

/* Is what the job wrote last complete? If the job was asked, its files decide, because trainers end
 * with the same code or signal after a save and after an exception in one. */
enum job_end job_child_end(const struct job_model *model, const struct job_rules *rules,
			   const struct child_exit *child)
{
	bool was_asked = model->facts.told_to_end || model->asking.sent_ms > 0;
	int code;

	/* SIGKILL, and a signal without a handler, can end the job in the middle of a save. */
	if (WIFSIGNALED(child->wait_status))
		return WTERMSIG(child->wait_status) != SIGKILL && job_asked_by_sigterm(model, rules)
			       ? JOB_END_ASKED
			       : JOB_END_CRASHED;
	code = WEXITSTATUS(child->mapped_status);
	/* 75 is EX_TEMPFAIL of sysexits(3): nobody crashes with it. */
	if (code == 0 || code == EXIT_PREEMPTED)
		return JOB_END_CLEAN;
	if (!was_asked)
		return JOB_END_CRASHED;
	/* After a save, TensorFlow exits with 42, and submitit with sys.exit(-1), which is 255. */
	if (code == 128 + SIGTERM || code == 128 + rules->request_signal || code == 42 ||
	    code == 255 || child->resumes)
		return JOB_END_CLEAN;
	return JOB_END_ASKED;
}

static void on_child_exited(const struct step *step, const struct child_exit *child)
{
	step->model->facts.wait_status = child->mapped_status;
	step->model->facts.resumes = child->resumes;
	step->model->snapshots.ended_running = step->view->directory.running_generation;
	live(step, JOB_EV_CHILD_EXITED);
}

/* --- the tables --- */

static void on_timer(const struct step *step, enum job_timer timer)
{
	static void (*const due[JOB_TIMERS])(const struct step *step) = {
		[TIMER_BUDGET] = on_budget_due,     [TIMER_SAVE_OVER] = on_save_over_due,
		[TIMER_SETTLING] = on_settling_due, [TIMER_INTERVAL] = on_interval_due,
		[TIMER_SNAPSHOT] = pace_snapshots,  [TIMER_RETRY] = on_retry_due,
		[TIMER_FLUSH] = on_flush_due,       [TIMER_RISK] = on_risk_due,
	};

	disarm(step, timer);
	due[timer](step);
}

void job_step(struct job_model *model, const struct job_rules *rules, const struct job_view *view,
	      const struct job_event *event, struct job_effects *effects)
{
	const struct step step = {model, rules, view, effects};

	if (model->state == JOB_OVER && event->kind != JOB_EV_CLIENT &&
	    event->kind != JOB_EV_CLIENT_GONE)
		return;
	switch (event->kind) {
	case JOB_EV_RESTORED:
		on_claimed(&step, &event->claim);
		return live(&step, JOB_EV_RESTORED);
	case JOB_EV_START_FAILED:
		return on_start_failed(&step, event->code);
	case JOB_EV_CLAIMED:
		return on_claimed(&step, &event->claim);
	case JOB_EV_LAUNCHED:
		return on_launched(&step, event);
	case JOB_EV_SIGNAL:
		return on_signal(&step, event);
	case JOB_EV_STOP_ANNOUNCED:
		return on_stop_announced(&step, &event->stop);
	case JOB_EV_STOP_CANCELLED:
		return on_stop_cancelled(&step);
	case JOB_EV_ADVICE:
		return request_checkpoint(&step, SAVED_ON_ADVICE);
	case JOB_EV_CLIENT:
		return on_client(&step, event);
	case JOB_EV_CLIENT_GONE:
		return on_client_gone(&step, event->client);
	case JOB_EV_SENDING:
		return on_sending(&step, event);
	case JOB_EV_ASKED:
		return on_asked(&step);
	case JOB_EV_CANNOT_ASK:
		return on_cannot_ask(&step);
	case JOB_EV_SAVE_STARTED:
		return on_save_started(&step, event);
	case JOB_EV_RUNNING_WRITTEN:
		return on_running_written(&step, event);
	case JOB_EV_COMPLETE:
		return on_complete(&step, event);
	case JOB_EV_CHILD_EXITED:
		return on_child_exited(&step, &event->child);
	case JOB_EV_PLANNED:
		/* A snapshot may hold a checkpoint that became complete after it was begun. */
		if (event->generation >= model->newest.generation)
			model->snapshots.pending_ms = 0;
		return;
	case JOB_EV_SNAPSHOT_DONE:
		return on_snapshot_done(&step, &event->snapshot);
	case JOB_EV_RETENTION_DONE:
		return on_retention_done(&step);
	case JOB_EV_GANG_ROUND:
		return on_gang_round(&step);
	case JOB_EV_GANG_ASKS:
		return on_gang_asks(&step, &event->gang);
	case JOB_EV_GANG_TOLD:
		return requests_note_event(&step, event->gang.request, event->gang.event);
	case JOB_EV_GANG_ANSWERED:
		return on_gang_answered(&step, &event->gang);
	case JOB_EV_GANG_LEFT:
		return on_gang_left(&step, event->lost, event->silent);
	case JOB_EV_TIMER:
		return on_timer(&step, event->timer);
	case JOB_EVENTS:
		break;
	}
}
