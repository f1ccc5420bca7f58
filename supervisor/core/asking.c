/*
 * Requests for a checkpoint, and their answers: who asked is answered by what the job saved after
 * that, and by nothing else (model.h).
 */
#include "step.h"

#include "base/text.h"

#include <stdlib.h>

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

/* --- what the table holds --- */

static bool has_phase(const struct request_table *table, enum request_phase phase)
{
	for (size_t i = 0; i < table->count; i++)
		if (table->items[i].phase == phase)
			return true;
	return false;
}

bool request_table_is_open(const struct request_table *table)
{
	return has_phase(table, REQUEST_ASKED) || has_phase(table, REQUEST_PENDING);
}

bool request_table_awaits(const struct request_table *table)
{
	for (size_t i = 0; i < table->count; i++)
		if (table->items[i].client)
			return true;
	return request_table_is_open(table);
}

enum save_reason request_table_cause(const struct request_table *table)
{
	enum save_reason most = SAVED_BY_ITSELF;

	for (size_t i = 0; i < table->count; i++)
		if (table->items[i].phase == REQUEST_ASKED && table->items[i].cause > most)
			most = table->items[i].cause;
	return most;
}

uint32_t request_table_saw(const struct request_table *table)
{
	return table->notice > 0 && table->notice_saved ? table->notice : table->saw;
}

void request_table_release(struct request_table *table)
{
	free(table->items);
	*table = (struct request_table){0};
}

/* --- requests come and go --- */

/* To the client that waits for the request, if there is one. */
static void reply(const struct step *step, struct request *request, enum client_reply kind)
{
	bool last = kind == REPLY_DURABLE || kind == REPLY_FAILED ||
		    (kind == REPLY_ASKED && request->until_asked);

	if (request->client)
		act_on(step, (struct job_effect){.kind = JOB_DO_REPLY,
						 .client = request->client,
						 .reply = kind,
						 .last = last});
	if (last)
		request->client = NULL;
}

/* The last reply to it. */
static void end_request(const struct step *step, struct request *request, enum client_reply kind)
{
	reply(step, request, kind);
	request->phase = REQUEST_OVER;
}

static void remove_ended(struct request_table *table)
{
	size_t kept = 0;

	for (size_t i = 0; i < table->count; i++)
		if (table->items[i].phase != REQUEST_OVER)
			table->items[kept++] = table->items[i];
	table->count = kept;
}

static void reply_to_asked(const struct step *step, enum client_reply kind)
{
	const struct request_table *table = &step->model->requests;

	for (size_t i = 0; i < table->count; i++)
		if (table->items[i].phase == REQUEST_ASKED)
			reply(step, &table->items[i], kind);
}

static struct request *add_request(struct request_table *table, struct request request,
				   enum request_phase phase)
{
	request.id = ++table->last_id;
	request.phase = phase;
	table->items = memory_grow(table->items, table->count + 1, sizeof(table->items[0]));
	table->items[table->count] = request;
	return &table->items[table->count++];
}

static void move_requests(struct request_table *table, enum request_phase from,
			  enum request_phase to, uint64_t generation)
{
	for (size_t i = 0; i < table->count; i++) {
		if (table->items[i].phase != from)
			continue;
		table->items[i].phase = to;
		table->items[i].generation = generation;
	}
}

/* The job is asked anew, after what was asked before. */
static void ask(const struct step *step)
{
	struct job_model *model = step->model;

	move_requests(&model->requests, REQUEST_PENDING, REQUEST_ASKED, 0);
	model->requests.asking = ASKING_BEGUN;
	model->asking.sent_ms = 0;
	model->asking.answered = model->asking.forwarded = false;
	act(step, JOB_DO_ASK);
}

static void stop_asking(const struct step *step)
{
	cancel_deferral(step);
	act(step, JOB_DO_STOP_ASKING);
}

/* Looks soon whether the save under way has ended. */
static void begin_later(const struct step *step)
{
	arm(step, TIMER_SAVE_OVER, step->view->now_ms + SAVE_OVER_CHECK_MS);
}

