#include "store_model.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "storage/format/format.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOB "jobs/job/"

struct world *world_now;

/* --- what has happened, for people --- */

static void add_step(struct world *world, const char *text)
{
	struct model_step *step = &world->steps[world->step_count];

	if (world->step_count == STEPS_MOST)
		return;
	world->step_count++;
	step->machine = world->now ? world->now->index : MACHINES_MOST;
	text_set(step->text, sizeof(step->text), text);
}

void model_note(struct world *world, const char *format, ...)
{
	char text[sizeof(world->steps[0].text)];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	add_step(world, text);
}

void model_wrong(struct world *world, const char *format, ...)
{
	va_list args;

	if (world->wrong[0] || world->abandoned)
		return;
	va_start(args, format);
	vsnprintf(world->wrong, sizeof(world->wrong), format, args);
	va_end(args);
}

static void note_operation(struct world *world, enum op_kind kind, const char *key,
			   enum op_outcome outcome)
{
	static const char *const kinds[] = {"put", "put if absent", "get", "list", "remove", ""};
	static const char *const outcomes[] =
		{"",
		 ": FAILS",
		 ": works, ANSWER LOST",
		 ": works, ANSWERS EXISTS",
		 ": works, ANSWERS FULL",
		 ": IS FULL",
		 ": IS REFUSED",
		 ": DIES BEFORE IT",
		 ": works, DIES AFTER IT",
		 ": is dead"};

	if (text_starts(key, JOB))
		key += strlen(JOB);
	model_note(world, "%s %s%s", kinds[kind], key, outcomes[outcome]);
}

struct commit *model_commit(struct world *world, struct snapshot_id id)
{
	size_t i = 0;

	while (i < world->commit_count && snapshot_id_compare(world->commits[i].id, id) != 0)
		i++;
	if (i == RECORDS_MOST)
		abort();
	if (i == world->commit_count)
		world->commits[world->commit_count++] = (struct commit){.id = id};
	return &world->commits[i];
}

struct claiming *model_claiming(struct world *world, uint32_t number)
{
	size_t i = 0;

	while (i < world->claim_count && world->claims[i].number != number)
		i++;
	if (i == RECORDS_MOST)
		abort();
	if (i == world->claim_count)
		world->claims[world->claim_count++] = (struct claiming){.number = number};
	return &world->claims[i];
}

bool model_is_fenced(const struct world *world, uint32_t number, unsigned by)
{
	for (size_t i = 0; i < world->claim_count; i++) {
		const struct claiming *other = &world->claims[i];

		if (other->number > number && other->confirmed_at > 0 && other->confirmed_at < by)
			return true;
	}
	return false;
}

/* --- whose turn it is --- */

static void wait_for_turn(struct machine *machine)
{
	while (machine->world->now != machine && !machine->world->quit)
		pthread_cond_wait(&machine->turn, &machine->world->mutex);
}

/* Expects the mutex held. NULL: the test. */
static void give_turn(struct world *world, struct machine *next)
{
	world->now = next;
	world->switched = true;
	if (next) {
		next->begun = true;
		pthread_cond_signal(&next->turn);
	} else {
		pthread_cond_signal(&world->done);
	}
}

static unsigned others_runnable(const struct world *world, const struct machine *machine)
{
	unsigned count = 0;

	for (size_t i = 0; i < world->scene->machines; i++)
		count += world->machines[i].runnable && &world->machines[i] != machine;
	return count;
}

/* The n-th that could run; NULL: none. */
static struct machine *other_runnable(struct world *world, const struct machine *machine,
				      unsigned n)
{
	for (size_t i = 0; i < world->scene->machines; i++) {
		struct machine *other = &world->machines[i];

		if (other->runnable && other != machine && n-- == 0)
			return other;
	}
	return NULL;
}

static void yield_to(struct machine *machine, struct machine *next)
{
	struct world *world = machine->world;

	pthread_mutex_lock(&world->mutex);
	world->switches++;
	give_turn(world, next);
	wait_for_turn(machine);
	pthread_mutex_unlock(&world->mutex);
}

