/* What each interposed function reports, and that it does what libc's does. The shim is compiled
 * into this program, which is thereby a process of the job. */
#include "shim/hooks.h"

#include "base/text.h"
#include "own_channel.h"

#include "shim/fd_table.h"
#include "shim/libc_symbols.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/* From then on this process gets that error from that system call. */
static int forbid_call(long number, unsigned error)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = sizeof(rules) / sizeof(rules[0]), .filter = rules};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0
		       ? -1
		       : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int directory_fd, const char *path, int flags);
int __openat64_2(int directory_fd, const char *path, int flags);
int close_range(unsigned first, unsigned last, int flags);
void closefrom(int first);

/* Descriptors from here on are the tests' own, and begin with the letter "a". */
#define FIRST_FD 100

static uint64_t read_until;

/* --- what is told --- */

static const char *const event_names[] = {
	[SHIM_OPENED] = "opened",     [SHIM_CLOSED] = "closed",
	[SHIM_DUPLICATED] = "copied", [SHIM_RENAMED] = "renamed",
	[SHIM_LINKED] = "linked",     [SHIM_UNLINKED] = "unlinked",
	[SHIM_EXITING] = "exiting",   [SHIM_SAVED_ELSEWHERE] = "elsewhere",
};

static const char *const flag_names[] = {"cut",       "empty",     "nameless", "failed",
					 "unflushed", "exchanged", "foreign",  "appends"};

static size_t put_record(char *text, size_t size, const struct shim_record *record)
{
	int fd = record->descriptor;
	size_t length = (size_t)snprintf(text, size, "%s", event_names[record->event]);

	if (fd >= SHIM_MAPPING_FIRST)
		length += (size_t)snprintf(text + length, size - length, " m%d",
					   fd - SHIM_MAPPING_FIRST);
	else if (fd >= FIRST_FD)
		length +=
			(size_t)snprintf(text + length, size - length, " %c", 'a' + fd - FIRST_FD);
	length += (size_t)snprintf(text + length, size - length, " %.*s", record->path_length,
				   record->text);
	if (record->path2_length || record->event == SHIM_RENAMED)
		length +=
			(size_t)snprintf(text + length, size - length, ">%.*s",
					 record->path2_length, record->text + record->path_length);
	for (size_t bit = 0; bit < sizeof(flag_names) / sizeof(flag_names[0]); bit++)
		if (record->flags & 1u << bit)
			length += (size_t)snprintf(text + length, size - length, " %s",
						   flag_names[bit]);
	return length + (size_t)snprintf(text + length, size - length, "; ");
}

/* Everything that was reported since the last call. */
static const char *told(void)
{
	static char text[8192];
	size_t length = 0;

	text[0] = '\0';
	for (; read_until < header->head; read_until++)
		length += put_record(text + length, sizeof(text) - length, published(read_until));
	assert_int_equal(header->dropped, 0);
	header->tail = read_until;
	return text;
}

#define assert_told(text) assert_string_equal(told(), text)

/* --- a checkpoint directory, and a file beside it --- */

static int begin(void **state)
{
	(void)state;
	fill_header();
	assert_true(join(channel_name));
	read_until = 0;
	return chdir(directory);
}

static void end_files(void)
{
	closefrom(FIRST_FD);
	assert_int_equal(system("rm -rf ./* ../beside*"), 0);
	told();
}

static int end(void **state)
{
	(void)state;
	end_files();
	return 0;
}

static void make(const char *name, const char *content)
{
	FILE *file = fopen(name, "w");

	assert_non_null(file);
	assert_true(fputs(content, file) >= 0);
	assert_int_equal(fclose(file), 0);
	told();
}

/* Moves it to the numbers of the tests, past all hooks. */
static int moved(int fd, int number)
{
	assert_true(fd >= 0);
	assert_int_equal(dup2(fd, FIRST_FD + number), FIRST_FD + number);
	assert_int_equal(close(fd), 0);
	return FIRST_FD + number;
}

/* Opened for writing as number `number`; what was told of it is forgotten. */
static int opened(const char *name, int number)
{
	int fd = moved(open(name, O_CREAT | O_RDWR, 0600), number);

	told();
	return fd;
}

/* --- opening and closing --- */

static FILE *reopened(const char *path, const char *mode, bool wide)
{
	FILE *file = fopen("/dev/null", "r");

	return (wide ? freopen64 : freopen)(path, mode, file);
}

#define OPENER(name, type, call)             \
	static type by_##name(const char *a) \
	{                                    \
		return call;                 \
	}