static void end_asking(const struct step *step)
{
	step->model->requests.asking = ASKING_NONE;
	stop_asking(step);
	if (has_phase(&step->model->requests, REQUEST_PENDING))
		begin_later(step);
}

/* --- what happens to them --- */

uint64_t requests_make(const struct step *step, struct request asked, bool saving)
{
	struct request_table *table = &step->model->requests;
	/* A client is promised what was saved after it asked. To the others, time matters more. */
	bool own_save = asked.cause == SAVED_ON_REQUEST && saving;
	/* One without a client needs no second one: it would ask for the same. */
	bool once = !asked.client && !asked.event;
	enum request_phase phase;
	struct request *made;

	if (table->asking == ASKING_NONE && saving) {
		table->asking = ASKING_SENT;
		say(step, SAY_SAVE_IS_USED);
	}
	if (table->asking == ASKING_NONE) {
		made = add_request(table, asked, REQUEST_ASKED);
		ask(step);
		return made->id;
	}
	phase = table->asking == ASKING_SENT && own_save ? REQUEST_PENDING : REQUEST_ASKED;
	if (once && has_phase(table, phase) && asked.cause != SAVED_AT_NOTICE)
		return 0;
	made = add_request(table, asked, phase);
	if (phase == REQUEST_PENDING)
		begin_later(step);
	if (table->asking == ASKING_SENT)
		reply(step, made, REPLY_ASKED);
	return made->id;
}

void requests_note_forwarded(const struct step *step)
{
	struct request_table *table = &step->model->requests;

	move_requests(table, REQUEST_PENDING, REQUEST_ASKED, 0);
	if (!has_phase(table, REQUEST_ASKED))
		add_request(table, (struct request){.cause = SAVED_AT_NOTICE}, REQUEST_ASKED);
	table->asking = ASKING_SENT;
}

/* Of a gang: an event is answered once all before it are. */
static void note_answers(struct request_table *table)
{
	uint32_t open = UINT32_MAX;

	for (size_t i = 0; i < table->count; i++) {
		const struct request *request = &table->items[i];

		if (request->phase != REQUEST_SAVED && request->event > 0 && request->event < open)
			open = request->event;
		table->notice_saved |=
			request->phase == REQUEST_SAVED && request->cause == SAVED_AT_NOTICE;
	}
	for (size_t i = 0; i < table->count; i++) {
		const struct request *request = &table->items[i];

		if (request->phase == REQUEST_SAVED && request->event < open &&
		    request->event > table->saw)
			table->saw = request->event;
	}
}

void requests_note_event(const struct step *step, uint64_t id, uint32_t event)
{
	struct request_table *table = &step->model->requests;

	if (id == 0 && table->notice == 0)
		table->notice = event;
	for (size_t i = 0; i < table->count; i++)
		if (table->items[i].id == id)
			table->items[i].event = event;
	note_answers(table);
}

void requests_note_elsewhere(const struct step *step, uint32_t event)
{
	struct request_table *table = &step->model->requests;

	for (size_t i = 0; i < table->count; i++) {
		struct request *request = &table->items[i];

		if (request->cause == SAVED_AT_NOTICE
			    ? table->notice > 0 && event >= table->notice
			    : request->event > 0 && request->event <= event)
			end_request(step, request, REPLY_DURABLE);
	}
	remove_ended(table);
	if (table->asking != ASKING_NONE && !has_phase(table, REQUEST_ASKED))
		end_asking(step);
}

void requests_note_complete(const struct step *step, uint64_t generation, bool late)
{
	struct request_table *table = &step->model->requests;

	if (table->asking != ASKING_SENT)
		return;
	/* It is older than what the clients were promised: the job is asked for them once more. */
	for (size_t i = 0; late && i < table->count; i++)
		if (table->items[i].phase == REQUEST_ASKED &&
		    table->items[i].cause == SAVED_ON_REQUEST)
			table->items[i].phase = REQUEST_PENDING;
	reply_to_asked(step, REPLY_SAVED);
	move_requests(table, REQUEST_ASKED, REQUEST_SAVED, generation);
	note_answers(table);
	end_asking(step);
}