static void *machine_main(void *arg)
{
	struct machine *machine = arg;
	struct world *world = machine->world;

	pthread_mutex_lock(&world->mutex);
	for (;;) {
		struct machine *next;

		wait_for_turn(machine);
		if (world->quit)
			break;
		pthread_mutex_unlock(&world->mutex);
		if (!world->abandoned)
			script_run(machine);
		machine->runnable = false;
		next = other_runnable(world, machine,
				      search_choose(world, others_runnable(world, machine)));
		pthread_mutex_lock(&world->mutex);
		give_turn(world, next);
	}
	pthread_mutex_unlock(&world->mutex);
	return NULL;
}

/* --- the decision before each operation --- */

/* What may go wrong with an operation, beside death. */
static const enum op_outcome faults_of[][5] = {
	[OP_PUT] = {OP_FAILS, OP_ANSWER_LOST, OP_IS_FULL},
	[OP_PUT_IF_ABSENT] = {OP_FAILS, OP_ANSWER_LOST, OP_ANSWERS_EXISTS, OP_ANSWERS_FULL,
			      OP_IS_FULL},
	[OP_GET] = {OP_FAILS},
	[OP_LIST] = {OP_FAILS},
	[OP_REMOVE] = {OP_FAILS, OP_ANSWER_LOST, OP_IS_REFUSED},
	[OP_EVENT] = {OP_WORKS},
};

static bool changes(enum op_kind kind)
{
	return kind == OP_PUT || kind == OP_PUT_IF_ABSENT || kind == OP_REMOVE;
}

static unsigned list_outcomes(const struct world *world, enum op_kind kind,
			      enum op_outcome *outcomes)
{
	struct bounds bounds = search_bounds();
	unsigned used = world->switches + world->faults + world->deaths, count = 0;

	outcomes[count++] = OP_WORKS;
	if (kind == OP_EVENT || used >= bounds.total)
		return count;
	for (size_t i = 0; world->faults < bounds.faults && i < 5 && faults_of[kind][i]; i++)
		outcomes[count++] = faults_of[kind][i];
	if (world->deaths < bounds.deaths) {
		outcomes[count++] = OP_DIES_BEFORE;
		if (changes(kind))
			outcomes[count++] = OP_DIES_AFTER;
	}
	return count;
}

static enum op_outcome decide(struct machine *machine, enum op_kind kind)
{
	struct world *world = machine->world;
	enum op_outcome outcomes[10];
	struct bounds bounds = search_bounds();

	for (;;) {
		unsigned count = list_outcomes(world, kind, outcomes), others = 0, taken;

		if (!world->switched && world->switches < bounds.switches &&
		    world->switches + world->faults + world->deaths < bounds.total)
			others = others_runnable(world, machine);
		taken = search_choose(world, count + others);
		if (world->abandoned)
			return OP_DEAD;
		if (taken < count)
			return outcomes[taken];
		yield_to(machine, other_runnable(world, machine, taken - count));
		if (world->abandoned)
			return OP_DEAD;
	}
}

static bool is_sign(const char *key)
{
	return text_starts(key, "tmp/forgetting-");
}

/* The marker is there from the start, and of the temporary objects only signs decide anything. */
static bool is_decided(const char *key)
{
	return text_starts(key, JOB) || is_sign(key);
}

enum op_outcome model_step(struct machine *machine, enum op_kind kind, const char *key)
{
	struct world *world = machine->world;
	enum op_outcome outcome;

	if (machine->dead || world->abandoned)
		return OP_DEAD;
	outcome = is_decided(key) ? decide(machine, kind) : OP_WORKS;
	if (outcome == OP_DEAD)
		return outcome;
	/* A store that has room for a pin right after is not full. */
	if (outcome == OP_IS_FULL && is_sign(key))
		outcome = OP_FAILS;
	world->switched = false;
	world->time++;
	if (machine->forgetting && machine->decided_at == 0 && kind == OP_PUT_IF_ABSENT &&
	    text_starts(key, JOB "pins/"))
		machine->decided_at = machine->stepped_at;
	machine->stepped_at = world->time;
	machine->seen = memory_hash(machine->seen + 2, key, strlen(key));
	if (is_decided(key))
		note_operation(world, kind, key, outcome);
	if (outcome == OP_DIES_BEFORE || outcome == OP_DIES_AFTER) {
		world->deaths++;
		machine->dead = true;
	} else {
		world->faults += outcome != OP_WORKS;
	}
	return outcome;
}

/* --- the store --- */

static void see(struct machine *machine, uint64_t what)
{
	if (machine)
		machine->seen = memory_hash(machine->seen + 1, &what, sizeof(what));
}

