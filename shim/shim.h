/*
 * PUBLIC. The wire format between the shim in the training process and the supervisor. PROTOCOL.md
 * has the rules.
 *
 * The supervisor makes one file, the channel, and names it in the job's environment. Every process
 * of the job that loads the shim maps it: a header page, then a ring of records. Producers never
 * block, lock or allocate. A full ring drops records and counts them, and the supervisor then lists
 * the directory itself. It is a mapping, because a connected socket in the job would make a later
 * CRIU dump fail, and because a process that closes every descriptor, as subprocess children do,
 * cannot damage it.
 *
 * Files of this folder: channel_writer (sends records), hooks*.c (the interposed functions),
 * fd_table and mapping_table (what is open for writing), path_resolve (which files are below the
 * directory), saved_elsewhere (which look like
 * checkpoints and are not), sigterm_handler (holds
 * SIGTERM back), peer (is the supervisor alive?), libc_symbols (libc's own functions). reprieve.h
 * and reprieve.py are for the job's authors; they use another file, the page.
 */
#ifndef SHIM_H
#define SHIM_H

#include <stddef.h>
#include <stdint.h>

// clang-format off
/* The job's environment. */

/* path of the channel file */
#define SHIM_ENV_CHANNEL "REPRIEVE_SHIM_CHANNEL"
/* set to anything but "" and "0": the shim does nothing */
#define SHIM_ENV_DISABLE "REPRIEVE_SHIM_DISABLE"

#define SHIM_MAGIC 0x31565052u /* "RPV1" */
#define SHIM_VERSION 7u        /* a shim that finds another version does nothing */

#define SHIM_PATH_MOST 488u
#define SHIM_RECORDS 2048u /* a power of two */

enum shim_event {
	/* a program image was loaded: path = executable. An exec ends what this pid had open */
	SHIM_HELLO = 1,
	/* a regular file below the directory is open for writing: path, descriptor */
	SHIM_OPENED,
	/* the application closed `descriptor` or its stream: path = its name at that moment */
	SHIM_CLOSED,
	/* `descriptor` is another descriptor of an open file: path */
	SHIM_DUPLICATED,
	/* path = old, path2 = new; the one that is outside the directory, if any, is empty */
	SHIM_RENAMED,
	/* path2 is a new name of path; `descriptor`: the file was linked through it (O_TMPFILE),
	 * else -1 */
	SHIM_LINKED,
	/* the name `path` was removed */
	SHIM_UNLINKED,
	/* the process ends by exit(), return from main or _exit(); FAILED: with another code than
	 * 0 */
	SHIM_EXITING,
	/* a SIGTERM is held back: descriptor = pid of the sender, 0 if unknown; device = when this
	 * process last had one from the supervisor, in ms of CLOCK_MONOTONIC, 0: never */
	SHIM_SIGTERM_HELD,
	/* what looks like a checkpoint is saved outside the directory: path = absolute */
	SHIM_SAVED_ELSEWHERE,
};

/* shim_header.sigterm_hold */
enum shim_hold {
	/* SIGTERM is not touched */
	SHIM_HOLD_OFF,
	/* a SIGTERM from outside the job is held back until the supervisor releases it */
	SHIM_HOLD_ACTIVE,
	/* held signals are delivered, and new ones pass */
	SHIM_HOLD_RELEASED,
};

/* The value of a SIGTERM (sigqueue) by which the supervisor releases a held one; without a held one
 * it is ignored. */
#define SHIM_RELEASE_VALUE 0x52505631

/*
 * A process that catches this signal too has our SIGTERM handler, and the application has none. The
 * kernel never sends this signal, nobody uses it, and exec resets it like any handler.
 */
#define SHIM_MARK_SIGNAL 16 /* SIGSTKFLT */

/* `descriptor` values from here on identify a writable shared mapping of the file, not a
 * descriptor. */
#define SHIM_MAPPING_FIRST (1 << 20)

/* a path did not fit and is cut off: list the directory */
#define SHIM_FLAG_TRUNCATED_PATH 1u
/* OPENED: the file was empty, so everything it will contain is written from now on */
#define SHIM_FLAG_EMPTY 2u
/* OPENED, CLOSED: the file has no name (deleted, or not linked yet) */
#define SHIM_FLAG_DELETED 4u
/* CLOSED: the close, the last flush or a write failed, so content is missing; EXITING: with a code
 * other than 0 */
