/* Taking: every kind of file comes back as it was; what changes meanwhile is read again or given
 * up, never mixed. */
#include "effort.h"
#include "storage_fixture.h"

#include "base/walk.h"
#include "storage/format/chunk.h"
#include "storage/records/storage_handle.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

static void link_to(struct fixture *f, const char *target, const char *path)
{
	auto_free char *full = text_format("%s/%s", f->source, path);

	assert_int_equal(symlink(target, full), 0);
}

static void set_mode(struct fixture *f, const char *path, mode_t mode)
{
	auto_free char *full = text_format("%s/%s", f->source, path);

	assert_int_equal(chmod(full, mode), 0);
}

static void write_sparse(struct fixture *f, const char *path)
{
	auto_free char *full = text_format("%s/%s", f->source, path);
	auto_close int fd = open(full, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_int_equal(ftruncate(fd, 40 << 20), 0);
	assert_int_equal(pwrite(fd, "middle", 6, 20 << 20), 6);
}

static void test_everything_comes_back(void **state)
{
	struct fixture f;
	auto_free char *one = NULL, *two = NULL, *old = NULL;
	struct timespec times[2] = {{1, 1}, {1234567890, 123456789}};
	struct stat status;

	(void)state;
	fixture_start(&f);
	fixture_write(&f, "empty", 0, 0);
	fixture_write(&f, "one", 1, 1);
	fixture_write(&f, "exact", CHUNK_SIZE, 2);
	fixture_write(&f, "exact and one", CHUNK_SIZE + 1, 3);
	fixture_write(&f, "deep/er/and/deeper/file", 12345, 4);
	fixture_write(&f, "odd/new\nline", 10, 5);
	fixture_write(&f, "odd/not \xff\xfe utf-8", 10, 6);
	fixture_write(&f, "odd/\xf0\x9f\x92\xbe \"quoted\" back\\slash", 10, 7);
	fixture_write(&f, "odd/-rf", 10, 8);
	fixture_write(&f, "big", (size_t)effort_count("MiB", 50, 20) << 20, 9);
	write_sparse(&f, "sparse");
	old = text_format("%s/one", f.source);
	two = text_format("%s/hard", f.source);
	assert_int_equal(link(old, two), 0);
	one = text_format("%s/deep/hard too", f.source);
	assert_int_equal(link(old, one), 0);
	assert_int_equal(utimensat(AT_FDCWD, old, times, 0), 0);
	link_to(&f, "deep/er", "latest");
	link_to(&f, "../../one", "deep/er/up");
	link_to(&f, "nowhere", "dangling");
	link_to(&f, "not \xff utf-8", "odd/link");
	fixture_write(&f, "read-only/file", 5, 10);
	set_mode(&f, "read-only/file", 0400);
	set_mode(&f, "read-only", 0550);
	set_mode(&f, "big", 0751);
	set_mode(&f, "deep", 01777);
	set_mode(&f, "", 0710);
	fixture_check(&f, fixture_take(&f));
	assert_int_equal(stat(f.target, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0710);
	free(steal(&one));
	one = text_format("%s/sparse", f.target);
	assert_int_equal(stat(one, &status), 0);
	assert_true(status.st_blocks * 512 < 10 << 20);
	set_mode(&f, "read-only", 0750);
	fixture_stop(&f);
}

static void test_attributes(void **state)
{
	struct fixture f;
	auto_free char *path = NULL, *back = NULL;
	char value[16];

	(void)state;
	fixture_start(&f);
	fixture_write(&f, "w", 10, 1);
	path = text_format("%s/w", f.source);
	back = text_format("%s/w", f.target);
	if (setxattr(path, "user.step", "a\0b", 3, 0) < 0) {
		fixture_stop(&f);
		skip(); /* not on this file system */
	}
	assert_int_equal(setxattr(path, "user.\xff", "b", 1, 0), 0);
	fixture_check(&f, fixture_take(&f));
	assert_int_equal(getxattr(back, "user.\xff", value, sizeof(value)), 1);
	assert_int_equal(getxattr(back, "user.step", value, sizeof(value)), 3);
	assert_memory_equal(value, "a\0b", 3);
	fixture_stop(&f);
}

static void test_absolute_links_into_the_directory_become_relative(void **state)
{
	struct fixture f;
	auto_free char *target = NULL;
	auto_free char *link = NULL;
	char read[256] = "";
	json_t *body;
	struct snapshot_id id;

	(void)state;
	fixture_start(&f);
	fixture_write(&f, "step-1/w", 10, 1);
	target = text_format("%s/step-1", f.source);
	link_to(&f, target, "latest");
	link_to(&f, "/etc/passwd", "out");
	link_to(&f, "../..", "up and out");
	id = fixture_take(&f);
	assert_works(fixture_try_restore(&f, id));
	link = text_format("%s/latest", f.target);
	assert_true(readlink(link, read, sizeof(read) - 1) > 0);
	assert_string_equal(read, "step-1");
	free(steal(&link));
	link = text_format("%s/out", f.target);
	assert_false(file_exists(link));
	assert_works(storage_read_manifest(f.storage, id, &body, NULL, &err));
	assert_int_equal(json_integer_value(json_object_get(body, "left_out")), 2);
	json_decref(body);
	fixture_stop(&f);
}

static void test_nothing_is_sent_twice(void **state)
{
	struct fixture f;
	struct save_result first, second, third, fourth;

	(void)state;
	fixture_start(&f);
	fixture_write(&f, "a", 3 * CHUNK_SIZE, 1);
	fixture_write(&f, "b", 2 * CHUNK_SIZE + 5, 2);
	fixture_write(&f, "copy of b", 2 * CHUNK_SIZE + 5, 2);
	assert_works(fixture_try_take(&f, &first));
	assert_int_equal(first.files, 3);
	assert_true(first.chunks_sent + first.chunks_kept == 9);
	assert_works(fixture_try_take(&f, &second));
	assert_int_equal(second.chunks_sent, 0);
	assert_int_equal(second.chunks_kept, 9);
	assert_true(second.bytes_sent < 10000);
	/* A rewritten file with the same bytes, and one whose beginning alone is new. */
	fixture_write(&f, "a", 3 * CHUNK_SIZE, 1);
	fixture_write(&f, "c", 100, 3);
	assert_works(fixture_try_take(&f, &third));
	assert_int_equal(third.chunks_sent, 1);
	/* Another process, on another machine: it reads everything and sends nothing. */
	fixture_claim(&f);
	assert_works(fixture_try_take(&f, &fourth));
	assert_int_equal(fourth.chunks_sent, 0);
	fixture_check(&f, (struct snapshot_id){2, 1});
	fixture_stop(&f);
}

/* Bytes that this process has read so far, by any means; 0 where the kernel does not say. */
static unsigned long long bytes_read(void)
{
	FILE *stream = fopen("/proc/self/io", "re");
	unsigned long long bytes = 0;

	if (stream) {
		if (fscanf(stream, "rchar: %llu", &bytes) != 1)
			bytes = 0;
		fclose(stream);
	}
	return bytes;
}

static void test_unchanged_files_are_not_read_again(void **state)
{
	struct fixture f;
	unsigned long long before;

	(void)state;
	if (bytes_read() == 0)
		skip();
	fixture_start(&f);
	fixture_write(&f, "w", 4 * CHUNK_SIZE, 1);
	before = bytes_read();
	fixture_take(&f);
	assert_in_range(bytes_read() - before, 4 * CHUNK_SIZE, 5 * CHUNK_SIZE);
	/* By the same process, by the next one, and by one that believes no times. */
	for (int i = 0; i < 3; i++) {
		f.check_content = i == 2;
		if (i > 0)
			fixture_claim(&f);
		before = bytes_read();
		fixture_take(&f);
		if ((bytes_read() - before < CHUNK_SIZE) != (i < 2))
			fail_msg("row %d", i);
	}
	/* What was written to has other times. */
	fixture_write(&f, "w", 4 * CHUNK_SIZE, 2);
	f.check_content = false;
	fixture_claim(&f);
	fixture_check(&f, fixture_take(&f));
	fixture_stop(&f);
}

/* What only an older snapshot names may be swept with it at any time: it is sent again. */
static void test_only_the_newest_snapshot_is_relied_on(void **state)
{
	struct fixture f;
	struct save_result result;

	(void)state;
	fixture_start(&f);
	for (uint64_t i = 1; i <= 2; i++) {
		fixture_write(&f, "w", 100000, i);
		fixture_take(&f);
	}
	fixture_write(&f, "w", 100000, 1);
	assert_works(fixture_try_take(&f, &result));
	assert_int_equal(result.chunks_sent, 1);
	fixture_stop(&f);
}

/* A pack that is lost must not be relied on by later snapshots. */
static void test_lost_packs_are_sent_again(void **state)
{
	struct fixture f;
	struct save_result result;
	auto_free char *pack = NULL;

	(void)state;
	fixture_start(&f);
	fixture_write(&f, "a", 100000, 1);
	fixture_take(&f);
	pack = fixture_find(&f, ".pack");
	assert_int_equal(unlink(pack), 0);
	assert_fails(fixture_try_take(&f, &result), ERR_RETRY);
	assert_true(result.store_lacks);
	f.sequence--;
	assert_works(fixture_try_take(&f, &result));
	assert_int_equal(result.chunks_sent, 1);
	fixture_check(&f, (struct snapshot_id){1, 2});
	fixture_stop(&f);
}

/* The bytes are known again by their fingerprint alone: the digest in the index is made wrong, so
 * that nobody finds the chunk by it. */
static void test_what_was_read_before_is_not_digested_again(void **state)
{
	struct fixture f;
	struct save_result result;
	struct chunk_index *index;

	(void)state;
	fixture_start(&f);
	fixture_write(&f, "a", 2 * CHUNK_SIZE, 1);
	fixture_take(&f);
	index = &f.storage->transfer.index;
	for (size_t i = 0; i < index->chunk_count; i++)
		index->chunks[i].digest[DIGEST_SIZE - 1] ^= 1;
	fixture_write(&f, "a", 2 * CHUNK_SIZE, 1);
	assert_works(fixture_try_take(&f, &result));
	assert_int_equal(result.chunks_sent, 0);
	assert_int_equal(result.chunks_kept, 2);
	fixture_write(&f, "a", 2 * CHUNK_SIZE, 2);
	assert_works(fixture_try_take(&f, &result));
	assert_int_equal(result.chunks_sent, 2);
	fixture_check(&f, (struct snapshot_id){1, 3});
	fixture_stop(&f);
}

struct meddling {
	struct fixture *f;
	const char *path;
	void (*meddle)(struct meddling *meddling);
	bool answer;
	int called;
};

static bool frozen(void *arg)
{
	struct meddling *meddling = arg;

	meddling->called++;
	if (meddling->meddle)
		meddling->meddle(meddling);
	return meddling->answer;
}

static int take_while(struct meddling *meddling)
{
	struct fixture *f = meddling->f;
	struct save_request request = {
		.id = fixture_next(f),
		.directory = f->source,
		.reason = "request",
		.step = -1,
		.frozen = frozen,
		.arg = meddling,
	};
	struct save_result result;

	return storage_save(f->storage, &request, &result, NULL, &err);
}

static void unlink_it(struct meddling *meddling)
{
	auto_free char *path = text_format("%s/%s", meddling->f->source, meddling->path);

	assert_int_equal(unlink(path), 0);
}

static void rename_it(struct meddling *meddling)
{
	auto_free char *path = text_format("%s/%s", meddling->f->source, meddling->path);
	auto_free char *aside = text_format("%s/aside", meddling->f->root);

	assert_int_equal(rename(path, aside), 0);
}

static void truncate_it(struct meddling *meddling)
{
	auto_free char *path = text_format("%s/%s", meddling->f->source, meddling->path);

	assert_int_equal(truncate(path, 10), 0);
}

static void test_the_trainer_may_take_files_away(void **state)
{
	static void (*const ways[])(struct meddling *) = {unlink_it, rename_it};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct fixture f;
		struct meddling meddling = {
			.f = &f,
			.path = "w",
			.meddle = ways[i],
			.answer = true,
		};

		fixture_start(&f);
		fixture_write(&f, "w", 3 * CHUNK_SIZE, 1);
		fixture_write(&f, "v", 100, 1);
		assert_works(take_while(&meddling));
		assert_int_equal(meddling.called, 1);
		fixture_write(&f, "w", 3 * CHUNK_SIZE, 1);
		assert_works(fixture_try_restore(&f, (struct snapshot_id){1, 1}));
		{
			auto_free char *command =
				text_format("cmp '%s/w' '%s/w' && cmp '%s/v' '%s/v'", f.source,
					    f.target, f.source, f.target);

			assert_int_equal(system(command), 0);
		}
		fixture_stop(&f);
	}
}

static void overwrite_it(struct meddling *meddling)
{
	fixture_write(meddling->f, meddling->path, 3 * CHUNK_SIZE, 2);
}

/* What was frozen was one checkpoint; the new content belongs to another, with which the rest of
 * the set does not go together. */
static void test_a_file_written_to_after_the_freeze_is_not_committed(void **state)
{
	static const struct {
		size_t size;
		void (*meddle)(struct meddling *);
	} rows[] = {
		{3 * CHUNK_SIZE, truncate_it},
		{3 * CHUNK_SIZE, overwrite_it},
		{0, overwrite_it}, /* begun, with nothing written yet */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fixture f;
		struct meddling meddling = {
			.f = &f,
			.path = "w",
			.meddle = rows[i].meddle,
			.answer = true,
		};
		struct snapshot_list list;

		fixture_start(&f);
		fixture_write(&f, "w", rows[i].size, 1);
		assert_fails(take_while(&meddling), ERR_RETRY);
		assert_works(storage_list_snapshots(f.storage, &list, NULL, &err));
		assert_int_equal(list.count, 0);
		snapshot_list_release(&list);
		fixture_stop(&f);
	}
}

static void test_not_one_complete_checkpoint(void **state)
{
	struct fixture f;
	struct meddling meddling = {.f = &f, .answer = false};
	struct snapshot_list list;

	(void)state;
	fixture_start(&f);
	fixture_write(&f, "w", 100, 1);
	assert_fails(take_while(&meddling), ERR_RETRY);
	assert_works(storage_list_snapshots(f.storage, &list, NULL, &err));
	assert_int_equal(list.count, 0);
	snapshot_list_release(&list);
	fixture_stop(&f);
}

#define WRITTEN (8 * CHUNK_SIZE)

struct writer {
	char *path;
	atomic_bool stop;
};

/* Fills the file with one byte value after the other: any two values in one
 * snapshot are a mixture. */
static void *keep_writing(void *arg)
{
	struct writer *writer = arg;
	auto_free uint8_t *data = memory_new(WRITTEN);
	auto_close int fd = open(writer->path, O_WRONLY | O_CLOEXEC);

	for (int value = 1; !atomic_load(&writer->stop); value = value % 250 + 1) {
		memset(data, value, WRITTEN);
		if (pwrite(fd, data, WRITTEN, 0) != WRITTEN)
			return NULL;
		usleep(value % 5 == 0 ? 150000 : 100);
	}
	return writer;
}

static void check_uniform(struct fixture *f, struct snapshot_id id)
{
	auto_free char *path = text_format("%s/w", f->target);
	auto_(bytes_release) struct bytes data = {0};

	assert_works(fixture_try_restore(f, id));
	assert_works(file_read(path, &data, &err));
	assert_int_equal(data.size, WRITTEN);
	for (size_t i = 1; i < data.size; i++)
		if (data.data[i] != data.data[0])
			fail_msg("a mixture of %u and %u", data.data[0], data.data[i]);
}

static void test_a_file_being_written_is_never_a_mixture(void **state)
{
	struct fixture f;
	struct writer writer = {0};
	pthread_t thread;
	void *ended;
	int taken = 0, refused = 0, saves = (int)effort_count("saves", 15, 3);

	(void)state;
	fixture_start(&f);
	fixture_write(&f, "w", WRITTEN, 1);
	writer.path = text_format("%s/w", f.source);
	{
		auto_free uint8_t *data = memory_new(WRITTEN);
		auto_close int fd = open(writer.path, O_WRONLY | O_CLOEXEC);

		assert_works(file_write_all(fd, data, WRITTEN, &err));
	}
	assert_int_equal(pthread_create(&thread, NULL, keep_writing, &writer), 0);
	for (int i = 0; i < saves; i++) {
		struct save_result result;
		struct snapshot_id id = {1, f.sequence + 1};

		if (fixture_try_take(&f, &result) == 0) {
			taken++;
			check_uniform(&f, id);
			continue;
		}
		assert_int_equal(err.kind, ERR_RETRY);
		refused++;
	}
	atomic_store(&writer.stop, true);
	pthread_join(thread, &ended);
	assert_ptr_equal(ended, &writer);
	free(writer.path);
	assert_int_equal(taken + refused, saves);
	fixture_stop(&f);
}

/* --- a write that stands still --- */

/* Half of its bytes lie in memory that is not there until the test gives it. */
struct standing_write {
	int faults; /* userfaultfd(2) */
	uint8_t *data;
	char *path;
	atomic_bool saved;
};

#define HALF (WRITTEN / 2)

static bool standing_write_prepare(struct standing_write *standing)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register missing = {.mode = UFFDIO_REGISTER_MODE_MISSING};

	standing->faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (standing->faults < 0)
		return false;
	standing->data =
		mmap(NULL, WRITTEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(standing->data, MAP_FAILED);
	memset(standing->data, 2, HALF);
	missing.range.start = (uintptr_t)standing->data + HALF;
	missing.range.len = HALF;
	assert_return_code(ioctl(standing->faults, UFFDIO_API, &api), errno);
	assert_return_code(ioctl(standing->faults, UFFDIO_REGISTER, &missing), errno);
	return true;
}

static void *write_standing(void *arg)
{
	struct standing_write *standing = arg;
	auto_close int fd = open(standing->path, O_WRONLY | O_CLOEXEC);

	return pwrite(fd, standing->data, WRITTEN, 0) == WRITTEN ? standing : NULL;
}

/* Once the save is over, or, since it may wait for the write, after some time. */
static void *let_it_go_on(void *arg)
{
	struct standing_write *standing = arg;
	auto_free uint8_t *twos = memory_new(HALF);
	struct uffdio_copy rest = {.dst = (uintptr_t)standing->data + HALF,
				   .src = (uintptr_t)twos,
				   .len = HALF};

	memset(twos, 2, HALF);
	for (int i = 0; i < 100 && !atomic_load(&standing->saved); i++)
		usleep(10000);
	return ioctl(standing->faults, UFFDIO_COPY, &rest) == 0 ? standing : NULL;
}

static uint8_t byte_in_the_middle(const char *path)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint8_t byte = 0;

	assert_int_equal(pread(fd, &byte, 1, HALF - CHUNK_SIZE - 1), 1);
	return byte;
}

