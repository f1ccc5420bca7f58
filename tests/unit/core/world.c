#include "world.h"

#include <signal.h>
#include <string.h>

#define KILLED(signal) (signal)
#define EXITED(code) ((code) << 8)
#define QUIET_MS 1000

uint64_t world_random(struct world *world, uint64_t below)
{
	world->random ^= world->random << 13;
	world->random ^= world->random >> 7;
	world->random ^= world->random << 17;
	return world->random % below;
}

static bool chance(struct world *world, uint64_t one_in)
{
	return world_random(world, one_in) == 0;
}

void world_expect(struct world *world, bool fact, const char *what)
{
	if (!fact && !world->wrong)
		world->wrong = what;
}

static void happens_in(struct world *world, int64_t in_ms, enum happening what,
		       struct job_event event)
{
	if (world->happens_count == HAPPENINGS) {
		world_expect(world, false, "too much happens at once");
		return;
	}
	world->happens[world->happens_count++] =
		(struct happens){what, world->now_ms + in_ms, ++world->order, event};
}

void world_happens(struct world *world, int64_t in_ms, enum happening what)
{
	happens_in(world, in_ms, what, (struct job_event){0});
}

void world_post(struct world *world, int64_t in_ms, struct job_event event)
{
	happens_in(world, in_ms, HAPPEN_EVENT, event);
}

static void forget(struct world *world, enum happening what)
{
	size_t kept = 0;

	for (size_t i = 0; i < world->happens_count; i++)
		if (world->happens[i].what != what)
			world->happens[kept++] = world->happens[i];
	world->happens_count = kept;
}

struct job_view world_view(const struct world *world)
{
	return (struct job_view){
		.now_ms = world->now_ms,
		.child_running = world->child.alive,
		.directory =
			{
				.saving = world->save.open,
				.only_running = world->generation == 0 && !world->save.open,
				.holds_less = world->child.overwrites && world->save.open &&
					      world->generation > 0,
				.last_write_ms =
					world->save.open ? world->now_ms : world->save.touched_ms,
				.running_generation = world->running,
				.running_work = true,
				.reported_step = -1,
				.polled = world->child.alive && world->child.polls,
			},
		.has_target = world->child.alive && world->child.handles_term,
		.any_rank = world->asked.sent,
		.rank_saving = world->asked.sent && world->save.open,
		.uploading = world->snapshot.flies,
		.awaits_gang = world->others_are_slow && world->snapshot.flies,
		.bytes_done = 1,
		.bytes_total = 2,
		.upload_began_ms = world->snapshot.flies ? world->snapshot.ends_ms - 500 : 0,
	};
}

/* --- the job --- */

/* At the deadline at the latest, if there is one then. */
static int64_t judgement_takes_ms(struct world *world)
{
	int64_t left_ms = world->deadline_ms - world->now_ms;
	int64_t takes_ms = chance(world, 2)    ? 0
			   : chance(world, 16) ? 20000
					       : (int64_t)world_random(world, 50);

	if (!world->stop || takes_ms < left_ms)
		return takes_ms;
	return left_ms > 0 ? left_ms : 0;
}

static void end_child(struct world *world, int status)
{
	if (!world->child.alive)
		return;
	world->child.alive = false;
	world->child.status = status;
	world->child.ended_ms = world->now_ms;
	world->save.open = false;
	forget(world, HAPPEN_SAVE_BEGINS);
	forget(world, HAPPEN_SAVE_ENDS);
	forget(world, HAPPEN_CHILD_ENDS);
	forget(world, HAPPEN_RUNNING_WRITTEN);
	world->child.unjudged = true;
	world_happens(world, judgement_takes_ms(world), HAPPEN_JUDGED);
}

static void judge_child(struct world *world, struct job_event *event)
{
	int status = world->child.status;

	if (!world->child.unjudged)
		return;
	world->child.unjudged = false;
	*event = (struct job_event){.kind = JOB_EV_CHILD_EXITED,
				    .child = {.wait_status = status, .mapped_status = status}};
}

