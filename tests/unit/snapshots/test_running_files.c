/* Running files: the prefix at the freeze is saved, whatever happens to the file meanwhile; what is
 * excluded after the freeze is dropped; another file's content may stand for one. */
#include "storage_fixture.h"

#include "base/json.h"
#include "storage/format/chunk.h"
#include "storage/records/storage_handle.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
	FILES_MOST = 8
};

/* What the tests do to the directory in the middle of a save. */
struct meddling {
	struct fixture *f;
	/* Names of running files, NULL-terminated. */
	const char *running[FILES_MOST];
	/* Excluded once the directory is frozen. */
	const char *excluded[FILES_MOST];
	const char *source_of, *source;
	int source_directory;
	/* When the directory has been opened; after the files whose names are before "z" have been
	 * frozen; when "b" is about to be opened. */
	void (*at_freeze)(struct fixture *f);
	void (*after_freeze)(struct fixture *f);
	void (*before_opening)(struct fixture *f);
	bool frozen;
	struct save_result result;
};

static bool is_among(const char *const *names, const char *path)
{
	for (; *names; names++)
		if (text_equal(*names, path))
			return true;
	return false;
}

static bool exclude(void *arg, const char *path)
{
	struct meddling *meddling = arg;

	if (meddling->frozen && meddling->after_freeze && text_equal(path, "z"))
		meddling->after_freeze(meddling->f);
	return meddling->frozen && is_among(meddling->excluded, path);
}

static bool running(void *arg, const char *path)
{
	struct meddling *meddling = arg;

	if (!meddling->frozen && meddling->before_opening && text_equal(path, "b"))
		meddling->before_opening(meddling->f);
	return is_among(meddling->running, path);
}

static const char *source(void *arg, const char *path)
{
	struct meddling *meddling = arg;

	return text_equal(path, meddling->source_of) ? meddling->source : NULL;
}

static int source_directory(void *arg)
{
	const struct meddling *meddling = arg;

	return meddling->source_directory;
}

static bool freeze(void *arg)
{
	struct meddling *meddling = arg;

	meddling->frozen = true;
	if (meddling->at_freeze)
		meddling->at_freeze(meddling->f);
	return true;
}

static int save(struct meddling *meddling)
{
	struct fixture *f = meddling->f;
	struct save_request request = {
		.id = fixture_next(f),
		.directory = f->source,
		.reason = "request",
		.step = -1,
		.exclude = exclude,
		.running = running,
		.source = source,
		.source_directory = source_directory,
		.frozen = freeze,
		.arg = meddling,
	};

	meddling->frozen = false;
	return storage_save(f->storage, &request, &meddling->result, NULL, &err);
}

static char *path_of(const char *directory, const char *name)
{
	return text_format("%s/%s", directory, name);
}

static void append(struct fixture *f, const char *name, const char *text)
{
	auto_free char *path = path_of(f->source, name);
	auto_close int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);

	assert_works(file_write_all(fd, text, strlen(text), &err));
}

static void assert_restored(struct fixture *f, const char *name, const char *text)
{
	auto_free char *path = path_of(f->target, name);
	auto_(bytes_release) struct bytes data = {0};

	assert_works(file_read(path, &data, &err));
	assert_int_equal(data.size, strlen(text));
	assert_memory_equal(data.data, text, data.size);
}

static void restore_newest(struct fixture *f)
{
	assert_works(fixture_try_restore(f, (struct snapshot_id){1, f->sequence}));
}

static bool is_restored(struct fixture *f, const char *name)
{
	auto_free char *path = path_of(f->target, name);

	return file_exists(path);
}

/* The manifest's entry of a path; borrowed from `body`. */
static json_t *entry_of(json_t *body, const char *path)
{
	json_t *entry;
	size_t i;

	json_array_foreach(json_object_get(body, "entries"), i, entry)
	{
		if (text_equal(json_text_or(entry, "path", ""), path))
			return entry;
	}
	return NULL;
}

/* --- growing --- */

static void append_second(struct fixture *f)
{
	append(f, "metrics.csv", "2\n");
}

static void append_third(struct fixture *f)
{
	append(f, "metrics.csv", "3\n");
}

/* A row that comes right before the freeze is in it, one that comes after it is not. The job has
 * the file open all the time. */
static void test_a_running_file_grows(void **state)
{
	struct fixture f;
	struct meddling meddling = {
		.f = &f,
		.running = {"metrics.csv"},
		.at_freeze = append_second,
		.after_freeze = append_third,
	};
	auto_(snapshot_files_release) struct snapshot_files files = {0};
	auto_json json_t *body = NULL;

	(void)state;
	fixture_start(&f);
	fixture_write(&f, "w", 100000, 1);
	fixture_write(&f, "z", 10, 1);
	append(&f, "metrics.csv", "1\n");
	{
		auto_free char *path = path_of(f.source, "metrics.csv");
		auto_close int held = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);

		assert_true(held >= 0);
		assert_works(save(&meddling));
	}
	assert_int_equal(meddling.result.files, 3);
	restore_newest(&f);
	assert_restored(&f, "metrics.csv", "1\n2\n");
	assert_works(
		storage_read_manifest(f.storage, (struct snapshot_id){1, 1}, &body, NULL, &err));
	assert_true(json_is_true(json_object_get(entry_of(body, "metrics.csv"), "running")));
	assert_null(json_object_get(entry_of(body, "w"), "running"));
	assert_works(storage_list_files(f.storage, (struct snapshot_id){1, 1}, &files, NULL, &err));
	assert_true(files.items[0].running);
	assert_false(files.items[1].running);
	fixture_stop(&f);
}

