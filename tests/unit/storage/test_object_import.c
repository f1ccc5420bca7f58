/* Archives and plain objects into a directory: what is right comes in whole, what is hostile or
 * torn never leads out. */
#include "storage_fixture.h"

#include "storage/scheme_table.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <pthread.h>

struct member {
	const char *path;
	mode_t type;
	const char *link; /* target of a symbolic or, with type 0, of a hard link */
	const char *content;
	mode_t mode;
};

/* A tar at <root>/archive, compressed by `filter`. */
static void write_archive(struct fixture *f, const struct member *members, int filter)
{
	auto_free char *path = text_format("%s/archive", f->root);
	struct archive *tar = archive_write_new();
	struct archive_entry *entry = archive_entry_new();

	assert_int_equal(archive_write_set_format_pax(tar), ARCHIVE_OK);
	assert_true(archive_write_add_filter(tar, filter) >= ARCHIVE_WARN);
	assert_int_equal(archive_write_open_filename(tar, path), ARCHIVE_OK);
	for (; members->path; members++) {
		archive_entry_clear(entry);
		archive_entry_set_pathname(entry, members->path);
		archive_entry_set_perm(entry, members->mode ? members->mode : 0644);
		archive_entry_set_mtime(entry, 1700000000, 0);
		if (members->type == 0) {
			archive_entry_set_hardlink(entry, members->link);
		} else {
			archive_entry_set_filetype(entry, members->type);
			if (members->link)
				archive_entry_set_symlink(entry, members->link);
			archive_entry_set_size(entry, members->content
							      ? (la_int64_t)strlen(members->content)
							      : 0);
		}
		assert_true(archive_write_header(tar, entry) >= ARCHIVE_WARN);
		if (members->content)
			assert_true(archive_write_data(tar, members->content,
						       strlen(members->content)) >= 0);
	}
	archive_entry_free(entry);
	assert_int_equal(archive_write_close(tar), ARCHIVE_OK);
	archive_write_free(tar);
}

static int unpack_at_most(struct fixture *f, uint64_t most, struct import_result *result)
{
	auto_free char *path = text_format("%s/archive", f->root);
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_works(file_remove_tree(f->target, &err));
	assert_int_equal(mkdir(f->target, 0755), 0);
	err = (struct err){0};
	return storage_import_archive(fd, f->target, most, result, NULL, &err);
}

static int unpack(struct fixture *f, struct import_result *result)
{
	return unpack_at_most(f, UINT64_MAX, result);
}

static void assert_holds(struct fixture *f, const char *name, const char *content)
{
	auto_free char *path = text_format("%s/%s", f->target, name);
	struct bytes bytes = {0};

	assert_works(file_read(path, &bytes, &err));
	assert_int_equal(bytes.size, strlen(content));
	assert_memory_equal(bytes.data, content, bytes.size);
	bytes_release(&bytes);
}

static void test_every_filter(void **state)
{
	static const int filters[] = {ARCHIVE_FILTER_NONE,  ARCHIVE_FILTER_GZIP,
				      ARCHIVE_FILTER_BZIP2, ARCHIVE_FILTER_XZ,
				      ARCHIVE_FILTER_LZ4,   ARCHIVE_FILTER_ZSTD};
	static const struct member members[] = {
		// clang-format off
		{"./", AE_IFDIR, NULL, NULL, 0755},
		{"./a/", AE_IFDIR, NULL, NULL, 0555},
		{"./a/weights", AE_IFREG, NULL, "0123456789", 0640},
		{"latest", AE_IFLNK, "a/weights", NULL, 0},
		{"same", 0, "a/weights", NULL, 0},
		{"program", AE_IFREG, NULL, "x", 06755},
		{NULL, 0, NULL, NULL, 0},
		// clang-format on
	};
	struct fixture f;

	(void)state;
	fixture_start(&f);
	for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++) {
		struct import_result result;
		struct stat status;
		auto_free char *program = text_format("%s/program", f.target);
		auto_free char *weights = text_format("%s/a/weights", f.target);

		write_archive(&f, members, filters[i]);
		assert_works(unpack(&f, &result));
		assert_int_equal(result.files, 2);
		assert_int_equal(result.bytes, 11);
		assert_int_equal(result.left_out, 0);
		assert_holds(&f, "a/weights", "0123456789");
		assert_holds(&f, "latest", "0123456789");
		assert_holds(&f, "same", "0123456789");
		assert_int_equal(stat(program, &status), 0);
		assert_int_equal(status.st_mode & 07777, 0755);
		assert_int_equal(stat(weights, &status), 0);
		assert_int_equal(status.st_mode & 07777, 0640);
		assert_int_equal(status.st_mtime, 1700000000);
		assert_int_equal(status.st_nlink, 2);
	}
	fixture_stop(&f);
}