static void tell_child(struct world *world)
{
	if (!world->child.alive || world->child.told)
		return;
	world->child.told = true;
	world->child.status = KILLED(SIGTERM);
	if (world->child.leaves_ms >= 0)
		world_happens(world, world->child.leaves_ms, HAPPEN_CHILD_ENDS);
}

static void begin_save(struct world *world, struct job_event *event)
{
	/* A handler that is called during a save saves again afterwards. */
	world->save.again |= world->save.open;
	if (!world->child.alive || world->save.open)
		return;
	world->save.open = true;
	world->save.tears = chance(world, 16);
	world->save.began_ms = world->now_ms;
	world_happens(world, world->child.save_ms, HAPPEN_SAVE_ENDS);
	world->save.late = 0;
	*event = (struct job_event){.kind = JOB_EV_SAVE_STARTED};
}

static void end_save(struct world *world, struct job_event *event)
{
	struct checkpoint checkpoint = {.step = -1, .written_ms = world->now_ms};
	bool fresh = world->asked.sent && world->save.began_ms >= world->asked.sent_ms;

	world->save.open = false;
	world->save.touched_ms = world->now_ms;
	if (world->save.again || world->child.period_ms > 0)
		world_happens(world, world->save.again ? 1 : world->child.period_ms,
			      HAPPEN_SAVE_BEGINS);
	world->save.again = false;
	if (world->save.tears || world->generation + 1 == GENERATIONS)
		return;
	checkpoint.generation = ++world->generation;
	world->begun_ms[world->generation] = world->save.began_ms;
	*event = (struct job_event){.kind = JOB_EV_COMPLETE,
				    .checkpoint = checkpoint,
				    .fresh = fresh};
	if (fresh && world->child.leaves_after_save)
		world_happens(world, 5, HAPPEN_CHILD_ENDS);
	world->save.late = world->asked.sent && !fresh ? world->generation : 0;
	if (world->save.late > 0)
		world_happens(world, QUIET_MS, HAPPEN_LATE_ANSWER);
}

static void answer_late(struct world *world, struct job_event *event)
{
	if (world->save.late != world->generation || world->save.open)
		return;
	world->save.late = 0;
	*event = (struct job_event){
		.kind = JOB_EV_COMPLETE,
		.checkpoint = {.generation = world->generation,
			       .step = -1,
			       .written_ms = world->save.touched_ms},
		.fresh = true,
		.late = true,
	};
}

static void try_to_ask(struct world *world, struct job_event *event)
{
	bool by_flag = world->child.polls && world->rules.may_flag;
	bool handles = by_flag || world->rules.ask == REQUEST_COMMAND || world->child.handles_term;

	if (!world->asked.tries)
		return;
	if (!world->child.alive || !handles) {
		*event = (struct job_event){.kind = JOB_EV_CANNOT_ASK};
		/* Said once, and tried again and again. */
		if (world->asked.failed)
			event->kind = JOB_EVENTS;
		world->asked.failed = true;
		world_happens(world, 500, HAPPEN_TRY_TO_ASK);
		return;
	}
	world->asked.tries = false;
	world->asked.sent = world->asked.follows = true;
	world->asked.sent_ms = world->now_ms;
	world->save.late = 0;
	*event = (struct job_event){.kind = JOB_EV_SENDING, .by_flag = by_flag};
	world_post(world, 0, (struct job_event){.kind = JOB_EV_ASKED});
	if (world->child.saves_when_asked)
		world_happens(world, 1 + (int64_t)world_random(world, 50), HAPPEN_SAVE_BEGINS);
}

/* --- the store --- */

