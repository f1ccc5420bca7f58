/* The producer's side of the channel (PROTOCOL.md): maps it, sends records, and reports the start
 * and the end of the process. */
#undef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64

#include "channel_writer.h"

#include "fd_table.h"
#include "mapping_table.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

_Atomic int channel_state = CHANNEL_UNTRIED;

/* Touched only to report, so that a process lives that empties the file by mistake, until the
 * supervisor has mended it. */
static struct shim_header *header;
/* What never changes in it. */
static struct shim_header known;
static struct shim_record *records;
static _Atomic int owner_pid;
/* What channel_pidns() returns; CHANNEL_PIDNS_UNASKED: not asked yet in this process. */
static _Atomic int pidns = CHANNEL_PIDNS_UNASKED;
static atomic_bool said_exiting;
/* A record of this process was about a file: then its end is, too. */
static atomic_bool said_file;
static bool on_exit_gives_code; /* exit() passes its code to us */

/* pthread_atfork() comes from a static part of glibc that needs this symbol. musl has only the
 * former. */
extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *)
	__attribute__((weak));
extern int on_exit(void (*)(int, void *), void *) __attribute__((weak)); /* missing in musl */
extern void *__dso_handle __attribute__((visibility("hidden")));

/* Not libc's getpid(): glibc before 2.25 caches it, and clone() leaves the cache stale. */
static int current_pid(void)
{
	return (int)syscall(SYS_getpid);
}

/* A forked child has its own memory from here on. Its parent reports the descriptors it inherited.
 * In a namespace of its own it sees its parent under another pid, or under none. */
static void after_fork(void)
{
	if (syscall(SYS_getppid) != atomic_load(&owner_pid))
		atomic_store(&pidns, CHANNEL_PIDNS_UNASKED);
	fd_table_clear();
	atomic_store(&said_exiting, false);
	atomic_store(&said_file, false);
	atomic_store(&owner_pid, current_pid());
	mapping_table_clear();
	sigterm_handler_forked();
}

static bool header_is_sound(const struct shim_header *found)
{
	return __atomic_load_n(&found->magic, __ATOMIC_ACQUIRE) == SHIM_MAGIC &&
	       found->version == SHIM_VERSION && found->directory[0] == '/' &&
	       found->directory_length < sizeof(found->directory) &&
	       strnlen(found->directory, sizeof(found->directory)) == found->directory_length &&
	       memchr(found->alias, 0, sizeof(found->alias)) &&
	       memchr(found->doorbell, 0, sizeof(found->doorbell));
}

/* Maps by the system call: mmap() and munmap() are interposed here (hooks_mappings.c) and would
 * take the channel for a mapping of the job. */
static void *map_file(int fd, size_t size)
{
	const off_t start = 0; /* of this width: it is an argument after the "..." */

	return (void *)syscall(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, start);
}

static bool map_channel(const char *path)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0);
	void *memory = MAP_FAILED;

	if (fd < 0)
		return false;
	if (lseek(fd, 0, SEEK_END) == (off_t)SHIM_CHANNEL_SIZE)
		memory = map_file(fd, SHIM_CHANNEL_SIZE);
	syscall(SYS_close, fd);
	if (memory == MAP_FAILED)
		return false;
	if (!header_is_sound(memory)) {
		syscall(SYS_munmap, memory, SHIM_CHANNEL_SIZE);
		return false;
	}
	known = *(const struct shim_header *)memory;
	header = memory;
	records = (struct shim_record *)((char *)memory + SHIM_HEADER_SIZE);
	return true;
}

static bool open_channel(void)
{
	const char *disabled = getenv(SHIM_ENV_DISABLE);
	const char *path = getenv(SHIM_ENV_CHANNEL);

	if (disabled && *disabled && strcmp(disabled, "0") != 0)
		return false;
	if (!path || path[0] != '/' || !map_channel(path))
		return false;
	if (__register_atfork)
		__register_atfork(NULL, NULL, after_fork, &__dso_handle);
	atomic_store(&owner_pid, current_pid());
	return true;
}

bool channel_ready(void)
{
	int state = atomic_load_explicit(&channel_state, memory_order_acquire);
	int saved = errno;

	if (state == CHANNEL_UNTRIED &&
	    atomic_compare_exchange_strong(&channel_state, &state, CHANNEL_STARTING)) {
		state = open_channel() ? CHANNEL_ACTIVE : CHANNEL_OFF;
		atomic_store_explicit(&channel_state, state, memory_order_release);
	}
	errno = saved;
	return state == CHANNEL_ACTIVE && atomic_load(&owner_pid) == current_pid();
}

const struct shim_header *channel_header(void)
{
	return &known;
}

enum shim_hold channel_sigterm_hold(void)
{
	return (enum shim_hold)__atomic_load_n(&header->sigterm_hold, __ATOMIC_ACQUIRE);
}

/* False when the ring is full. `*used`: how many records were in it. */
static bool claim_slot(uint64_t *sequence, uint64_t *used)
{
	uint64_t head = __atomic_load_n(&header->head, __ATOMIC_RELAXED);

	do {
		*used = head - __atomic_load_n(&header->tail, __ATOMIC_ACQUIRE);
		if (*used >= SHIM_RECORDS)
			return false;
	} while (!__atomic_compare_exchange_n(&header->head, &head, head + 1, true,
					      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
	*sequence = head;
	return true;
}

/* By calls that each process makes that writes files: a filter of system calls that lets it do that
 * lets it do this. Open for reading as well, a pipe that nobody reads any more raises no SIGPIPE.
 */
static void wake_supervisor(void)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, known.doorbell,
			      O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW, 0);

	if (fd < 0)
		return;
	syscall(SYS_write, fd, "", 1);
	syscall(SYS_close, fd);
}

