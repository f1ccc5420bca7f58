#include "model.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

void request_table_release(struct request_table *table)
{
	free(table->items);
	free(table->waiters);
	*table = (struct request_table){0};
}

void request_effects_release(struct request_effects *effects)
{
	free(effects->items);
	*effects = (struct request_effects){0};
}

/* --- what it holds --- */

static const struct request *find_request(const struct request_table *table, uint64_t id)
{
	for (size_t i = 0; i < table->count; i++)
		if (table->items[i].id == id)
			return &table->items[i];
	return NULL;
}

static bool has_phase(const struct request_table *table, enum request_phase phase)
{
	for (size_t i = 0; i < table->count; i++)
		if (table->items[i].phase == phase)
			return true;
	return false;
}

enum request_phase request_table_phase(const struct request_table *table,
				       const struct request_waiter *waiter)
{
	return find_request(table, waiter->request)->phase;
}

bool request_table_is_open(const struct request_table *table)
{
	return has_phase(table, REQUEST_ASKED) || has_phase(table, REQUEST_PENDING);
}

bool request_table_awaits(const struct request_table *table)
{
	return table->waiter_count > 0 || request_table_is_open(table);
}

enum save_reason request_table_cause(const struct request_table *table)
{
	enum save_reason most = SAVED_BY_ITSELF;

	for (size_t i = 0; i < table->count; i++)
		if (table->items[i].phase == REQUEST_ASKED && table->items[i].cause > most)
			most = table->items[i].cause;
	return most;
}

/* --- effects --- */

static void add_effect(struct request_effects *effects, struct request_effect effect)
{
	effects->items = memory_grow(effects->items, effects->count + 1, sizeof(effects->items[0]));
	effects->items[effects->count++] = effect;
}

static void act(struct request_effects *effects, enum request_effect_kind kind)
{
	add_effect(effects, (struct request_effect){.kind = kind});
}

/* One reply to each that waits for the request. */
static void reply(struct request_table *table, uint64_t id, enum request_effect_kind kind,
		  struct request_effects *effects)
{
	bool ends = kind == REQUEST_DO_REPLY_DURABLE || kind == REQUEST_DO_REPLY_FAILED;
	size_t kept = 0;

	for (size_t i = 0; i < table->waiter_count; i++) {
		struct request_waiter waiter = table->waiters[i];
		bool last = ends || (kind == REQUEST_DO_REPLY_ASKED && waiter.until_asked);

		if (waiter.request == id)
			add_effect(effects, (struct request_effect){kind, waiter.client, last});
		if (waiter.request != id || !last)
			table->waiters[kept++] = waiter;
	}
	table->waiter_count = kept;
}

static void reply_all(struct request_table *table, enum request_phase phase,
		      enum request_effect_kind kind, struct request_effects *effects)
{
	for (size_t i = 0; i < table->count; i++)
		if (table->items[i].phase == phase)
			reply(table, table->items[i].id, kind, effects);
}

/* --- requests come and go --- */

static uint64_t add_request(struct request_table *table, const struct request_event *event,
			    enum request_phase phase)
{
	struct request request = {++table->last_id, event->cause, phase, 0, event->event};

	table->made = request.id;
	table->items = memory_grow(table->items, table->count + 1, sizeof(table->items[0]));
	table->items[table->count++] = request;
	if (!event->client)
		return request.id;
	table->waiters =
		memory_grow(table->waiters, table->waiter_count + 1, sizeof(table->waiters[0]));
	table->waiters[table->waiter_count++] =
		(struct request_waiter){event->client, request.id, event->until_asked};
	return request.id;
}

/* Ends the requests of that phase up to `generation` with this reply. */
static void end_requests(struct request_table *table, enum request_phase phase, uint64_t generation,
			 enum request_effect_kind kind, struct request_effects *effects)
{
	size_t kept = 0;