static void end_snapshot(struct world *world, struct job_event *event)
{
	struct snapshot_event *snapshot = &event->snapshot;

	if (!world->snapshot.flies)
		return;
	world->snapshot.flies = false;
	*event = (struct job_event){.kind = JOB_EV_SNAPSHOT_DONE};
	snapshot->checkpoint = world->model.newest;
	snapshot->checkpoint.generation = world->snapshot.generation;
	snapshot->running_generation = world->snapshot.running;
	snapshot->lacks_newest = world->snapshot.lacks_newest;
	if (world->superseded) {
		snapshot->error = ERR_EXISTS;
	} else if (world->snapshot.cancelled) {
		snapshot->error = ERR_CANCELLED;
	} else if (!world->works) {
		snapshot->error = chance(world, 4) ? ERR_DENIED : ERR_RETRY;
	} else if (chance(world, 16)) {
		snapshot->error = ERR_RETRY;
		snapshot->changed = true;
	} else {
		snapshot->durable = true;
		snapshot->took_ms = world->upload_ms;
		if (!snapshot->lacks_newest)
			world->durable = world->snapshot.generation;
		world->any_durable = true;
	}
}

static void take_snapshot(struct world *world)
{
	int64_t takes_ms = world->works ? world->upload_ms : 3000;

	world_expect(world, world->claimed, "a snapshot without an attempt");
	world_expect(world, !world->snapshot.flies, "two snapshots at once");
	world_expect(world, !world->model.snapshots.superseded, "a snapshot after another attempt");
	world_expect(world, !world->retention.runs || world->retention.stopped,
		     "a snapshot waits for retention");
	world->snapshot.flies = true;
	world->snapshot.cancelled = false;
	world->snapshot.lacks_newest = chance(world, 64);
	world->snapshot.generation = world->model.newest.generation;
	world->snapshot.running = world->running;
	world->snapshot.ends_ms = world->snapshot.whole_ms = world->now_ms + takes_ms;
	if (world->snapshot.ends_ms > world->commit_until_ms) {
		world->snapshot.cancelled = true;
		takes_ms = world->commit_until_ms > world->now_ms
				   ? world->commit_until_ms - world->now_ms
				   : 0;
	}
	world_happens(world, takes_ms, HAPPEN_SNAPSHOT_ENDS);
	world_post(world, 0,
		   (struct job_event){.kind = JOB_EV_PLANNED,
				      .generation = world->snapshot.generation});
}

static void cut_snapshot(struct world *world, int64_t until_ms)
{
	int64_t ends_ms = world->snapshot.whole_ms;

	if (!world->snapshot.flies)
		return;
	world->snapshot.cancelled = until_ms < ends_ms;
	if (world->snapshot.cancelled)
		ends_ms = until_ms > world->now_ms ? until_ms : world->now_ms;
	world->snapshot.ends_ms = ends_ms;
	forget(world, HAPPEN_SNAPSHOT_ENDS);
	world_happens(world, ends_ms - world->now_ms, HAPPEN_SNAPSHOT_ENDS);
}

static struct claim_event claim(struct world *world, bool late)
{
	bool works = world->works && world->rules.has_store;

	/* As far as can be seen, the command may be anything. */
	if (world->rules.has_store && !late && chance(world, 3)) {
		world->claims = false;
		return (struct claim_event){.phase = ATTEMPT_UNCLAIMED, .step = -1};
	}

	world->claims = false;
	world->claimed = works;
	return (struct claim_event){.phase = works ? ATTEMPT_CLAIMED : ATTEMPT_NONE, .step = -1};
}

static void end_retention(struct world *world, struct job_event *event)
{
	if (!world->retention.runs)
		return;
	world->retention.runs = false;
	*event = (struct job_event){.kind = JOB_EV_RETENTION_DONE};
}

static void limit_retention(struct world *world, int64_t most_ms)
{
	if (!world->retention.runs)
		return;
	forget(world, HAPPEN_RETENTION_ENDS);
	world_happens(world, most_ms, HAPPEN_RETENTION_ENDS);
}

/* --- effects --- */

static void launch(struct world *world)
{
	world_expect(world, !world->child.launched, "launched twice");
	world->child.launched = true;
	if (chance(world, 32)) {
		world_post(world, 0, (struct job_event){.kind = JOB_EV_START_FAILED, .code = 127});
		return;
	}
	world->child.alive = true;
	/* Sometimes a checkpoint lies there that is in no snapshot. */
	world_post(world, 0,
		   (struct job_event){.kind = JOB_EV_LAUNCHED, .fresh = chance(world, 8)});
	if (world->child.period_ms > 0)
		world_happens(world, world->child.period_ms, HAPPEN_SAVE_BEGINS);
	if (chance(world, 4))
		world_happens(world, (int64_t)world_random(world, 5000), HAPPEN_RUNNING_WRITTEN);
	world_happens(world, 1000 + (int64_t)world_random(world, 60000), HAPPEN_CHILD_ENDS);
	if (world->kept)
		world->passed++;
}

