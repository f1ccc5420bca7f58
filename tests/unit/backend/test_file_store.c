/* The file:// backend: whole or not at all, one winner, nothing left behind. */
#include "storage_fixture.h"

#include "storage/backend/object_store.h"
#include "storage/scheme_table.h"

#include "base/walk.h"
#include "base/workers.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mount.h>
#include <utime.h>

#include <sys/syscall.h>

#define RACERS 16

/* --- an unkind system --- */

static bool loses_answers;    /* of renames: they are done, and told as not */
static int64_t clock_ahead_s; /* ours, not that of the file system */
static int link_error;        /* 0: there are links */
static int mkdir_error;       /* 0: directories can be made */
static enum {
	SPARES, /* as it should */
	UNKNOWN_HERE,
	REPLACES,    /* whatever is there */
	LOOKS_FIRST, /* and then replaces */
} noreplace;
static atomic_int lookers; /* that have seen nothing there */

int link(const char *from, const char *to)
{
	if (!link_error)
		return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
	errno = link_error;
	return -1;
}

int mkdir(const char *path, mode_t mode)
{
	if (!mkdir_error)
		return mkdirat(AT_FDCWD, path, mode);
	errno = mkdir_error;
	return -1;
}

/* The look of one and the rename of another: with two of them, both look before either renames. */
static int look_and_rename(const char *from, const char *to)
{
	if (access(to, F_OK) == 0) {
		errno = EEXIST;
		return -1;
	}
	atomic_fetch_add(&lookers, 1);
	for (int i = 0; atomic_load(&lookers) % 2 == 1 && i < 200; i++)
		usleep(1000);
	return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
	switch (noreplace) {
	case SPARES:
		return (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, flags);
	case UNKNOWN_HERE:
		errno = EINVAL;
		return -1;
	case REPLACES:
		return renameat(from_fd, from, to_fd, to);
	case LOOKS_FIRST:
		return look_and_rename(from, to);
	}
	return -1;
}

int rename(const char *from, const char *to)
{
	if (renameat(AT_FDCWD, from, AT_FDCWD, to) < 0)
		return -1;
	errno = ENOENT;
	return loses_answers ? -1 : 0;
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
	if (syscall(SYS_clock_gettime, clock, time) < 0)
		return -1;
	time->tv_sec += clock == CLOCK_REALTIME ? clock_ahead_s : 0;
	return 0;
}

static struct store *open_store(struct fixture *f)
{
	struct store *store = NULL;

	assert_works(store_open(f->url, true, false, &store, NULL, &err));
	return store;
}

static size_t temporaries_of(struct fixture *f)
{
	auto_free char *path = text_format("%s/tmp", f->store);
	auto_(walk_close) struct walk walk = {0};
	size_t count = 0;

	(void)walk_open(&walk, path, 0);
	while (walk_next(&walk))
		count++;
	return count;
}

static int gather(void *arg, size_t at, const void *data, size_t size, struct err *error)
{
	struct bytes *out = arg;

	assert_int_equal(at, out->size);
	return bytes_append(out, data, size, error);
}

static void test_read_in_pieces(void **state)
{
	struct fixture f;
	struct store *store;
	size_t size = 3 << 20;
	auto_free uint8_t *data = memory_new(size);
	auto_(bytes_release) struct bytes out = {0};
	const struct store_taker taker = {gather, &out};

	(void)state;
	fixture_start(&f);
	store = open_store(&f);
	for (size_t i = 0; i < size; i++)
		data[i] = (uint8_t)(i * i >> 7);
	assert_works(store->ops->put(store, "a", data, size, STORE_UNIQUE, NULL, &err));
	assert_works(store_read(store, "a", 5, size - 7, &taker, NULL, &err));
	assert_int_equal(out.size, size - 7);
	assert_memory_equal(out.data, data + 5, size - 7);
	out.size = 0;
	/* Of an earlier call: it is no reason to ask again. */
	errno = EINTR;
	assert_fails(store_read(store, "a", 5, size, &taker, NULL, &err), ERR_CORRUPT);
	assert_fails(store_read(store, "b", 0, 1, &taker, NULL, &err), ERR_NOT_FOUND);
	store_close(store);
	fixture_stop(&f);
}

