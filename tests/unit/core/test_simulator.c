/*
 * Random histories of a job, a store, clients and notices, and what must be true in all of them.
 * Then each effect of each event is left out in turn: the histories must notice it.
 *
 *	REPRIEVE_HISTORIES=N test_simulator	so many histories (a million; fewer with a
 *sanitizer) REPRIEVE_HISTORY=SEED test_simulator	that one, step by step REPRIEVE_SURVIVORS=1
 *test_simulator	names the mutants that nothing has noticed
 */
#include "effect_names.h"
#include "world.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define HISTORIES_ALL 1000000
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HISTORIES 50000
#else
#define HISTORIES HISTORIES_ALL
#endif
#define MUTANTS_MOST 400
/* SIGKILL, a cancelled upload and the last sweep take no longer. */
#define SLACK_MS 3000

/* --- what must be true after each step --- */

static size_t count_of(const struct world *world, enum job_effect_kind kind)
{
	size_t count = 0;

	for (size_t i = 0; i < world->effects.count; i++)
		count += world->effects.items[i].kind == kind;
	return count;
}

static void check_step(struct world *world, const struct job_model *before,
		       const struct job_event *event)
{
	const struct job_model *after = &world->model;
	bool stands = after->stop.stands && after->state != JOB_OVER;
	bool works_on = after->state == JOB_CHECKPOINTING || after->state == JOB_STOPPING ||
			after->state == JOB_UPLOADING;

	if (before->state == JOB_OVER)
		world_expect(world,
			     world->effects.count == count_of(world, JOB_DO_REFUSE) &&
				     after->state == JOB_OVER,
			     "over is not final");
	world_expect(world, (after->state == JOB_OVER) == world->ended, "over, but not ended");
	if (works_on && world->claimed && after->state != JOB_OVER)
		world_expect(world, world->hurried, "the store is not in a hurry");
	if (after->state == JOB_RUNNING && before->state == JOB_CHECKPOINTING && world->claimed)
		world_expect(world, !world->hurried, "the store is in a hurry for nothing");
	if (after->state == JOB_CHECKPOINTING && before->state == JOB_RUNNING)
		world_expect(world, world->held, "SIGTERM is not held back");
	if (after->state == JOB_RUNNING && before->state == JOB_CHECKPOINTING)
		world_expect(world, !world->held, "SIGTERM is held back for ever");
	if (after->state == JOB_UPLOADING)
		world_expect(world, !world->held, "SIGTERM is held back from nobody");
	if (after->state == JOB_STOPPING && before->state == JOB_CHECKPOINTING)
		world_expect(world, world->child.told || !world->child.alive || world->asked.sent,
			     "stopping without SIGTERM");
	if (after->state == JOB_STOPPING && before->state == JOB_CHECKPOINTING &&
	    after->facts.stopped)
		world_expect(world, !world->held, "stopped, but SIGTERM is held back");
	if (stands && works_on && world->claimed)
		world_expect(world, world->commit_until_ms == after->budget.commit_until_ms,
			     "the commit has another deadline");
	if (after->state == JOB_RUNNING && before->state == JOB_CHECKPOINTING)
		world_expect(world, world->commit_until_ms == CLOCK_NEVER,
			     "the commit has a deadline for nothing");
	if (stands && works_on && world->claimed && !after->snapshots.superseded)
		world_expect(world, world->told_until_ms == after->stop.deadline_ms,
			     "the next attempt is told another time");
	if (after->state == JOB_RUNNING && !after->stop.stands && world->claimed &&
	    !after->snapshots.superseded)
		world_expect(world, world->told_until_ms == 0,
			     "the next attempt waits for nothing");
	world_expect(world, after->snapshots.in_flight == world->snapshot.flies,
		     "a snapshot flies, or not");
	world_expect(world,
		     !world->snapshot.flies || !world->retention.runs || world->retention.stopped,
		     "retention delays a snapshot");
	if (after->state == JOB_UPLOADING && !after->snapshots.in_flight &&
	    after->attempt != ATTEMPT_CLAIMING && after->due_ms[TIMER_RETRY] == CLOCK_NEVER)
		world_expect(world,
			     !world->retention.runs || world->retention.stopped ||
				     world->retention.limited,
			     "retention keeps the end waiting");
	if (event->kind == JOB_EV_COMPLETE && after->asking.answers > before->asking.answers)
		world_expect(world, count_of(world, JOB_DO_CONFIRM_FLAG) == 1,
			     "the flag stays raised");
	if (after->requests.asking == ASKING_NONE && before->requests.asking != ASKING_NONE)
		world_expect(world, !world->asked.tries, "asked on and on");
	if (after->requests.asking == ASKING_NONE)
		world_expect(world, !world->asked.follows, "the progress is followed for ever");
	if (after->requests.asking == ASKING_BEGUN && !after->deferral.awaited)
		world_expect(world, world->asked.tries, "nobody asks");
	if (after->asking.forwarded && !before->asking.forwarded)
		world_expect(world, world->child.told || !world->child.alive,
			     "forwarded to nobody");
	if (stands && works_on)
		world_expect(world, !world->retention.runs || world->retention.stopped,
			     "old snapshots are removed at a notice");
	if (event->kind == JOB_EV_SIGNAL && event->signal == SIGTERM &&
	    count_of(world, JOB_DO_PASS_SIGNAL) > 0)
		world_expect(world, world->released, "passed on, but held back");
	world->early |= event->kind == JOB_EV_SIGNAL && event->signal == SIGUSR1 &&
			before->state == JOB_RESTORING && world->rules.ask != REQUEST_SIGNAL &&
			world->rules.ask != REQUEST_COMMAND;
	if (after->deferral.awaited || after->asking.forwarded)
		world_expect(world, !world->asked.tries, "forwarded, and asked on");
	if (event->kind == JOB_EV_SIGNAL && event->signal != SIGUSR1 && before->state != JOB_OVER &&
	    before->wish_ms == 0)
		world_expect(world, world->effects.count > 0, "a signal is lost");
	if (event->kind == JOB_EV_LAUNCHED)
		world_expect(world, after->facts.launched && after->launched_ms == world->now_ms,
			     "its launch is not noted");
	if (world->rules.of_gang && event->kind != JOB_EV_GANG_ASKS &&
	    after->requests.last_id > before->requests.last_id && !after->stop.stands)
		world_expect(world, count_of(world, JOB_DO_SHARE_REQUEST) > 0,
			     "the other members are not asked");
	world_expect(world, after->gang.leaving == world->leaves, "it leaves the gang, or not");
	if (event->kind == JOB_EV_GANG_ANSWERED && event->gang.notice_is_over)
		world_expect(world, after->state != JOB_CHECKPOINTING || !after->stop.stands,
			     "it saves on, and the others end");
	/* Neither the wait for its turn nor a snapshot of logs alone is what an upload takes. */
	if (event->kind == JOB_EV_SNAPSHOT_DONE && event->snapshot.durable &&
	    !event->snapshot.lacks_newest) {
		bool new = event->snapshot.checkpoint.generation !=
			   before->snapshots.durable_generation;

		world_expect(world,
			     world->model.measured.upload_ms ==
				     (new ? event->snapshot.took_ms : before->measured.upload_ms),
			     "the upload is not measured");
	}
}