/* Finishes the record on the stack before claiming a place in the ring. Only a copy is left between
 * claiming and publishing, so a process is rarely killed in between. */
static void publish_record(struct shim_record *record, bool urgent)
{
	uint64_t sequence, used;
	struct shim_record *target;
	size_t text = (size_t)record->path_length + record->path2_length;

	if (claim_slot(&sequence, &used)) {
		target = &records[sequence % SHIM_RECORDS];
		record->checksum = shim_checksum(record, sequence);
		memcpy(&target->pid, &record->pid,
		       offsetof(struct shim_record, text) - offsetof(struct shim_record, pid) +
			       text);
		__atomic_store_n(&target->published, sequence + 1, __ATOMIC_RELEASE);
	} else {
		__atomic_fetch_add(&header->dropped, 1, __ATOMIC_RELAXED);
	}
	/* Orders publishing before reading `sleeping`: either we see that the supervisor sleeps, or
	 * it sees our record before it sleeps. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if ((urgent || used >= SHIM_RECORDS / 2) &&
	    __atomic_load_n(&header->sleeping, __ATOMIC_RELAXED))
		wake_supervisor();
}

static uint16_t put_path(struct shim_record *record, size_t at,
			 const struct resolved_path *resolved_path)
{
	if (!resolved_path || !resolved_path->inside)
		return 0;
	memcpy(record->text + at, resolved_path->path, resolved_path->length);
	record->flags |= (uint16_t)(resolved_path->flags & SHIM_FLAG_TRUNCATED_PATH);
	return resolved_path->length;
}

enum channel_pidns channel_pidns(void)
{
	int found = atomic_load(&pidns);

	if (found == CHANNEL_PIDNS_UNASKED) {
		found = peer_pidns(&known);
		atomic_store(&pidns, found);
	}
	return (enum channel_pidns)found;
}

/* A process that comes and goes without a file is in no hurry: who has to know of it reads the ring
 * first. */
static bool is_urgent(enum shim_event event)
{
	if (event == SHIM_HELLO)
		return false;
	if (event == SHIM_EXITING)
		return atomic_load(&said_file);
	atomic_store(&said_file, true);
	return true;
}

void channel_send(enum shim_event event, int descriptor, unsigned flags,
		  const struct resolved_path *path, const struct resolved_path *path2)
{
	struct shim_record record;
	int saved = errno;

	memset(&record, 0, offsetof(struct shim_record, text));
	record.pid = (uint32_t)atomic_load(&owner_pid);
	record.descriptor = descriptor;
	record.event = (uint16_t)event;
	if (channel_pidns() == CHANNEL_PIDNS_OTHER)
		flags |= SHIM_FLAG_FOREIGN_PIDNS;
	record.flags = (uint16_t)flags;
	if (path) {
		record.device = path->device;
		record.inode = path->inode;
	}
	record.path_length = put_path(&record, 0, path);
	record.path2_length = put_path(&record, record.path_length, path2);
	publish_record(&record, is_urgent(event));
	errno = saved;
}

void channel_send_opened(int fd, int open_flags, const struct resolved_path *path)
{
	bool appends = (open_flags & O_APPEND) && !(open_flags & O_TRUNC);

	channel_send(SHIM_OPENED, fd, path->flags | (appends ? SHIM_FLAG_APPENDS : 0), path, NULL);
}

void channel_send_exiting(int code, unsigned flags)
{
	if (code & 0xff) /* the part that wait() returns */
		flags |= SHIM_FLAG_FAILED;
	if (channel_ready() && !atomic_exchange(&said_exiting, true))
		channel_send(SHIM_EXITING, -1, flags, NULL, NULL);
}

static void send_hello(void)
{
	struct resolved_path image = {.inside = true};
	ssize_t got =
		syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", image.path, sizeof(image.path));

	image.length = got > 0 ? (uint16_t)got : 0;
	if (image.length == sizeof(image.path))
		image.flags = SHIM_FLAG_TRUNCATED_PATH;
	channel_send(SHIM_HELLO, -1, 0, &image, NULL);
}

/*
 * Reports files that a shell opened as our output ("tool > checkpoints/file"), since we close them.
 * Higher descriptors inherited through exec are more likely leaked than meant, and a daemon that
 * holds one would keep the supervisor waiting forever.
 */
static void adopt_output(void)
{
	for (int fd = 1; fd <= 2; fd++) {
		struct resolved_path resolved_path;
		long flags = syscall(SYS_fcntl, fd, F_GETFL, 0);

		if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY || (flags & O_PATH))
			continue;
		path_resolve_fd(&known, fd, AT_FDCWD, NULL, &resolved_path);
		if (resolved_path.inside && resolved_path.regular && fd_table_add(fd))
			channel_send_opened(fd, (int)flags, &resolved_path);
	}
}

/* Registered first, so it is called last: after the destructors of all libraries, and before the
 * streams are flushed. */
static void on_process_exit(int code, void *argument)
{
	(void)argument;
	if (atomic_load(&channel_state) == CHANNEL_ACTIVE)
		channel_send_exiting(code, 0);
}

static void __attribute__((constructor)) on_load(void)
{
	int saved = errno;

	if (channel_ready()) {
		send_hello();
		sigterm_handler_install();
		adopt_output();
		on_exit_gives_code = on_exit && on_exit(on_process_exit, NULL) == 0;
	}
	errno = saved;
}

static void __attribute__((destructor)) on_unload(void)
{
	if (!on_exit_gives_code && atomic_load(&channel_state) == CHANNEL_ACTIVE)
		channel_send_exiting(0, 0);
}
