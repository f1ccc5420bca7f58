#include "gang_model.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "storage/gangs/gang_records.h"
#include "storage/records/job_records.h"
#include "storage/snapshots/forget.h"
#include "storage/transfer/sending.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHOICES_MOST 20000
/* Longer than any pause in the product: what waits is due when it has its turn again. */
#define PAUSE_MS 1000000

struct model model;
bool model_verbose;

void model_wrong(const char *format, ...)
{
	va_list args;

	if (model.wrong[0])
		return;
	va_start(args, format);
	vsnprintf(model.wrong, sizeof(model.wrong), format, args);
	va_end(args);
}

/* --- choices --- */

static struct {
	struct {
		uint8_t count, taken;
	} choices[CHOICES_MOST];
	size_t depth, length;
	bool by_chance;
	unsigned rarity;
	uint64_t chance;
} search;

static uint64_t next_chance(void)
{
	search.chance ^= search.chance << 13;
	search.chance ^= search.chance >> 7;
	search.chance ^= search.chance << 17;
	return search.chance;
}

/* 0: nothing special. */
static unsigned choose(unsigned count)
{
	unsigned taken = 0;

	if (count < 2)
		return 0;
	if (search.depth == CHOICES_MOST)
		abort();
	if (search.depth < search.length)
		taken = search.choices[search.depth].taken;
	else if (search.by_chance && next_chance() % search.rarity == 0)
		taken = (unsigned)(next_chance() % count);
	search.choices[search.depth].count = (uint8_t)count;
	search.choices[search.depth].taken = (uint8_t)taken;
	search.depth++;
	return taken;
}

/* Depth first; false: that was the last. */
static bool next_path(void)
{
	search.length = search.depth;
	while (search.length > 0 && search.choices[search.length - 1].taken + 1 ==
					    search.choices[search.length - 1].count)
		search.length--;
	if (search.length == 0)
		return false;
	search.choices[search.length - 1].taken++;
	return true;
}

/* --- whose turn it is --- */

static struct model_machine *find_other(const struct model_machine *machine, unsigned n)
{
	for (unsigned i = 1; i <= model.machine_count; i++) {
		unsigned at = (machine ? machine->index : 0) + i;
		struct model_machine *other = &model.machines[at % model.machine_count];

		if (!other->done && other != machine && n-- == 0)
			return other;
	}
	return NULL;
}

static unsigned count_others(const struct model_machine *machine)
{
	unsigned count = 0;

	while (find_other(machine, count))
		count++;
	return count;
}

static void give_turn(struct model_machine *next)
{
	model.now = next;
	if (next)
		pthread_cond_signal(&next->turn);
	else
		pthread_cond_signal(&model.over);
}

static void wait_for_turn(struct model_machine *machine)
{
	while (model.now != machine)
		pthread_cond_wait(&machine->turn, &model.mutex);
}

static void yield_to(struct model_machine *machine, struct model_machine *next)
{
	if (!next)
		return;
	pthread_mutex_lock(&model.mutex);
	give_turn(next);
	wait_for_turn(machine);
	pthread_mutex_unlock(&model.mutex);
}

static void *machine_main(void *arg)
{
	struct model_machine *machine = arg;

	pthread_mutex_lock(&model.mutex);
	wait_for_turn(machine);
	pthread_mutex_unlock(&model.mutex);
	model.script(machine);
	machine->done = true;
	pthread_mutex_lock(&model.mutex);
	give_turn(find_other(machine, 0));
	pthread_mutex_unlock(&model.mutex);
	return NULL;
}

/* --- an operation --- */

enum outcome {
	WORKS,
	FAILS,
	DIES_BEFORE,
	DIES_AFTER,
	ANSWER_LOST,
};

static enum outcome decide(const char *what, const char *key, bool changes)
{
	static const char *const names[] = {"", " FAILS", " DIES BEFORE", " DIES AFTER",
					    " ANSWER LOST"};
	struct model_machine *machine = model.now;
	enum outcome outcome = WORKS;
	unsigned outcomes, others, taken;

	if (!machine)
		return WORKS;
	if (machine->dead)
		return DIES_BEFORE;
	if (model.events < model.events_most && text_starts(key, "jobs/")) {
		outcomes = changes ? 5 : 3;
		others = count_others(machine);
		taken = choose(outcomes + others);
		model.events += taken > 0;
		if (taken < outcomes)
			outcome = (enum outcome)taken;
		else
			yield_to(machine, find_other(machine, taken - outcomes));
	}
	machine->dead = outcome == DIES_BEFORE || outcome == DIES_AFTER;
	model.deaths += machine->dead;
	if (model_verbose)
		printf("  %c %s %s%s\n", (char)('A' + (int)machine->index), what, key,
		       names[outcome]);
	return outcome;
}