/* Its writer was stopped long before the save and in the middle of a write, so that neither the
 * times of the file nor two looks at it differ. */
static void test_a_write_that_stands_still_is_no_mixture(void **state)
{
	struct fixture f;
	struct standing_write standing = {0};
	struct save_result result;
	pthread_t writer, other;
	void *written, *given;

	(void)state;
	if (!standing_write_prepare(&standing))
		skip();
	fixture_start(&f);
	fixture_write(&f, "w", WRITTEN, 1);
	standing.path = text_format("%s/w", f.source);
	assert_int_equal(pthread_create(&writer, NULL, write_standing, &standing), 0);
	while (byte_in_the_middle(standing.path) != 2)
		usleep(1000);
	assert_int_equal(pthread_create(&other, NULL, let_it_go_on, &standing), 0);
	if (fixture_try_take(&f, &result) == 0)
		check_uniform(&f, (struct snapshot_id){1, f.sequence});
	else
		assert_int_equal(err.kind, ERR_RETRY);
	atomic_store(&standing.saved, true);
	pthread_join(other, &given);
	pthread_join(writer, &written);
	assert_ptr_equal(given, &standing);
	assert_ptr_equal(written, &standing);
	munmap(standing.data, WRITTEN);
	close(standing.faults);
	free(standing.path);
	fixture_stop(&f);
}

