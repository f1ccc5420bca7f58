/*
 * What must be true of a gang's snapshots whatever happens (audit_model): two members save in
 * rounds, with retention at member 0, while things fail; one of them may leave a round out, give a
 * part of another checkpoint, come late from an attempt that is over, or be followed by a new
 *start. Then one rule at a time is switched off, and the model must notice. It cannot notice that a
 *put which failed is read back: what waits tries again, and then knows its own part by the nonce.
 *
 *	REPRIEVE_HISTORIES=N	a part of so many; fewer than 10000: only by chance, with all rules
 *	REPRIEVE_MODEL_DEPTH=N	all histories in which N things happen, instead of one
 */
#include "gang_model.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "storage/records/storage_handle.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

#define MEMBERS 2
#define ROUNDS 3
/* More than things happen. */
#define TRIES 12
/* From so many on, there is time for more than chance. */
#define HISTORIES_ALL 10000
/* Each scene gets this part of them by chance. */
#define SCENE_SHARE 66

/* --- a scene --- */

struct model_scene {
	const char *name;
	unsigned machines;
	/* Member 1 gives no part in round 1, and another step in round 2. */
	bool leaves_out, other_step;
	/* A third machine is member 1 of attempt 1, which is over: its part is the last one. */
	bool late;
	/* A third machine starts the next attempt, once both are gone. */
	bool next;
	/* Member 1 gives its part in round 0, none in round 1, and has gone then: round 2 is of
	 * member 0 alone. */
	bool goes;
};

static const struct model_scene model_scenes[] = {
	{"rounds", 2, false, false, false, false, false},
	{"left out", 2, true, false, false, false, false},
	{"other step", 2, false, true, false, false, false},
	{"late", 3, false, false, true, false, false},
	{"next start", 3, false, false, false, true, false},
	{"goes", 2, false, false, false, false, true},
	{"goes, next", 3, false, false, false, true, true},
};
static const struct model_scene *scene;

/* The rounds of attempt 2: numbers of events, with gaps. */
static const uint32_t round_numbers[ROUNDS] = {3, 5, 8};
#define LATE_ROUND 9

/* What was told: that this content of a member is durable in that round. */
struct told {
	bool told, over;
	unsigned generation;
};
static struct told told[MEMBERS][ROUNDS];
static bool late_told;
/* What the next attempt starts from; none: it has not come to that. */
static struct snapshot_id next_start;

/* --- checkpoints: a file for each member, step and generation --- */

static char scratch[64];
#define GENERATIONS 3

static char *checkpoint_path(unsigned member, unsigned step, unsigned generation)
{
	return text_format("%s/%u-%u-%u", scratch, member, step, generation);
}

static void write_text(const char *directory, const char *name, const char *text)
{
	static const struct timespec times[2] = {{1000000000, 0}, {1000000000, 0}};
	auto_free char *path = text_format("%s/%s", directory, name);
	struct err err = {0};

	if (file_write(path, text, strlen(text), &err) < 0 ||
	    utimensat(AT_FDCWD, path, times, 0) < 0)
		abort();
}

