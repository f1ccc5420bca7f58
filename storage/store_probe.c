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
	const char *url;
	struct store *store;
	struct store_probe *probe;
	struct cancel *cancel;
	char nonce[33];
	uint8_t *data; /* PIECE_SIZE bytes that do not compress */
};

/* Below tmp/, where a store keeps what nobody misses: what a killed doctor leaves is removed
 * with the next sweep. */
static char *probe_key(const struct probing *probing, const char *name)
{
	return text_format("tmp/doctor-%s-%s", probing->nonce, name);
}

static char *piece_key(const struct probing *probing, size_t number)
{
	auto_free char *name = text_format("m%zu", number);

	return probe_key(probing, name);
}

static void try_step(struct probing *probing, enum probe_step step,
		     int (*try)(struct probing *probing, struct err *err))
{
	struct probe_result *answer = &probing->probe->steps[step];
	int64_t began = clock_monotonic_ms();

	answer->tried = true;
	answer->worked = try(probing, &answer->err) == 0;
	answer->took_ms = clock_monotonic_ms() - began;
	if (answer->worked)
		answer->err = (struct err){0};
}

static int try_open(struct probing *probing, struct err *err)
{
	return store_open(probing->url, true, false, &probing->store, probing->cancel, err);
}

/* --- one small object --- */

static const char probe_content[] = "Written by `reprieve doctor`, which removes it.\n";

static int put_small(struct probing *probing, const char *key, enum store_put_mode mode,
		     struct err *err)
{
	return probing->store->ops->put(probing->store, key, probe_content,
					sizeof(probe_content) - 1, mode, probing->cancel, err);
}

static int try_put(struct probing *probing, struct err *err)
{
	auto_free char *key = probe_key(probing, "a");

	return put_small(probing, key, STORE_UNIQUE, err);
}

static int try_get(struct probing *probing, struct err *err)
{
	auto_free char *key = probe_key(probing, "a");
	auto_(bytes_release) struct bytes there = {0};

	if (probing->store->ops->get(probing->store, key, 0, STORE_TO_END, &there, probing->cancel,
				     err) < 0)
		return -1;
	return there.size == sizeof(probe_content) - 1 &&
			       memcmp(there.data, probe_content, there.size) == 0
		       ? 0
		       : err_set(err, ERR_CORRUPT, "what came back is not what was put");
}

static int try_if_absent(struct probing *probing, struct err *err)
{
	auto_free char *key = probe_key(probing, "b");

	if (put_small(probing, key, STORE_IF_ABSENT, err) < 0)
		return -1;
	if (put_small(probing, key, STORE_IF_ABSENT, err) == 0)
		return err_set(err, ERR_FAILED, "a second put of the same name was not refused");
	return err->kind == ERR_EXISTS ? 0 : err_wrap(err, "the second put");
}

static int try_list(struct probing *probing, struct err *err)
{
	auto_free char *prefix = probe_key(probing, "");
	auto_free char *key = probe_key(probing, "a");
	auto_(store_listing_release) struct store_listing found = {0};
	const struct store_object *object;

	if (probing->store->ops->list(probing->store, prefix, STORE_ALL, &found, probing->cancel,
				      err) < 0)
		return -1;
	object = store_listing_find(&found, key);
	probing->probe->dated = object && object->modified_ms > 0;
	return object || !probing->probe->steps[PROBE_PUT].worked
		       ? 0
		       : err_set(err, ERR_FAILED, "what was just put is not in the list");
}

static int try_remove(struct probing *probing, struct err *err)
{
	static const char *const names[] = {"a", "b"};
	struct store *store = probing->store;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		auto_free char *key = probe_key(probing, names[i]);
		auto_(bytes_release) struct bytes there = {0};

		if (store->ops->remove(store, key, probing->cancel, err) < 0)
			return -1;
		if (probing->probe->steps[PROBE_GET].worked &&
		    store->ops->get(store, key, 0, STORE_TO_END, &there, probing->cancel, NULL) ==
			    0)
			return err_set(err, ERR_FAILED, "it is still there afterwards");
	}
	return 0;
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