static int answer(enum outcome outcome, struct err *err)
{
	if (outcome == WORKS)
		return 0;
	if (outcome == FAILS || outcome == ANSWER_LOST)
		return err_set(err, ERR_RETRY, "the store does not answer");
	return err_set(err, ERR_CANCELLED, "the machine is dead");
}

static bool happens(enum outcome outcome)
{
	return outcome == WORKS || outcome == DIES_AFTER || outcome == ANSWER_LOST;
}

static int model_put(struct store *store, const char *key, const void *data, size_t size,
		     enum store_put_mode mode, struct cancel *cancel, struct err *err)
{
	enum outcome outcome = decide("put", key, true);

	(void)store, (void)cancel;
	if (!happens(outcome))
		return answer(outcome, err);
	if (mode != STORE_UNIQUE && memory_objects_find(&model.objects, key))
		return outcome == WORKS ? err_set(err, ERR_EXISTS, "%s exists", key)
					: answer(outcome, err);
	memory_objects_put(&model.objects, key, data, size);
	return answer(outcome, err);
}

static int model_get(struct store *store, const char *key, uint64_t offset, size_t size,
		     struct bytes *out, struct cancel *cancel, struct err *err)
{
	enum outcome outcome = decide("get", key, false);
	const struct memory_object *object = memory_objects_find(&model.objects, key);

	(void)store, (void)cancel;
	if (outcome != WORKS)
		return answer(outcome, err);
	if (!object)
		return err_set(err, ERR_NOT_FOUND, "%s is not there", key);
	if (size == STORE_TO_END && offset <= object->content->size)
		size = object->content->size - offset;
	if (offset > object->content->size || size > object->content->size - offset)
		return err_set(err, ERR_CORRUPT, "%s is too short", key);
	return bytes_append(out, object->content->data + offset, size, err);
}

static int model_list(struct store *store, const char *prefix, enum store_depth depth,
		      struct store_listing *listing, struct cancel *cancel, struct err *err)
{
	enum outcome outcome = decide("list", prefix, false);

	(void)store, (void)cancel;
	if (outcome != WORKS)
		return answer(outcome, err);
	memory_objects_list(&model.objects, prefix, depth, listing);
	return 0;
}

static int model_remove(struct store *store, const char *key, struct cancel *cancel,
			struct err *err)
{
	enum outcome outcome = decide("remove", key, true);

	(void)store, (void)cancel;
	if (happens(outcome))
		memory_objects_remove(&model.objects, key);
	return answer(outcome, err);
}

static void model_close(struct store *store)
{
	free(store);
}

static const struct store_ops model_ops = {
	.scheme = "memory",
	.close = model_close,
	.put = model_put,
	.get = model_get,
	.list = model_list,
	.remove = model_remove,
};

/* --- a history --- */

static void run_history(void (*before)(void), void (*audit)(void))
{
	model.now = NULL;
	model.clock_ms = 1000;
	model.events = model.deaths = model.nonces = 0;
	before();
	for (unsigned i = 0; i < model.machine_count; i++) {
		struct model_machine *machine = &model.machines[i];

		*machine = (struct model_machine){.index = i};
		pthread_cond_init(&machine->turn, NULL);
		if (pthread_create(&machine->thread, NULL, machine_main, machine) != 0)
			abort();
	}
	pthread_mutex_lock(&model.mutex);
	give_turn(&model.machines[0]);
	while (model.now)
		pthread_cond_wait(&model.over, &model.mutex);
	pthread_mutex_unlock(&model.mutex);
	for (unsigned i = 0; i < model.machine_count; i++) {
		pthread_join(model.machines[i].thread, NULL);
		pthread_cond_destroy(&model.machines[i].turn);
	}
	if (!model.wrong[0])
		audit();
}

