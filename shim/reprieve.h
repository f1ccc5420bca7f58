/*
 * Reprieve for a training job in C or C++: copy this one file. There is nothing to link and nothing
 * to start. Without Reprieve every function does nothing and returns 0.
 *
 *	for (step = ...; step < last; step++) {
 *		train(step);
 *		reprieve_progress(step);
 *		if (step % 1000 == 0 || reprieve_requested()) {
 *			save(step);               // written, closed, renamed into its place
 *			reprieve_saved(step);
 *		}
 *	}
 *
 * reprieve_requested() costs a few nanoseconds: call it in every step. It stays true until this
 * process calls reprieve_saved() or the request is withdrawn. Processes that save together must
 * agree on the step: let one of them call it and tell the others.
 *
 * C99 and C++, gcc and clang, Linux. Call the functions from any thread, but not in signal
 * handlers. After fork() the child counts as a process of its own.
 */
#ifndef REPRIEVE_H
#define REPRIEVE_H

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/un.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 1 when a checkpoint is wanted as soon as possible. */
static inline int reprieve_requested(void);

/*
 * Reports that a checkpoint of `step` (-1: no number) is complete: all its files are closed and
 * have their final names. Call it in every process that wrote a part. It answers the request that
 * reprieve_requested() returned last.
 */
static inline void reprieve_saved(int64_t step);

/* Reports that `step` is done, for `reprieve status`, which shows the step and its duration. Costs
 * two stores to memory. */
static inline void reprieve_progress(int64_t step);

/* 1 when this run continues from a checkpoint of an earlier one. */
static inline int reprieve_resuming(void);

/*
 * --- the implementation. The job and the supervisor share the file that REPRIEVE_PAGE names: a
 * page that all read, and one slot of 64 bytes for each process that reports. The layout of a
 * version never changes, because this file is compiled into programs. ---
 */

#define REPRIEVE__MAGIC 0x47505652u /* "RVPG" */
#define REPRIEVE__VERSION 1u
#define REPRIEVE__SLOTS_MOST 65536u

// clang-format off
struct reprieve__page {
	uint32_t magic;       /* the supervisor writes it last */
	uint32_t version;
	uint32_t requested;   /* number of the current request; 0: none */
	uint32_t ended;       /* requests up to this number have ended */
	uint32_t slot_offset; /* of the first slot, in bytes from here */
	uint32_t slot_size;
	uint32_t slot_count;
	uint32_t reserved[9];
	/* path of a datagram socket: one byte sent there makes the supervisor read the slots */
	char doorbell[128];
};

struct reprieve__slot {
	/* owner; 0: free. Claimed under a lock on the file, freed by the supervisor */
	uint32_t pid;
	uint32_t polls;       /* 1: the process has called reprieve_requested() */
	uint32_t seen;        /* the newest request that the process has seen */
	uint32_t answered;    /* the newest request that it has answered */
	/* checkpoints that it reported as complete; written after saved_step */
	uint32_t saved_count;
	uint32_t step_count;  /* steps that it reported; written after step */
	int64_t saved_step;
	int64_t step;
	uint32_t reserved[6];
};

/* The state of this process, in memory that the kernel clears in a forked child, so that the child
 * starts without a slot. */
struct reprieve__state {
	const uint32_t *requested; /* set once the process has polled */
	struct reprieve__slot *slot;
};
// clang-format on

static struct reprieve__state *reprieve__current;
static struct reprieve__page *reprieve__mapped; /* remains mapped after fork() */
/* pid of the process that is in reprieve__begin() */
static int reprieve__busy;
static int reprieve__off;

/* What strict C99 hides, and headers older than Linux 4.14 do not have. */
#ifdef MAP_ANONYMOUS
#define REPRIEVE__ANONYMOUS MAP_ANONYMOUS
#else
#define REPRIEVE__ANONYMOUS 0x20
#endif
#ifndef MADV_NORMAL
int madvise(void *start, size_t length, int advice);
#endif
#define REPRIEVE__WIPEONFORK 18

static inline int reprieve__open(void)
{
	const char *path = getenv("REPRIEVE_PAGE");
	int flags = O_RDWR;

#ifdef O_CLOEXEC
	flags |= O_CLOEXEC;
#endif
	return path && path[0] == '/' ? open(path, flags) : -1;
}