static void reply(struct world *world, const struct job_effect *effect)
{
	struct client *client = effect->client;
	bool elsewhere = world->answered_ms == world->now_ms;

	world_expect(world, client->waits, "a reply to nobody");
	client->saved |= effect->reply == REPLY_SAVED;
	if (effect->reply == REPLY_DURABLE && !elsewhere)
		world_expect(world, client->saved, "durable before it was saved");
	if (effect->reply == REPLY_DURABLE && !elsewhere)
		world_expect(world,
			     world->any_durable &&
				     world->begun_ms[world->durable] >= client->made_ms,
			     "durable, but older than the request");
	if (effect->last)
		client->waits = false;
}

static void kill_child(struct world *world)
{
	world_expect(world,
		     world->child.told || !world->child.alive ||
			     (world->asked.sent && world->rules.asks_by_sigterm),
		     "SIGKILL without SIGTERM");
	world_expect(world, world->child.rest_told, "SIGKILL, and the rest was told nothing");
	world->child.killed = true;
	if (world->child.alive) {
		end_child(world, KILLED(SIGKILL));
	} else if (world->child.unjudged) {
		forget(world, HAPPEN_JUDGED);
		world_happens(world, 0, HAPPEN_JUDGED);
	}
}

static void stand_notice(struct world *world, int64_t in_ms, bool by_sigterm,
			 struct job_event *event)
{
	int64_t deadline_ms = world->now_ms + in_ms;

	if (!world->stop)
		world->stop_ms = world->now_ms;
	else if (deadline_ms >= world->deadline_ms)
		return;
	world->stop = true;
	world->deadline_ms = deadline_ms;
	*event = (struct job_event){.kind = JOB_EV_STOP_ANNOUNCED,
				    .stop = {deadline_ms, by_sigterm, true}};
}