	for (size_t i = 0; i < table->count; i++) {
		struct request *request = &table->items[i];

		if (request->phase == phase && request->generation <= generation)
			reply(table, request->id, kind, effects);
		else
			table->items[kept++] = *request;
	}
	table->count = kept;
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

static void ask(struct request_table *table, struct request_effects *effects)
{
	move_requests(table, REQUEST_PENDING, REQUEST_ASKED, 0);
	table->asking = ASKING_BEGUN;
	act(effects, REQUEST_DO_ASK);
}

static void end_asking(struct request_table *table, struct request_effects *effects)
{
	table->asking = ASKING_NONE;
	act(effects, REQUEST_DO_STOP_ASKING);
	if (has_phase(table, REQUEST_PENDING))
		act(effects, REQUEST_DO_BEGIN_LATER);
}

/* --- events --- */

/* A client is promised what was saved after it asked. To the others, time matters more. */
static bool needs_own_save(const struct request_event *event)
{
	return event->cause == SAVED_ON_REQUEST && event->saving;
}

static void on_made(struct request_table *table, const struct request_event *event,
		    struct request_effects *effects)
{
	uint64_t id;

	table->made = 0;
	if (table->asking == ASKING_NONE && event->saving) {
		table->asking = ASKING_SENT;
		act(effects, REQUEST_DO_USE_SAVE);
	}
	if (table->asking == ASKING_NONE) {
		add_request(table, event, REQUEST_ASKED);
		ask(table, effects);
		return;
	}
	if (table->asking == ASKING_SENT && needs_own_save(event)) {
		/* One without a client needs no second one: it would ask for the same. */
		if (!event->client && !event->event && has_phase(table, REQUEST_PENDING))
			return;
		id = add_request(table, event, REQUEST_PENDING);
		act(effects, REQUEST_DO_BEGIN_LATER);
	} else if (!event->client && !event->event && has_phase(table, REQUEST_ASKED) &&
		   event->cause != SAVED_AT_NOTICE) {
		return;
	} else {
		id = add_request(table, event, REQUEST_ASKED);
	}
	if (table->asking == ASKING_SENT)
		reply(table, id, REQUEST_DO_REPLY_ASKED, effects);
}

/* It is older than what the clients were promised: the job is asked for them once more. */
static void put_clients_off(struct request_table *table)
{
	for (size_t i = 0; i < table->count; i++)
		if (table->items[i].phase == REQUEST_ASKED &&
		    table->items[i].cause == SAVED_ON_REQUEST)
			table->items[i].phase = REQUEST_PENDING;
}

/* --- of a gang --- */

static bool is_of_event(const struct request_table *table, const struct request *request,
			uint32_t event)
{
	if (request->cause == SAVED_AT_NOTICE)
		return table->notice > 0 && event >= table->notice;
	return request->event > 0 && request->event <= event;
}

/* An event is answered once all before it are. */
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

uint32_t request_table_saw(const struct request_table *table)
{
	return table->notice > 0 && table->notice_saved ? table->notice : table->saw;
}

static void on_told(struct request_table *table, const struct request_event *event)
{
	if (event->id == 0 && table->notice == 0)
		table->notice = event->event;
	for (size_t i = 0; i < table->count; i++)
		if (event->id > 0 && table->items[i].id == event->id)
			table->items[i].event = event->event;
	note_answers(table);
}

static void on_elsewhere(struct request_table *table, uint32_t event,
			 struct request_effects *effects)
{
	size_t kept = 0;