unsigned model_search(unsigned events_most, unsigned count, void (*before)(void),
		      void (*audit)(void))
{
	unsigned histories = 0;

	pthread_mutex_init(&model.mutex, NULL);
	pthread_cond_init(&model.over, NULL);
	model.wrong[0] = '\0';
	model.events_most = events_most;
	search.length = 0;
	search.by_chance = count > 0;
	do {
		search.depth = 0;
		search.chance = (histories + 1) * 0x9e3779b97f4a7c15u;
		for (int i = 0; i < 4; i++)
			next_chance();
		search.rarity = 10 + (unsigned)(next_chance() % 60);
		run_history(before, audit);
		histories++;
	} while (!model.wrong[0] && (count > 0 ? histories < count : next_path()));
	if (model.wrong[0] && !model_verbose && !model.off) {
		char wrong[sizeof(model.wrong)];

		/* Once more, to be seen. */
		text_set(wrong, sizeof(wrong), model.wrong);
		model_verbose = true;
		model.wrong[0] = '\0';
		search.length = search.depth;
		search.depth = 0;
		run_history(before, audit);
		model_verbose = false;
		text_set(model.wrong, sizeof(model.wrong), wrong);
	}
	pthread_cond_destroy(&model.over);
	pthread_mutex_destroy(&model.mutex);
	memory_objects_release(&model.objects);
	return histories;
}

/* --- chance, time and threads, in place of the product's, by the linker's --wrap --- */

#define WRAPS(type, name, parameters)  \
	type __real_##name parameters; \
	type __wrap_##name parameters; \
	type __wrap_##name parameters

WRAPS(void, random_hex, (char target[33]))
{
	unsigned *count = model.now ? &model.now->nonces : &model.nonces;

	snprintf(target, 33, "%016x%016x", model.now ? model.now->index + 1 : 0, ++*count);
}

WRAPS(int64_t, clock_wall_ms, (void))
{
	return 1800000000000;
}

WRAPS(int64_t, clock_monotonic_ms, (void))
{
	return model.clock_ms;
}

/* Whoever waits lets the others run. */
WRAPS(int, cancel_sleep, (struct cancel * cancel, int64_t milliseconds, struct err *err))
{
	struct model_machine *machine = model.now;

	(void)cancel, (void)milliseconds;
	if (machine && !machine->dead) {
		yield_to(machine, find_other(machine, 0));
		model.clock_ms += PAUSE_MS;
		return 0;
	}
	return err_set(err, ERR_CANCELLED, "the machine is dead");
}

WRAPS(void, parallel_run, (size_t threads, void (*work)(void *arg, size_t index), void *arg))
{
	/* What is done at once happens in any order. */
	bool last_first = model.now && model.now->index % 2 == 1;

	for (size_t i = 0; i < threads; i++)
		work(arg, last_first ? threads - 1 - i : i);
}

WRAPS(int, parallel_start, (pthread_t * thread, void *(*run)(void *arg), void *arg))
{
	(void)thread, (void)run, (void)arg;
	return -1;
}

WRAPS(int, priority_pool_add_worker, (struct pool * pool))
{
	(void)pool;
	return -1;
}

WRAPS(void, job_records_trim_memory, (void))
{
}

WRAPS(int, store_open_unproven,
      (const char *url, bool create, bool read_only, struct store **store, struct cancel *cancel,
       struct err *err))
{
	(void)url, (void)create, (void)read_only, (void)cancel, (void)err;
	*store = memory_new(sizeof(**store));
	(*store)->ops = &model_ops;
	return 0;
}

/* --- a rule that is off --- */

static bool is_off(enum model_rule rule)
{
	return model.now && model.off == rule;
}

WRAPS(int, gang_parts_agree, (const struct manifest *parts, size_t count, struct err *err))
{
	return is_off(MODEL_RULE_PARTS_AGREE) ? 0 : __real_gang_parts_agree(parts, count, err);
}

WRAPS(int, storage_superseded,
      (struct storage * storage, uint32_t number, uint32_t *newest, struct cancel *cancel,
       struct err *err))
{
	*newest = number;
	return is_off(MODEL_RULE_NEWEST_ATTEMPT)
		       ? 0
		       : __real_storage_superseded(storage, number, newest, cancel, err);
}

WRAPS(int, own_claim_judge,
      (struct storage * storage, uint32_t number, const struct job_listing *listing,
       uint32_t *newest, struct cancel *cancel, struct err *err))
{
	*newest = number;
	return is_off(MODEL_RULE_NEWEST_ATTEMPT)
		       ? 0
		       : __real_own_claim_judge(storage, number, listing, newest, cancel, err);
}

WRAPS(enum pack_verdict, retention_judge_pack,
      (const struct retention_pack *pack, struct snapshot_id newest_good, int64_t now_ms,
       int64_t age_ms))
{
	if (is_off(MODEL_RULE_NEWER_PACKS))
		newest_good = (struct snapshot_id){UINT32_MAX, UINT32_MAX};
	return __real_retention_judge_pack(pack, newest_good, now_ms, age_ms);
}