static void test_another_file_may_not_grow(void **state)
{
	struct fixture f;
	struct meddling meddling = {.f = &f, .running = {"w"}, .after_freeze = append_third};

	(void)state;
	fixture_start(&f);
	append(&f, "metrics.csv", "1\n");
	fixture_write(&f, "w", 10, 1);
	fixture_write(&f, "z", 10, 1);
	assert_fails(save(&meddling), ERR_RETRY);
	fixture_stop(&f);
}

/* A file of which it only turns out at the freeze that it is a running one. */
static bool running_after_all(void *arg, const char *path)
{
	return ((struct meddling *)arg)->frozen && running(arg, path);
}

static void test_running_is_asked_again(void **state)
{
	struct fixture f;
	struct meddling meddling = {
		.f = &f,
		.running = {"metrics.csv"},
		.after_freeze = append_third,
	};
	struct save_request request = {
		.id = {1, 1},
		.directory = f.source,
		.reason = "request",
		.step = -1,
		.exclude = exclude,
		.running = running_after_all,
		.frozen = freeze,
		.arg = &meddling,
	};

	(void)state;
	fixture_start(&f);
	append(&f, "metrics.csv", "1\n");
	fixture_write(&f, "z", 10, 1);
	assert_works(storage_save(f.storage, &request, &meddling.result, NULL, &err));
	f.sequence = 1;
	restore_newest(&f);
	assert_restored(&f, "metrics.csv", "1\n");
	fixture_stop(&f);
}

/* Only the tail is new: whole chunks that are there already are not sent again. */
static void test_only_the_tail_is_sent(void **state)
{
	struct fixture f;
	struct meddling meddling = {.f = &f, .running = {"events"}};
	struct save_result second;

	(void)state;
	fixture_start(&f);
	fixture_write(&f, "events", 3 * CHUNK_SIZE + 100, 1);
	assert_works(save(&meddling));
	assert_int_equal(meddling.result.chunks_sent, 4);
	/* The same beginning, because the content depends on the seed alone. */
	fixture_write(&f, "events", 5 * CHUNK_SIZE + 200, 1);
	assert_works(fixture_try_take(&f, &second));
	assert_int_equal(second.chunks_kept, 3);
	assert_int_equal(second.chunks_sent, 3);
	fixture_check(&f, (struct snapshot_id){1, 2});
	fixture_stop(&f);
}

/* --- written to all the time --- */

/* --- truncated or taken away --- */

static void truncate_metrics(struct fixture *f)
{
	auto_free char *path = path_of(f->source, "metrics.csv");

	assert_int_equal(truncate(path, 1), 0);
}

static void test_a_running_file_is_truncated(void **state)
{
	struct fixture f;
	struct meddling meddling = {
		.f = &f,
		.running = {"metrics.csv"},
		.after_freeze = truncate_metrics,
	};
	auto_free char *path = NULL, *other = NULL;

	(void)state;
	fixture_start(&f);
	fixture_write(&f, "w", 100000, 1);
	fixture_write(&f, "z", 10, 1);
	append(&f, "metrics.csv", "1\n2\n3\n");
	path = path_of(f.source, "metrics.csv");
	other = path_of(f.source, "other name");
	assert_int_equal(link(path, other), 0);
	assert_works(save(&meddling));
	assert_int_equal(meddling.result.files, 2);
	restore_newest(&f);
	assert_false(is_restored(&f, "metrics.csv"));
	assert_false(is_restored(&f, "other name"));
	assert_true(is_restored(&f, "w"));
	fixture_stop(&f);
}

/* Truncated before the freeze: that is its prefix. */
static void test_a_running_file_is_truncated_before(void **state)
{
	struct fixture f;
	struct meddling meddling = {
		.f = &f,
		.running = {"metrics.csv"},
		.at_freeze = truncate_metrics,
	};

	(void)state;
	fixture_start(&f);
	append(&f, "metrics.csv", "1\n2\n3\n");
	fixture_write(&f, "z", 10, 1);
	assert_works(save(&meddling));
	restore_newest(&f);
	assert_restored(&f, "metrics.csv", "1");
	fixture_stop(&f);
}

static void remove_b(struct fixture *f)
{
	auto_free char *path = path_of(f->source, "b");

	assert_int_equal(unlink(path), 0);
}