static void test_put_and_get(void **state)
{
	struct fixture f;
	struct store *store;
	auto_(bytes_release) struct bytes out = {0};

	(void)state;
	fixture_start(&f);
	store = open_store(&f);
	assert_works(
		store->ops->put(store, "a/b/c.bin", "0123456789", 10, STORE_UNIQUE, NULL, &err));
	assert_works(store->ops->get(store, "a/b/c.bin", 3, 4, &out, NULL, &err));
	assert_works(store->ops->get(store, "a/b/c.bin", 8, STORE_TO_END, &out, NULL, &err));
	assert_int_equal(out.size, 6);
	assert_memory_equal(out.data, "345689", 6);
	errno = EINTR; /* of an earlier call */
	assert_fails(store->ops->get(store, "a/b/c.bin", 8, 3, &out, NULL, &err), ERR_CORRUPT);
	assert_fails(store->ops->get(store, "a/b/d.bin", 0, 3, &out, NULL, &err), ERR_NOT_FOUND);
	assert_fails(store->ops->put(store, "a/b/c.bin", "x", 1, STORE_IF_ABSENT, NULL, &err),
		     ERR_EXISTS);
	assert_works(store->ops->remove(store, "a/b/c.bin", NULL, &err));
	assert_works(store->ops->remove(store, "a/b/c.bin", NULL, &err));
	assert_works(store->ops->put(store, "a/b/c.bin", "x", 1, STORE_IF_ABSENT, NULL, &err));
	assert_int_equal(temporaries_of(&f), 0);
	store_close(store);
	fixture_stop(&f);
}

static void test_listing(void **state)
{
	static const char *const keys[] = {"x/b/2", "x/a", "x/b/1", "x/bc/3", "y"};
	struct fixture f;
	struct store *store;
	struct store_listing listing = {0};

	(void)state;
	fixture_start(&f);
	store = open_store(&f);
	for (size_t i = 0; i < 5; i++)
		assert_works(store->ops->put(store, keys[i], "content", i + 1, STORE_UNIQUE, NULL,
					     &err));
	assert_works(store->ops->list(store, "x/", STORE_ALL, &listing, NULL, &err));
	assert_int_equal(listing.count, 4);
	assert_string_equal(listing.items[0].key, "x/a");
	assert_int_equal(listing.items[0].size, 2);
	assert_string_equal(listing.items[1].key, "x/b/1");
	assert_non_null(store_listing_find(&listing, "x/bc/3"));
	assert_null(store_listing_find(&listing, "y"));
	store_listing_release(&listing);
	assert_works(store->ops->list(store, "x/", STORE_LEVEL, &listing, NULL, &err));
	assert_int_equal(listing.count, 3);
	assert_string_equal(listing.items[1].key, "x/b/");
	assert_int_equal(listing.items[1].size, 0);
	store_listing_release(&listing);
	/* A prefix is one of keys, not of directories. */
	assert_works(store->ops->list(store, "x/b", STORE_ALL, &listing, NULL, &err));
	assert_int_equal(listing.count, 3);
	store_listing_release(&listing);
	assert_works(store->ops->list(store, "nothing/there/", STORE_ALL, &listing, NULL, &err));
	assert_int_equal(listing.count, 0);
	store_close(store);
	fixture_stop(&f);
}

struct race {
	struct store *store;
	atomic_int won, lost;
	atomic_size_t winner;
};

static void race(void *arg, size_t index)
{
	struct race *racing = arg;
	char text[16];
	struct err lost = {0};

	memset(text, 'a' + (int)index, sizeof(text));
	if (racing->store->ops->put(racing->store, "one", text, sizeof(text), STORE_IF_ABSENT, NULL,
				    &lost) == 0) {
		atomic_store(&racing->winner, index);
		atomic_fetch_add(&racing->won, 1);
	} else if (lost.kind == ERR_EXISTS) {
		atomic_fetch_add(&racing->lost, 1);
	}
}

struct opening {
	char url[128];
	atomic_int failed;
};

static void open_new(void *arg, size_t index)
{
	struct opening *opening = arg;
	struct store *store = NULL;
	struct err why;

	(void)index;
	if (store_open(opening->url, true, false, &store, NULL, &why) < 0)
		atomic_fetch_add(&opening->failed, 1);
	store_close(store);
}

/* The members of a gang come to a new store together. */
static void test_many_make_it_at_once(void **state)
{
	struct opening opening = {.failed = 0};
	struct fixture f;

	(void)state;
	fixture_start(&f);
	for (int round = 0; round < 300; round++) {
		snprintf(opening.url, sizeof(opening.url), "%s-%d", f.url, round);
		parallel_run(4, open_new, &opening);
	}
	assert_int_equal(atomic_load(&opening.failed), 0);
	fixture_stop(&f);
}