static inline int reprieve__map(int fd)
{
	off_t size = lseek(fd, 0, SEEK_END);
	struct reprieve__page *page;
	void *memory;

	if (reprieve__mapped)
		return 1;
	if (size < (off_t)sizeof(*page) || size > (off_t)(1 << 24))
		return 0;
	memory = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return 0;
	page = (struct reprieve__page *)memory;
	if (__atomic_load_n(&page->magic, __ATOMIC_ACQUIRE) != REPRIEVE__MAGIC ||
	    page->version != REPRIEVE__VERSION || page->slot_size < sizeof(struct reprieve__slot) ||
	    page->slot_size % 8 || page->slot_offset % 64 ||
	    page->slot_count > REPRIEVE__SLOTS_MOST ||
	    page->slot_offset + (uint64_t)page->slot_count * page->slot_size > (uint64_t)size) {
		munmap(memory, (size_t)size);
		return 0;
	}
	reprieve__mapped = page;
	return 1;
}

/* Locks the file; the kernel drops the lock when the file is closed. A holder needs microseconds,
 * so one that was stopped meanwhile is not waited for. */
static inline int reprieve__lock(int fd)
{
	struct flock lock;
	int tries;

	memset(&lock, 0, sizeof(lock));
	lock.l_type = F_WRLCK;
	lock.l_whence = SEEK_SET;
	lock.l_len = 1;
	for (tries = 0; tries < 100; tries++) {
		struct timeval moment = {0, 1000};

		if (fcntl(fd, F_SETLK, &lock) == 0)
			return 1;
		select(0, NULL, NULL, NULL, &moment);
	}
	return 0;
}

static inline struct reprieve__slot *reprieve__claim(int fd)
{
	struct reprieve__page *page = reprieve__mapped;
	struct reprieve__slot *found = NULL;
	uint32_t mine = (uint32_t)getpid(), i;

	if (!reprieve__lock(fd))
		return NULL;
	for (i = 0; i < page->slot_count; i++) {
		struct reprieve__slot *slot =
			(struct reprieve__slot *)(void *)((char *)page + page->slot_offset +
							  (size_t)i * page->slot_size);
		uint32_t pid = __atomic_load_n(&slot->pid, __ATOMIC_ACQUIRE);

		if (pid == mine) /* claimed by another copy of this header, or before an exec */
			return slot;
		if (pid == 0 && !found)
			found = slot;
	}
	if (!found)
		return NULL;
	__atomic_store_n(&found->polls, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&found->seen, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&found->answered, __atomic_load_n(&page->ended, __ATOMIC_RELAXED),
			 __ATOMIC_RELAXED);
	__atomic_store_n(&found->saved_count, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&found->step_count, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&found->pid, mine, __ATOMIC_RELEASE);
	return found;
}

