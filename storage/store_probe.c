/* Tries a store, one thing after the other, and measures it: for `reprieve doctor`. Facts only;
 * what they mean is decided elsewhere. */
#include "storage.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/workers.h"
#include "scheme_table.h"
#include "storage/backend/backend.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE_SIZE ((size_t)8 << 20)
#define CONNECTIONS 8
#define PIECES_MOST 64

struct probing {
	struct store *store;
	struct store_probe *probe;
	struct cancel *cancel;
	char nonce[33];
	uint8_t *data; /* PIECE_SIZE bytes that do not compress */
	size_t pieces;
	enum probe_step measured;
	atomic_size_t next, moved;
	pthread_mutex_t mutex;
	struct probe_result *answer; /* under mutex while it is measured */
};

/* Below tmp/, where a store keeps what nobody misses: what a killed doctor leaves is removed
 * with the next sweep. */
static char *probe_key(const struct probing *probing, const char *name)
{
	return text_format("tmp/doctor-%s-%s", probing->nonce, name);
}

static void note_result(struct probing *probing, enum probe_step step, int64_t began_ms, int result,
			const struct err *err)
{
	struct probe_result *answer = &probing->probe->steps[step];

	answer->tried = true;
	answer->worked = result == 0;
	answer->took_ms = clock_monotonic_ms() - began_ms;
	if (result < 0)
		answer->err = *err;
}

/* --- one small object --- */

static const char probe_content[] = "Written by `reprieve doctor`, which removes it.\n";

static void try_put(struct probing *probing)
{
	auto_free char *key = probe_key(probing, "a");
	int64_t began = clock_monotonic_ms();
	struct err err = {0};
	int result = probing->store->ops->put(probing->store, key, probe_content,
					      sizeof(probe_content) - 1, STORE_UNIQUE,
					      probing->cancel, &err);

	note_result(probing, PROBE_PUT, began, result, &err);
}

static void try_get(struct probing *probing)
{
	auto_free char *key = probe_key(probing, "a");
	struct bytes there = {0};
	int64_t began = clock_monotonic_ms();
	struct err err = {0};
	int result = probing->store->ops->get(probing->store, key, 0, STORE_TO_END, &there,
					      probing->cancel, &err);

	if (result == 0 && (there.size != sizeof(probe_content) - 1 ||
			    memcmp(there.data, probe_content, there.size) != 0))
		result = err_set(&err, ERR_CORRUPT, "what came back is not what was put");
	note_result(probing, PROBE_GET, began, result, &err);
	bytes_release(&there);
}

static int put_if_absent(struct probing *probing, const char *key, struct err *err)
{
	return probing->store->ops->put(probing->store, key, probe_content,
					sizeof(probe_content) - 1, STORE_IF_ABSENT, probing->cancel,
					err);
}

static void try_if_absent(struct probing *probing)
{
	auto_free char *key = probe_key(probing, "b");
	int64_t began = clock_monotonic_ms();
	struct err err = {0};
	int result = put_if_absent(probing, key, &err);

	if (result == 0 && put_if_absent(probing, key, &err) == 0)
		result = err_set(&err, ERR_FAILED, "a second put of the same name was not refused");
	else if (result == 0 && err.kind != ERR_EXISTS)
		result = err_wrap(&err, "the second put");
	note_result(probing, PROBE_IF_ABSENT, began, result, &err);
}

static void try_list(struct probing *probing)
{
	auto_free char *prefix = probe_key(probing, "");
	auto_free char *key = probe_key(probing, "a");
	auto_(store_listing_release) struct store_listing found = {0};
	int64_t began = clock_monotonic_ms();
	struct err err = {0};
	int result = probing->store->ops->list(probing->store, prefix, STORE_ALL, &found,
					       probing->cancel, &err);
	const struct store_object *object = store_listing_find(&found, key);

	if (result == 0 && !object && probing->probe->steps[PROBE_PUT].worked)
		result = err_set(&err, ERR_FAILED, "what was just put is not in the list");
	probing->probe->dated = object && object->modified_ms > 0;
	note_result(probing, PROBE_LIST, began, result, &err);
}

static void try_remove(struct probing *probing)
{
	static const char *const names[] = {"a", "b"};
	int64_t began = clock_monotonic_ms();
	struct err err = {0};
	int result = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && result == 0; i++) {
		auto_free char *key = probe_key(probing, names[i]);
		struct bytes there = {0};

		result = probing->store->ops->remove(probing->store, key, probing->cancel, &err);
		if (result == 0 && probing->probe->steps[PROBE_GET].worked &&
		    probing->store->ops->get(probing->store, key, 0, STORE_TO_END, &there,
					     probing->cancel, NULL) == 0)
			result = err_set(&err, ERR_FAILED, "it is still there afterwards");
		bytes_release(&there);
	}
	note_result(probing, PROBE_REMOVE, began, result, &err);
}

/* --- measuring --- */