static void prepare_checkpoints(void)
{
	snprintf(scratch, sizeof(scratch), "%s/reprieve-model-XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (!mkdtemp(scratch))
		abort();
	for (unsigned i = 0; i < MEMBERS * 6 * GENERATIONS; i++) {
		unsigned member = i % MEMBERS, step = i / MEMBERS % 6;
		unsigned generation = i / MEMBERS / 6;
		auto_free char *directory = checkpoint_path(member, step, generation);
		auto_free char *own = text_format("weights of %u at %u", member, step);
		auto_free char *turn = text_format("%u %u %u", member, step, generation);
		/* Every second step, so that a pack of an older one would serve. */
		auto_free char *often = text_format("of %u, step %u", member, step % 2);

		if (mkdir(directory, 0755) < 0)
			abort();
		write_text(directory, "weights", own);
		write_text(directory, "generation", turn);
		write_text(directory, "often", often);
	}
	/* A file that was written a moment ago is looked at twice. */
	usleep(50000);
}

/* --- the machines --- */

static struct storage *open_member(unsigned member, uint32_t attempt)
{
	struct storage_options options =
		{.url = "memory:", .job = "job", .create = true, .threads = 1};
	auto_(attempt_release) struct attempt adopted = {0};
	struct storage *storage = NULL;
	struct err err = {0};

	for (int i = 0; i < TRIES; i++) {
		if (!storage && storage_open(&options, &storage, NULL, &err) < 0)
			continue;
		storage_set_gang(storage, MEMBERS, member);
		if (storage_gang_adopt(storage, attempt, &adopted, NULL, &err) == 0)
			return storage;
	}
	storage_close(storage);
	return NULL;
}

struct model_save {
	unsigned member, round;
};

static bool has_gone(void)
{
	auto_free char *key = text_format("jobs/job/gang/000002/log/%06u.json", MODEL_GONE);

	return memory_objects_find(&model.objects, key);
}

/* Another member has left it out; or is no more, so that the attempt is over. */
static bool is_round_over(void *arg)
{
	const struct model_save *save = arg;

	if (!save)
		return false;
	if (scene->leaves_out && save->round == 1)
		return true;
	if (scene->goes && save->round == 1)
		return has_gone() || model.machines[1].done;
	if (scene->goes && save->round == 2)
		return false;
	return model.machines[1 - save->member].done;
}

static int save_once(struct storage *storage, struct snapshot_id id, struct snapshot_id parent,
		     unsigned member, unsigned step, unsigned generation, struct model_save *save,
		     struct save_result *result, struct err *err)
{
	auto_free char *directory = checkpoint_path(member, step, generation);
	struct save_request request = {
		.id = id,
		.parent = parent,
		.directory = directory,
		.reason = "interval",
		.step = step,
		.gang_over = is_round_over,
		.arg = save,
	};

	return storage_save(storage, &request, result, NULL, err);
}

static void forget_old(struct storage *storage)
{
	struct forget_request request = {.policy.keep_last = 1, .garbage_age_ms = 1};
	struct forget_result result;

	(void)storage_forget(storage, &request, &result, NULL, NULL);
}

/* What has become of a part that lies there: true once that is known, or nobody is left to give
 * another one. */
static bool look_after_part(struct model_machine *machine, struct storage *storage,
			    struct snapshot_id id, struct told *mine)
{
	for (unsigned i = 0; !machine->dead; i++) {
		bool alone = model.machines[1 - machine->index].done;
		enum gang_part_fate fate = GANG_FATE_LIES;
		struct err err;

		if (storage_gang_look_after_part(storage, id, &fate, NULL, &err) < 0) {
			if (i > TRIES)
				return false;
			continue;
		}
		mine->told = fate == GANG_FATE_COMMITTED;
		mine->over = fate == GANG_FATE_VOID;
		if (fate != GANG_FATE_LIES || alone)
			return true;
		if (cancel_sleep(NULL, 1, &err) < 0)
			return false;
	}
	return false;
}

/* Until it is known what became of the round: true, and not otherwise. Each of the first tries has
 * another generation of the files; one whose part may lie there is the last. */
static bool take_round(struct model_machine *machine, struct storage *storage, unsigned round,
		       struct snapshot_id *newest)
{
	unsigned member = machine->index, step = round + 2;
	struct model_save save = {member, round};
	struct snapshot_id id = {2, round_numbers[round]};
	struct told *mine = &told[member][round];
	struct save_result result;

	if (scene->other_step && member == 1 && round == 2)
		step++;
	for (unsigned i = 0; i < TRIES && !machine->dead; i++) {
		unsigned generation = i < GENERATIONS ? i : GENERATIONS - 1;
		struct err err = {0};
		int failed = save_once(storage, id, *newest, member, step, generation, &save,
				       &result, &err);
		bool known = true;

		if (machine->dead)
			return false;
		*mine = (struct told){.told = failed == 0, .generation = generation};
		if (failed && result.gang_fate == GANG_FATE_LIES && !result.gang_put) {
			if (model.events == 0)
				model_wrong("round %u failed for no reason: %s", round, err.text);
			continue;
		}
		if (failed && result.gang_fate == GANG_FATE_LIES)
			known = look_after_part(machine, storage, id, mine);
		else if (failed)
			/* Whoever has died may have committed it. */
			mine->over = model.deaths == 0;
		if (known && mine->told)
			*newest = id;
		return known;
	}
	return false;
}

static bool append(struct storage *storage, enum gang_event_kind kind, uint32_t number)
{
	struct gang_event event = {
		.kind = kind,
		.number = number,
		.member = kind == GANG_EVENT_GONE,
		.step = 4,
	};
	bool taken = false;
	struct err err;

	for (int i = 0; i < TRIES && !taken; i++)
		if (storage_gang_append(storage, 2, &event, &taken, NULL, &err) == 0 && !taken)
			return false;
	return taken;
}

/* Member 0 opens the round without the other one, once that has gone; else there is none. */
static bool open_last_round(struct storage *storage)
{
	struct snapshot_id id = {2, round_numbers[2]};
	bool marked = false;
	struct err err;

	while (!has_gone() && !model.machines[1].done)
		if (cancel_sleep(NULL, 1, &err) < 0)
			return false;
	if (!has_gone() || !append(storage, GANG_EVENT_ROUND, id.sequence))
		return false;
	for (int i = 0; i < TRIES && !marked; i++)
		marked = storage_gang_mark_gone(storage, id, 1, NULL, &err) == 0;
	return marked;
}

static void run_member(struct model_machine *machine)
{
	auto_(storage_close) struct storage *storage = open_member(machine->index, 2);
	struct snapshot_id newest = {1, 1};

	for (unsigned round = 0; storage && round < ROUNDS && !machine->dead; round++) {
		if (scene->leaves_out && machine->index == 1 && round == 1)
			continue;
		if (scene->goes && machine->index == 1 && round == 1) {
			(void)append(storage, GANG_EVENT_GONE, MODEL_GONE);
			return;
		}
		if (scene->goes && round == 2 && !open_last_round(storage))
			return;
		if (!take_round(machine, storage, round, &newest))
			return;
		if (machine->index == 0)
			forget_old(storage);
	}
}

static void run_late_member(void)
{
	auto_(storage_close) struct storage *storage = open_member(1, 1);
	struct save_result result;
	struct err err = {0};

	if (storage && save_once(storage, (struct snapshot_id){1, LATE_ROUND},
				 (struct snapshot_id){1, 1}, 1, 1, 0, NULL, &result, &err) == 0)
		late_told = true;
}

/* As member 0 of the next start: what the two have left is finished, and gone on from. */
static void run_next_start(const struct model_machine *machine)
{
	auto_(storage_close) struct storage *storage = NULL;
	auto_(attempt_release) struct attempt claimed = {0};
	struct claim claim = {.policy = RESTORE_LATEST};
	struct err err = {0};
	uint32_t round;
	bool finished = model.off == MODEL_RULE_FINISH;

	while (!model.machines[0].done || !model.machines[1].done)
		if (cancel_sleep(NULL, 1, &err) < 0)
			return;
	storage = open_member(0, 2);
	for (int i = 0; storage && i < TRIES && !finished && !machine->dead; i++)
		finished = storage_gang_finish(storage, 2, &round, NULL, &err) == 0;
	for (int i = 0; storage && i < TRIES && finished && !machine->dead; i++)
		if (storage_claim(storage, &claim, &claimed, NULL, &err) == 0) {
			next_start = claimed.start;
			return;
		}
}

static void run_script(struct model_machine *machine)
{
	if (machine->index < MEMBERS)
		run_member(machine);
	else if (scene->next)
		run_next_start(machine);
	else
		run_late_member();
}

/* --- what there is before: made once --- */

static struct memory_objects store_before;

/* The parts of both members, one after the other: the last one commits. */
static void save_as_gang(struct storage *storage, struct snapshot_id id, unsigned last)
{
	for (unsigned member = 0; member <= last; member++) {
		struct model_save over = {0, 1};
		struct save_result result;
		struct err err = {0};
		auto_free char *directory = checkpoint_path(member, id.sequence == 1 ? 0 : 1, 0);
		struct save_request request = {
			.id = id,
			.parent = {id.sequence > 1, id.sequence > 1},
			.directory = directory,
			.reason = "interval",
			.step = id.sequence == 1 ? 0 : 1,
			.gang_over = is_round_over,
			.arg = &over,
		};

		storage_set_gang(storage, MEMBERS, member);
		(void)storage_save(storage, &request, &result, NULL, &err);
		chunk_index_release(&storage->transfer.index);
		chunk_index_init(&storage->transfer.index);
		storage->warmed = false;
		storage->gang.unsettled = (struct snapshot_id){0};
	}
}

static void prepare_store(void)
{
	static const struct model_scene prepared = {"", 2, true, false, false, false, false};
	struct storage_options options =
		{.url = "memory:", .job = "job", .create = true, .threads = 1};
	const struct model_scene *wanted = scene;
	struct claim claim = {.policy = RESTORE_LATEST};
	struct err err = {0};

	/* A round that is over at once, whoever waits. */
	scene = &prepared;
	memory_objects_release(&model.objects);
	for (uint32_t attempt = 1; attempt <= 2; attempt++) {
		auto_(storage_close) struct storage *storage = NULL;
		auto_(attempt_release) struct attempt claimed = {0};

		if (storage_open(&options, &storage, NULL, &err) < 0)
			abort();
		storage_set_gang(storage, MEMBERS, 0);
		if (attempt == 2 && wanted->late)
			save_as_gang(storage, (struct snapshot_id){1, LATE_ROUND}, 0);
		if (storage_claim(storage, &claim, &claimed, NULL, &err) < 0)
			abort();
		if (attempt == 1)
			save_as_gang(storage, (struct snapshot_id){1, 1}, 1);
	}
	scene = wanted;
	model.objects.now_ms += 2 * MEMORY_DAY_MS;
	memory_objects_copy(&store_before, &model.objects);
}

static void begin_history(void)
{
	memory_objects_copy(&model.objects, &store_before);
	memset(told, 0, sizeof(told));
	late_told = false;
	next_start = (struct snapshot_id){0};
}

/* --- what must be true --- */

static bool is_committed(struct snapshot_id id)
{
	char text[SNAPSHOT_ID_TEXT];
	auto_free char *key =
		text_format("jobs/job/snapshots/%s.json", snapshot_id_format(id, text));

	return memory_objects_find(&model.objects, key);
}

/* What "generation" says of each member: of one step, and of what was told. */
static void audit_content(struct storage *storage, unsigned round, const struct snapshot_id *id)
{
	auto_free char *target = text_format("%s/target", scratch);
	struct restore_request request = {.id = *id, .directory = target, .unsynced = true};
	unsigned steps[MEMBERS] = {0};

	for (unsigned member = 0; member < MEMBERS; member++) {
		auto_free char *path = text_format("%s/generation", target);
		auto_(bytes_release) struct bytes text = {0};
		struct restore_result result;
		unsigned of = 99, generation = 99;
		struct err err = {0};

		storage_set_gang(storage, MEMBERS, member);
		storage_gang_choose_parts(storage, GANG_PARTS_OWN);
		/* It is of member 0, and each gets the files of that. */
		if (scene->goes && round == 2) {
			if (storage_restore(storage, &request, &result, NULL, &err) == 0 ||
			    err.kind != ERR_UNFIT)
				model_wrong("round 2 passes for one of both");
			storage_gang_choose_parts(storage, GANG_PARTS_ALL);
		}
		if (storage_restore(storage, &request, &result, NULL, &err) < 0) {
			model_wrong("round %u cannot be restored: %s", round, err.text);
			return;
		}
		(void)file_read(path, &text, &err);
		(void)bytes_append(&text, "", 1, NULL);
		file_remove_tree(target, NULL);
		if (sscanf((const char *)text.data, "%u %u %u", &of, &steps[member], &generation) !=
			    3 ||
		    of != (scene->goes && round == 2 ? 0 : member))
			model_wrong("round %u has not the files of member %u", round, member);
		if (told[member][round].told && told[member][round].generation != generation)
			model_wrong("member %u was told that generation %u is durable in round "
				    "%u, which has %u",
				    member, told[member][round].generation, round, generation);
	}
	storage_gang_choose_parts(storage, GANG_PARTS_OWN);
	if (steps[0] != steps[1])
		model_wrong("round %u has steps %u and %u", round, steps[0], steps[1]);
	storage_set_gang(storage, 0, 0);
}

static bool is_later_committed(unsigned round)
{
	for (unsigned i = round + 1; i < ROUNDS; i++)
		if (is_committed((struct snapshot_id){2, round_numbers[i]}))
			return true;
	return false;
}

static void audit_round(struct storage *storage, unsigned round)
{
	struct snapshot_id id = {2, round_numbers[round]};
	bool committed = is_committed(id);

	for (unsigned member = 0; member < MEMBERS; member++) {
		if (told[member][round].told && !committed && !is_later_committed(round))
			model_wrong("round %u was told durable, and is not there", round);
		if (told[member][round].over && committed)
			model_wrong("round %u was said to be over, and is committed", round);
		/* Member 1 has given no part in it, and never will. */
		if (scene->goes && round == 1 && committed)
			model_wrong("round 1 is committed without the part of member 1");
		if (model.events == 0 && !(scene->leaves_out && round == 1) &&
		    !(scene->goes && (round == 1 || (round == 2 && member == 1))) &&
		    !(scene->other_step && round == 2) && !told[member][round].told)
			model_wrong("round %u was not saved", round);
	}
	if (committed)
		audit_content(storage, round, &id);
}

/* What anybody was told, and what all have given their part of, is not lost. */
static void audit_next_start(void)
{
	if (snapshot_id_is_none(next_start))
		return;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct snapshot_id id = {2, round_numbers[round]};
		bool all = true;

		for (unsigned member = 0; member < MEMBERS; member++) {
			auto_free char *key = text_format("jobs/job/parts/000002/%06u/%05u.json",
							  id.sequence, member);

			all &= memory_objects_find(&model.objects, key) != NULL ||
			       (scene->goes && round == 2 && member == 1);
			if (told[member][round].told && snapshot_id_compare(next_start, id) < 0)
				model_wrong("the next attempt does not start from round %u", round);
		}
		if (all && snapshot_id_compare(next_start, id) < 0)
			model_wrong("round %u has all parts, and is lost", round);
	}
}