static int answer(struct machine *machine, enum op_outcome outcome, struct err *err)
{
	see(machine, outcome);
	switch (outcome) {
	case OP_FAILS:
	case OP_ANSWER_LOST:
		return err_set(err, ERR_RETRY, "the store does not answer");
	case OP_ANSWERS_EXISTS:
		return err_set(err, ERR_EXISTS, "it exists");
	case OP_ANSWERS_FULL:
	case OP_IS_FULL:
		if (machine)
			machine->found_full = true;
		return err_set(err, ERR_NO_SPACE, "the store is full");
	case OP_IS_REFUSED:
		return err_set(err, ERR_DENIED, "the store refuses it");
	case OP_DIES_BEFORE:
	case OP_DIES_AFTER:
	case OP_DEAD:
		return err_set(err, ERR_CANCELLED, "the machine is dead");
	case OP_WORKS:
		break;
	}
	return 0;
}

static bool happens(enum op_outcome outcome)
{
	return outcome == OP_WORKS || outcome == OP_ANSWER_LOST || outcome == OP_ANSWERS_EXISTS ||
	       outcome == OP_ANSWERS_FULL || outcome == OP_DIES_AFTER;
}

static bool names_hurt_pack(const struct world *world, const char *key)
{
	const struct memory_object *object = memory_objects_find(&world->objects, key);

	return world->hurt_pack[0] && object &&
	       memmem(object->content->data, object->content->size, world->hurt_pack,
		      strlen(world->hurt_pack));
}

void model_hurt(struct world *world, const char *key)
{
	text_set(world->hurt_pack, sizeof(world->hurt_pack), key + strlen(JOB));
	for (size_t i = 0; i < world->commit_count; i++) {
		char text[SNAPSHOT_ID_TEXT];
		auto_free char *manifest =
			text_format(JOB "snapshots/%s.json",
				    snapshot_id_format(world->commits[i].id, text));

		world->commits[i].hurt |= names_hurt_pack(world, manifest);
		world->damaged |= world->commits[i].hurt;
	}
}

/* Who was fenced before the save began has nothing to commit: the store would keep it for nothing.
 */
static void check_may_commit(struct world *world, struct snapshot_id id)
{
	char text[SNAPSHOT_ID_TEXT];

	if (!world->now || world->emptied)
		return;
	for (size_t i = 0; i < world->claim_count; i++) {
		const struct claiming *newer = &world->claims[i];

		if (newer->number > id.attempt && newer->confirmed_at > 0 &&
		    newer->confirmed_at < world->now->saving_since)
			model_wrong(world, "%s is committed, and attempt %u was in force before",
				    snapshot_id_format(id, text), newer->number);
	}
}

/* Claims and commits become visible here. */
static void note_record(struct world *world, const char *key, enum op_outcome outcome)
{
	struct snapshot_id id;
	unsigned number;
	char suffix[32] = "";
	uint64_t facts[] = {memory_hash(5, key, strlen(key))};

	if (text_starts(key, JOB "snapshots/") &&
	    snapshot_id_parse(strndupa(key + strlen(JOB "snapshots/"), 13), &id)) {
		struct commit *commit = model_commit(world, id);

		check_may_commit(world, id);
		commit->put_at = ++world->time;
		world->stray |= world->emptied && model_claiming(world, id.attempt)->put_at == 0;
		commit->step = world->now ? world->now->saving_step : 0;
		commit->hurt = names_hurt_pack(world, key);
		commit->answer_lost = outcome != OP_WORKS;
		world->damaged |= commit->hurt;
	} else if (sscanf(key, JOB "attempts/%6u%31s", &number, suffix) == 2) {
		struct claiming *claiming = model_claiming(world, number);

		world->chosen_by_user |= world->now && world->now->role->policy != RESTORE_LATEST;
		if (text_equal(suffix, ".json"))
			claiming->put_at = ++world->time;
		else if (text_equal(suffix, ".confirmed.json"))
			claiming->confirmed_at = ++world->time;
		else if (text_equal(suffix, ".end.json"))
			claiming->ended_at = ++world->time;
		else
			return;
		/* One by hand needs no more than that. */
		if (claiming->by_hand && claiming->confirmed_at > 0)
			claiming->ended_at = claiming->confirmed_at;
	} else {
		return;
	}
	world->order = memory_hash(world->order, facts, sizeof(facts));
}

