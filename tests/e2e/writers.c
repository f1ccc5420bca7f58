/*
 * Saves once as programs do that a preloaded library may not see, and dies where it is told to.
 * writers.py has the words.
 *   writers KIND WAYS DIRECTORY NUMBER        KIND: plain, renamed, buffered, raw, uring
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/io_uring.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SIZE 200000
#define LATE_US 1200000

static char data[SIZE + 100];
static const char *ways;
static char final[4096], temporary[4096];

static void at(const char *place)
{
	const char *pause = getenv("WRITERS_PAUSE");
	size_t length = strlen(place);

	if (pause && strcmp(place, "mid") == 0)
		usleep((useconds_t)(atof(pause) * 1e6));
	if (strncmp(ways, place, length) != 0 || ways[length] != ':')
		return;
	if (strcmp(ways + length + 1, "exit") == 0)
		_exit(3);
	if (strcmp(ways + length + 1, "abort") == 0)
		abort();
	if (strcmp(ways + length + 1, "late") == 0)
		usleep(LATE_US);
	kill(getpid(), SIGKILL);
}

static int check(long result)
{
	if (result < 0) {
		perror("writers");
		exit(4);
	}
	return (int)result;
}

static void plain(const char *path)
{
	int file = check(open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644));

	check(write(file, data, SIZE / 2));
	at("mid");
	check(write(file, data + SIZE / 2, SIZE / 2));
	check(close(file));
}

static void renamed(void)
{
	plain(temporary);
	at("rename");
	check(rename(temporary, final));
}

static void buffered(void)
{
	static char buffer[2 * SIZE];
	FILE *stream = fopen(final, "w");

	if (!stream || setvbuf(stream, buffer, _IOFBF, sizeof(buffer)) != 0)
		exit(4);
	fwrite(data, 1, SIZE / 2, stream);
	at("mid");
	fwrite(data + SIZE / 2, 1, SIZE / 2, stream);
	check(fclose(stream));
}

static void raw(void)
{
	int file =
		check(syscall(SYS_openat, AT_FDCWD, temporary, O_WRONLY | O_CREAT | O_TRUNC, 0644));

	check(syscall(SYS_write, file, data, SIZE / 2));
	at("mid");
	check(syscall(SYS_write, file, data + SIZE / 2, SIZE / 2));
	check(syscall(SYS_close, file));
	at("rename");
	check(syscall(SYS_renameat2, AT_FDCWD, temporary, AT_FDCWD, final, 0));
}

/* --- io_uring, by its system calls: one operation at a time --- */

static struct {
	int file;
	char *submissions, *completions;
	struct io_uring_sqe *entries;
	struct io_uring_params params;
} ring;

static void *map(size_t size, off_t offset)
{
	void *made = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring.file, offset);

	check(made == MAP_FAILED ? -1 : 0);
	return made;
}

static void ring_open(void)
{
	ring.file = (int)syscall(SYS_io_uring_setup, 4, &ring.params);
	if (ring.file < 0)
		exit(77);
	ring.submissions = map(ring.params.sq_off.array + ring.params.sq_entries * sizeof(uint32_t),
			       IORING_OFF_SQ_RING);
	ring.completions =
		map(ring.params.cq_off.cqes + ring.params.cq_entries * sizeof(struct io_uring_cqe),
		    IORING_OFF_CQ_RING);
	ring.entries = map(ring.params.sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES);
}

static int ring_do(struct io_uring_sqe entry)
{
	uint32_t *tail = (uint32_t *)(ring.submissions + ring.params.sq_off.tail);
	uint32_t *head = (uint32_t *)(ring.completions + ring.params.cq_off.head);
	uint32_t place = *tail & (ring.params.sq_entries - 1);
	struct io_uring_cqe *done =
		(struct io_uring_cqe *)(ring.completions + ring.params.cq_off.cqes);

	ring.entries[place] = entry;
	((uint32_t *)(ring.submissions + ring.params.sq_off.array))[place] = place;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	check(syscall(SYS_io_uring_enter, ring.file, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0));
	done += *head & (ring.params.cq_entries - 1);
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	return check(done->res);
}

static void uring(void)
{
	int file;

	ring_open();
	file = ring_do((struct io_uring_sqe){
		.opcode = IORING_OP_OPENAT,
		.fd = AT_FDCWD,
		.addr = (uintptr_t)temporary,
		.len = 0644,
		.open_flags = O_WRONLY | O_CREAT | O_TRUNC,
	});
	ring_do((struct io_uring_sqe){
		.opcode = IORING_OP_WRITE,
		.fd = file,
		.addr = (uintptr_t)data,
		.len = SIZE / 2,
	});
	at("mid");
	ring_do((struct io_uring_sqe){
		.opcode = IORING_OP_WRITE,
		.fd = file,
		.addr = (uintptr_t)data + SIZE / 2,
		.off = SIZE / 2,
		.len = SIZE / 2,
	});
	ring_do((struct io_uring_sqe){.opcode = IORING_OP_CLOSE, .fd = file});
	at("rename");
	ring_do((struct io_uring_sqe){
		.opcode = IORING_OP_RENAMEAT,
		.fd = AT_FDCWD,
		.addr = (uintptr_t)temporary,
		.len = (uint32_t)AT_FDCWD,
		.addr2 = (uintptr_t) final,
	});
}

int main(int argc, char **argv)
{
	static const struct rlimit none = {0, 0};
	int used = 0;

	if (argc != 5)
		return 64;
	ways = argv[2];
	setrlimit(RLIMIT_CORE, &none);
	snprintf(final, sizeof(final), "%s/step-%s.bin", argv[3], argv[4]);
	snprintf(temporary, sizeof(temporary), "%s/step-%s.bin.tmp", argv[3], argv[4]);
	while (used < SIZE)
		used += sprintf(data + used, "data of save %s, and nothing of any other\n",
				argv[4]);
	if (strcmp(argv[1], "plain") == 0)
		plain(final);
	else if (strcmp(argv[1], "renamed") == 0)
		renamed();
	else if (strcmp(argv[1], "buffered") == 0)
		buffered();
	else if (strcmp(argv[1], "raw") == 0)
		raw();
	else if (strcmp(argv[1], "uring") == 0)
		uring();
	else
		return 64;
	return 0;
}