static void fill_incompressible(uint8_t *data)
{
	uint64_t state = 88172645463325252u;

	for (size_t i = 0; i + sizeof(state) <= PIECE_SIZE; i += sizeof(state)) {
		state ^= state << 13, state ^= state >> 7, state ^= state << 17;
		memcpy(data + i, &state, sizeof(state));
	}
}

static int transfer_piece(struct probing *probing, const char *key, struct bytes *space,
			  struct err *err)
{
	struct store *store = probing->store;

	if (probing->measured == PROBE_UPLOAD)
		return store->ops->put(store, key, probing->data, PIECE_SIZE, STORE_UNIQUE,
				       probing->cancel, err);
	space->size = 0;
	if (store->ops->get(store, key, 0, PIECE_SIZE, space, probing->cancel, err) < 0)
		return -1;
	if (space->size != PIECE_SIZE || memcmp(space->data, probing->data, PIECE_SIZE) != 0)
		return err_set(err, ERR_CORRUPT, "what came back is not what was put");
	return 0;
}

static void transfer_worker(void *arg, size_t index)
{
	struct probing *probing = arg;
	struct bytes space = {0};
	struct err err = {0};
	size_t i;

	(void)index;
	while ((i = atomic_fetch_add(&probing->next, 1)) < probing->pieces) {
		auto_free char *name = text_format("m%zu", i);
		auto_free char *key = probe_key(probing, name);

		if (transfer_piece(probing, key, &space, &err) == 0) {
			atomic_fetch_add(&probing->moved, 1);
			continue;
		}
		atomic_store(&probing->next, probing->pieces);
		pthread_mutex_lock(&probing->mutex);
		if (probing->answer->worked)
			probing->answer->err = err;
		probing->answer->worked = false;
		pthread_mutex_unlock(&probing->mutex);
	}
	bytes_release(&space);
}

static void measure_step(struct probing *probing, enum probe_step step)
{
	size_t threads = probing->pieces < CONNECTIONS ? probing->pieces : CONNECTIONS;
	int64_t began;

	probing->measured = step;
	probing->answer = &probing->probe->steps[step];
	probing->answer->tried = probing->answer->worked = true;
	atomic_store(&probing->next, 0);
	atomic_store(&probing->moved, 0);
	began = clock_monotonic_ms();
	parallel_run(threads, transfer_worker, probing);
	probing->answer->took_ms = clock_monotonic_ms() - began;
	probing->probe->at_once = (unsigned)threads;
	probing->probe->bytes = (uint64_t)atomic_load(&probing->moved) * PIECE_SIZE;
}

static void measure_transfers(struct probing *probing, uint64_t bytes)
{
	probing->pieces = (size_t)((bytes + PIECE_SIZE - 1) / PIECE_SIZE);
	if (probing->pieces > PIECES_MOST)
		probing->pieces = PIECES_MOST;
	probing->data = memory_new(PIECE_SIZE);
	fill_incompressible(probing->data);
	pthread_mutex_init(&probing->mutex, NULL);
	measure_step(probing, PROBE_UPLOAD);
	if (probing->answer->worked)
		measure_step(probing, PROBE_DOWNLOAD);
	pthread_mutex_destroy(&probing->mutex);
	/* Also when it was cancelled meanwhile: nothing is left behind on purpose. */
	for (size_t i = 0; i < probing->pieces; i++) {
		auto_free char *name = text_format("m%zu", i);
		auto_free char *key = probe_key(probing, name);

		probing->store->ops->remove(probing->store, key, NULL, NULL);
	}
	free(probing->data);
}

/* --- directories --- */

/* Of a directory's store: where temporary files go. The caller frees. */
static char *temporary_directory(const char *url)
{
	auto_free char *root = text_copy(url + strlen("file://"));

	while (text_ends(root, "/"))
		root[strlen(root) - 1] = '\0';
	return text_format("%s/tmp", root);
}

static void strip_last_component(char *path)
{
	*strrchr(path, '/') = '\0';
}

/* How much of a path is there. */
static size_t there(const char *path)
{
	auto_free char *part = text_copy(path);

	while (part[0] && !file_exists(part))
		strip_last_component(part);
	return strlen(part);
}

/* Whoever uses one of them meanwhile has something in it, or makes it again. */
static void remove_created_directories(const char *path, size_t before)
{
	auto_free char *part = text_copy(path);

	while (strlen(part) > before && (rmdir(part) == 0 || errno == ENOENT))
		strip_last_component(part);
}

/* --- two mounts --- */

#define MOUNT_RACES 20

struct mounts {
	struct probing sides[2];
	char *key;
	atomic_int arrived, winners;
	struct err errs[2];
};

static void race_of_mounts(void *arg, size_t index)
{
	struct mounts *mounts = arg;

	atomic_fetch_add(&mounts->arrived, 1);
	for (int i = 0; atomic_load(&mounts->arrived) < 2 && i < 1000; i++)
		sched_yield();
	mounts->errs[index] = (struct err){.kind = ERR_EXISTS};
	if (put_if_absent(&mounts->sides[index], mounts->key, &mounts->errs[index]) == 0)
		atomic_fetch_add(&mounts->winners, 1);
}