OPENER(open, int, open(a, O_CREAT | O_WRONLY, 0640))
OPENER(open64, int, open64(a, O_CREAT | O_WRONLY, 0640))
OPENER(openat, int, openat(AT_FDCWD, a, O_CREAT | O_WRONLY, 0640))
OPENER(openat64, int, openat64(AT_FDCWD, a, O_CREAT | O_WRONLY, 0640))
OPENER(creat, int, creat(a, 0640))
OPENER(creat64, int, creat64(a, 0640))
OPENER(open_2, int, (make(a, ""), __open_2(a, O_WRONLY)))
OPENER(open64_2, int, (make(a, ""), __open64_2(a, O_RDWR)))
OPENER(openat_2, int, (make(a, ""), __openat_2(AT_FDCWD, a, O_WRONLY)))
OPENER(openat64_2, int, (make(a, ""), __openat64_2(AT_FDCWD, a, O_RDWR)))
OPENER(fopen, FILE *, fopen(a, "w"))
OPENER(fopen64, FILE *, fopen64(a, "wx"))
OPENER(fopen_update, FILE *, (make(a, ""), fopen(a, "r+")))
OPENER(freopen, FILE *, reopened(a, "w", false))
OPENER(freopen64, FILE *, reopened(a, "w+", true))

/* Each of them must say the same. */
static void test_every_way_to_open(void **state)
{
	static const struct {
		int (*open)(const char *);
		FILE *(*open_stream)(const char *);
		mode_t mode;
	} rows[] = {
		{by_open, NULL, 0640},         {by_open64, NULL, 0640},
		{by_openat, NULL, 0640},       {by_openat64, NULL, 0640},
		{by_creat, NULL, 0640},        {by_creat64, NULL, 0640},
		{by_open_2, NULL, 0666},       {by_open64_2, NULL, 0666},
		{by_openat_2, NULL, 0666},     {by_openat64_2, NULL, 0666},
		{NULL, by_fopen, 0666},        {NULL, by_fopen64, 0666},
		{NULL, by_fopen_update, 0666}, {NULL, by_freopen, 0666},
		{NULL, by_freopen64, 0666},
	};

	(void)state;
	umask(0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		FILE *stream = rows[i].open ? NULL : rows[i].open_stream("file");
		int fd = stream ? fileno(stream) : rows[i].open("file");
		struct stat status;

		assert_true(fd >= 0);
		if (strcmp(told(), "opened file empty; ") != 0)
			fail_msg("row %zu", i);
		assert_int_equal(fstat(fd, &status), 0);
		assert_int_equal(status.st_mode & 07777, rows[i].mode);
		assert_int_equal(published(read_until - 1)->descriptor, fd);
		assert_int_equal(published(read_until - 1)->inode, status.st_ino);
		assert_int_equal(published(read_until - 1)->device, status.st_dev);
		assert_int_equal(stream ? fclose(stream) : close(fd), 0);
		assert_told("closed file; ");
		assert_int_equal(unlink("file"), 0);
		assert_told("unlinked file; ");
	}
}

#define PATTERN(name, call)                 \
	static int by_##name(char *pattern) \
	{                                   \
		return call;                \
	}
PATTERN(mkstemp, mkstemp(pattern))
PATTERN(mkstemp64, mkstemp64(pattern))
PATTERN(mkostemp, mkostemp(pattern, O_CLOEXEC))
PATTERN(mkostemp64, mkostemp64(pattern, O_CLOEXEC))
PATTERN(mkstemps, mkstemps(pattern, 0))
PATTERN(mkstemps64, mkstemps64(pattern, 0))
PATTERN(mkostemps, mkostemps(pattern, 0, O_CLOEXEC))
PATTERN(mkostemps64, mkostemps64(pattern, 0, O_CLOEXEC))

static void test_every_way_to_make_a_temporary_file(void **state)
{
	static int (*const rows[])(
		char *) = {by_mkstemp,  by_mkstemp64,  by_mkostemp,  by_mkostemp64,
			   by_mkstemps, by_mkstemps64, by_mkostemps, by_mkostemps64};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char name[] = "f.XXXXXX", expected[64];
		int fd = rows[i](name);

		assert_true(fd >= 0);
		snprintf(expected, sizeof(expected), "opened %s empty; ", name);
		assert_told(expected);
		assert_int_equal(close(fd), 0);
		snprintf(expected, sizeof(expected), "closed %s; ", name);
		assert_told(expected);
	}
}