void requests_note_stored(const struct step *step, uint64_t generation, bool durable)
{
	struct request_table *table = &step->model->requests;

	for (size_t i = 0; i < table->count; i++)
		if (table->items[i].phase == REQUEST_SAVED &&
		    table->items[i].generation <= generation)
			end_request(step, &table->items[i], durable ? REPLY_DURABLE : REPLY_FAILED);
	remove_ended(table);
}

void requests_withdraw(const struct step *step)
{
	struct request_table *table = &step->model->requests;

	table->notice_saved = false;
	for (size_t i = 0; i < table->count; i++)
		if (table->items[i].cause == SAVED_AT_NOTICE)
			table->items[i].phase = REQUEST_OVER;
	remove_ended(table);
	if (!has_phase(table, REQUEST_ASKED))
		end_asking(step);
}

/* A checkpoint that comes all the same answers whoever asked before it began. */
void requests_stop(const struct step *step)
{
	struct request_table *table = &step->model->requests;

	if (table->asking != ASKING_NONE)
		stop_asking(step);
	if (table->asking == ASKING_BEGUN)
		table->asking = ASKING_NONE;
}

void requests_end(const struct step *step)
{
	struct request_table *table = &step->model->requests;

	for (size_t i = 0; i < table->count; i++)
		end_request(step, &table->items[i], REPLY_FAILED);
	remove_ended(table);
	if (table->asking != ASKING_NONE)
		end_asking(step);
}

void job_end_requests(struct job_model *model, struct job_effects *effects)
{
	/* Nothing is begun any more that would ask for the time. */
	static const struct job_view nothing;
	const struct step step = {.model = model, .view = &nothing, .effects = effects};

	requests_end(&step);
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
	const struct request asked = {.cause = cause, .client = client, .until_asked = until_asked};
	bool saving = step->model->requests.asking == ASKING_SENT ? step->view->directory.saving
								  : is_still_saving(step);
	uint64_t made = requests_make(step, asked, saving);

	/* The others have been asked for the one that serves it. */
	if (cause != SAVED_AT_NOTICE && made > 0)
		share_request(step, made);
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

void on_client_gone(const struct step *step, const void *client)
{
	struct request_table *table = &step->model->requests;

	for (size_t i = 0; i < table->count; i++)
		if (table->items[i].client == client)
			table->items[i].client = NULL;
}

/* --- the job is asked --- */

void on_sending(const struct step *step, const struct job_event *event)
{
	struct job_model *model = step->model;

	model->asking.sent_ms = step->view->now_ms;
	model->asking.by_flag = event->by_flag;
	model->facts.told_to_end |= model->state == JOB_CHECKPOINTING;
	model->requests.asking = ASKING_SENT;
}

void on_asked(const struct step *step)
{
	reply_to_asked(step, REPLY_ASKED);
}

void on_cannot_ask(const struct step *step)
{
	const struct job_model *model = step->model;

	/* No process handles SIGTERM: forward it as an init would. */
	if (step->rules->ask == REQUEST_AUTO && model->stop.stands && model->stop.by_sigterm) {
		act(step, JOB_DO_STOP_ASKING);
		forward_sigterm_in_time(step);
		return;
	}
	say(step, SAY_CANNOT_ASK);
	if (model->state != JOB_RUNNING)
		return;
	reply_to_asked(step, REPLY_FAILED);
	move_requests(&step->model->requests, REQUEST_ASKED, REQUEST_OVER, 0);
	remove_ended(&step->model->requests);
	end_asking(step);
}

/* The save may have ended without a checkpoint: then all of them are asked for again. */
void on_save_over_due(const struct step *step)
{
	const struct request_table *table = &step->model->requests;

	if (step->model->state != JOB_RUNNING || !has_phase(table, REQUEST_PENDING) ||
	    table->asking == ASKING_BEGUN)
		return;
	if (step->view->directory.saving)
		begin_later(step);
	else
		ask(step);
}