/* As a file system or a quota does it: no fault, and the next one may find room. */
static bool has_no_room(const struct world *world, const char *key)
{
	static const char packs[] = JOB "packs/";
	unsigned count = 0;

	if (world->scene->room == 0 || !world->now || !text_starts(key, packs))
		return false;
	for (size_t i = 0; i < world->objects.count; i++)
		count += text_starts(world->objects.items[i].key, packs);
	return count >= world->scene->room;
}

static int model_put(struct store *store, const char *key, const void *data, size_t size,
		     enum store_put_mode mode, struct cancel *cancel, struct err *err)
{
	struct world *world = world_now;
	struct machine *machine = world->now;
	enum op_outcome outcome =
		machine ? model_step(machine, mode == STORE_UNIQUE ? OP_PUT : OP_PUT_IF_ABSENT, key)
			: OP_WORKS;
	bool there;

	(void)store, (void)cancel;
	if (happens(outcome) && has_no_room(world, key)) {
		model_note(world, "the store is full");
		outcome = OP_IS_FULL;
	}
	if (!happens(outcome))
		return answer(machine, outcome, err);
	there = mode != STORE_UNIQUE && memory_objects_find(&world->objects, key);
	if (!there) {
		memory_objects_put(&world->objects, key, data, size);
		note_record(world, key, outcome);
	}
	see(machine, there);
	if (there && outcome == OP_WORKS)
		return err_set(err, ERR_EXISTS, "%s exists", key);
	return answer(machine, outcome, err);
}

static const struct memory_objects *objects_for(const struct machine *machine)
{
	return machine && machine->stale ? &machine->view : &world_now->objects;
}

static int model_get(struct store *store, const char *key, uint64_t offset, size_t size,
		     struct bytes *out, struct cancel *cancel, struct err *err)
{
	struct machine *machine = world_now->now;
	enum op_outcome outcome = machine ? model_step(machine, OP_GET, key) : OP_WORKS;
	const struct memory_object *object = memory_objects_find(objects_for(machine), key);

	(void)store, (void)cancel;
	if (outcome == OP_WORKS && machine &&
	    machine->unreadable == memory_hash(2, key, strlen(key)))
		outcome = OP_FAILS;
	if (outcome != OP_WORKS)
		return answer(machine, outcome, err);
	see(machine, object ? object->content->hash : 0);
	if (!object)
		return err_set(err, ERR_NOT_FOUND, "%s is not there", key);
	if (offset > object->content->size)
		offset = object->content->size;
	if (size == STORE_TO_END)
		size = object->content->size - offset;
	if (size > object->content->size - offset)
		return err_set(err, ERR_CORRUPT, "%s is too short", key);
	return bytes_append(out, object->content->data + offset, size, err);
}

static int model_list(struct store *store, const char *prefix, enum store_depth depth,
		      struct store_listing *listing, struct cancel *cancel, struct err *err)
{
	struct machine *machine = world_now->now;
	enum op_outcome outcome = machine ? model_step(machine, OP_LIST, prefix) : OP_WORKS;

	(void)store, (void)cancel;
	if (outcome != OP_WORKS)
		return answer(machine, outcome, err);
	memory_objects_list(objects_for(machine), prefix, depth, listing);
	for (size_t i = 0; i < listing->count && is_decided(prefix); i++) {
		const struct store_object *item = &listing->items[i];

		see(machine, memory_hash(item->size, item->key, strlen(item->key)));
		see(machine, item->modified_ms > world_now->objects.now_ms - MEMORY_DAY_MS);
	}
	return 0;
}

static void note_forgotten(struct machine *machine, const char *key)
{
	struct snapshot_id id;
	struct commit *commit;

	if (!snapshot_id_parse(strndupa(key + strlen(JOB "snapshots/"), 13), &id))
		return;
	commit = model_commit(machine->world, id);
	commit->forgotten_at = machine->decided_at;
	commit->forgotten_full = machine->found_full ? machine->attempt : 0;
}

static int model_remove(struct store *store, const char *key, struct cancel *cancel,
			struct err *err)
{
	struct machine *machine = world_now->now;
	enum op_outcome outcome = machine ? model_step(machine, OP_REMOVE, key) : OP_WORKS;

