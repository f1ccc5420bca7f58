/*
 * For test_shim.py, which compiles it in several ways: shim_actor MODE DIRECTORY does one thing
 * below the directory. Every mode checks that the C library answers as it does without the shim;
 * exit 0 only then.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOTED 77 /* no errno that anything here sets */

static void check_at(int holds, const char *what, int line)
{
	if (holds)
		return;
	fprintf(stderr, "line %d: %s (errno %d)\n", line, what, errno);
	exit(1);
}
#define CHECK(fact) check_at(fact, #fact, __LINE__)

static void streams(void)
{
	FILE *stream = fopen("a", "w");

	CHECK(stream && fputs("1234", stream) >= 0);
	CHECK(freopen("b", "a+", stream) == stream && fputs("12", stream) >= 0);
	CHECK(fclose(stream) == 0);
	stream = fopen("a", "r");
	CHECK(stream && fgetc(stream) == '1' && fclose(stream) == 0);
	stream = fopen("c", "wx");
	CHECK(stream && fclose(stream) == 0);
	CHECK(!fopen("c", "wx") && errno == EEXIST);
	stream = fdopen(open("d", O_WRONLY | O_CREAT, 0600), "w");
	CHECK(stream && fclose(stream) == 0);
	stream = fmemopen(NULL, 10, "w");
	CHECK(stream && fclose(stream) == 0);
}

static void opens(void)
{
	int directory = open(".", O_RDONLY | O_DIRECTORY);
	struct stat status;
	/* so that fortified programs call __open_2 and __openat_2 */
	int volatile flags = O_WRONLY | O_TRUNC;
	int fd;

	umask(0);
	fd = open("a", O_WRONLY | O_CREAT, 0640);
	CHECK(fd >= 0 && fstat(fd, &status) == 0 && (status.st_mode & 0777) == 0640 &&
	      close(fd) == 0);
	fd = openat(directory, "b", O_RDWR | O_CREAT, 0604);
	CHECK(fd >= 0 && fstat(fd, &status) == 0 && (status.st_mode & 0777) == 0604 &&
	      close(fd) == 0);
	fd = creat("c", 0600);
	CHECK(fd >= 0 && close(fd) == 0);
	fd = open("a", flags);
	CHECK(fd >= 0 && close(fd) == 0);
	fd = openat(directory, "b", flags);
	CHECK(fd >= 0 && close(fd) == 0);
	CHECK(open("none", O_WRONLY) == -1 && errno == ENOENT);
	CHECK(close(-1) == -1 && errno == EBADF);
	CHECK(close(directory) == 0);
}

/* Calls that succeed leave errno alone, with reports and without. */
static void errors(void)
{
	FILE *stream;
	int fd;

	errno = NOTED;
	CHECK((fd = open("a", O_WRONLY | O_CREAT, 0600)) >= 0 && errno == NOTED);
	CHECK(dup2(fd, 50) == 50 && errno == NOTED);
	CHECK(close(50) == 0 && close(fd) == 0 && errno == NOTED);
	CHECK(rename("a", "b") == 0 && errno == NOTED);
	CHECK(link("b", "c") == 0 && unlink("c") == 0 && errno == NOTED);
	CHECK((fd = open("/dev/null", O_WRONLY)) >= 0 && close(fd) == 0 && errno == NOTED);
	CHECK((stream = fmemopen(NULL, 10, "w")) != NULL);
	errno = NOTED;
	CHECK(fclose(stream) == 0 && errno == NOTED);
}

static void *write_files(void *argument)
{
	for (int i = 0; i < 200; i++) {
		char name[40];
		int fd;

		snprintf(name, sizeof(name), "t%d.%d", *(int *)argument, i);
		fd = open(name, O_WRONLY | O_CREAT, 0600);
		CHECK(fd >= 0 && write(fd, "x", 1) == 1 && close(fd) == 0);
	}
	return NULL;
}

/* Forks while threads open and close. The children inherit what is open at that instant, and close
 * it: not theirs to report. */