static void test_which_openings_are_told(void **state)
{
	static const struct {
		const char *name;
		int flags;
		const char *told;
	} rows[] = {
		{"full", O_RDONLY, ""},
		{"full", O_RDONLY | O_TRUNC, ""},
		{"full", O_WRONLY, "opened full; closed full; "},
		{"full", O_WRONLY | O_APPEND, "opened full appends; closed full; "},
		{"full", O_RDWR | O_PATH, ""},
		{"full", O_RDWR | O_CREAT | O_EXCL, ""}, /* fails */
		{"full", O_RDWR | O_TRUNC, "opened full empty; closed full; "},
		{"pipe", O_RDWR, ""},
		{"../beside", O_RDWR | O_CREAT, ""},
		{"/dev/null", O_RDWR, ""},
		{"leads-in", O_RDWR, "opened full; closed full; "},
		{"leads-out", O_RDWR | O_CREAT, ""},
	};

	(void)state;
	assert_int_equal(mkfifo("pipe", 0600), 0);
	assert_int_equal(symlink("full", "leads-in"), 0);
	assert_int_equal(symlink("../beside2", "leads-out"), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int fd;

		make("full", "content");
		errno = EDOM;
		fd = open(rows[i].name, rows[i].flags, 0600);
		/* What we do besides leaves no trace. */
		assert_int_equal(errno, fd < 0 ? EEXIST : EDOM);
		if (fd >= 0)
			assert_int_equal(close(fd), 0);
		assert_int_equal(errno, fd < 0 ? EEXIST : EDOM);
		if (strcmp(told(), rows[i].told) != 0)
			fail_msg("row %zu", i);
	}
}