static int put_piece(void *arg, size_t at, struct err *err)
{
	struct probing *probing = arg;
	auto_free char *key = piece_key(probing, at);

	return probing->store->ops->put(probing->store, key, probing->data, PIECE_SIZE,
					STORE_UNIQUE, probing->cancel, err);
}

static int get_piece(void *arg, size_t at, struct err *err)
{
	struct probing *probing = arg;
	auto_free char *key = piece_key(probing, at);
	auto_(bytes_release) struct bytes there = {0};

	if (probing->store->ops->get(probing->store, key, 0, PIECE_SIZE, &there, probing->cancel,
				     err) < 0)
		return -1;
	return there.size == PIECE_SIZE && memcmp(there.data, probing->data, PIECE_SIZE) == 0
		       ? 0
		       : err_set(err, ERR_CORRUPT, "what came back is not what was put");
}

static int try_upload(struct probing *probing, struct err *err)
{
	return parallel_each((size_t)(probing->probe->bytes / PIECE_SIZE), CONNECTIONS, put_piece,
			     probing, err);
}

static int try_download(struct probing *probing, struct err *err)
{
	return parallel_each((size_t)(probing->probe->bytes / PIECE_SIZE), CONNECTIONS, get_piece,
			     probing, err);
}

static void measure_transfers(struct probing *probing, uint64_t bytes)
{
	size_t pieces = (size_t)((bytes + PIECE_SIZE - 1) / PIECE_SIZE);

	if (pieces > PIECES_MOST)
		pieces = PIECES_MOST;
	probing->probe->bytes = (uint64_t)pieces * PIECE_SIZE;
	probing->probe->at_once = (unsigned)(pieces < CONNECTIONS ? pieces : CONNECTIONS);
	probing->data = memory_new(PIECE_SIZE);
	fill_incompressible(probing->data);
	try_step(probing, PROBE_UPLOAD, try_upload);
	if (probing->probe->steps[PROBE_UPLOAD].worked)
		try_step(probing, PROBE_DOWNLOAD, try_download);
	/* Also when it was cancelled meanwhile: nothing is left behind on purpose. */
	for (size_t i = 0; i < pieces; i++) {
		auto_free char *key = piece_key(probing, i);

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
	if (put_small(&mounts->sides[index], mounts->key, STORE_IF_ABSENT, &mounts->errs[index]) ==
	    0)
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
	struct store_health health = store_read_health(probing->store);

	store_describe(probing->store, probing->probe->description,
		       sizeof(probing->probe->description));
	probing->probe->if_absent_guessed = health.if_absent_guessed;
	probing->probe->skew_known = health.skew_known;
	probing->probe->skew_ms = health.skew_ms;
}

static int probe_all(const char *url, uint64_t bytes, struct store_probe *probe,
		     struct cancel *cancel, struct err *err)
{
	struct probing probing = {.url = url, .probe = probe, .cancel = cancel};

	probe->in_the_clear = storage_is_in_the_clear(url);
	try_step(&probing, PROBE_OPEN, try_open);
	if (!probe->steps[PROBE_OPEN].worked)
		return cancel_check(cancel, err);
	random_hex(probing.nonce);
	try_step(&probing, PROBE_PUT, try_put);
	/* Even where nothing can be put, what lies there already may be readable:
	 * that is worth knowing. */
	if (probe->steps[PROBE_PUT].worked)
		try_step(&probing, PROBE_GET, try_get);
	try_step(&probing, PROBE_LIST, try_list);
	if (probe->steps[PROBE_PUT].worked) {
		try_step(&probing, PROBE_IF_ABSENT, try_if_absent);
		try_step(&probing, PROBE_REMOVE, try_remove);
	}
	if (bytes > 0 && probe->steps[PROBE_GET].worked && probe->steps[PROBE_REMOVE].worked)
		measure_transfers(&probing, bytes);
	read_backend_facts(&probing);
	store_close(probing.store);
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