static void audit_verify(struct storage *storage)
{
	struct verify_request request = {0};
	struct verify_result result;
	struct err err = {0};

	if (storage_verify(storage, &request, &result, NULL, &err) < 0)
		model_wrong("the store cannot be verified: %s", err.text);
	else if (result.damages > 0)
		model_wrong("%u things are damaged", result.damages);
}

static void audit_model(void)
{
	struct storage_options options = {.url = "memory:", .job = "job", .threads = 1};
	auto_(storage_close) struct storage *storage = NULL;
	auto_(snapshot_list_release) struct snapshot_list list = {0};
	struct err err = {0};

	if (storage_open(&options, &storage, NULL, &err) < 0 ||
	    storage_list_snapshots(storage, &list, NULL, &err) < 0) {
		model_wrong("the store cannot be read: %s", err.text);
		return;
	}
	if (late_told)
		model_wrong("a member of an attempt that is over was told durable");
	for (size_t i = 0; i < list.count; i++)
		if (list.items[i].id.attempt == 1 && list.items[i].id.sequence == LATE_ROUND &&
		    list.items[i].state == SNAPSHOT_GOOD)
			model_wrong("what is late counts");
	for (unsigned round = 0; round < ROUNDS; round++)
		audit_round(storage, round);
	audit_next_start();
	audit_verify(storage);
	/* The next garbage collection, of all that is old. */
	model.objects.now_ms += 2 * MEMORY_DAY_MS;
	forget_old(storage);
	audit_verify(storage);
}