static void test_of_many_writers_one_wins(void **state)
{
	struct fixture f;
	struct race racing = {0};

	(void)state;
	fixture_start(&f);
	racing.store = open_store(&f);
	for (int round = 0; round < 20; round++) {
		auto_(bytes_release) struct bytes out = {0};

		racing.won = racing.lost = 0;
		parallel_run(RACERS, race, &racing);
		assert_int_equal(racing.won, 1);
		assert_int_equal(racing.lost, RACERS - 1);
		assert_works(racing.store->ops->get(racing.store, "one", 0, STORE_TO_END, &out,
						    NULL, &err));
		assert_int_equal(out.size, 16);
		for (size_t i = 0; i < out.size; i++)
			assert_int_equal(out.data[i], 'a' + racing.winner);
		assert_works(racing.store->ops->remove(racing.store, "one", NULL, &err));
	}
	assert_int_equal(temporaries_of(&f), 0);
	store_close(racing.store);
	fixture_stop(&f);
}

static void test_only_stale_temporaries_are_removed(void **state)
{
	struct fixture f;
	auto_free char *old = NULL, *young = NULL;
	struct utimbuf long_ago = {1000000000, 1000000000};

	(void)state;
	fixture_start(&f);
	old = text_format("%s/tmp/old", f.store);
	young = text_format("%s/tmp/young", f.store);
	assert_works(file_write(old, "x", 1, &err));
	assert_works(file_write(young, "x", 1, &err));
	assert_int_equal(utime(old, &long_ago), 0);
	store_close(open_store(&f));
	assert_false(file_exists(old));
	assert_true(file_exists(young));
	fixture_stop(&f);
}

static void test_cancelled(void **state)
{
	struct fixture f;
	struct store *store;
	struct cancel cancel;

	(void)state;
	fixture_start(&f);
	store = open_store(&f);
	assert_works(cancel_init(&cancel, &err));
	cancel_raise(&cancel);
	assert_fails(store->ops->put(store, "k", "x", 1, STORE_UNIQUE, &cancel, &err),
		     ERR_CANCELLED);
	cancel_release(&cancel);
	store_close(store);
	fixture_stop(&f);
}

static void test_full_disk_leaves_nothing_behind(void **state)
{
	struct fixture f;
	struct store *store;
	static char big[2 << 20];

	(void)state;
	fixture_start(&f);
	if (mount("tmpfs", f.source, "tmpfs", 0, "size=1m") < 0) {
		fixture_stop(&f);
		skip(); /* needs root */
	}
	snprintf(f.url, sizeof(f.url), "file://%s", f.source);
	memcpy(f.store, f.source, sizeof(f.source));
	store = open_store(&f);
	assert_fails(store->ops->put(store, "big", big, sizeof(big), STORE_UNIQUE, NULL, &err),
		     ERR_NO_SPACE);
	assert_int_equal(temporaries_of(&f), 0);
	assert_works(store->ops->put(store, "small", big, 1000, STORE_UNIQUE, NULL, &err));
	store_close(store);
	assert_int_equal(umount(f.source), 0);
	fixture_stop(&f);
}

/* What cannot be given its name is not there, and not said to be. */
static void test_a_directory_that_cannot_be_made(void **state)
{
	static const enum store_put_mode modes[] = {STORE_UNIQUE, STORE_IF_ABSENT};
	struct fixture f;
	struct store *store;

	(void)state;
	fixture_start(&f);
	store = open_store(&f);
	for (size_t i = 0; i < 2; i++) {
		mkdir_error = ENOSPC;
		assert_fails(store->ops->put(store, "new/k", "x", 1, modes[i], NULL, &err),
			     ERR_NO_SPACE);
		mkdir_error = 0;
		assert_int_equal(temporaries_of(&f), 0);
	}
	store_close(store);
	fixture_stop(&f);
}