static void forks_in_threads(void)
{
	pthread_t threads[4];
	int numbers[4];

	for (int i = 0; i < 4; i++) {
		numbers[i] = i;
		CHECK(pthread_create(&threads[i], NULL, write_files, &numbers[i]) == 0);
	}
	for (int i = 0; i < 100; i++) {
		int status;
		pid_t child = fork();

		if (child == 0) {
			for (int fd = 3; fd < 20; fd++)
				close(fd);
			_exit(0);
		}
		CHECK(waitpid(child, &status, 0) == child && status == 0);
	}
	for (int i = 0; i < 4; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
}

/* A child of vfork() runs in our memory: what it does to its descriptors must not
 * be taken for ours. */
static void vforks(void)
{
	int fd = open("held", O_WRONLY | O_CREAT, 0600);

	for (int i = 0; i < 50; i++) {
		int status;
		pid_t child = vfork();

		if (child == 0) {
			close(fd);
			syscall(SYS_close_range, 3, ~0u, 0);
			close_range(3, ~0u, 0);
			dup2(1, fd);
			_exit(0);
		}
		CHECK(waitpid(child, &status, 0) == child && status == 0);
	}
	CHECK(write(fd, "x", 1) == 1 && close(fd) == 0);
}

static void many(void)
{
	for (int i = 0; i < 100000; i++) {
		int fd = open("/dev/null", i % 2 ? O_RDONLY : O_WRONLY);

		CHECK(fd >= 0 && close(fd) == 0);
	}
	for (int i = 0; i < 20000; i++) {
		char name[20];
		int fd;

		snprintf(name, sizeof(name), "f%d", i % 10);
		fd = open(name, O_WRONLY | O_CREAT, 0600);
		CHECK(fd >= 0 && close(fd) == 0);
	}
}

static void million(void)
{
	for (int i = 0; i < 1000000; i++) {
		int fd = open("/dev/null", i % 2 ? O_RDONLY : O_WRONLY);

		CHECK(fd >= 0 && close(fd) == 0);
	}
	CHECK(close(creat("a", 0600)) == 0);
}

static char *map_file(int fd, size_t length)
{
	char *memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	CHECK(memory != MAP_FAILED);
	return memory;
}

/* Stores through a mapping outlive the descriptor. */
static void mappings(void)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), length = 4 * page;
	int fd = open("a", O_RDWR | O_CREAT, 0600);
	char *memory, *other, *moved;

	CHECK(fd >= 0 && ftruncate(fd, (off_t)(2 * length)) == 0);
	/* None of these can write to the file. */
	CHECK(munmap(mmap(NULL, length, PROT_READ, MAP_SHARED, fd, 0), length) == 0);
	CHECK(munmap(mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0), length) == 0);
	errno = NOTED;
	memory = map_file(fd, length);
	CHECK(errno == NOTED && close(fd) == 0);
	memory[length - 1] = 1;
	/* In three parts, from within; what takes the hole meanwhile is another mapping. */
	CHECK(munmap(memory + page, page) == 0);
	other = mmap(memory + page, page, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	CHECK(other == memory + page && munmap(other, page) == 0);
	CHECK(munmap(memory, page) == 0 && munmap(memory + 2 * page, 2 * page) == 0);
	CHECK(munmap(memory, 0) < 0 && errno == EINVAL);
	/* Moved, and then overlaid. */
	fd = open("b", O_RDWR | O_CREAT, 0600);
	CHECK(fd >= 0 && ftruncate(fd, (off_t)(2 * length)) == 0);
	memory = map_file(fd, length);
	CHECK(close(fd) == 0);
	moved = mremap(memory, length, 2 * length, MREMAP_MAYMOVE);
	CHECK(moved != MAP_FAILED);
	moved[2 * length - 1] = 1;
	CHECK(mmap(moved, 2 * length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
	      moved);
	/* Until the end of the process. */
	fd = open("c", O_RDWR | O_CREAT, 0600);
	CHECK(fd >= 0 && ftruncate(fd, (off_t)length) == 0);
	memory = map_file(fd, length);
	CHECK(close(fd) == 0);
}

/* mremap() of nothing makes a second mapping of the same pages; the first one stays. */
static void mapped_twice(void)
{
	size_t length = (size_t)sysconf(_SC_PAGESIZE);
	int fd = open("a", O_RDWR | O_CREAT, 0600);
	char *first, *second;

	CHECK(fd >= 0 && ftruncate(fd, (off_t)length) == 0);
	first = map_file(fd, length);
	CHECK(close(fd) == 0);
	second = mremap(first, 0, length, MREMAP_MAYMOVE);
	CHECK(second != MAP_FAILED && second != first);
	CHECK(munmap(second, length) == 0);
	CHECK(close(creat("b", 0600)) == 0);
	CHECK(munmap(first, length) == 0);
	CHECK(close(creat("c", 0600)) == 0);
}

/* What the kernel kept of the shim in this process's own memory. */
static void memory(void)
{
	FILE *maps = fopen("/proc/self/smaps", "r");
	char line[600];
	long total = 0, kilobytes;
	int ours = 0;

	CHECK(close(creat("a", 0600)) == 0);
	while (fgets(line, sizeof(line), maps)) {
		/* "start-end ..." begins a mapping; the shim's zeroed data follows
		 * its file without a name. */
		if (strchr(line, '-') && strchr(line, '-') < strchr(line, ' '))
			ours = strstr(line, "libreprieve-shim") ||
			       (ours && !strchr(line, '/') && !strchr(line, '['));
		else if (ours && sscanf(line, "Private_Dirty: %ld", &kilobytes) == 1)
			total += kilobytes;
	}
	fclose(maps);
	printf("%ld\n", total);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*act)(void);
	} modes[] = {{"streams", streams},
		     {"opens", opens},
		     {"errors", errors},
		     {"forks", forks_in_threads},
		     {"vforks", vforks},
		     {"many", many},
		     {"million", million},
		     {"mappings", mappings},
		     {"mapped twice", mapped_twice},
		     {"memory", memory}};

	CHECK(argc == 3 && chdir(argv[2]) == 0);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(argv[1], modes[i].name) == 0) {
			modes[i].act();
			return 0;
		}
	}
	return 64;
}