static int race_once(struct mounts *mounts, int race, struct err *err)
{
	auto_(store_listing_release) struct store_listing seen = {0};
	auto_free char *key = NULL;
	struct store *first = mounts->sides[0].store, *second = mounts->sides[1].store;
	int result = 0;

	random_hex(mounts->sides[0].nonce);
	mounts->key = key = probe_key(&mounts->sides[0], "c");
	atomic_store(&mounts->arrived, 0);
	atomic_store(&mounts->winners, 0);
	/* Both in turn, and both at once. */
	if (race % 2 == 0)
		race_of_mounts(mounts, 0), race_of_mounts(mounts, 1);
	else
		parallel_run(2, race_of_mounts, mounts);
	for (size_t i = 0; i < 2; i++)
		if (mounts->errs[i].kind != ERR_EXISTS)
			result = err_set(err, mounts->errs[i].kind, "%s", mounts->errs[i].text);
	if (result == 0 && mounts->winners != 1)
		result = err_set(err, ERR_UNFIT, "of two mounts %d got one name",
				 (int)mounts->winners);
	else if (result == 0 && second->ops->list(second, key, STORE_ALL, &seen, NULL, err) < 0)
		result = -1;
	else if (result == 0 && !store_listing_find(&seen, key))
		result = err_set(err, ERR_UNFIT, "what one mount has put the other does not list");
	(void)first->ops->remove(first, key, NULL, NULL);
	(void)second->ops->remove(second, key, NULL, NULL);
	return result;
}

void storage_probe_mounts(const char *url, const char *also, struct probe_result *answer)
{
	auto_(store_close) struct store *first = NULL, *second = NULL;
	auto_free char *temporaries = temporary_directory(url);
	size_t before = there(temporaries);
	struct mounts mounts = {0};
	struct stat one, other;
	int result;

	*answer = (struct probe_result){.tried = true};
	result = store_open(url, true, false, &first, NULL, &answer->err);
	if (result == 0)
		result = store_open(also, false, false, &second, NULL, &answer->err);
	if (result == 0 && stat(url + strlen("file://"), &one) == 0 &&
	    stat(also + strlen("file://"), &other) == 0 && one.st_dev == other.st_dev)
		result = err_set(&answer->err, ERR_INVALID,
				 "%s is of the same mount, which proves nothing", also);
	mounts.sides[0].store = first;
	mounts.sides[1].store = second;
	for (int i = 0; i < MOUNT_RACES && result == 0; i++)
		result = race_once(&mounts, i, &answer->err);
	remove_created_directories(temporaries, before);
	answer->worked = result == 0;
}

/* --- all of it --- */

static void read_backend_facts(struct probing *probing)
{
	struct store_health health = {0};

	store_describe(probing->store, probing->probe->description,
		       sizeof(probing->probe->description));
	if (probing->store->ops->read_health)
		probing->store->ops->read_health(probing->store, &health);
	probing->probe->if_absent_guessed = health.if_absent_guessed;
	probing->probe->skew_known = health.skew_known;
	probing->probe->skew_ms = health.skew_ms;
}

static int probe_all(const char *url, uint64_t bytes, struct store_probe *probe,
		     struct cancel *cancel, struct err *err)
{
	auto_(store_close) struct store *store = NULL;
	struct probing probing = {.probe = probe, .cancel = cancel};
	int64_t began = clock_monotonic_ms();
	struct err own = {0};
	int opened;

	probe->in_the_clear = storage_is_in_the_clear(url);
	opened = store_open(url, true, false, &store, cancel, &own);
	probing.store = store;
	note_result(&probing, PROBE_OPEN, began, opened, &own);
	if (opened < 0)
		return cancel_check(cancel, err);
	random_hex(probing.nonce);
	try_put(&probing);
	/* Even where nothing can be put, what lies there already may be readable:
	 * that is worth knowing. */
	if (probe->steps[PROBE_PUT].worked)
		try_get(&probing);
	try_list(&probing);
	if (probe->steps[PROBE_PUT].worked) {
		try_if_absent(&probing);
		try_remove(&probing);
	}
	if (bytes > 0 && probe->steps[PROBE_GET].worked && probe->steps[PROBE_REMOVE].worked)
		measure_transfers(&probing, bytes);
	read_backend_facts(&probing);
	return cancel_check(cancel, err);
}

int storage_probe(const char *url, uint64_t bytes, struct store_probe *probe, struct cancel *cancel,
		  struct err *err)
{
	auto_free char *temporaries = NULL;
	size_t before;
	int result;

	*probe = (struct store_probe){0};
	if (!text_starts(url, "file:///"))
		return probe_all(url, bytes, probe, cancel, err);
	temporaries = temporary_directory(url);
	before = there(temporaries);
	probe->made = before + strlen("/tmp") < strlen(temporaries);
	result = probe_all(url, bytes, probe, cancel, err);
	remove_created_directories(temporaries, before);
	return result;
}
