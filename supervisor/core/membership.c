/*
 * A job on several machines. The members save together: a snapshot is begun when all save, whether
 * or not one is due here. They are asked together, and what answers one of them answers all. And
 * after the job's end a member stays until the others need no part of it any more.
 */
#include "step.h"

void share_request(const struct step *step, uint64_t request)
{
	if (step->rules->of_gang)
		act_on(step, (struct job_effect){.kind = JOB_DO_SHARE_REQUEST, .request = request});
}

/* After the job's end too, for the others; but once the notice is answered nobody waits for them.
 */
void on_gang_round(const struct step *step)
{
	begin_snapshot_now(step);
	if (step->model->state == JOB_UPLOADING)
		flush(step);
}

/* It asks for no third checkpoint: whoever asked has told all. */
void on_gang_asks(const struct step *step, const struct gang_told *asked)
{
	const struct job_model *model = step->model;
	bool ends = step->rules->ends_when_asked && !asks_by_flag(step->rules, step->view);

	if (model->state != JOB_RUNNING || !job_can_request(step->rules, step->view) || ends)
		return;
	restart_interval(step);
	requests_make(step, (struct request){.cause = SAVED_ON_REQUEST, .event = asked->event},
		      model->requests.asking == ASKING_SENT && step->view->directory.saving);
}

/* The checkpoint of a member answers what was asked, and this one has given its part of the same
 * step. This job may have nothing to save, or have saved before it was asked. */
void on_gang_answered(const struct step *step, const struct gang_told *answered)
{
	struct job_model *model = step->model;
	int64_t now_ms = step->view->now_ms;
	bool open = request_table_is_open(&model->requests);

	requests_note_elsewhere(step, answered->event);
	if (open && !request_table_is_open(&model->requests) && model->asking.sent_ms > 0) {
		model->asking.answered = true;
		if (model->asking.first_answer_ms == 0)
			model->asking.first_answer_ms = now_ms;
	}
	model->snapshots.any_durable = true;
	if (!model->any_complete) {
		model->durable.written_ms = now_ms;
		model->durable.step = model->durable.reported_step = -1;
	}
	/* What it makes from now on, without those that end, is no checkpoint of all. */
	model->gang.answered = answered->notice_is_over && model->stop.stands;
	/* What was saved before, and never will be in a snapshot, is lost. */
	model->gang.excused =
		model->gang.answered && !(answered->unanswered && job_has_pending(model));
	if (model->gang.answered && model->state == JOB_CHECKPOINTING)
		live(step, EV_CHECKPOINT_COMPLETE);
	else if (model->state == JOB_UPLOADING)
		flush(step);
}

/* --- after the job's end --- */

bool gives_up_waiting(const struct step *step)
{
	const struct job_model *model = step->model;

	if (!model->gang.answered || !model->stop.stands || !step->view->awaits_gang)
		return false;
	act(step, JOB_DO_CANCEL);
	live(step, EV_UPLOADED);
	return true;
}

bool leave_gang(const struct step *step)
{
	struct job_model *model = step->model;

	if (!step->rules->of_gang || model->attempt != ATTEMPT_CLAIMED ||
	    model->snapshots.superseded || model->gang.left)
		return true;
	if (!model->gang.leaving)
		act(step, JOB_DO_LEAVE_GANG);
	model->gang.leaving = true;
	return false;
}

bool leave_gang_at_once(const struct step *step)
{
	struct job_model *model = step->model;

	if (model->state != JOB_UPLOADING || !model->gang.leaving || model->gang.left ||
	    model->snapshots.in_flight)
		return false;
	on_gang_left(step, step->view->awaits_final, false);
	return true;
}

/* What still waits for a round waits in vain. A machine that is lost was taken away, though nobody
 * has announced it. */
void on_gang_left(const struct step *step, bool lost, bool silent)
{
	struct job_model *model = step->model;

	model->gang.left = true;
	model->gang.lost = lost;
	if (silent && !model->facts.noticed)
		model->facts.noticed = model->facts.noticed_late = true;
	if (model->state != JOB_UPLOADING)
		return;
	if (model->snapshots.in_flight && step->view->awaits_gang) {
		act(step, JOB_DO_CANCEL);
		live(step, EV_UPLOADED);
	} else {
		flush(step);
	}
}