static void test_nothing_leads_out(void **state)
{
	static const struct {
		const char *name;
		struct member members[3];
	} rows[] = {
		// clang-format off
		{"up", {{"../escaped", AE_IFREG, NULL, "x", 0}}},
		{"up in the middle", {{"a/../../escaped", AE_IFREG, NULL, "x", 0}}},
		{"absolute", {{"/tmp/reprieve-escaped", AE_IFREG, NULL, "x", 0}}},
		{"through a link",
			{{"out", AE_IFLNK, "..", NULL, 0},
				{"out/escaped", AE_IFREG, NULL, "x", 0}}},
		{"through an absolute link",
			{{"out", AE_IFLNK, "/tmp", NULL, 0},
				{"out/reprieve-escaped", AE_IFREG, NULL, "x", 0}}},
		{"hard link up", {{"mine", 0, "../secret", NULL, 0}}},
		{"hard link to an absolute path", {{"mine", 0, "/etc/passwd", NULL, 0}}},
		{"hard link through a link",
			{{"out", AE_IFLNK, "..", NULL, 0}, {"mine", 0, "out/secret", NULL, 0}}},
		// clang-format on
	};
	struct fixture f;
	auto_free char *escaped = NULL, *secret = NULL;

	(void)state;
	fixture_start(&f);
	escaped = text_format("%s/escaped", f.root);
	secret = text_format("%s/secret", f.root);
	assert_works(file_write(secret, "s", 1, &err));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct import_result result;
		struct stat status;

		write_archive(&f, rows[i].members, ARCHIVE_FILTER_NONE);
		if (unpack(&f, &result) == 0)
			fail_msg("%s: taken", rows[i].name);
		if (file_exists(escaped) || file_exists("/tmp/reprieve-escaped"))
			fail_msg("%s: it got out", rows[i].name);
		assert_int_equal(stat(secret, &status), 0);
		assert_int_equal(status.st_nlink, 1);
	}
	fixture_stop(&f);
}

/* One block of a tar: a header. */
static void add_header(FILE *file, const char *name, char type, size_t size)
{
	char block[512] = "";
	unsigned sum = 0;

	snprintf(block, 100, "%s", name);
	snprintf(block + 100, 8, "%07o", 0644u);
	snprintf(block + 108, 8, "%07o", 0u);
	snprintf(block + 116, 8, "%07o", 0u);
	snprintf(block + 124, 12, "%011zo", size);
	snprintf(block + 136, 12, "%011o", 1700000000u);
	memset(block + 148, ' ', 8);
	block[156] = type;
	memcpy(block + 257, "ustar\00000", 8);
	for (size_t i = 0; i < sizeof(block); i++)
		sum += (uint8_t)block[i];
	snprintf(block + 148, 8, "%06o", sum);
	assert_int_equal(fwrite(block, 1, sizeof(block), file), sizeof(block));
}

static void add_block(FILE *file, const char *text, size_t size)
{
	char block[512] = "";

	memcpy(block, text, size);
	assert_int_equal(fwrite(block, 1, sizeof(block), file), sizeof(block));
}