void world_perform(struct world *world, const struct job_effect *effect,
		   const struct job_event *event)
{
	struct job_event notice = {.kind = JOB_EVENTS};

	switch (effect->kind) {
	case JOB_DO_LAUNCH:
		launch(world);
		break;
	case JOB_DO_KEEP_SIGNAL:
		world->kept = true;
		break;
	case JOB_DO_CLAIM:
		world_expect(world, !world->claims && !world->claimed, "claimed twice");
		world->claims = true;
		world_post(world, 30,
			   (struct job_event){.kind = JOB_EV_CLAIMED, .claim = {.step = -2}});
		break;
	case JOB_DO_PASS_SIGNAL:
		world->passed++;
		if (event->signal == SIGTERM)
			tell_child(world);
		break;
	case JOB_DO_TAKE_FOR_NOTICE:
		world->sigterms = 0;
		stand_notice(world, world->rules.grace_ms, event->signal == SIGTERM, &notice);
		if (notice.kind != JOB_EVENTS)
			world_post(world, 0, notice);
		break;
	case JOB_DO_TELL_NEXT_ATTEMPT:
		world->told_until_ms = effect->at_ms;
		break;
	case JOB_DO_ASK:
		world_expect(world, !world->asked.tries, "asked while it is asked");
		world->asked.tries = true;
		world->asked.sent = world->asked.failed = false;
		forget(world, HAPPEN_TRY_TO_ASK);
		world_happens(world, 1, HAPPEN_TRY_TO_ASK);
		break;
	case JOB_DO_STOP_ASKING:
		world->asked.tries = world->asked.follows = false;
		break;
	case JOB_DO_REPLY:
		reply(world, effect);
		break;
	case JOB_DO_REFUSE:
		((struct client *)effect->client)->waits = false;
		break;
	case JOB_DO_FORWARD_SIGTERM:
		world->asked.sent = true;
		world->asked.sent_ms = world->now_ms;
		tell_child(world);
		break;
	case JOB_DO_TERMINATE:
		tell_child(world);
		break;
	case JOB_DO_TERMINATE_REST:
		world->child.rest_told = true;
		break;
	case JOB_DO_KILL:
		kill_child(world);
		break;
	case JOB_DO_HOLD_SIGTERM:
		world->held = true;
		break;
	case JOB_DO_UNHOLD_SIGTERM:
		world->held = false;
		break;
	case JOB_DO_RELEASE_SIGTERM:
		world->held = false;
		world->released = true;
		break;
	case JOB_DO_TAKE_SNAPSHOT:
		take_snapshot(world);
		break;
	case JOB_DO_CANCEL:
		world->cancelled_restore = true;
		cut_snapshot(world, world->now_ms);
		break;
	case JOB_DO_SET_COMMIT_DEADLINE:
		world->commit_until_ms = effect->at_ms;
		cut_snapshot(world, effect->at_ms);
		break;
	case JOB_DO_SHARE_REQUEST:
		world_post(world, (int64_t)world_random(world, 3000),
			   (struct job_event){.kind = JOB_EV_GANG_TOLD,
					      .gang.request = effect->request});
		break;
	case JOB_DO_LEAVE_GANG:
		world->leaves = true;
		if (!chance(world, 4))
			world_post(world, (int64_t)world_random(world, 3000),
				   (struct job_event){.kind = JOB_EV_GANG_LEFT});
		break;
	case JOB_DO_HURRY_STORE:
	case JOB_DO_CALM_STORE:
		if (world->claimed)
			world->hurried = effect->kind == JOB_DO_HURRY_STORE;
		break;
	case JOB_DO_START_RETENTION:
		world_expect(world, !world->retention.runs, "retention runs twice");
		world->retention.runs = true;
		world->retention.stopped = world->retention.limited = false;
		world_happens(world, chance(world, 8) ? 600000 : 200, HAPPEN_RETENTION_ENDS);
		break;
	case JOB_DO_STOP_RETENTION:
		world->retention.stopped = true;
		limit_retention(world, 2);
		break;
	case JOB_DO_LIMIT_RETENTION:
		world->retention.limited = true;
		limit_retention(world, effect->at_ms);
		break;
	case JOB_DO_END:
		world->ended = true;
		break;
	case JOB_DO_CONFIRM_FLAG:
	case JOB_DO_SAY:
	case JOB_EFFECTS:
		break;
	}
}

/* --- what happens --- */

static void ask_as_client(struct world *world, struct job_event *event)
{
	struct client *client = &world->clients[world_random(world, CLIENTS)];

	if (client->waits || client->done)
		return;
	*client = (struct client){.waits = true,
				  .done = true,
				  .until_asked = chance(world, 4),
				  .made_ms = world->now_ms};
	*event = (struct job_event){.kind = JOB_EV_CLIENT,
				    .client = client,
				    .until_asked = client->until_asked};
}

static void leave_as_client(struct world *world, struct job_event *event)
{
	struct client *client = &world->clients[world_random(world, CLIENTS)];

	if (!client->waits)
		return;
	client->waits = false;
	*event = (struct job_event){.kind = JOB_EV_CLIENT_GONE, .client = client};
}

/* Its number in the log; what is answered is all of that. */
static void take_gang_event(struct world *world, struct job_event *event)
{
	if (event->kind == JOB_EV_STOP_ANNOUNCED && world->rules.of_gang && world->notice == 0)
		world_post(world, (int64_t)world_random(world, 3000),
			   (struct job_event){.kind = JOB_EV_GANG_TOLD});
	if (event->kind == JOB_EV_GANG_ASKS || event->kind == JOB_EV_GANG_TOLD)
		event->gang.event = ++world->log;
	if (event->kind == JOB_EV_GANG_TOLD && event->gang.request == 0 && world->notice == 0)
		world->notice = event->gang.event;
	if (event->kind != JOB_EV_GANG_ANSWERED)
		return;
	world->answered_ms = world->now_ms;
	event->gang.event = world->log;
	event->gang.notice_is_over = world->notice > 0;
}

