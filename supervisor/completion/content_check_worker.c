#include "content_check_worker.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "base/workers.h"

#include <stdlib.h>

/* One takes some 50 us from the page cache. */
#define AT_ONCE_MOST 100

struct inspector {
	struct loop *loop;
	const char *directory;
	const struct profile *profile;
	void (*ready)(void *arg);
	void *arg;

	struct workers *workers; /* NULL until there is work for them */
	bool said_waiting;       /* for the rest of a checkpoint */
	bool running;            /* then the rest is the worker's */
	bool answered;           /* `refusals` are about `generation` */
	uint64_t generation;
	struct path_set fresh;
	struct refusals refusals;
};

struct inspector *inspector_new(struct loop *loop, const char *directory,
	const struct profile *profile, void (*ready)(void *arg), void *arg)
{
	struct inspector *inspector = memory_new(sizeof(*inspector));

	*inspector = (struct inspector){.loop = loop,
		.directory = directory,
		.profile = profile,
		.ready = ready,
		.arg = arg};
	return inspector;
}

void inspector_free(struct inspector *inspector)
{
	if (!inspector)
		return;
	workers_free(inspector->workers);
	path_set_release(&inspector->fresh);
	refusals_release(&inspector->refusals);
	free(inspector);
}

/* A directory that cannot be read has no word in it: the other witnesses decide. */
static void inspect(
	struct inspector *inspector, const struct path_set *fresh, struct refusals *refusals)
{
	struct inspection inspection = {
		.directory = inspector->directory, .profile = inspector->profile, .fresh = fresh};
	struct err err;

	if (inspection_run(&inspection, refusals, &err) < 0)
		log_debug("what was written is not looked into: %s", err.text);
}

static void work(void *arg)
{
	struct inspector *inspector = arg;

	inspect(inspector, &inspector->fresh, &inspector->refusals);
}

static void done(void *arg)
{
	struct inspector *inspector = arg;

	inspector->running = false;
	inspector->answered = true;
	inspector->ready(inspector->arg);
}

static bool start(struct inspector *inspector, struct path_set *fresh, uint64_t generation)
{
	if (!inspector->workers && workers_new(inspector->loop, 1, &inspector->workers, NULL) < 0)
		return false;
	path_set_release(&inspector->fresh);
	inspector->fresh = *fresh;
	*fresh = (struct path_set){0};
	inspector->generation = generation;
	inspector->running = true;
	workers_run(inspector->workers, work, done, inspector);
	return true;
}

/*
 * What of `fresh` (emptied) is not whole, as of `generation`. True: *refusals is the answer, the caller's from then on. False: it is
 * being looked into.
 */
static bool ask(struct inspector *inspector, struct path_set *fresh, uint64_t generation,
	bool at_once, struct refusals *refusals)
{
	if (inspector->answered) {
		inspector->answered = false;
		*refusals = inspector->refusals;
		inspector->refusals = (struct refusals){0};
		if (inspector->generation == generation)
			return true;
		refusals_release(refusals);
	}
	if (!at_once && inspector->running)
		return false;
	if (!at_once && fresh->count > AT_ONCE_MOST && start(inspector, fresh, generation))
		return false;
	inspect(inspector, fresh, refusals);
	return true;
}

static void add_fresh(void *arg, const char *path)
{
	path_set_mark(arg, path, 1);
}

static void say(
	struct inspector *inspector, const struct refusals *refusals, enum sealing_verdict verdict)
{
	for (size_t i = 0; i < refusals->count; i++) {
		const char *why = refusals->items[i].why;

		if (verdict != SEALING_BUSY)
			log_warn("%s: not taken", why);
		else if (inspector->said_waiting)
			log_debug("%s: waiting for the rest", why);
		else
			log_note("%s: not taken before the rest comes", why);
		inspector->said_waiting = true;
	}
}

enum sealing_verdict inspector_judge(
	struct inspector *inspector, struct sealing *sealing, bool at_once, int64_t *at_ms)
{
	auto_(refusals_release) struct refusals refusals = {0};
	struct path_set fresh = {0};
	enum sealing_verdict verdict = SEALING_BUSY;

	*at_ms = SEALING_NEVER;
	sealing_each_unjudged(sealing, add_fresh, &fresh);
	if (ask(inspector, &fresh, sealing_generation(sealing), at_once, &refusals)) {
		verdict = sealing_judge(sealing, &refusals, clock_monotonic_ms(), at_ms);
		say(inspector, &refusals, verdict);
	}
	path_set_release(&fresh);
	return verdict;
}
