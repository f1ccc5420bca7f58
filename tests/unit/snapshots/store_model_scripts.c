#include "store_model.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "storage/snapshots/forget.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_SIZE 256
#define CLAIMS_MOST 4
/* Of one save, as `run` does where it has made room. */
#define TRIES_MOST 4

/* --- checkpoints: of equal steps they are equal, and a part never changes --- */

static char scratch[64];

static void fill(uint8_t content[FILE_SIZE], unsigned seed)
{
	uint64_t state = seed * 2654435761u + 88172645463325252u;

	for (size_t i = 0; i < FILE_SIZE; i += sizeof(state)) {
		state ^= state << 13, state ^= state >> 7, state ^= state << 17;
		memcpy(content + i, &state, sizeof(state));
	}
}

static void write_checkpoint_file(const char *directory, const char *name, unsigned seed)
{
	static const struct timespec times[2] = {{1000000000, 0}, {1000000000, 0}};
	auto_free char *path = text_format("%s/%s", directory, name);
	uint8_t content[FILE_SIZE];
	struct err err = {0};

	fill(content, seed);
	if (file_write(path, content, sizeof(content), &err) < 0 ||
	    utimensat(AT_FDCWD, path, times, 0) < 0)
		abort();
}

static char *checkpoint_path(unsigned step)
{
	return text_format("%s/step-%u", scratch, step);
}

