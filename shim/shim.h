/*
 * PUBLIC. The wire format between the shim in the training process and the supervisor (PROTOCOL.md
 * says it in words).
 *
 * The supervisor makes one file, the channel, and names it in the job's environment. Every process
 * of the job that loads the shim maps it: a header page, then a ring of records. Producers never
 * block, never lock, never allocate; a full ring drops and counts, and the supervisor then looks at
 * the directory itself. A mapping rather than a socket, because a connected socket in the job would
 * make a later CRIU dump fail, and because closing every descriptor, as subprocess children do,
 * cannot hurt it.
 */
#ifndef SHIM_H
#define SHIM_H

#include <stddef.h>
#include <stdint.h>

// clang-format off
/* Environment of the job. */

/* path of the channel */
#define SHIM_ENV_CHANNEL "REPRIEVE_SHIM_CHANNEL"
/* set to anything but "" and "0": the shim does nothing */
#define SHIM_ENV_DISABLE "REPRIEVE_SHIM_DISABLE"

#define SHIM_MAGIC 0x31565052u /* "RPV1" */
#define SHIM_VERSION 2u        /* both sides must agree; a shim that finds another does nothing */

#define SHIM_PATH_MOST 488u
#define SHIM_RECORDS 2048u /* a power of two */

enum shim_event {
	/* constructor of an image: path = executable. An exec ends what this pid had open */
	SHIM_HELLO = 1,
	/* a regular file below the directory is open for writing: path, descriptor */
	SHIM_OPENED,
	/* the application closed `descriptor` (or its stream): path as it is called now */
	SHIM_CLOSED,
	/* `descriptor` is one more of the file: path */
	SHIM_DUPLICATED,
	/* path = old, path2 = new; one of them may lie outside, then it is empty */
	SHIM_RENAMED,
	/* path2 now names it: link, linkat; `descriptor` where it was linked by that (O_TMPFILE) */
	SHIM_LINKED,
	/* path */
	SHIM_UNLINKED,
	/* the process ends by exit(), return from main or _exit(); FAILED: with a
	 * code that says so */
	SHIM_EXITING,
	/* it got SIGTERM and keeps it for now: descriptor = the sender's pid, 0 where unknown;
	 * device = when it last had one from the supervisor, in ms of CLOCK_MONOTONIC, 0: never */
	SHIM_SIGTERM_HELD,
};

/* shim_header.shield */
enum shim_hold {
	SHIM_HOLD_OFF,      /* SIGTERM is left alone */
	SHIM_HOLD_ACTIVE, /* SIGTERM from outside of the job is kept until the supervisor lets go */
	SHIM_HOLD_RELEASED,   /* what was kept is handed out, and what comes goes through */
};

/* sigval of a SIGTERM by the supervisor that only says: if you keep one, take it now. */
#define SHIM_RELEASE_VALUE 0x52505631

/*
 * A process that has this one caught keeps SIGTERM for the shield, and the application has no
 * handler for it. Its kernel never sends this signal, nobody uses it, and exec takes it back like
 * any handler.
 */
#define SHIM_MARK_SIGNAL 16 /* SIGSTKFLT */

/* `descriptor` of a record from here on: not a descriptor, but a writable shared
 * mapping of the file. */
#define SHIM_MAPPING_FIRST (1 << 20)

/* a path did not fit and is cut off: look at the directory */
#define SHIM_FLAG_TRUNCATED_PATH 1u
/* OPENED: the file had no content, so all that it will have is written now */
#define SHIM_FLAG_EMPTY 2u
/* OPENED, CLOSED: the file has no name any more, or not yet */
#define SHIM_FLAG_DELETED 4u
/* CLOSED: close or the last flush failed, so content is missing; EXITING: with
 * another code than 0 */
#define SHIM_FLAG_FAILED 8u
/* EXITING: by _exit(), so streams that are still open lose what they buffer */
#define SHIM_FLAG_UNFLUSHED 16u
/* RENAMED: both exist and changed places */
#define SHIM_FLAG_EXCHANGED 32u
/* any: `pid` is a number of another PID namespace than the supervisor's */
#define SHIM_FLAG_FOREIGN_PIDNS 64u

// clang-format on

#define SHIM_TEXT_SIZE (2 * SHIM_PATH_MOST)

/*
 * One record. A producer takes sequence s by moving header.head from s to s + 1, unless head - tail
 * says that the ring is full. It fills record s % SHIM_RECORDS and publishes by storing s + 1 into
 * `published` (release). A producer that dies in between leaves a hole; one that was stopped in
 * between may write over a later record, which the checksum shows.
 */
// clang-format off
struct shim_record {
	uint64_t published; /* atomic */
	uint32_t pid;       /* getpid() of the writer: in the job's PID namespace */
	int32_t descriptor; /* -1 where there is none */
	uint16_t event;     /* enum shim_event */
	uint16_t flags;     /* SHIM_FLAG_* */
	uint16_t path_length;
	uint16_t path2_length; /* path2 follows path in `text`; neither is terminated */
	uint32_t checksum;     /* shim_checksum() */
	uint32_t reserved;
	uint64_t device, inode; /* of an opened or closed file; 0 where unknown */
	char text[SHIM_TEXT_SIZE];
};

struct shim_header {
	/* magic is written last by the supervisor: then the rest is valid */
	uint32_t magic, version;
	/* atomic: next sequence to hand out */
	uint64_t head;
	/* atomic: first sequence not yet read by the supervisor */
	uint64_t tail;
	/* atomic: records lost because the ring was full */
	uint64_t dropped;
	/* atomic: 1 while the supervisor waits: then ring the doorbell */
	uint32_t sleeping;
	/* atomic: enum shim_hold */
	uint32_t sigterm_hold;
	/* the checkpoint directory, canonical, no trailing slash */
	uint32_t directory_length;
	/* in its own PID namespace, which is this one by device and inode: */
	uint32_t supervisor_pid;
	uint32_t reserved;
	uint64_t namespace_device, namespace_inode;
	/* its start time, in clock ticks since boot: with the pid it names the process */
	uint64_t supervisor_start;
	char directory[1024];
	/* the same as the user wrote it, absolute; "" if equal */
	char alias[1024];
	/* AF_UNIX datagram socket of the supervisor; one byte wakes it; losing it does no harm */
	char doorbell[108];
};

// clang-format on

#define SHIM_HEADER_SIZE 4096u
#define SHIM_CHANNEL_SIZE (SHIM_HEADER_SIZE + SHIM_RECORDS * sizeof(struct shim_record))

_Static_assert(sizeof(struct shim_record) == 1024,
	       "the wire format has no padding of the compiler's");
_Static_assert(sizeof(struct shim_header) <= SHIM_HEADER_SIZE, "the header is one page");

/* FNV-1a over all that a record says, and its place in the sequence. The lengths
 * must have been checked. */
static inline uint32_t shim_checksum(const struct shim_record *record, uint64_t sequence)
{
	const uint64_t words[] =
		{sequence,      record->pid,         (uint32_t)record->descriptor, record->event,
		 record->flags, record->path_length, record->path2_length,         record->device,
		 record->inode};
	const unsigned char *text = (const unsigned char *)record->text;
	uint32_t sum = 2166136261u;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		sum = (sum ^ (uint32_t)words[i]) * 16777619u;
		sum = (sum ^ (uint32_t)(words[i] >> 32)) * 16777619u;
	}
	for (size_t i = 0; i < (size_t)record->path_length + record->path2_length; i++)
		sum = (sum ^ text[i]) * 16777619u;
	return sum;
}

#endif