/* Asked for by name, it has none; by the descriptor it is given one. */
static void test_a_nameless_file(void **state)
{
	char self[64];
	int fd = open(directory, O_TMPFILE | O_RDWR, 0640), copy;
	struct stat status;

	(void)state;
	if (fd < 0)
		skip(); /* not on this file system */
	assert_non_null(strstr(told(), " empty nameless; "));
	assert_int_equal(fstat(fd, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0640);
	copy = moved(fd, 0);
	assert_non_null(strstr(told(), "nameless; closed #"));
	snprintf(self, sizeof(self), "/proc/self/fd/%d", copy);
	assert_int_equal(linkat(AT_FDCWD, self, AT_FDCWD, "named", AT_SYMLINK_FOLLOW), 0);
	assert_told("linked a >named; ");
	assert_int_equal(close(copy), 0);
	/* The kernel goes on to call it as before. */
	assert_null(strstr(told(), "nameless"));
}

/* In its own directory, once; but not the job's programs. */
static void test_what_is_saved_beside_the_directory(void **state)
{
	(void)state;
	assert_int_equal(mkdir("../beside.d", 0700), 0);
	assert_int_equal(close(open("../beside.d/train.py", O_CREAT | O_WRONLY, 0600)), 0);
	assert_told("");
	assert_int_equal(close(open("../beside.d/model.pt", O_CREAT | O_WRONLY, 0600)), 0);
	assert_non_null(strstr(told(), "/beside.d/model.pt; "));
	assert_int_equal(rename("../beside.d/train.py", "../beside.d/optimizer.pt"), 0);
	assert_told("");
	assert_int_equal(mkdir("../beside.e", 0700), 0);
	assert_int_equal(rename("../beside.d/optimizer.pt", "../beside.e/optimizer.pt"), 0);
	assert_non_null(strstr(told(), "/beside.e/optimizer.pt; "));
}

static void test_how_descriptors_multiply_and_end(void **state)
{
	int file, other;

	(void)state;
	file = opened("file", 0);
	other = opened("other", 1);
	assert_int_equal(dup2(file, file), file);
	assert_int_equal(dup2(file, FIRST_FD + 2), FIRST_FD + 2);
	assert_told("copied c file; ");
	assert_int_equal(dup3(file, FIRST_FD + 3, O_CLOEXEC), FIRST_FD + 3);
	assert_true(fcntl(FIRST_FD + 3, F_GETFD) & FD_CLOEXEC);
	assert_told("copied d file; ");
	assert_int_equal(fcntl(file, F_DUPFD, FIRST_FD), FIRST_FD + 4);
	assert_told("copied e file; ");
	assert_int_equal(fcntl64(file, F_DUPFD_CLOEXEC, FIRST_FD), FIRST_FD + 5);
	assert_told("copied f file; ");
	/* Over another one, which is closed. */
	assert_int_equal(dup2(other, FIRST_FD + 2), FIRST_FD + 2);
	assert_told("closed c file; copied c other; ");
	/* Nothing is closed by what fails, and what follows is told. */
	assert_int_equal(dup2(FIRST_FD + 50, FIRST_FD + 2), -1);
	assert_int_equal(dup3(other, other, 0), -1);
	assert_int_equal(dup3(FIRST_FD + 50, FIRST_FD + 2, 0), -1);
	assert_told("");
	/* Not those that are open at another place, or only marked. */
	assert_int_equal(close_range(FIRST_FD + 3, FIRST_FD + 4, 4), 0);
	assert_int_equal(close_range(FIRST_FD + 4, FIRST_FD + 3, 0), -1);
	assert_told("");
	assert_int_equal(close_range(FIRST_FD + 3, FIRST_FD + 4, 0), 0);
	assert_told("closed d file; closed e file; ");
	assert_int_equal(close(FIRST_FD + 2), 0);
	assert_told("closed c other; ");
	assert_int_equal(close(FIRST_FD + 2), -1);
	assert_told("");
	closefrom(FIRST_FD + 1);
	assert_told("closed b other; closed f file; ");
	assert_int_equal(unlink("file"), 0);
	assert_int_equal(close(file), 0);
	assert_told("unlinked file; closed a file nameless; ");
}

/* Linux before 5.9: one after the other. */
static void test_where_the_kernel_closes_no_range(void **state)
{
	int kept = opened("file", 0), closed = opened("other", 3);
	pid_t child = fork();

	(void)state;
	if (child == 0) {
		const struct rlimit few = {256, 256};

		if (setrlimit(RLIMIT_NOFILE, &few) < 0 || forbid_call(SYS_close_range, ENOSYS) < 0)
			perror("seccomp");
		closefrom(FIRST_FD + 1);
		_exit(fcntl(kept, F_GETFD) >= 0 && fcntl(closed, F_GETFD) < 0 ? 0 : 1);
	}
	assert_int_equal(code_of(child), 0);
}

/* A system call of the job's has closed it. */
static void test_a_descriptor_that_went_unseen(void **state)
{
	int file = opened("file", 0);

	(void)state;
	syscall(SYS_close, file);
	assert_int_equal(close(file), -1);
	assert_int_equal(errno, EBADF);
	assert_told("closed a ; ");
}

/* --- names --- */

static void test_what_becomes_of_names(void **state)
{
	static const struct {
		const char *call, *old, *new, *told;
	} rows[] = {
		{"rename", "a", "b", "renamed a>b; "},
		{"rename", "a", "none/b", ""},
		{"rename", "a", "../beside", "renamed a>; "},
		{"rename", "../beside", "b", "renamed >b; "},
		{"rename", "../beside", "../beside2", ""},
		{"renameat", "a", "b", "renamed a>b; "},
		{"renameat2", "a", "b", "renamed a>b; "},
		{"exchange", "a", "../beside", "renamed a> exchanged; "},
		{"link", "a", "b", "linked a>b; "},
		{"link", "a", "a", ""},
		{"linkat", "../beside", "b", "linked >b; "},
		{"unlink", "a", NULL, "unlinked a; "},
		{"unlink", "none", NULL, ""},
		{"unlink", "../beside", NULL, ""},
		{"unlinkat", "./a", NULL, "unlinked a; "},
		{"unlinkat", "none", NULL, ""},
		{"rmdir", "d", NULL, "unlinked d; "},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *call = rows[i].call, *old = rows[i].old, *new = rows[i].new;
		int result = -1;

		make("a", "");
		make("../beside", "");
		assert_int_equal(mkdir("d", 0700), 0);
		if (strcmp(call, "rename") == 0)
			result = rename(old, new);
		else if (strcmp(call, "renameat") == 0)
			result = renameat(AT_FDCWD, old, AT_FDCWD, new);
		else if (strcmp(call, "renameat2") == 0)
			result = renameat2(AT_FDCWD, old, AT_FDCWD, new, 0);
		else if (strcmp(call, "exchange") == 0)
			result = renameat2(AT_FDCWD, old, AT_FDCWD, new, RENAME_EXCHANGE);
		else if (strcmp(call, "link") == 0)
			result = link(old, new);
		else if (strcmp(call, "linkat") == 0)
			result = linkat(AT_FDCWD, old, AT_FDCWD, new, 0);
		else if (strcmp(call, "unlink") == 0)
			result = unlink(old);
		else if (strcmp(call, "unlinkat") == 0)
			result = unlinkat(AT_FDCWD, old, 0);
		else if (strcmp(call, "rmdir") == 0)
			result = unlinkat(AT_FDCWD, old, AT_REMOVEDIR);
		if (strcmp(told(), rows[i].told) != 0)
			fail_msg("row %zu", i);
		if (*rows[i].told)
			assert_int_equal(result, 0);
		end_files();
	}
}

/* By which descriptor a file without a name is given one. */
static void test_what_names_a_descriptor(void **state)
{
	static const struct {
		const char *old;
		int flags;
		const char *told;
		int descriptor;
	} rows[] = {
		{"", AT_EMPTY_PATH, "linked a >new; ", FIRST_FD},
		{"/proc/self/fd/100", AT_SYMLINK_FOLLOW, "linked a >new; ", FIRST_FD},
		/* A name below a directory that is open. */
		{"/proc/self/fd/101/file", AT_SYMLINK_FOLLOW, "linked >new; ", -1},
		{"file", AT_SYMLINK_FOLLOW, "linked file>new; ", -1},
		{"file", 0, "linked file>new; ", -1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int fd = opened("file", 0);

		moved(open(".", O_RDONLY | O_DIRECTORY), 1);
		if (linkat(*rows[i].old ? AT_FDCWD : fd, rows[i].old, AT_FDCWD, "new",
			   rows[i].flags) < 0 &&
		    errno == ENOENT)
			continue; /* it takes a privilege */
		if (strcmp(told(), rows[i].told) != 0)
			fail_msg("row %zu", i);
		assert_int_equal(published(read_until - 1)->descriptor, rows[i].descriptor);
		end_files();
	}
}

/* --- mappings --- */

#define PAGE ((size_t)sysconf(_SC_PAGESIZE))

/* --- the end --- */

/* --- without libc --- */

static uintptr_t found[LIBC_SYMBOL_COUNT];

/* As if it had none of these functions, or were just being asked for them. */
static int begin_without_libc(void **state)
{
	int result = begin(state);

	for (int i = 0; i < LIBC_SYMBOL_COUNT; i++)
		found[i] = atomic_exchange(&libc_symbol_table[i], LIBC_SYMBOL_MISSING);
	return result;
}

static int end_without_libc(void **state)
{
	for (int i = 0; i < LIBC_SYMBOL_COUNT; i++)
		atomic_store(&libc_symbol_table[i], found[i]);
	return end(state);
}

/* What is no system call cannot be done without it, and says so. */
static void test_what_only_libc_can_do(void **state)
{
	(void)state;
	errno = 0;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
	assert_int_equal(siginterrupt(SIGUSR2, 1), -1);
	assert_int_equal(errno, ENOSYS);
	errno = 0;
	assert_int_equal(sigignore(SIGUSR2), -1);
#pragma GCC diagnostic pop
	assert_int_equal(errno, ENOSYS);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)
#define TEST_ALONE(test)                                                                \
	{                                                                               \
		"without_libc_" #test, test, begin_without_libc, end_without_libc, NULL \
	}
	const struct CMUnitTest tests[] = {
		TEST(test_every_way_to_open),
		TEST(test_every_way_to_make_a_temporary_file),
		TEST(test_which_openings_are_told),
		TEST(test_a_nameless_file),
		TEST(test_what_is_saved_beside_the_directory),
		TEST(test_how_descriptors_multiply_and_end),
		TEST(test_where_the_kernel_closes_no_range),
		TEST(test_a_descriptor_that_went_unseen),
		TEST(test_what_becomes_of_names),
		TEST(test_what_names_a_descriptor),
		/* The hook makes the call itself, and tells the same; not where there is none, as
		 * for streams, temporary files and writes with an offset. */
		TEST_ALONE(test_which_openings_are_told),
		TEST_ALONE(test_a_nameless_file),
		TEST_ALONE(test_what_is_saved_beside_the_directory),
		TEST_ALONE(test_how_descriptors_multiply_and_end),
		TEST_ALONE(test_where_the_kernel_closes_no_range),
		TEST_ALONE(test_a_descriptor_that_went_unseen),
		TEST_ALONE(test_what_becomes_of_names),
		TEST_ALONE(test_what_names_a_descriptor),
		TEST_ALONE(test_what_only_libc_can_do),
	};

	return cmocka_run_group_tests(tests, own_channel_make, own_channel_remove);
}