/* libarchive warns of a name that this locale has no letters for: the file comes in all the same,
 * and so does what lies behind it. */
static void test_a_name_in_other_letters(void **state)
{
	static const char name[] = "16 path=gewicht\xc3\xb6\n";
	struct fixture f;
	struct import_result result;
	auto_free char *path = NULL;
	FILE *file;

	(void)state;
	fixture_start(&f);
	path = text_format("%s/archive", f.root);
	file = fopen(path, "w");
	assert_non_null(file);
	add_header(file, "pax", 'x', strlen(name));
	add_block(file, name, strlen(name));
	add_header(file, "plain", '0', 3);
	add_block(file, "abc", 3);
	add_header(file, "step", '0', 1);
	add_block(file, "7", 1);
	add_block(file, "", 0);
	add_block(file, "", 0);
	assert_int_equal(fclose(file), 0);
	assert_works(unpack(&f, &result));
	assert_int_equal(result.files, 2);
	assert_int_equal(result.bytes, 4);
	assert_holds(&f, "step", "7");
	fixture_stop(&f);
}

static void test_what_has_no_place_is_left_out(void **state)
{
	static const struct member members[] = {
		// clang-format off
		{"fifo", AE_IFIFO, NULL, NULL, 0},
		{"device", AE_IFCHR, NULL, NULL, 0},
		{"w", AE_IFREG, NULL, "x", 0},
		{NULL, 0, NULL, NULL, 0},
		// clang-format on
	};
	struct fixture f;
	struct import_result result;

	(void)state;
	fixture_start(&f);
	write_archive(&f, members, ARCHIVE_FILTER_GZIP);
	assert_works(unpack(&f, &result));
	assert_int_equal(result.left_out, 2);
	assert_int_equal(result.files, 1);
	fixture_stop(&f);
}

/* Cut at every place where it hurts: an error, and never an unnoticed half. */
static void test_torn_archives(void **state)
{
	struct fixture f;
	auto_free char *content = memory_new(300001);
	struct member members[] = {{"w", AE_IFREG, NULL, content, 0}, {NULL, 0, NULL, NULL, 0}};
	auto_free char *path = NULL;
	struct stat status;

	(void)state;
	for (int i = 0; i < 300000; i++)
		content[i] = (char)('a' + (unsigned)i * (unsigned)i / 7 % 26);
	fixture_start(&f);
	path = text_format("%s/archive", f.root);
	for (int cut = 1; cut < 10; cut++) {
		struct import_result result;

		write_archive(&f, members, ARCHIVE_FILTER_GZIP);
		assert_int_equal(stat(path, &status), 0);
		assert_int_equal(truncate(path, status.st_size * cut / 10), 0);
		assert_int_equal(unpack(&f, &result), -1);
		assert_int_equal(err.kind, ERR_CORRUPT);
	}
	assert_int_equal(truncate(path, 0), 0);
	{
		struct import_result result;

		assert_int_equal(unpack(&f, &result), -1);
		assert_int_equal(err.kind, ERR_CORRUPT);
	}
	fixture_stop(&f);
}

/* --- in place of functions of the product and of libc, by the linker's --wrap --- */

static bool lists_directories, interrupts;
static const struct store_ops *real_ops;
static struct store_ops listing_ops;

/* As a console leaves them. */
static int list_directories(struct store *store, const char *prefix, enum store_depth depth,
			    struct store_listing *listing, struct cancel *cancel, struct err *error)
{
	if (real_ops->list(store, prefix, depth, listing, cancel, error) < 0)
		return -1;
	store_listing_add(listing, "a/", 0);
	store_listing_add(listing, "many/", 0);
	store_listing_sort(listing);
	return 0;
}

int __real_store_open(const char *url, bool create, bool read_only, struct store **store,
		      struct cancel *cancel, struct err *error);
int __wrap_store_open(const char *url, bool create, bool read_only, struct store **store,
		      struct cancel *cancel, struct err *error);