/* --- what must be true in the end --- */

static void check_end(struct world *world)
{
	struct job_view view = world_view(world);
	struct outcome_facts facts =
		job_outcome_facts(&world->model, &world->rules, &view, UNSAVED_NOTHING);
	bool newest = world->generation == 0 || world->durable == world->generation ||
		      world->model.gang.answered;
	int64_t quiet_ms = world->now_ms - world->works_since_ms;

	world_expect(world, world->ended, "it never ends");
	world_expect(world, !world->child.alive, "over, but the job lives");
	if (world->stop && world->model.facts.launched)
		world_expect(world, world->now_ms <= world->deadline_ms + SLACK_MS,
			     "it works on after the deadline");
	if (facts.all_durable && facts.managed)
		world_expect(world, newest, "called durable, and is not");
	if (world->works && quiet_ms > 20000 && world->claimed && !world->superseded &&
	    !world->model.stop.stands && facts.launched && !world->snapshot.lacks_newest &&
	    !world->child.overwrites && !world->others_are_slow)
		world_expect(world, newest, "there was time, and it is not durable");
	for (size_t i = 0; i < CLIENTS; i++)
		world_expect(world, !world->clients[i].waits, "a client waits for ever");
	world_expect(world, !world->snapshot.flies || world->snapshot.cancelled,
		     "over, but a snapshot goes on");
	world_expect(world, !world->claims || world->cancelled_restore || facts.launched,
		     "over, but the restore goes on");
	if (!world->stop && world->child.ended_ms > 0)
		world_expect(world, world->now_ms <= world->child.ended_ms + 60000,
			     "it takes too long to end");
	if (world->early && world->model.facts.launched)
		world_expect(world, world->kept, "an early signal is lost");
	if (world->kept && world->model.facts.launched)
		world_expect(world, world->passed > 0, "a signal is forgotten");
}