#define SHIM_FLAG_FAILED 8u
/* EXITING: by _exit(), so open streams lose what they have buffered */
#define SHIM_FLAG_UNFLUSHED 16u
/* RENAMED: both names exist and were exchanged */
#define SHIM_FLAG_EXCHANGED 32u
/* any: `pid` is from a PID namespace other than the supervisor's */
#define SHIM_FLAG_FOREIGN_PIDNS 64u
/* OPENED: every write goes to the end of the file, as it does in a log */
#define SHIM_FLAG_APPENDS 128u

// clang-format on

#define SHIM_TEXT_SIZE (2 * SHIM_PATH_MOST)

/*
 * One record. A producer takes sequence s by moving header.head from s to s + 1, unless head - tail
 * shows that the ring is full. It fills record s % SHIM_RECORDS and publishes it by storing s + 1
 * into `published` (release). A producer that dies in between leaves a hole. One that was stopped
 * in between may overwrite a later record, which the checksum detects.
 */
// clang-format off
struct shim_record {
	uint64_t published; /* atomic */
	uint32_t pid;       /* getpid() of the writer: in the job's PID namespace */
	int32_t descriptor; /* -1: none */
	uint16_t event;     /* enum shim_event */
	uint16_t flags;     /* SHIM_FLAG_* */
	uint16_t path_length;
	uint16_t path2_length; /* path2 follows path in `text`; neither is terminated */
	uint32_t checksum;     /* shim_checksum() */
	uint32_t reserved;
	uint64_t device, inode; /* of an opened or closed file; 0: unknown */
	char text[SHIM_TEXT_SIZE];
};

struct shim_header {
	/* the supervisor writes magic last: once it is there, the rest is valid */
	uint32_t magic, version;
	/* atomic: the next sequence to take */
	uint64_t head;
	/* atomic: the first sequence that the supervisor has not read */
	uint64_t tail;
	/* atomic: records lost because the ring was full */
	uint64_t dropped;
	/* atomic: 1 while the supervisor sleeps and needs the doorbell */
	uint32_t sleeping;
	/* atomic: enum shim_hold */
	uint32_t sigterm_hold;
	/* the checkpoint directory, canonical, no trailing slash */
	uint32_t directory_length;
	/* as numbered in its own PID namespace, which the next members identify */
	uint32_t supervisor_pid;
	/* bit n - 1: by signal n, sent to every process, the end of the job is announced to the
	 * supervisor: who has no handler for it ignores it */
	uint32_t notice_signals;
	uint64_t namespace_device, namespace_inode;
	/* its start time, in clock ticks since boot; with the pid it identifies the process */
	uint64_t supervisor_start;
	char directory[1024];
	/* the same directory as the user wrote it, absolute; "" if equal */
	char alias[1024];
	/* Of the directory, or of the nearest one above it that is there, whose path has so many
	 * bytes; 0: none. Where the job is it may have another path: a bind mount, a container. */
	uint64_t anchor_device, anchor_inode;
	uint64_t anchor_length;
	/* path of a named pipe of the supervisor's: one byte wakes it; a lost byte does no harm */
	char doorbell[108];
	/* For the next start, should this supervisor be killed (supervisor/monitor/left_channel.c).
	 * The supervisor alone uses them. All reports before `listed` are in its list of what is
	 * under way; those from `first` on are of what was, at the earliest. `unheard`: as `dropped`
	 * was then. */
	uint64_t first, listed, unheard;
	/* names the boot of the machine; "": unknown */
	char boot[40];
};

// clang-format on

#define SHIM_HEADER_SIZE 4096u
#define SHIM_CHANNEL_SIZE (SHIM_HEADER_SIZE + SHIM_RECORDS * sizeof(struct shim_record))

_Static_assert(sizeof(struct shim_record) == 1024,
	       "the wire format has no padding of the compiler's");
_Static_assert(sizeof(struct shim_header) <= SHIM_HEADER_SIZE, "the header is one page");

/* FNV-1a over the content of a record and its sequence. The lengths must have been checked
 * before. */
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
