/* What the tests of storage share: a scratch directory with a store and a checkpoint directory in
 * it, and a comparison of trees. */
#ifndef STORAGE_FIXTURE_H
#define STORAGE_FIXTURE_H

#include "storage/storage.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "base/walk.h"
#include "err_kind.h"

#include "unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct fixture {
	char root[64]; /* removed at the end */
	char source[80], store[80], target[80];
	char url[96];
	struct storage *storage;
	struct attempt attempt;
	uint32_t sequence;
	size_t descriptors; /* that were open at the start */
	bool check_content; /* by what fixture_open() opens */
};

/* Of the last call that was asserted. */
static struct err err;

#define assert_works(call)                                                                \
	do {                                                                              \
		err = (struct err){0};                                                    \
		if ((call) < 0)                                                           \
			fail_msg("%s: %s: %s", #call, err_kind_name(err.kind), err.text); \
	} while (0)

#define assert_fails(call, expected)                                                         \
	do {                                                                                 \
		err = (struct err){0};                                                       \
		assert_int_equal((call), -1);                                                \
		if (err.kind != (expected))                                                  \
			fail_msg("%s: %s instead of %s: %s", #call, err_kind_name(err.kind), \
				 err_kind_name(expected), err.text);                         \
	} while (0)

static inline void fixture_open(struct fixture *fixture)
{
	struct storage_options options = {
		.url = fixture->url,
		.job = "job",
		.create = true,
		.threads = 3,
		.transfer.check_content = fixture->check_content,
	};

	assert_works(storage_open(&options, &fixture->storage, NULL, &err));
}

/* The next attempt, as a new process would. */
static inline void fixture_claim(struct fixture *fixture)
{
	struct claim claim = {.policy = RESTORE_LATEST};

	storage_close(fixture->storage);
	fixture_open(fixture);
	attempt_release(&fixture->attempt);
	assert_works(storage_claim(fixture->storage, &claim, &fixture->attempt, NULL, &err));
	fixture->sequence = 0;
}

static inline size_t fixture_open_descriptors(void)
{
	auto_(walk_close) struct walk walk = {0};
	size_t count = 0;

	assert_int_equal(walk_open(&walk, "/proc/self/fd", 0), 0);
	while (walk_next(&walk))
		count++;
	return count;
}

static inline void fixture_start(struct fixture *fixture)
{
	*fixture = (struct fixture){
		.root = "/tmp/reprieve-test-XXXXXX",
		.descriptors = fixture_open_descriptors(),
	};
	assert_non_null(mkdtemp(fixture->root));
	snprintf(fixture->source, sizeof(fixture->source), "%s/source", fixture->root);
	snprintf(fixture->store, sizeof(fixture->store), "%s/store", fixture->root);
	snprintf(fixture->target, sizeof(fixture->target), "%s/target", fixture->root);
	snprintf(fixture->url, sizeof(fixture->url), "file://%s", fixture->store);
	assert_int_equal(mkdir(fixture->source, 0755), 0);
	fixture_claim(fixture);
}

static inline void fixture_stop(struct fixture *fixture)
{
	storage_close(fixture->storage);
	attempt_release(&fixture->attempt);
	assert_works(file_remove_tree(fixture->root, &err));
	/* The test may have closed some of its own. */
	assert_in_range(fixture_open_descriptors(), 0, fixture->descriptors);
}

/* `size` bytes that depend on `seed` and do not compress. */
static inline void fixture_write(struct fixture *fixture, const char *path, size_t size,
				 uint64_t seed)
{
	auto_free char *full = text_format("%s/%s", fixture->source, path);
	auto_free char *parent = text_copy(full);
	auto_free uint64_t *data = memory_new(size + sizeof(*data));
	auto_close int fd = -1;

	*strrchr(parent, '/') = '\0';
	assert_works(file_make_directories(parent, 0755, &err));
	seed = seed * 2654435761u + 88172645463325252u;
	for (size_t i = 0; i < size / sizeof(*data) + 1; i++) {
		seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
		data[i] = seed;
	}
	fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_works(file_write_all(fd, data, size, &err));
}

static inline struct snapshot_id fixture_next(struct fixture *fixture)
{
	return (struct snapshot_id){fixture->attempt.number, ++fixture->sequence};
}

static inline int fixture_try_take(struct fixture *fixture, struct save_result *result)
{
	struct save_request request = {
		.id = fixture_next(fixture),
		.parent = fixture->sequence > 1 ? (struct snapshot_id){fixture->attempt.number,
								       fixture->sequence - 1}
						: fixture->attempt.start,
		.directory = fixture->source,
		.reason = "request",
		.step = fixture->sequence,
	};

	/* What is not set shows. */
	memset(result, 0x5a, sizeof(*result));
	return storage_save(fixture->storage, &request, result, NULL, &err);
}

static inline struct snapshot_id fixture_take(struct fixture *fixture)
{
	struct save_result result;

	assert_works(fixture_try_take(fixture, &result));
	return (struct snapshot_id){fixture->attempt.number, fixture->sequence};
}

static inline int fixture_try_restore(struct fixture *fixture, struct snapshot_id id)
{
	struct restore_request request = {.id = id, .directory = fixture->target};
	struct restore_result result;

	memset(&result, 0x5a, sizeof(result));
	assert_int_equal(file_remove_tree(fixture->target, NULL), 0);
	return storage_restore(fixture->storage, &request, &result, NULL, &err);
}

/* Content, types, modes, times to the nanosecond, links. */
static inline void fixture_compare(struct fixture *fixture)
{
	auto_free char *command = text_format(
		"cd '%s' && diff -r --no-dereference . '%s' && find . -mindepth 1 -printf "
		"'%%p %%y %%m %%s %%T@ %%l %%n\\n' | sort > ../one && cd '%s' && find . -mindepth "
		"1 "
		"-printf '%%p %%y %%m %%s %%T@ %%l %%n\\n' | sort | diff ../one -",
		fixture->source, fixture->target, fixture->target);

	assert_int_equal(system(command), 0);
}

static inline void fixture_check(struct fixture *fixture, struct snapshot_id id)
{
	assert_works(fixture_try_restore(fixture, id));
	fixture_compare(fixture);
}

/* How many things are wrong with all snapshots. */
static inline uint32_t fixture_damages(struct fixture *fixture)
{
	struct verify_request request = {0};
	struct verify_result result;

	memset(&result, 0x5a, sizeof(result));
	assert_works(storage_verify(fixture->storage, &request, &result, NULL, &err));
	return result.damages;
}

/* The first file below the store whose path has `part` in it; the caller frees. */
static inline char *fixture_find(struct fixture *fixture, const char *part)
{
	auto_free char *command = text_format("find '%s' -type f -path '*%s*' | sort | head -n 1",
					      fixture->store, part);
	FILE *stream = popen(command, "r");
	char path[512] = "";

	assert_non_null(stream);
	if (!fgets(path, sizeof(path), stream))
		path[0] = '\0';
	pclose(stream);
	path[strcspn(path, "\n")] = '\0';
	assert_true(path[0] != '\0');
	return text_copy(path);
}

static inline void fixture_flip(const char *path, off_t offset)
{
	auto_close int fd = open(path, O_RDWR | O_CLOEXEC);
	char byte;

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &byte, 1, offset), 1);
	byte = (char)(byte ^ 0x10);
	assert_int_equal(pwrite(fd, &byte, 1, offset), 1);
}

#endif