static inline struct reprieve__state *reprieve__memory(void)
{
	struct reprieve__state *state = __atomic_load_n(&reprieve__current, __ATOMIC_ACQUIRE);
	void *memory;

	if (state)
		return state;
	memory = mmap(NULL, sizeof(*state), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | REPRIEVE__ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return NULL;
	/* Since Linux 4.14. Before, a forked child reports under its parent's slot. */
	(void)madvise(memory, sizeof(*state), REPRIEVE__WIPEONFORK);
	state = (struct reprieve__state *)memory;
	__atomic_store_n(&reprieve__current, state, __ATOMIC_RELEASE);
	return state;
}

/* Claims a slot. NULL: there is none, or another thread is claiming it. */
static inline struct reprieve__state *reprieve__begin(void)
{
	struct reprieve__state *state = NULL;
	int mine = (int)getpid(), busy = __atomic_load_n(&reprieve__busy, __ATOMIC_RELAXED), fd;

	/* The pid tells whether the thread that set it exists here: it may be a thread of our
	 * parent. */
	if (busy == mine || !__atomic_compare_exchange_n(&reprieve__busy, &busy, mine, 0,
							 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return NULL;
	fd = reprieve__open();
	if (fd >= 0 && reprieve__map(fd))
		state = reprieve__memory();
	if (state && !__atomic_load_n(&state->slot, __ATOMIC_RELAXED))
		__atomic_store_n(&state->slot, reprieve__claim(fd), __ATOMIC_RELEASE);
	if (fd >= 0)
		close(fd);
	if (!state || !__atomic_load_n(&state->slot, __ATOMIC_RELAXED)) {
		__atomic_store_n(&reprieve__off, 1, __ATOMIC_RELAXED);
		state = NULL;
	}
	__atomic_store_n(&reprieve__busy, 0, __ATOMIC_RELEASE);
	return state;
}

/* The slot, claimed if need be; may cost system calls. */
static inline struct reprieve__slot *reprieve__own(void)
{
	struct reprieve__state *state = __atomic_load_n(&reprieve__current, __ATOMIC_ACQUIRE);
	struct reprieve__slot *slot =
		state ? __atomic_load_n(&state->slot, __ATOMIC_ACQUIRE) : NULL;

	if (slot)
		return slot;
	if (__atomic_load_n(&reprieve__off, __ATOMIC_RELAXED))
		return NULL;
	state = reprieve__begin();
	return state ? __atomic_load_n(&state->slot, __ATOMIC_ACQUIRE) : NULL;
}

static inline int reprieve__poll_first(void)
{
	struct reprieve__slot *slot = reprieve__own();
	struct reprieve__state *state = __atomic_load_n(&reprieve__current, __ATOMIC_ACQUIRE);

	if (!slot || !state)
		return 0;
	__atomic_store_n(&slot->polls, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&state->requested, &reprieve__mapped->requested, __ATOMIC_RELEASE);
	return 1;
}

static inline int reprieve_requested(void)
{
	struct reprieve__state *state;
	const uint32_t *word = NULL;
	uint32_t number;

	if (__builtin_expect(__atomic_load_n(&reprieve__off, __ATOMIC_RELAXED), 0))
		return 0;
	state = __atomic_load_n(&reprieve__current, __ATOMIC_ACQUIRE);
	if (__builtin_expect(state != NULL, 1))
		word = __atomic_load_n(&state->requested, __ATOMIC_ACQUIRE);
	if (__builtin_expect(word == NULL, 0)) {
		if (!reprieve__poll_first())
			return 0;
		state = __atomic_load_n(&reprieve__current, __ATOMIC_ACQUIRE);
		word = __atomic_load_n(&state->requested, __ATOMIC_ACQUIRE);
	}
	number = __atomic_load_n(word, __ATOMIC_RELAXED);
	if (__builtin_expect(number == 0, 1) ||
	    number == __atomic_load_n(&state->slot->answered, __ATOMIC_RELAXED))
		return 0;
	__atomic_store_n(&state->slot->seen, number, __ATOMIC_RELAXED);
	return 1;
}

static inline void reprieve__ring(void)
{
	struct sockaddr_un address;
	int fd;

	memset(&address, 0, sizeof(address));
	address.sun_family = AF_UNIX;
	memcpy(address.sun_path, reprieve__mapped->doorbell, sizeof(address.sun_path) - 1);
	fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	if (fd < 0)
		return;
	(void)sendto(fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL,
		     (const struct sockaddr *)(const void *)&address, sizeof(address));
	close(fd);
}

static inline void reprieve_saved(int64_t step)
{
	struct reprieve__slot *slot = reprieve__own();

	if (!slot)
		return;
	__atomic_store_n(&slot->saved_step, step, __ATOMIC_RELAXED);
	/* A request that came while the process was saving is another one: this checkpoint is too
	 * old for it. */
	__atomic_store_n(&slot->answered, __atomic_load_n(&slot->seen, __ATOMIC_RELAXED),
			 __ATOMIC_RELAXED);
	__atomic_add_fetch(&slot->saved_count, 1, __ATOMIC_RELEASE);
	reprieve__ring();
}

static inline void reprieve_progress(int64_t step)
{
	struct reprieve__slot *slot = reprieve__own();

	if (!slot)
		return;
	__atomic_store_n(&slot->step, step, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->step_count,
			 __atomic_load_n(&slot->step_count, __ATOMIC_RELAXED) + 1,
			 __ATOMIC_RELEASE);
}

static inline int reprieve_resuming(void)
{
	const char *value = getenv("REPRIEVE_RESUMING");

	return value && strcmp(value, "1") == 0;
}

#ifdef __cplusplus
}
#endif

#endif