static void test_a_running_file_is_gone_before_it_is_opened(void **state)
{
	struct fixture f;
	struct meddling meddling = {.f = &f, .running = {"b"}, .before_opening = remove_b};

	(void)state;
	fixture_start(&f);
	fixture_write(&f, "b", 10, 1);
	fixture_write(&f, "w", 10, 1);
	assert_works(save(&meddling));
	assert_int_equal(meddling.result.files, 1);
	fixture_stop(&f);
}

/* What was opened is saved, whoever has the name now. */
static void test_a_running_file_is_rotated(void **state)
{
	struct fixture f;
	struct meddling meddling = {.f = &f, .running = {"b"}, .at_freeze = remove_b};

	(void)state;
	fixture_start(&f);
	append(&f, "b", "rows");
	fixture_write(&f, "w", 10, 1);
	assert_works(save(&meddling));
	restore_newest(&f);
	assert_restored(&f, "b", "rows");
	fixture_stop(&f);
}

static void test_nothing_is_left(void **state)
{
	struct fixture f;
	struct meddling meddling = {
		.f = &f,
		.running = {"metrics.csv"},
		.excluded = {"z"},
		.after_freeze = truncate_metrics,
	};

	(void)state;
	fixture_start(&f);
	append(&f, "metrics.csv", "1\n2\n3\n");
	fixture_write(&f, "z", 10, 1);
	assert_fails(save(&meddling), ERR_NOT_FOUND);
	fixture_stop(&f);
}

/* --- more files than descriptors --- */

/* --- excluded after the freeze --- */

static void test_excluded_after_the_freeze(void **state)
{
	struct fixture f;
	struct meddling meddling = {
		.f = &f,
		.running = {"step-3.log"},
		.excluded = {"step-2", "first name", "step-3.log"},
	};
	auto_free char *first = NULL, *second = NULL;

	(void)state;
	fixture_start(&f);
	fixture_write(&f, "step-1/w", 10, 1);
	fixture_write(&f, "step-2/deep/w", 10, 1);
	/* Sorts between the directory and what is in it. */
	fixture_write(&f, "step-2-done", 10, 1);
	fixture_write(&f, "step-3.log", 10, 1);
	append(&f, "first name", "linked");
	first = path_of(f.source, "first name");
	second = path_of(f.source, "second name");
	assert_int_equal(link(first, second), 0);
	assert_works(save(&meddling));
	assert_int_equal(meddling.result.files, 3);
	restore_newest(&f);
	assert_true(is_restored(&f, "step-1/w"));
	assert_true(is_restored(&f, "step-2-done"));
	assert_false(is_restored(&f, "step-2"));
	assert_false(is_restored(&f, "first name"));
	assert_restored(&f, "second name", "linked");
	fixture_stop(&f);
}

/* --- another file's content --- */

static void test_source(void **state)
{
	struct fixture f;
	struct timespec times[2] = {{1, 1}, {1234567890, 123456789}};
	auto_free char *copy = NULL, *original = NULL, *restored = NULL;
	struct meddling meddling = {.f = &f, .source_of = "sub/study.db"};
	size_t descriptors;
	struct stat status;

	(void)state;
	fixture_start(&f);
	fixture_write(&f, "w", 10, 1);
	fixture_write(&f, "sub/study.db", 5 * CHUNK_SIZE, 1);
	original = path_of(f.source, "sub/study.db");
	assert_int_equal(chmod(original, 0640), 0);
	assert_int_equal(utimensat(AT_FDCWD, original, times, 0), 0);
	copy = path_of(f.root, "copy");
	meddling.source = "copy";
	meddling.source_directory = open(f.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_works(file_write(copy, "a backup", 8, &err));
	assert_works(save(&meddling));
	descriptors = fixture_open_descriptors();
	assert_works(save(&meddling));
	assert_int_equal(fixture_open_descriptors(), descriptors);
	restore_newest(&f);
	assert_restored(&f, "sub/study.db", "a backup");
	restored = path_of(f.target, "sub/study.db");
	assert_int_equal(stat(restored, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0640);
	assert_int_equal(status.st_mtim.tv_sec, 1234567890);
	/* Without the copy there is nothing to save of it; the rest is saved. */
	assert_int_equal(unlink(copy), 0);
	assert_works(save(&meddling));
	assert_int_equal(meddling.result.files, 1);
	close(meddling.source_directory);
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_running_file_grows),
		cmocka_unit_test(test_another_file_may_not_grow),
		cmocka_unit_test(test_running_is_asked_again),
		cmocka_unit_test(test_only_the_tail_is_sent),
		cmocka_unit_test(test_a_running_file_is_truncated),
		cmocka_unit_test(test_a_running_file_is_truncated_before),
		cmocka_unit_test(test_a_running_file_is_gone_before_it_is_opened),
		cmocka_unit_test(test_a_running_file_is_rotated),
		cmocka_unit_test(test_nothing_is_left),
		cmocka_unit_test(test_excluded_after_the_freeze),
		cmocka_unit_test(test_source),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