int __wrap_store_open(const char *url, bool create, bool read_only, struct store **store,
		      struct cancel *cancel, struct err *error)
{
	if (__real_store_open(url, create, read_only, store, cancel, error) < 0)
		return -1;
	if (lists_directories) {
		real_ops = (*store)->ops;
		listing_ops = *real_ops;
		listing_ops.list = list_directories;
		(*store)->ops = &listing_ops;
	}
	return 0;
}

ssize_t __real_pwrite64(int fd, const void *data, size_t size, off_t offset);
ssize_t __wrap_pwrite64(int fd, const void *data, size_t size, off_t offset);
/* A signal comes before each write, and cuts it short. */
ssize_t __wrap_pwrite64(int fd, const void *data, size_t size, off_t offset)
{
	static _Thread_local bool interrupted;

	interrupted = interrupts && !interrupted;
	if (interrupted) {
		errno = EINTR;
		return -1;
	}
	return __real_pwrite64(fd, data, interrupts && size > 1 ? size / 2 + 1 : size, offset);
}

static void test_plain_objects(void **state)
{
	struct fixture f;
	struct import_result result;
	auto_free char *url = NULL, *empty = NULL;

	(void)state;
	fixture_start(&f);
	url = text_format("file://%s", f.source);
	empty = text_format("file://%s/none", f.source);
	fixture_write(&f, "a/b/weights", 40000000, 3);
	fixture_write(&f, "a/step", 5, 4);
	fixture_write(&f, "zero", 0, 5);
	/* More than are copied at the same time. */
	for (int i = 0; i < 40; i++) {
		auto_free char *name = text_format("many/%d", i);

		fixture_write(&f, name, 100, 6);
	}
	assert_int_equal(mkdir(f.target, 0755), 0);
	assert_works(
		storage_import_objects(url, f.target, UINT64_MAX, NULL, NULL, &result, NULL, &err));
	assert_int_equal(result.files, 43);
	assert_int_equal(result.bytes, 40004005);
	{
		auto_free char *command = text_format("diff -r '%s' '%s'", f.source, f.target);

		assert_int_equal(system(command), 0);
	}
	assert_fails(storage_import_objects(empty, f.target, UINT64_MAX, NULL, NULL, &result, NULL,
					    &err),
		     ERR_NOT_FOUND);
	fixture_stop(&f);
}

/* Objects with the names of directories are left out, and what lies behind them in the list is not;
 * and a write that is cut short goes on. */
static void test_what_is_in_the_way(void **state)
{
	struct fixture f;
	struct import_result result;
	auto_free char *url = NULL, *command = NULL;

	(void)state;
	fixture_start(&f);
	url = text_format("file://%s", f.source);
	command = text_format("diff -r '%s' '%s'", f.source, f.target);
	fixture_write(&f, "a/weights", 100000, 3);
	fixture_write(&f, "many/1", 1000, 4);
	fixture_write(&f, "step", 5, 5);
	assert_int_equal(mkdir(f.target, 0755), 0);
	lists_directories = interrupts = true;
	assert_works(
		storage_import_objects(url, f.target, UINT64_MAX, NULL, NULL, &result, NULL, &err));
	lists_directories = interrupts = false;
	assert_int_equal(result.files, 3);
	assert_int_equal(result.left_out, 2);
	assert_int_equal(system(command), 0);
	fixture_stop(&f);
}

/* What a name takes, whatever lies below it. */
#define NAME_TAKES 4096

/* Each name takes a block, be it a link or a directory, and each file its bytes on top: so much is
 * enough, and a byte less is not. What is left out takes nothing. */