	for (size_t i = 0; i < table->count; i++) {
		struct request request = table->items[i];

		if (is_of_event(table, &request, event))
			reply(table, request.id, REQUEST_DO_REPLY_DURABLE, effects);
		else
			table->items[kept++] = request;
	}
	table->count = kept;
	if (table->asking != ASKING_NONE && !has_phase(table, REQUEST_ASKED))
		end_asking(table, effects);
}

/* --- what the job does --- */

static void on_complete(struct request_table *table, uint64_t generation, bool late,
			struct request_effects *effects)
{
	if (table->asking != ASKING_SENT)
		return;
	if (late)
		put_clients_off(table);
	reply_all(table, REQUEST_ASKED, REQUEST_DO_REPLY_SAVED, effects);
	move_requests(table, REQUEST_ASKED, REQUEST_SAVED, generation);
	note_answers(table);
	end_asking(table, effects);
}

static void on_withdrawn(struct request_table *table, struct request_effects *effects)
{
	size_t kept = 0;

	table->notice_saved = false;
	for (size_t i = 0; i < table->count; i++)
		if (table->items[i].cause != SAVED_AT_NOTICE)
			table->items[kept++] = table->items[i];
	table->count = kept;
	if (!has_phase(table, REQUEST_ASKED))
		end_asking(table, effects);
}

/* The save may have ended without a checkpoint: then all of them are asked for again. */
static void on_save_over(struct request_table *table, bool saving, struct request_effects *effects)
{
	if (!has_phase(table, REQUEST_PENDING) || table->asking == ASKING_BEGUN)
		return;
	if (saving) {
		act(effects, REQUEST_DO_BEGIN_LATER);
		return;
	}
	ask(table, effects);
}

static void on_gone(struct request_table *table, const void *client)
{
	size_t kept = 0;

	for (size_t i = 0; i < table->waiter_count; i++)
		if (table->waiters[i].client != client)
			table->waiters[kept++] = table->waiters[i];
	table->waiter_count = kept;
}

static void on_stopped(struct request_table *table, struct request_effects *effects)
{
	/* A checkpoint that comes all the same answers whoever asked before it began. */
	if (table->asking != ASKING_NONE)
		act(effects, REQUEST_DO_STOP_ASKING);
	if (table->asking == ASKING_BEGUN)
		table->asking = ASKING_NONE;
}

static void on_ended(struct request_table *table, struct request_effects *effects)
{
	for (int phase = REQUEST_PENDING; phase <= REQUEST_SAVED; phase++)
		end_requests(table, (enum request_phase)phase, UINT64_MAX, REQUEST_DO_REPLY_FAILED,
			     effects);
	if (table->asking != ASKING_NONE)
		end_asking(table, effects);
}

void request_table_step(struct request_table *table, const struct request_event *event,
			struct request_effects *effects)
{
	switch (event->kind) {
	case REQUEST_EV_MADE:
		return on_made(table, event, effects);
	case REQUEST_EV_TOLD:
		return on_told(table, event);
	case REQUEST_EV_SENDING:
		table->asking = ASKING_SENT;
		return;
	case REQUEST_EV_SENT:
		return reply_all(table, REQUEST_ASKED, REQUEST_DO_REPLY_ASKED, effects);
	case REQUEST_EV_FORWARDED:
		move_requests(table, REQUEST_PENDING, REQUEST_ASKED, 0);
		if (!has_phase(table, REQUEST_ASKED))
			add_request(table, &(struct request_event){.cause = SAVED_AT_NOTICE},
				    REQUEST_ASKED);
		table->asking = ASKING_SENT;
		return;
	case REQUEST_EV_COMPLETE:
		return on_complete(table, event->generation, event->late, effects);
	case REQUEST_EV_DURABLE:
		return end_requests(table, REQUEST_SAVED, event->generation,
				    REQUEST_DO_REPLY_DURABLE, effects);
	case REQUEST_EV_ELSEWHERE:
		return on_elsewhere(table, event->event, effects);
	case REQUEST_EV_LOST:
		return end_requests(table, REQUEST_SAVED, event->generation,
				    REQUEST_DO_REPLY_FAILED, effects);
	case REQUEST_EV_NOT_ASKED:
		end_requests(table, REQUEST_ASKED, 0, REQUEST_DO_REPLY_FAILED, effects);
		return end_asking(table, effects);
	case REQUEST_EV_WITHDRAWN:
		return on_withdrawn(table, effects);
	case REQUEST_EV_STOPPED:
		return on_stopped(table, effects);
	case REQUEST_EV_SAVE_OVER:
		return on_save_over(table, event->saving, effects);
	case REQUEST_EV_ENDED:
		return on_ended(table, effects);
	case REQUEST_EV_GONE:
		return on_gone(table, event->client);
	case REQUEST_EVENTS:
		break;
	}
}