/* A write that began before the freeze leaves no new stamp: with a writer about,
 * one pass proves nothing. */
static void test_a_file_open_for_writing_is_read_twice(void **state)
{
	struct fixture f;
	auto_free char *path = NULL;
	auto_close int writer = -1;
	auto_close int lease = -1;
	unsigned long long before;

	(void)state;
	fixture_start(&f);
	fixture_write(&f, "w", 4 * CHUNK_SIZE, 1);
	path = text_format("%s/w", f.source);
	lease = open(path, O_RDONLY | O_CLOEXEC);
	if (bytes_read() == 0 || fcntl(lease, F_SETLEASE, F_RDLCK) < 0) {
		close(steal_fd(&lease));
		fixture_stop(&f);
		skip(); /* not to be told on this file system */
	}
	assert_int_equal(fcntl(lease, F_SETLEASE, F_UNLCK), 0);
	writer = open(path, O_WRONLY | O_CLOEXEC);
	before = bytes_read();
	fixture_take(&f);
	assert_true(bytes_read() - before >= 8 * CHUNK_SIZE);
	fixture_check(&f, (struct snapshot_id){1, 1});
	close(steal_fd(&writer));
	close(steal_fd(&lease));
	fixture_stop(&f);
}

static void test_more_files_than_descriptors(void **state)
{
	struct fixture f;
	struct rlimit before, low;
	struct save_result result;
	size_t open_before;

	(void)state;
	fixture_start(&f);
	for (int i = 0; i < 300; i++) {
		char name[32];

		snprintf(name, sizeof(name), "d%d/f%03d", i % 7, i);
		fixture_write(&f, name, 100 + (size_t)i, (uint64_t)i);
	}
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	low = before;
	low.rlim_cur = 128;
	open_before = fixture_open_descriptors();
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	assert_works(fixture_try_take(&f, &result));
	assert_int_equal(result.files, 300);
	assert_works(fixture_try_restore(&f, (struct snapshot_id){1, 1}));
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(fixture_open_descriptors(), open_before);
	fixture_compare(&f);
	fixture_stop(&f);
}