/* As NFS does when a reply is lost: it is there all the same, and nothing is "not found". */
static void test_a_rename_whose_answer_is_lost(void **state)
{
	struct fixture f;
	struct store *store;
	auto_(bytes_release) struct bytes out = {0};

	(void)state;
	fixture_start(&f);
	store = open_store(&f);
	loses_answers = true;
	assert_works(store->ops->put(store, "a/b", "0123", 4, STORE_UNIQUE, NULL, &err));
	loses_answers = false;
	assert_works(store->ops->get(store, "a/b", 0, STORE_TO_END, &out, NULL, &err));
	assert_int_equal(out.size, 4);
	store_close(store);
	fixture_stop(&f);
}

/* Another machine, whose clock is two days ahead, opens the store while one is being written. */
static void test_what_is_stale_is_told_by_the_file_system(void **state)
{
	struct fixture f;
	auto_free char *young = NULL, *old = NULL;
	struct utimbuf times;

	(void)state;
	fixture_start(&f);
	young = text_format("%s/tmp/young", f.store);
	old = text_format("%s/tmp/old", f.store);
	assert_works(file_write(young, "x", 1, &err));
	assert_works(file_write(old, "x", 1, &err));
	times.actime = times.modtime = time(NULL) - 25 * 3600;
	assert_int_equal(utime(old, &times), 0);
	clock_ahead_s = 48L * 3600;
	store_close(open_store(&f));
	clock_ahead_s = 0;
	assert_true(file_exists(young));
	assert_false(file_exists(old));
	fixture_stop(&f);
}

/* What a file system without hard links may do, and whether a store may lie on it. */
static void test_a_name_is_given_once_or_the_store_is_refused(void **state)
{
	static const struct {
		int link_error, noreplace;
		const char *refused; /* part of the sentence; NULL: it can be used */
	} rows[] = {
		{EPERM, SPARES, NULL},
		{EIO, SPARES, NULL},
		{EIO, UNKNOWN_HERE, "neither hard links nor renames that spare what is there"},
		{EPERM, UNKNOWN_HERE, "neither hard links nor renames that spare what is there"},
		{EPERM, REPLACES, "a name that is taken a second time"},
		{ENOSYS, LOOKS_FIRST, "one name to two at the same time"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct store *store = NULL;
		struct fixture f;

		fixture_start(&f);
		link_error = rows[i].link_error;
		noreplace = rows[i].noreplace;
		lookers = 0;
		if (rows[i].refused) {
			assert_fails(store_open(f.url, true, false, &store, NULL, &err), ERR_UNFIT);
			assert_non_null(strstr(err.text, rows[i].refused));
			assert_non_null(strstr(err.text, "use another file system"));
			/* To read is no risk. */
			assert_works(store_open(f.url, false, true, &store, NULL, &err));
		} else {
			store = open_store(&f);
			assert_works(
				store->ops->put(store, "k", "x", 1, STORE_IF_ABSENT, NULL, &err));
			assert_fails(store->ops->put(store, "k", "y", 1, STORE_IF_ABSENT, NULL,
						     &err),
				     ERR_EXISTS);
		}
		link_error = 0;
		noreplace = SPARES;
		assert_int_equal(temporaries_of(&f), 0);
		store_close(store);
		fixture_stop(&f);
	}
}

/* The whole file system is a directory as well. */
static void test_the_root_is_named_by_its_slash(void **state)
{
	static const struct {
		const char *url, *says;
	} rows[] = {{"file:///", "directory /,"},
		    {"file:////", "directory /,"},
		    {"file:///tmp//", "directory /tmp,"}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_(store_close) struct store *store = NULL;
		char text[200];

		assert_works(store_open(rows[i].url, false, true, &store, NULL, &err));
		store_describe(store, text, sizeof(text));
		if (!strstr(text, rows[i].says))
			fail_msg("%s: %s", rows[i].url, text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_put_and_get),
		cmocka_unit_test(test_read_in_pieces),
		cmocka_unit_test(test_listing),
		cmocka_unit_test(test_many_make_it_at_once),
		cmocka_unit_test(test_of_many_writers_one_wins),
		cmocka_unit_test(test_only_stale_temporaries_are_removed),
		cmocka_unit_test(test_cancelled),
		cmocka_unit_test(test_full_disk_leaves_nothing_behind),
		cmocka_unit_test(test_a_directory_that_cannot_be_made),
		cmocka_unit_test(test_a_rename_whose_answer_is_lost),
		cmocka_unit_test(test_the_root_is_named_by_its_slash),
		cmocka_unit_test(test_what_is_stale_is_told_by_the_file_system),
		cmocka_unit_test(test_a_name_is_given_once_or_the_store_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