/* --- histories --- */

/* All that occurred, to be left out in turn; what is said changes nothing in this world. */
static struct mutant mutants[MUTANTS_MOST];
static size_t mutant_count;

static struct mutant describe(const struct job_event *event, const struct job_effect *effect)
{
	return (struct mutant){event->kind, event->kind == JOB_EV_TIMER ? event->timer : 0,
			       effect->kind};
}

static bool same_mutant(struct mutant a, struct mutant b)
{
	return a.event == b.event && a.timer == b.timer && a.effect == b.effect;
}

static void note_occurrence(struct mutant mutant)
{
	for (size_t i = 0; i < mutant_count; i++)
		if (same_mutant(mutants[i], mutant))
			return;
	assert_true(mutant_count < MUTANTS_MOST);
	mutants[mutant_count++] = mutant;
}

static void trace(const struct world *world, const struct job_event *event)
{
	printf("%8.3f  event %2d %-14s", (double)(world->now_ms - 1000000) / 1000, (int)event->kind,
	       job_state_names[world->model.state]);
	for (size_t i = 0; i < world->effects.count; i++) {
		const struct job_effect *effect = &world->effects.items[i];

		printf(" %s", job_effect_name(effect->kind));
		if (effect->kind == JOB_DO_SAY)
			printf(":%d", effect->sentence);
	}
	printf("\n");
}

static void step(struct world *world, const struct job_event *event)
{
	struct job_view view = world_view(world);
	struct job_model before = world->model;
	size_t kept = 0;

	world->effects.count = 0;
	job_step(&world->model, &world->rules, &view, event, &world->effects);
	for (size_t i = 0; i < world->effects.count; i++) {
		struct mutant mutant = describe(event, &world->effects.items[i]);

		if (!world->mutant && mutant.effect != JOB_DO_SAY)
			note_occurrence(mutant);
		if (!world->mutant || !same_mutant(*world->mutant, mutant))
			world->effects.items[kept++] = world->effects.items[i];
	}
	world->effects.count = kept;
	for (size_t i = 0; i < world->effects.count; i++)
		world_perform(world, &world->effects.items[i], event);
	if (world->traced)
		trace(world, event);
	check_step(world, &before, event);
}