static void test_the_same_sequence_twice(void **state)
{
	struct fixture f;
	struct save_result result;

	(void)state;
	fixture_start(&f);
	fixture_write(&f, "w", 10, 1);
	fixture_take(&f);
	fixture_write(&f, "w", 10, 2);
	f.sequence = 0;
	assert_fails(fixture_try_take(&f, &result), ERR_EXISTS);
	fixture_write(&f, "w", 10, 1);
	assert_works(fixture_try_restore(&f, (struct snapshot_id){1, 1}));
	fixture_stop(&f);
}

/* On tmpfs, a write through a mapping never changes the times of the file once it was written so.
 */
static void test_a_file_that_is_mapped_for_writing_is_read_anew(void **state)
{
	struct fixture f;
	auto_free char *path = NULL, *compare = NULL;
	char *map;
	int fd;

	(void)state;
	fixture_start(&f);
	strcpy(f.source, "/dev/shm/reprieve-test-XXXXXX");
	if (!mkdtemp(f.source)) {
		fixture_stop(&f);
		skip();
	}
	path = text_format("%s/w", f.source);
	compare = text_format("cmp '%s' '%s/w'", path, f.target);
	fixture_write(&f, "w", 5000, 1);
	fd = open(path, O_RDWR | O_CLOEXEC);
	map = mmap(NULL, 5000, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(fd >= 0 && map != MAP_FAILED);
	close(fd);
	for (char round = 1; round <= 3; round++) {
		memset(map, round, 5000);
		usleep(50000);
		assert_works(fixture_try_restore(&f, fixture_take(&f)));
		assert_int_equal(system(compare), 0);
	}
	munmap(map, 5000);
	assert_works(file_remove_tree(f.source, &err));
	fixture_stop(&f);
}

/* A commit looks at the packs of every attempt that the manifest names, however many those are. */
static void test_packs_of_many_attempts(void **state)
{
	struct fixture f;

	(void)state;
	fixture_start(&f);
	for (uint64_t i = 1; i <= 7; i++) {
		char name[8];

		if (i > 1)
			fixture_claim(&f);
		snprintf(name, sizeof(name), "f%u", (unsigned)i);
		fixture_write(&f, name, 300, i);
		fixture_check(&f, fixture_take(&f));
	}
	assert_int_equal(fixture_damages(&f), 0);
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_everything_comes_back),
		cmocka_unit_test(test_attributes),
		cmocka_unit_test(test_absolute_links_into_the_directory_become_relative),
		cmocka_unit_test(test_nothing_is_sent_twice),
		cmocka_unit_test(test_unchanged_files_are_not_read_again),
		cmocka_unit_test(test_only_the_newest_snapshot_is_relied_on),
		cmocka_unit_test(test_lost_packs_are_sent_again),
		cmocka_unit_test(test_what_was_read_before_is_not_digested_again),
		cmocka_unit_test(test_the_trainer_may_take_files_away),
		cmocka_unit_test(test_a_file_written_to_after_the_freeze_is_not_committed),
		cmocka_unit_test(test_not_one_complete_checkpoint),
		cmocka_unit_test(test_a_file_being_written_is_never_a_mixture),
		cmocka_unit_test(test_a_write_that_stands_still_is_no_mixture),
		cmocka_unit_test(test_a_file_open_for_writing_is_read_twice),
		cmocka_unit_test(test_more_files_than_descriptors),
		cmocka_unit_test(test_the_same_sequence_twice),
		cmocka_unit_test(test_a_file_that_is_mapped_for_writing_is_read_anew),
		cmocka_unit_test(test_packs_of_many_attempts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
