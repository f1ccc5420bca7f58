/* What the tests of gangs share: machines that are the members of one attempt, over one store. */
#ifndef GANG_FIXTURE_H
#define GANG_FIXTURE_H

#include "storage_fixture.h"

#include "err_kind.h"
#include "storage/records/storage_handle.h"

#include <pthread.h>

#define GANG_MOST 4

/* What a member gives in a round. */
struct gang_given {
	bool absent; /* does nothing */
	bool empty, beside, final;
	int64_t step;
	bool (*over)(void *arg);
	/* NULL: never */
	struct cancel *cancel;
};

struct gang_machine {
	struct fixture files; /* without a store of its own: its source, target and storage */
	const struct gang_given *given;
	struct snapshot_id id, parent;
	struct save_result result;
	struct err err;
	int failed;
	pthread_t thread;
};

struct gang {
	struct fixture store; /* whose attempt is that of all */
	struct gang_machine machines[GANG_MOST];
	uint32_t members;
	struct snapshot_id newest;
};

static inline void gang_open(struct gang *gang, uint32_t member)
{
	struct gang_machine *machine = &gang->machines[member];
	struct fixture *files = &machine->files;
	char name[32];

	machine->given = NULL;
	text_set(name, sizeof(name), gang->store.root + strlen("/tmp/"));
	text_set(files->root, sizeof(files->root), gang->store.root);
	snprintf(files->source, sizeof(files->source), "/tmp/%s/source-%u", name, member);
	snprintf(files->target, sizeof(files->target), "/tmp/%s/target-%u", name, member);
	text_set(files->url, sizeof(files->url), gang->store.url);
	assert_works(file_make_directories(files->source, 0755, &err));
	fixture_open(files);
	storage_set_gang(files->storage, gang->members, member);
	assert_works(storage_gang_adopt(files->storage, gang->store.attempt.number, &files->attempt,
					NULL, &err));
}

static inline void gang_close(struct gang *gang, uint32_t member)
{
	storage_close(gang->machines[member].files.storage);
	attempt_release(&gang->machines[member].files.attempt);
}

static inline void gang_start(struct gang *gang, uint32_t members)
{
	*gang = (struct gang){.members = members};
	fixture_start(&gang->store);
	for (uint32_t i = 0; i < members; i++) {
		gang_open(gang, i);
		fixture_write(&gang->machines[i].files, "weights", 100000, i);
	}
}

/* The next attempt, on new machines with the files of the old ones. */
static inline void gang_restart(struct gang *gang)
{
	for (uint32_t i = 0; i < gang->members; i++)
		gang_close(gang, i);
	fixture_claim(&gang->store);
	for (uint32_t i = 0; i < gang->members; i++)
		gang_open(gang, i);
}

static inline void gang_stop(struct gang *gang)
{
	for (uint32_t i = 0; i < gang->members; i++)
		gang_close(gang, i);
	fixture_stop(&gang->store);
}

static inline bool gang_exclude(void *arg, const char *path)
{
	const struct gang_machine *machine = arg;

	(void)path;
	return machine->given->empty;
}

static inline bool gang_drops_bare(void *arg, const char *path)
{
	(void)arg, (void)path;
	return true;
}

static inline void *gang_save_thread(void *arg)
{
	struct gang_machine *machine = arg;
	const struct gang_given *given = machine->given;
	struct save_request request = {
		.id = machine->id,
		.parent = machine->parent,
		.directory = machine->files.source,
		.reason = "interval",
		.step = given->empty || given->beside ? -1 : given->step,
		.exclude = gang_exclude,
		.gang_beside = given->empty || given->beside,
		.bare = given->empty || given->beside ? gang_drops_bare : NULL,
		.gang_final = given->final,
		.gang_over = given->over,
		.arg = machine,
	};

	memset(&machine->result, 0x5a, sizeof(machine->result));
	machine->err = (struct err){0};
	machine->failed = storage_save(machine->files.storage, &request, &machine->result,
				       given->cancel, &machine->err);
	return NULL;
}

/* A round of all members, or one in which some have no part. */
static inline void gang_round(struct gang *gang, uint32_t number, const struct gang_given *given)
{
	struct snapshot_id id = {gang->store.attempt.number, number};
	struct snapshot_id parent =
		gang->newest.attempt == id.attempt ? gang->newest : gang->store.attempt.start;

	for (uint32_t i = 0; i < gang->members; i++) {
		struct gang_machine *machine = &gang->machines[i];

		machine->given = &given[i];
		machine->id = id;
		machine->parent = parent;
		if (!given[i].absent)
			assert_int_equal(pthread_create(&machine->thread, NULL, gang_save_thread,
							machine),
					 0);
	}
	for (uint32_t i = 0; i < gang->members; i++)
		if (!given[i].absent)
			pthread_join(gang->machines[i].thread, NULL);
}

static inline bool gang_has(struct gang *gang, const char *path)
{
	auto_free char *full = text_format("%s/jobs/job/%s", gang->store.store, path);

	return file_exists(full);
}

static inline void gang_assert_committed(struct gang *gang, uint32_t number)
{
	for (uint32_t i = 0; i < gang->members; i++) {
		struct gang_machine *machine = &gang->machines[i];

		if (machine->given->absent)
			continue;
		if (machine->failed)
			fail_msg("member %u: %s: %s", i, err_kind_name(machine->err.kind),
				 machine->err.text);
		assert_int_equal(machine->result.id.sequence, number);
	}
	gang->newest = (struct snapshot_id){gang->store.attempt.number, number};
	assert_int_equal(fixture_damages(&gang->store), 0);
}

static inline void gang_assert_over(struct gang *gang, uint32_t number, bool unfit)
{
	bool committed = true;

	for (uint32_t i = 0; i < gang->members; i++) {
		struct gang_machine *machine = &gang->machines[i];

		if (machine->given->absent)
			continue;
		assert_int_equal(machine->failed, -1);
		if (machine->err.kind != ERR_RETRY)
			fail_msg("member %u: %s", i, machine->err.text);
		assert_true(machine->result.changed);
		assert_int_equal(machine->result.gang_fate,
				 unfit ? GANG_FATE_UNFIT : GANG_FATE_OVER);
		assert_false(machine->result.store_lacks);
	}
	assert_works(storage_gang_is_committed(gang->store.storage, gang->store.attempt.number,
					       number, &committed, NULL, &err));
	assert_false(committed);
}

#endif