/* The next thing that happens, or the timer of the core that is due before it. */
static bool advance(struct world *world, struct job_event *event)
{
	enum job_timer timer;
	int64_t due_ms = job_next_due_ms(&world->model, &timer);
	size_t next = 0;
	struct happens happens;

	for (size_t i = 1; i < world->happens_count; i++)
		if (world->happens[i].at_ms < world->happens[next].at_ms ||
		    (world->happens[i].at_ms == world->happens[next].at_ms &&
		     world->happens[i].order < world->happens[next].order))
			next = i;
	if (world->happens_count == 0 || due_ms < world->happens[next].at_ms) {
		if (due_ms == CLOCK_NEVER)
			return false;
		world->now_ms = due_ms > world->now_ms ? due_ms : world->now_ms;
		*event = (struct job_event){.kind = JOB_EV_TIMER, .timer = timer};
		return true;
	}
	happens = world->happens[next];
	world->happens[next] = world->happens[--world->happens_count];
	world->now_ms = happens.at_ms > world->now_ms ? happens.at_ms : world->now_ms;
	*event = (struct job_event){.kind = JOB_EVENTS};
	if (world_happen(world, &happens))
		*event = happens.event;
	return true;
}

/* Returns what was wrong, or NULL. */
static const char *run_history(uint64_t seed, const struct mutant *mutant, bool traced,
			       size_t *steps)
{
	static struct world world;
	struct job_effects effects = world.effects;
	struct job_event event;

	world = (struct world){.mutant = mutant, .traced = traced, .effects = effects};
	world_begin(&world, seed);
	while (!world.wrong && !world.ended && world.steps < STEPS_MOST &&
	       advance(&world, &event)) {
		world.steps++;
		if (event.kind != JOB_EVENTS)
			step(&world, &event);
	}
	if (!world.wrong && world.ended) {
		world.effects.count = 0;
		job_end_requests(&world.model, &world.effects);
		for (size_t i = 0; i < world.effects.count; i++)
			world_perform(&world, &world.effects.items[i], &event);
	}
	if (!world.wrong)
		check_end(&world);
	request_table_release(&world.model.requests);
	*steps += world.steps;
	return world.wrong;
}

static size_t histories_wanted(void)
{
	const char *text = getenv("REPRIEVE_HISTORIES");

	return text ? strtoul(text, NULL, 10) : HISTORIES;
}

static void test_histories(void **state)
{
	size_t steps = 0, count = histories_wanted();

	(void)state;
	for (uint64_t seed = 1; seed <= count; seed++) {
		const char *wrong = run_history(seed, NULL, false, &steps);

		if (!wrong)
			continue;
		run_history(seed, NULL, true, &steps);
		fail_msg("history %llu: %s (REPRIEVE_HISTORY=%llu shows it)",
			 (unsigned long long)seed, wrong, (unsigned long long)seed);
	}
	printf("%zu histories, %zu steps\n", count, steps);
}

static bool is_noticed(const struct mutant *mutant)
{
	size_t steps = 0;

	for (uint64_t seed = 1; seed <= histories_wanted() / 5; seed++)
		if (run_history(seed, mutant, false, &steps))
			return true;
	return false;
}

static void test_each_effect_is_missed(void **state)
{
	size_t noticed = 0;

	(void)state;
	for (size_t i = 0; i < mutant_count; i++) {
		bool seen = is_noticed(&mutants[i]);

		noticed += seen;
		if (!seen && getenv("REPRIEVE_SURVIVORS"))
			printf("not noticed: event %d (timer %d) without %s\n", mutants[i].event,
			       mutants[i].timer, job_effect_name(mutants[i].effect));
	}
	printf("%zu of %zu mutants are noticed\n", noticed, mutant_count);
	/* Some are rare. */
	if (histories_wanted() < HISTORIES_ALL)
		return;
	assert_true(mutant_count > 100);
	assert_true(mutant_count - noticed <= 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_histories),
		cmocka_unit_test(test_each_effect_is_missed),
	};
	const char *one = getenv("REPRIEVE_HISTORY");
	size_t steps = 0;

	if (!one)
		return cmocka_run_group_tests(tests, NULL, NULL);
	printf("%s\n", run_history(strtoull(one, NULL, 10), NULL, true, &steps));
	return 0;
}