void scripts_prepare(void)
{
	snprintf(scratch, sizeof(scratch), "%s/reprieve-model-XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (!mkdtemp(scratch))
		abort();
	for (unsigned step = 1; step <= MODEL_STEPS_MOST; step++) {
		auto_free char *directory = checkpoint_path(step);

		if (mkdir(directory, 0755) < 0)
			abort();
		write_checkpoint_file(directory, "frozen", 0);
		write_checkpoint_file(directory, "weights", step);
	}
	/* A file that was written a moment ago is looked at twice. */
	usleep(50000);
}

void scripts_clean(void)
{
	struct err err = {0};

	file_remove_tree(scratch, &err);
}

static bool file_is(const char *directory, const char *name, unsigned seed)
{
	auto_free char *path = text_format("%s/%s", directory, name);
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint8_t wanted[FILE_SIZE], found[FILE_SIZE + 1];

	fill(wanted, seed);
	return fd >= 0 && read(fd, found, sizeof(found)) == FILE_SIZE &&
	       memcmp(wanted, found, FILE_SIZE) == 0;
}

/* After the store was emptied, it may be what had the number before: that was read by then. */
static bool is_saved(const struct world *world, const char *directory, unsigned step)
{
	bool found = file_is(directory, "weights", step);

	for (unsigned i = 1; i <= MODEL_STEPS_MOST && world->emptied && !found; i++)
		found = file_is(directory, "weights", i);
	return found && file_is(directory, "frozen", 0);
}

int script_restore(struct world *world, struct storage *storage, struct snapshot_id id,
		   struct err *err)
{
	auto_free char *target = text_format("%s/target-%u", scratch,
					     world->now ? world->now->index : MACHINES_MOST);
	struct restore_request request = {.id = id, .directory = target, .unsynced = true};
	struct restore_result result;
	const struct commit *commit;
	char text[SNAPSHOT_ID_TEXT];
	int status = storage_restore(storage, &request, &result, NULL, err);

	/* The store may have been emptied meanwhile. */
	commit = model_commit(world, id);
	if (status == 0 && !is_saved(world, target, commit->step))
		model_wrong(world, "snapshot %s was restored with other content than was saved",
			    snapshot_id_format(id, text));
	file_remove_tree(target, NULL);
	return status;
}

int script_open(struct storage **storage, struct err *err)
{
	struct storage_options options = {
		.url = "memory:",
		.job = "job",
		.create = true,
		.threads = 1,
	};

	return storage_open(&options, storage, NULL, err);
}

/* --- reprieve run --- */

struct running {
	struct machine *machine;
	struct world *world;
	struct storage *storage;
	struct attempt attempt;
	struct damaged_snapshot passed_over[CLAIMS_MOST];
	size_t passed_over_count;
	unsigned step;
	uint32_t sequence;
	struct snapshot_id newest;
	/* Told that another attempt has taken over. */
	bool late;
};

/* With nothing that went wrong, every call works. */
static bool is_alone(const struct world *world)
{
	return world->faults + world->deaths == 0 && !world->damaged && !world->emptied;
}

static bool claim_once(struct running *running)
{
	const struct role *role = running->machine->role;
	struct world *world = running->world;
	/* Its first look may be as old as the history that it has read. */
	bool looks_first = running->machine->index % 2 == 1;
	struct claim claim = {
		.policy = role->policy,
		.this_one = {1, 1},
		.passed_over = running->passed_over,
		.passed_over_count = running->passed_over_count,
		.restores = looks_first,
		.saves = running->machine->index > 0 && role->policy == RESTORE_LATEST,
	};
	auto_(attempt_history_release) struct attempt_history history = {0};
	struct claiming *claiming;
	char text[SNAPSHOT_ID_TEXT];
	struct err err = {0};
	unsigned began = world->time;
	const struct commit *start;

	attempt_release(&running->attempt);
	if (looks_first)
		(void)storage_history(running->storage, 2, &history, NULL, NULL);
	if (storage_claim(running->storage, &claim, &running->attempt, NULL, &err) < 0) {
		model_note(world, "no claim: %s", err.text);
		if (is_alone(world) && role->policy == RESTORE_LATEST)
			model_wrong(world, "a claim failed for no reason: %s", err.text);
		return false;
	}
	if (running->machine->dead || world->abandoned)
		return false;
	claiming = model_claiming(world, running->attempt.number);
	claiming->returned = true;
	running->machine->attempt = claiming->number;
	claiming->policy = role->policy;
	claiming->by_hand = claim.saves;
	claiming->start = running->attempt.start;
	world->chosen_by_user |= role->policy != RESTORE_LATEST;
	/* Whoever has found it has set it aside. */
	start = snapshot_id_is_none(running->attempt.start)
			? NULL
			: model_commit(world, running->attempt.start);
	if (start && role->policy == RESTORE_LATEST && !running->attempt.start_is_damaged &&
	    world->faults == 0 && start->found_at > 0 && start->found_at < began)
		model_wrong(world, "%s was found damaged, and is claimed from",
			    snapshot_id_format(running->attempt.start, text));
	model_note(world, "has claimed %u from %s", running->attempt.number,
		   snapshot_id_format(running->attempt.start, text));
	return true;
}

/* True: it restored `start`, or there is none. False: damaged, which is noted; or *stop. */
static bool restore_start(struct running *running, bool *stop)
{
	struct snapshot_id start = running->attempt.start;
	struct world *world = running->world;
	char text[SNAPSHOT_ID_TEXT];
	struct err err = {0};

	if (snapshot_id_is_none(start))
		return true;
	if (script_restore(world, running->storage, start, &err) == 0) {
		model_note(world, "has restored %s", snapshot_id_format(start, text));
		running->step = model_commit(world, start)->step;
		return true;
	}
	if (running->machine->dead || world->abandoned || err.kind == ERR_RETRY) {
		*stop = true;
		return false;
	}
	model_note(world, "cannot restore %s: %s", snapshot_id_format(start, text), err.text);
	if (err.kind == ERR_CORRUPT && model_commit(world, start)->hurt)
		model_commit(world, start)->found_at = world->time;
	/* There is no whole one. The job goes on from what is left of this one: that is harder on
	 * the store than to give up. */
	if (running->attempt.start_is_damaged) {
		running->step = model_commit(world, start)->step;
		return true;
	}
	*stop = model_commit(world, start)->forgotten_full > 0 &&
		model_is_fenced(world, running->attempt.number, world->time);
	if (*stop)
		return false;
	if (!world->damaged && !world->emptied && running->machine->role->policy == RESTORE_LATEST)
		model_wrong(world, "the start of a claim, %s, cannot be restored: %s",
			    snapshot_id_format(start, text), err.text);
	*stop = running->machine->role->policy != RESTORE_LATEST ||
		running->passed_over_count == CLAIMS_MOST;
	if (!*stop)
		running->passed_over[running->passed_over_count++].id = start;
	return false;
}

/* The claim in force names what was restored. */
static bool start_attempt(struct running *running)
{
	bool stop = false;

	if (!claim_once(running))
		return false;
	while (!restore_start(running, &stop)) {
		uint32_t replaced = running->attempt.number;

		if (stop || !claim_once(running))
			return false;
		/* In a store that was emptied meanwhile the numbers begin at 1 again. */
		if (running->attempt.number > replaced)
			storage_end_attempt(running->storage, replaced, "replaced", NULL, NULL,
					    NULL);
	}
	running->newest = running->attempt.start;
	return !running->machine->dead;
}

/* What `run` does when its save has found the store full. */
static bool make_room(struct running *running)
{
	const struct forget_policy policy = {.keep_last = 1};
	bool keeps_last = running->machine->role->keeps_last;
	struct forget_result result;
	bool made;

	running->world->forgot |= keeps_last;
	running->machine->forgetting = true;
	running->machine->decided_at = 0;
	made = storage_make_room(running->storage, running->attempt.number,
				 keeps_last ? &policy : NULL, &result, NULL, NULL);
	running->machine->forgetting = false;
	model_note(running->world, "has made room: %u forgotten, %u packs removed",
		   result.forgotten, result.collected.packs_removed);
	return made;
}

static void save_once(struct running *running, bool *again)
{
	struct world *world = running->world;
	struct snapshot_id id = {running->attempt.number, ++running->sequence};
	auto_free char *directory = checkpoint_path(running->step);
	struct save_request request = {
		.id = id,
		.parent = running->newest,
		.directory = directory,
		.reason = "request",
		.step = running->step,
	};
	struct save_result result;
	char text[SNAPSHOT_ID_TEXT];
	struct err err = {0};
	bool lost_before;
	int status;

	running->machine->saving_step = running->step;
	running->machine->saving_since = world->time;
	lost_before = world->lost_at > 0;
	running->machine->saving = true;
	status = storage_save(running->storage, &request, &result, NULL, &err);
	running->machine->saving = false;
	snapshot_id_format(id, text);
	*again = false;
	if (running->machine->dead || world->abandoned)
		return;
	if (status == 0) {
		model_note(world, "has saved %s: durable", text);
		/* Not if it is gone already: the store was emptied. */
		model_commit(world, id)->told = model_commit(world, id)->put_at > 0;
		if (model_commit(world, id)->hurt &&
		    (running->passed_over_count > 0 || lost_before))
			model_wrong(world, "%s relies on what was damaged or lost before", text);
		running->newest = id;
		return;
	}
	model_note(world, "has not saved %s: %s", text, err.text);
	running->late = err.kind == ERR_EXISTS;
	/* With nothing else that went wrong, it is looked for. */
	if (model_commit(world, id)->answer_lost && world->faults == 1 && err.kind != ERR_EXISTS &&
	    !world->forgot && !world->emptied)
		model_wrong(world, "%s is committed, and was said to have failed: %s", text,
			    err.text);
	*again = result.store_lacks || (err.kind == ERR_NO_SPACE && make_room(running));
	/* What another machine has sent meanwhile may have taken the room. */
	if (err.kind == ERR_NO_SPACE && world->switches > 0)
		return;
	/* What a user's choice has left behind may be forgotten before it is looked for. */
	if (is_alone(world) && err.kind != ERR_EXISTS && !*again &&
	    !(world->chosen_by_user && world->forgot))
		model_wrong(world, "a save failed for no reason: %s", err.text);
}

static void forget_old(struct machine *machine, struct storage *storage, uint32_t keep_last,
		       uint32_t attempt)
{
	struct forget_request request = {.policy = {.keep_last = keep_last}, .attempt = attempt};
	struct world *world = machine->world;
	struct forget_result result;
	struct err err = {0};

	world->forgot = true;
	if (storage_forget(storage, &request, &result, NULL, &err) == 0)
		model_note(world, "has forgotten %u, and removed %u packs", result.forgotten,
			   result.collected.packs_removed);
	else if (is_alone(world) && err.kind != ERR_RETRY)
		model_wrong(world, "forget failed for no reason: %s", err.text);
}

static void run_attempt(struct running *running)
{
	const struct role *role = running->machine->role;
	bool again;

	for (unsigned i = 0; i < role->saves && !running->late; i++) {
		if (running->step < MODEL_STEPS_MOST)
			running->step++;
		again = true;
		for (unsigned tries = 0; again && tries < TRIES_MOST; tries++)
			save_once(running, &again);
		if (running->machine->dead)
			return;
		if (role->keeps_last && !running->late)
			forget_old(running->machine, running->storage, 1, running->attempt.number);
	}
	storage_end_attempt(running->storage, running->attempt.number, "finished", NULL, NULL,
			    NULL);
}

static void script_attempt(struct machine *machine, struct storage *storage)
{
	struct running running = {
		.machine = machine,
		.world = machine->world,
		.storage = storage,
	};

	if (start_attempt(&running))
		run_attempt(&running);
	attempt_release(&running.attempt);
}

/* --- the others --- */

static void script_pin(struct machine *machine, struct storage *storage)
{
	struct world *world = machine->world;
	struct snapshot_id id = {1, 1};
	struct err err = {0};
	int result = storage_pin(storage, id, NULL, &err);

	if (result < 0 && machine->role->script == SCRIPT_PIN_LEFT && strstr(err.text, "unpin") &&
	    storage_unpin(storage, id, NULL, NULL) == 0)
		result = storage_pin(storage, id, NULL, &err);
	if (result == 0 && !machine->dead) {
		world->pinned = true;
		model_note(world, "has pinned 1-1");
	}
}

static struct memory_object *newest_pack(struct world *world)
{
	struct memory_object *found = NULL;

	for (size_t i = 0; i < world->objects.count; i++)
		if (text_starts(world->objects.items[i].key, "jobs/job/packs/"))
			found = &world->objects.items[i];
	return found;
}

static void flip_bit(struct world *world)
{
	struct memory_object *pack = newest_pack(world);
	auto_(bytes_release) struct bytes changed = {0};
	auto_free char *key = pack ? text_copy(pack->key) : NULL;
	int64_t put_ms = pack ? pack->put_ms : 0;

	if (!pack || bytes_append(&changed, pack->content->data, pack->content->size, NULL) < 0)
		return;
	changed.data[16] ^= 1;
	model_hurt(world, key);
	memory_objects_put(&world->objects, key, changed.data, changed.size);
	memory_objects_find(&world->objects, key)->put_ms = put_ms;
}

static void empty_store(struct world *world)
{
	int64_t now_ms = world->objects.now_ms;

	memory_objects_release(&world->objects);
	world->objects.now_ms = now_ms;
	world->commit_count = world->claim_count = 0;
	world->emptied = true;
}

/* Nothing is lost: it is not to be had meanwhile, as after a fault of the store. */
static void take_away(struct machine *machine)
{
	struct world *world = machine->world;
	struct memory_object *pack = newest_pack(world);
	auto_(bytes_release) struct bytes content = {0};
	auto_free char *key = pack ? text_copy(pack->key) : NULL;
	int64_t put_ms = pack ? pack->put_ms : 0;

	if (!pack || bytes_append(&content, pack->content->data, pack->content->size, NULL) < 0)
		return;
	memory_objects_remove(&world->objects, key);
	if (model_step(machine, OP_EVENT, "jobs/job/: the newest pack is back") != OP_WORKS)
		return;
	memory_objects_put(&world->objects, key, content.data, content.size);
	memory_objects_find(&world->objects, key)->put_ms = put_ms;
}

static void script_event(struct machine *machine, enum script script)
{
	static const char *const names[] = {
		[SCRIPT_DAYS] = "jobs/job/: two days pass",
		[SCRIPT_FLIP] = "jobs/job/: a bit of the newest pack flips",
		[SCRIPT_LOSE] = "jobs/job/: the newest pack is lost",
		[SCRIPT_EMPTY] = "jobs/job/: all objects are removed",
		[SCRIPT_AWAY] = "jobs/job/: the newest pack is away",
	};
	struct world *world = machine->world;
	struct memory_object *pack;

	if (model_step(machine, OP_EVENT, names[script]) != OP_WORKS)
		return;
	if (script == SCRIPT_DAYS)
		world->objects.now_ms += 2 * MEMORY_DAY_MS;
	if (script == SCRIPT_FLIP)
		flip_bit(world);
	if (script == SCRIPT_EMPTY)
		empty_store(world);
	if (script == SCRIPT_AWAY)
		take_away(machine);
	pack = script == SCRIPT_LOSE ? newest_pack(world) : NULL;
	if (pack) {
		model_hurt(world, pack->key);
		world->lost_at = world->time;
		memory_objects_remove(&world->objects, pack->key);
	}
}

void script_run(struct machine *machine)
{
	enum script script = machine->role->script;
	auto_(storage_close) struct storage *storage = NULL;
	struct err err = {0};

	if (script >= SCRIPT_DAYS) {
		script_event(machine, script);
		return;
	}
	if (script_open(&storage, &err) < 0)
		return;
	if (script == SCRIPT_RUN)
		script_attempt(machine, storage);
	else if (script == SCRIPT_FORGET)
		forget_old(machine, storage, 0, 0);
	else
		script_pin(machine, storage);
}

void script_before(struct world *world, struct memory_objects *before)
{
	auto_(storage_close) struct storage *storage = NULL;
	auto_(attempt_release) struct attempt attempt = {0};
	struct claim claim = {.policy = RESTORE_LATEST};
	auto_free char *sign = NULL;
	struct err err = {0};
	bool pinned;

	memory_objects_release(&world->objects);
	/* The machines' threads look at it while they begin to wait. */
	pthread_mutex_lock(&world->mutex);
	world->now = NULL;
	pthread_mutex_unlock(&world->mutex);
	if (script_open(&storage, &err) < 0 ||
	    (world->scene->saved > 0 && storage_claim(storage, &claim, &attempt, NULL, &err) < 0))
		abort();
	for (unsigned i = 1; i <= world->scene->saved; i++) {
		auto_free char *directory = checkpoint_path(i);
		struct save_request request = {
			.id = {1, i},
			.parent = {i > 1, i - 1},
			.directory = directory,
			.reason = "request",
			.step = i,
		};
		struct save_result result;

		if (storage_save(storage, &request, &result, NULL, &err) < 0)
			abort();
	}
	if (world->scene->roles[1].script == SCRIPT_PIN_LEFT &&
	    pin_forbid(storage, (struct snapshot_id){1, 1}, &pinned, &sign, NULL, &err) < 0)
		abort();
	if (world->scene->days)
		world->objects.now_ms += 2 * MEMORY_DAY_MS;
	memory_objects_copy(before, &world->objects);
}