/* --- the tests --- */

static unsigned number_from(const char *name, unsigned otherwise)
{
	const char *text = getenv(name);

	return text ? (unsigned)atoi(text) : otherwise;
}

static unsigned search_scene(const struct model_scene *which, enum model_rule off, unsigned depth,
			     unsigned count)
{
	scene = which;
	model.off = off;
	model.machine_count = which->machines;
	model.script = run_script;
	prepare_store();
	return model_search(depth, count, begin_history, audit_model);
}

static void whatever_happens(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(model_scenes) / sizeof(model_scenes[0]); i++) {
		unsigned count = number_from("REPRIEVE_HISTORIES", HISTORIES_ALL);
		unsigned depth = number_from("REPRIEVE_MODEL_DEPTH", count >= HISTORIES_ALL);
		unsigned all = search_scene(&model_scenes[i], MODEL_RULE_NONE, depth, 0),
			 chance = 0;

		if (!model.wrong[0])
			chance = search_scene(&model_scenes[i], MODEL_RULE_NONE, 8,
					      count / SCENE_SHARE);
		printf("%-10s %u histories, %u by chance\n", model_scenes[i].name, all, chance);
		if (model.wrong[0])
			fail_msg("%s: %s", model_scenes[i].name, model.wrong);
	}
}