static void test_what_is_allowed(void **state)
{
	static const struct {
		const char *name;
		struct member members[4];
		uint64_t takes;
	} rows[] = {
		// clang-format off
		{"a file", {{"w", AE_IFREG, NULL, "0123456789", 0}}, NAME_TAKES + 10},
		{"two", {{"v", AE_IFREG, NULL, "01234", 0}, {"w", AE_IFREG, NULL, "0123456789", 0}},
			2 * NAME_TAKES + 15},
		{"an empty one", {{"w", AE_IFREG, NULL, NULL, 0}}, NAME_TAKES},
		{"a directory", {{"a/", AE_IFDIR, NULL, NULL, 0755}}, NAME_TAKES},
		{"a file, and a link to it",
			{{"w", AE_IFREG, NULL, "0123456789", 0}, {"l", AE_IFLNK, "w", NULL, 0}},
			2 * NAME_TAKES + 10},
		{"a file with two names",
			{{"w", AE_IFREG, NULL, "0123456789", 0}, {"v", 0, "w", NULL, 0}},
			2 * NAME_TAKES + 10},
		{"a pipe", {{"p", AE_IFIFO, NULL, NULL, 0}, {"w", AE_IFREG, NULL, "0", 0}}, NAME_TAKES + 1},
		// clang-format on
	};
	struct fixture f;

	(void)state;
	fixture_start(&f);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct import_result result;

		write_archive(&f, rows[i].members, ARCHIVE_FILTER_NONE);
		if (unpack_at_most(&f, rows[i].takes, &result) < 0)
			fail_msg("%s: %s", rows[i].name, err.text);
		if (unpack_at_most(&f, rows[i].takes - 1, &result) == 0 || err.kind != ERR_NO_SPACE)
			fail_msg("%s: %s", rows[i].name, err.text);
	}
	fixture_stop(&f);
}

struct told {
	pthread_mutex_t mutex;
	uint64_t most, total;
	bool beyond;
};

static void note_progress(void *arg, uint64_t bytes_done, uint64_t bytes_total)
{
	struct told *told = arg;

	pthread_mutex_lock(&told->mutex);
	if (bytes_done > told->most)
		told->most = bytes_done;
	told->total = bytes_total;
	told->beyond = told->beyond || bytes_done > bytes_total;
	pthread_mutex_unlock(&told->mutex);
}

/* The same of plain objects: nothing is fetched before all of them are allowed for. What is told of
 * the progress ends with all of it. */
static void test_allowed_objects(void **state)
{
	static const size_t sizes[] = {0, 5, 17 << 20};
	uint64_t takes = 0;
	struct told told = {.mutex = PTHREAD_MUTEX_INITIALIZER};
	struct fixture f;
	struct import_result result;
	auto_free char *url = NULL;

	(void)state;
	fixture_start(&f);
	url = text_format("file://%s", f.source);
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		char name[] = {(char)('a' + i), '\0'};

		fixture_write(&f, name, sizes[i], i);
		takes += NAME_TAKES + sizes[i];
	}
	assert_int_equal(mkdir(f.target, 0755), 0);
	assert_fails(storage_import_objects(url, f.target, takes - 1, note_progress, &told, &result,
					    NULL, &err),
		     ERR_NO_SPACE);
	assert_int_equal(told.total, 0);
	assert_works(file_remove_tree(f.target, &err));
	assert_int_equal(mkdir(f.target, 0755), 0);
	assert_works(storage_import_objects(url, f.target, takes, note_progress, &told, &result,
					    NULL, &err));
	assert_int_equal(told.most, result.bytes);
	assert_int_equal(told.total, result.bytes);
	assert_false(told.beyond);
	/* Never onto what is there. */
	assert_fails(storage_import_objects(url, f.target, takes, NULL, NULL, &result, NULL, &err),
		     ERR_EXISTS);
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_filter),
		cmocka_unit_test(test_nothing_leads_out),
		cmocka_unit_test(test_what_has_no_place_is_left_out),
		cmocka_unit_test(test_torn_archives),
		cmocka_unit_test(test_a_name_in_other_letters),
		cmocka_unit_test(test_plain_objects),
		cmocka_unit_test(test_what_is_in_the_way),
		cmocka_unit_test(test_what_is_allowed),
		cmocka_unit_test(test_allowed_objects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
