/*
 * A channel as the supervisor makes it, in a directory of its own, for a test program that is at
 * once a process of the job (the shim is compiled into it) and the reader of what it reports.
 */
#ifndef OWN_CHANNEL_H
#define OWN_CHANNEL_H

#include "shim/channel_writer.h"

#include "base/file.h"
#include "process_start.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

static char place[] = "/tmp/reprieve-test.XXXXXX";
static char channel_name[64], doorbell[64], directory[64];
static struct shim_header *header;
static struct shim_record *records;
static int rung; /* the doorbell's other end */

static int own_channel_make(void **state)
{
	int fd;

	(void)state;
	assert_non_null(mkdtemp(place));
	snprintf(channel_name, sizeof(channel_name), "%s/channel", place);
	snprintf(doorbell, sizeof(doorbell), "%s/doorbell", place);
	snprintf(directory, sizeof(directory), "%s/checkpoints", place);
	assert_int_equal(mkdir(directory, 0700), 0);
	assert_int_equal(mkfifo(doorbell, 0600), 0);
	rung = open(doorbell, O_RDONLY | O_NONBLOCK);
	fd = open(channel_name, O_CREAT | O_RDWR, 0600);
	assert_true(rung >= 0 && fd >= 0);
	assert_int_equal(ftruncate(fd, SHIM_CHANNEL_SIZE), 0);
	header = mmap(NULL, SHIM_CHANNEL_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(header != MAP_FAILED);
	records = (struct shim_record *)((char *)header + SHIM_HEADER_SIZE);
	return close(fd);
}

static int own_channel_remove(void **state)
{
	(void)state;
	return file_remove_tree(place, NULL);
}

/* As the supervisor makes it. */
static void fill_header(void)
{
	struct stat namespace;

	assert_int_equal(stat("/proc/self/ns/pid", &namespace), 0);
	memset(header, 0, SHIM_HEADER_SIZE);
	*header = (struct shim_header){
		.magic = SHIM_MAGIC,
		.version = SHIM_VERSION,
		.directory_length = (uint32_t)strlen(directory),
		.supervisor_pid = (uint32_t)getpid(),
		.supervisor_start = start_of(getpid()),
		.namespace_device = namespace.st_dev,
		.namespace_inode = namespace.st_ino,
	};
	snprintf(header->directory, sizeof(header->directory), "%s", directory);
	snprintf(header->doorbell, sizeof(header->doorbell), "%s", doorbell);
}

/* Whether a process takes part that finds the channel under this name. To find out is no business
 * of the job's, whose errno stays as it is. */
static bool join(const char *name)
{
	bool ready;

	assert_int_equal(name ? setenv(SHIM_ENV_CHANNEL, name, 1) : unsetenv(SHIM_ENV_CHANNEL), 0);
	atomic_store(&channel_state, CHANNEL_UNTRIED);
	errno = EDOM;
	ready = channel_ready();
	assert_int_equal(errno, EDOM);
	return ready;
}

/* The record with this number, which must be whole. */
static const struct shim_record *published(uint64_t sequence)
{
	const struct shim_record *record = &records[sequence % SHIM_RECORDS];

	assert_true(sequence < header->head);
	assert_int_equal(record->published, sequence + 1);
	assert_int_equal(record->checksum, shim_checksum(record, sequence));
	return record;
}

/* The exit code of a child that ends by itself. */
static int code_of(pid_t child)
{
	int status;

	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

#endif