static void each_rule_is_missed(void **state)
{
	static const struct {
		enum model_rule rule;
		size_t scene;
		const char *name;
	} rows[] = {
		{MODEL_RULE_PARTS_AGREE, 2, "parts of different steps are no snapshot"},
		{MODEL_RULE_NEWEST_ATTEMPT, 3, "a member looks for a newer attempt"},
		{MODEL_RULE_NEWER_PACKS, 1, "packs of later rounds are kept"},
		{MODEL_RULE_FINISH, 4, "the next start finishes the last round"},
	};

	(void)state;
	if (number_from("REPRIEVE_HISTORIES", HISTORIES_ALL) < HISTORIES_ALL)
		return;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		unsigned count = search_scene(&model_scenes[rows[i].scene], rows[i].rule, 1, 0);

		if (!model.wrong[0])
			count += search_scene(&model_scenes[rows[i].scene], rows[i].rule, 8, 1500);
		printf("without \"%s\": history %u: %s\n", rows[i].name, count,
		       model.wrong[0] ? model.wrong : "NOTHING");
		assert_true(model.wrong[0]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whatever_happens),
		cmocka_unit_test(each_rule_is_missed),
	};
	int failed;

	prepare_checkpoints();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	memory_objects_release(&store_before);
	file_remove_tree(scratch, NULL);
	return failed;
}