static void withdraw(struct world *world, struct job_event *event)
{
	if (!world->stop)
		return;
	world->stop = false;
	*event = (struct job_event){.kind = JOB_EV_STOP_CANCELLED};
}

bool world_happen(struct world *world, struct happens *happens)
{
	struct job_event *event = &happens->event;

	if (happens->what != HAPPEN_EVENT)
		*event = (struct job_event){.kind = JOB_EVENTS};
	switch (happens->what) {
	case HAPPEN_EVENT:
		/* The store is asked when the answer comes. */
		if (event->kind == JOB_EV_CLAIMED || event->kind == JOB_EV_RESTORED)
			event->claim = claim(world, event->kind == JOB_EV_CLAIMED);
		/* All notices are merged when one is posted: the earliest end counts. */
		if (event->kind == JOB_EV_STOP_ANNOUNCED)
			event->stop.deadline_ms = world->deadline_ms;
		take_gang_event(world, event);
		if (event->kind == JOB_EV_START_FAILED)
			world->claims = false;
		if (event->kind == JOB_EV_RESTORED && world->cancelled_restore)
			event->kind = JOB_EVENTS;
		break;
	case HAPPEN_SAVE_BEGINS:
		begin_save(world, event);
		break;
	case HAPPEN_SAVE_ENDS:
		end_save(world, event);
		break;
	case HAPPEN_LATE_ANSWER:
		answer_late(world, event);
		break;
	case HAPPEN_CHILD_ENDS:
		end_child(world, world->child.status);
		break;
	case HAPPEN_JUDGED:
		judge_child(world, event);
		break;
	case HAPPEN_TRY_TO_ASK:
		try_to_ask(world, event);
		break;
	case HAPPEN_SNAPSHOT_ENDS:
		end_snapshot(world, event);
		break;
	case HAPPEN_RETENTION_ENDS:
		end_retention(world, event);
		break;
	case HAPPEN_CLIENT:
		ask_as_client(world, event);
		break;
	case HAPPEN_CLIENT_LEAVES:
		leave_as_client(world, event);
		break;
	case HAPPEN_STOP:
		stand_notice(world, 2000 + (int64_t)world_random(world, 60000), false, event);
		break;
	case HAPPEN_EARLIER_STOP:
		if (world->stop)
			stand_notice(world, 500 + (int64_t)world_random(world, 5000), false, event);
		break;
	case HAPPEN_WITHDRAWN:
		withdraw(world, event);
		break;
	case HAPPEN_SIGTERM:
		*event = (struct job_event){.kind = JOB_EV_SIGNAL, .signal = SIGTERM};
		break;
	case HAPPEN_RUNNING_WRITTEN:
		if (!world->child.alive)
			break;
		world->running++;
		*event = (struct job_event){.kind = JOB_EV_RUNNING_WRITTEN};
		world_happens(world, 4000, HAPPEN_RUNNING_WRITTEN);
		break;
	case HAPPEN_STORE_FAILS:
		world->works = false;
		break;
	case HAPPEN_STORE_WORKS:
		world->works = true;
		world->works_since_ms = world->now_ms;
		break;
	case HAPPEN_SUPERSEDED:
		world->superseded = true;
		break;
	}
	return event->kind != JOB_EVENTS;
}

/* --- the beginning --- */

static void choose_rules(struct world *world)
{
	static const enum request_method methods[] = {REQUEST_AUTO, REQUEST_SIGNAL, REQUEST_SIGNAL,
						      REQUEST_NONE, REQUEST_COMMAND};
	bool by_term = chance(world, 3);

	world->rules = (struct job_rules){
		.ask = methods[world_random(world, 5)],
		.may_flag = chance(world, 2),
		.ends_when_asked = chance(world, 8),
		.expects_saves = !chance(world, 4),
		.has_store = !chance(world, 16),
		.every_auto = chance(world, 8),
		.retains = chance(world, 3),
		.quiet_ms = 1000,
		.snapshot_interval_ms = chance(world, 2) ? 10000 : 0,
		.flush_ms = 5000,
		.grace_ms = 2000 + (int64_t)world_random(world, 30000),
		.every_ms = chance(world, 4) ? 5000 : 0,
		.request_signal = by_term ? SIGTERM : SIGUSR1,
	};
	world->rules.asks_by_sigterm =
		world->rules.ask != REQUEST_COMMAND &&
		(by_term || world->rules.ask == REQUEST_AUTO || world->rules.ask == REQUEST_NONE);
}

