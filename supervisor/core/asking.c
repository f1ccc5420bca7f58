/*
 * Requests for a checkpoint, and their answers. The table of request_table.c says who is answered
 * by what; here its events are made, and its effects become those of the step.
 */
#include "step.h"

#define SAVE_OVER_CHECK_MS 20

bool asks_by_flag(const struct job_rules *rules, const struct job_view *view)
{
	return rules->ask == REQUEST_FLAG || (rules->may_flag && view->directory.polled);
}

bool job_can_request(const struct job_rules *rules, const struct job_view *view)
{
	return rules->ask == REQUEST_SIGNAL || rules->ask == REQUEST_COMMAND ||
	       asks_by_flag(rules, view);
}

/* If neither the user nor the profile names a way to ask, SIGTERM is the request, provided that a
 * process handles it. */
bool job_can_request_or_signal(const struct job_rules *rules, const struct job_view *view)
{
	return job_can_request(rules, view) || (rules->ask == REQUEST_AUTO && view->has_target);
}

bool job_is_asking(const struct job_model *model)
{
	return model->requests.asking != ASKING_NONE &&
	       (model->state == JOB_RUNNING || model->state == JOB_CHECKPOINTING);
}

/* A job asked through the flag got no signal, whatever its profile says. */
bool job_asked_by_sigterm(const struct job_model *model, const struct job_rules *rules)
{
	return model->asking.sent_ms > 0 && !model->asking.by_flag &&
	       (model->asking.forwarded || rules->asks_by_sigterm);
}

/* A request makes this framework save and exit. Intervals, advice and clients must not use it. */
static bool ends_when_asked(const struct step *step)
{
	return step->rules->ends_when_asked && !asks_by_flag(step->rules, step->view);
}

/* --- the effects of the table --- */

/* The job is asked anew, after what was asked before. */
static void ask(const struct step *step)
{
	struct job_model *model = step->model;

	model->asking.sent_ms = 0;
	model->asking.answered = model->asking.forwarded = false;
	act(step, JOB_DO_ASK);
}

static void translate(const struct step *step, const struct request_effect *effect)
{
	switch (effect->kind) {
	case REQUEST_DO_ASK:
		return ask(step);
	case REQUEST_DO_STOP_ASKING:
		cancel_deferral(step);
		return act(step, JOB_DO_STOP_ASKING);
	case REQUEST_DO_USE_SAVE:
		return say(step, SAY_SAVE_IS_USED);
	case REQUEST_DO_BEGIN_LATER:
		return arm(step, TIMER_SAVE_OVER, step->view->now_ms + SAVE_OVER_CHECK_MS);
	case REQUEST_DO_REPLY_ASKED:
	case REQUEST_DO_REPLY_SAVED:
	case REQUEST_DO_REPLY_DURABLE:
	case REQUEST_DO_REPLY_FAILED:
		return act_on(step, (struct job_effect){.kind = JOB_DO_REPLY,
							.client = effect->client,
							.reply = effect->kind,
							.last = effect->last});
	case REQUEST_EFFECTS:
		break;
	}
}

void step_requests(const struct step *step, struct request_event event)
{
	auto_(request_effects_release) struct request_effects effects = {0};

	request_table_step(&step->model->requests, &event, &effects);
	for (size_t i = 0; i < effects.count; i++)
		translate(step, &effects.items[i]);
}

void job_end_requests(struct job_model *model, struct job_effects *effects)
{
	/* Nothing is begun any more that would ask for the time. */
	static const struct job_view nothing;
	const struct step step = {.model = model, .view = &nothing, .effects = effects};

	step_requests(&step, (struct request_event){.kind = REQUEST_EV_ENDED});
}

/* --- requests are made --- */

/* The previous request was withdrawn, but its save goes on. Another signal now would interrupt the
 * job's handler and run it a second time. */
static bool is_still_saving(const struct step *step)
{
	return step->model->asking.sent_ms > 0 && !step->model->asking.answered &&
	       step->view->rank_saving && step->view->directory.saving;
}

static void make_request(const struct step *step, enum save_reason cause, void *client,
			 bool until_asked)
{
	bool asked = step->model->requests.asking == ASKING_SENT;

	step_requests(step, (struct request_event){
				    .kind = REQUEST_EV_MADE,
				    .cause = cause,
				    .client = client,
				    .until_asked = until_asked,
				    .saving = asked ? step->view->directory.saving
						    : is_still_saving(step),
			    });
	/* The others have been asked for the one that serves it. */
	if (cause != SAVED_AT_NOTICE && step->model->requests.made > 0)
		share_request(step);
}

void request_checkpoint(const struct step *step, enum save_reason cause)
{
	bool notice = cause == SAVED_AT_NOTICE;
	/* Without a profile, SIGTERM is the only request, and it may end the job: not for advice.
	 */
	bool may_ask = job_can_request(step->rules, step->view) ||
		       (notice && step->rules->ask == REQUEST_AUTO);

	if (!notice && step->model->state != JOB_RUNNING)
		return;
	if (!may_ask || (!notice && ends_when_asked(step)))
		say(step, SAY_NO_WAY_TO_ASK);
	else
		make_request(step, cause, NULL, false);
}

static void refuse(const struct step *step, void *client, enum client_refusal refusal)
{
	act_on(step,
	       (struct job_effect){.kind = JOB_DO_REFUSE, .client = client, .refusal = refusal});
}

/* Does SIGTERM make it save and end, as far as is known? Not where no process handles it. */
static bool would_end(const struct step *step)
{
	return ends_when_asked(step) &&
	       (step->rules->ask != REQUEST_AUTO || step->view->has_target);
}

void on_client(const struct step *step, const struct job_event *event)
{
	if (step->model->snapshots.superseded)
		refuse(step, event->client, REFUSED_SUPERSEDED);
	else if (step->model->state != JOB_RUNNING)
		refuse(step, event->client,
		       step->model->launched_ms > 0 ? REFUSED_BEING_STOPPED : REFUSED_NOT_STARTED);
	else if (would_end(step))
		refuse(step, event->client, REFUSED_ENDS_WHEN_ASKED);
	else if (!job_can_request(step->rules, step->view))
		refuse(step, event->client, REFUSED_CANNOT_ASK);
	else
		make_request(step, SAVED_ON_REQUEST, event->client, event->until_asked);
}

/* --- the job is asked --- */

void on_sending(const struct step *step, const struct job_event *event)
{
	struct job_model *model = step->model;

	model->asking.sent_ms = step->view->now_ms;
	model->asking.by_flag = event->by_flag;
	model->facts.told_to_end |= model->state == JOB_CHECKPOINTING;
	step_requests(step, (struct request_event){.kind = REQUEST_EV_SENDING});
}

void on_cannot_ask(const struct step *step)
{
	const struct job_model *model = step->model;

	/* No process handles SIGTERM: forward it as an init would. */
	if (step->rules->ask == REQUEST_AUTO && model->stop.stands && model->stop.by_sigterm) {
		act(step, JOB_DO_STOP_TRYING);
		forward_sigterm_in_time(step);
		return;
	}
	say(step, SAY_CANNOT_ASK);
	if (model->state == JOB_RUNNING)
		step_requests(step, (struct request_event){.kind = REQUEST_EV_NOT_ASKED});
}

void on_save_over_due(const struct step *step)
{
	if (step->model->state == JOB_RUNNING)
		step_requests(step, (struct request_event){.kind = REQUEST_EV_SAVE_OVER,
							   .saving = step->view->directory.saving});
}