	(void)store, (void)cancel;
	/* The one case that remains (FORMAT.md, "Orphaned packs"): an attempt on a full store that
	 * was overtaken between its look and the removal. */
	if (happens(outcome) && machine && machine->saving && text_starts(key, JOB "packs/"))
		model_hurt(world_now, key);
	if (happens(outcome) && machine && text_starts(key, JOB "snapshots/"))
		note_forgotten(machine, key);
	if (happens(outcome))
		memory_objects_remove(&world_now->objects, key);
	return answer(machine, outcome, err);
}

static void model_close(struct store *store)
{
	free(store);
}

static const struct store_ops model_store_ops = {
	.scheme = "memory",
	.close = model_close,
	.put = model_put,
	.get = model_get,
	.list = model_list,
	.remove = model_remove,
};

struct store *model_store(void)
{
	struct store *store = memory_new(sizeof(*store));

	store->ops = &model_store_ops;
	return store;
}

/* --- a history --- */

void world_open(struct world *world, const struct scene *scene, enum rule off)
{
	*world = (struct world){.scene = scene, .off = off};
	world_now = world;
	pthread_mutex_init(&world->mutex, NULL);
	pthread_cond_init(&world->done, NULL);
	for (unsigned i = 0; i < scene->machines; i++) {
		struct machine *machine = &world->machines[i];

		machine->world = world;
		machine->index = i;
		machine->role = &scene->roles[i];
		pthread_cond_init(&machine->turn, NULL);
		if (pthread_create(&machine->thread, NULL, machine_main, machine) != 0)
			abort();
	}
}

void world_close(struct world *world)
{
	pthread_mutex_lock(&world->mutex);
	world->quit = true;
	for (size_t i = 0; i < world->scene->machines; i++)
		pthread_cond_signal(&world->machines[i].turn);
	pthread_mutex_unlock(&world->mutex);
	for (size_t i = 0; i < world->scene->machines; i++) {
		pthread_join(world->machines[i].thread, NULL);
		pthread_cond_destroy(&world->machines[i].turn);
		memory_objects_release(&world->machines[i].view);
	}
	pthread_mutex_destroy(&world->mutex);
	pthread_cond_destroy(&world->done);
	memory_objects_release(&world->objects);
	world_now = NULL;
}

static void begin_history(struct world *world, const struct memory_objects *before)
{
	memory_objects_copy(&world->objects, before);
	for (size_t i = 0; i < world->scene->machines; i++) {
		struct machine *machine = &world->machines[i];

		machine->runnable = true;
		machine->begun = machine->dead = machine->stale = machine->saving = false;
		machine->forgetting = machine->collecting = machine->found_full = false;
		machine->attempt = 0;
		machine->lists = machine->looks = 0;
		machine->seen = machine->unreadable = machine->nonces = 0;
		machine->saving_step = 0;
		machine->stepped_at = machine->decided_at = 0;
	}
	world->abandoned = false;
	world->switches = world->faults = world->deaths = 0;
	world->time = 0;
	world->order = world->step_count = world->nonces = 0;
	world->commit_count = world->claim_count = 0;
	world->damaged = world->emptied = world->forgot = world->pinned = false;
	world->chosen_by_user = false;
	world->stray = false;
	world->lost_at = 0;
	world->hurt_pack[0] = world->wrong[0] = '\0';
	/* What was before counts as told. */
	for (unsigned i = 1; i <= world->scene->saved; i++) {
		struct commit *commit = model_commit(world, (struct snapshot_id){1, i});

		*commit = (struct commit){
			.id = commit->id,
			.step = i,
			.put_at = ++world->time,
			.told = true,
		};
	}
	if (world->scene->saved > 0)
		*model_claiming(world, 1) = (struct claiming){
			.number = 1,
			.policy = RESTORE_LATEST,
			.put_at = 1,
			.confirmed_at = 1,
			.returned = true,
		};
}

void world_run(struct world *world, const struct memory_objects *before)
{
	struct machine *first;

	begin_history(world, before);
	first = other_runnable(world, NULL, search_choose(world, others_runnable(world, NULL)));
	pthread_mutex_lock(&world->mutex);
	give_turn(world, first);
	while (world->now)
		pthread_cond_wait(&world->done, &world->mutex);
	pthread_mutex_unlock(&world->mutex);
	if (!world->abandoned && !world->wrong[0])
		audit_world(world);
}