static void choose_child(struct world *world)
{
	world->child.handles_term = !chance(world, 3);
	world->child.saves_when_asked = !chance(world, 5);
	world->child.leaves_after_save = chance(world, 4);
	world->child.polls = chance(world, 3);
	world->child.overwrites = chance(world, 4);
	world->child.leaves_ms = chance(world, 4) ? -1 : (int64_t)world_random(world, 2000);
	world->child.save_ms = 10 + (int64_t)world_random(world, chance(world, 2) ? 200 : 4000);
	world->child.period_ms = chance(world, 3) ? 0 : 300 + (int64_t)world_random(world, 15000);
	world->child.status = chance(world, 3) ? EXITED(1) : EXITED(0);
}

/* What the other members do. */
static void choose_gang(struct world *world)
{
	static const enum job_event_kind kinds[] = {JOB_EV_GANG_ROUND, JOB_EV_GANG_ASKS,
						    JOB_EV_GANG_ANSWERED};

	for (uint64_t i = world->rules.of_gang ? world_random(world, 5) : 0; i > 0; i--)
		world_post(world, (int64_t)world_random(world, 40000),
			   (struct job_event){.kind = kinds[world_random(world, 3)]});
}

void world_begin(struct world *world, uint64_t seed)
{
	static const enum happening often[] = {
		HAPPEN_CLIENT,
		HAPPEN_CLIENT,
		HAPPEN_CLIENT_LEAVES,
		HAPPEN_STOP,
		HAPPEN_STOP,
		HAPPEN_EARLIER_STOP,
		HAPPEN_WITHDRAWN,
		HAPPEN_SIGTERM,
		HAPPEN_SIGTERM,
		HAPPEN_STORE_FAILS,
		HAPPEN_STORE_WORKS,
		HAPPEN_STORE_WORKS,
		HAPPEN_RUNNING_WRITTEN,
		HAPPEN_SUPERSEDED,
	};
	size_t count;

	world->random = seed * 0x9E3779B97F4A7C15u + 1;
	world->now_ms = 1000000;
	world->works = !chance(world, 16);
	world->upload_ms = 20 + (int64_t)world_random(world, chance(world, 3) ? 9000 : 400);
	world->commit_until_ms = CLOCK_NEVER;
	for (int i = 0; i < 4; i++)
		world_random(world, 2);
	choose_rules(world);
	choose_child(world);
	world->rules.of_gang = seed % 4 == 0;
	world->others_are_slow = seed % 16 == 0;
	world->model = job_model_new(&world->rules);
	world->claims = world->rules.has_store;
	if (chance(world, 32))
		world_post(world, 20, (struct job_event){.kind = JOB_EV_START_FAILED});
	world_post(world, 20 + (int64_t)world_random(world, 3000),
		   (struct job_event){.kind = JOB_EV_RESTORED});
	count = world_random(world, 9);
	for (size_t i = 0; i < count; i++)
		world_happens(world, (int64_t)world_random(world, 40000),
			      often[world_random(world, sizeof(often) / sizeof(often[0]))]);
	if (chance(world, 8))
		world_post(world, (int64_t)world_random(world, 3000),
			   (struct job_event){.kind = JOB_EV_SIGNAL, .signal = SIGHUP});
	if (chance(world, 8))
		world_post(world, (int64_t)world_random(world, 40000),
			   (struct job_event){.kind = JOB_EV_SIGNAL, .signal = SIGUSR1});
	if (chance(world, 8))
		world_post(world, (int64_t)world_random(world, 40000),
			   (struct job_event){.kind = JOB_EV_ADVICE});
	choose_gang(world);
}
