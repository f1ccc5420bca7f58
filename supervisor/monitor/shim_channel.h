/*
 * The supervisor's end of the shim's channel (shim/PROTOCOL.md): makes the channel file and the doorbell, and hands out what the
 * processes of the job report. Nothing that stands in the channel is believed without a check, because the job can write there.
 * One thread: the loop's.
 */
#ifndef SHIM_CHANNEL_H
#define SHIM_CHANNEL_H

#include "base/err.h"
#include "base/loop.h"
#include "progress_page.h"
#include "shim/shim.h"

#include <stdbool.h>
#include <stdint.h>

/* An event of ours: `pid` has called a checkpoint complete (shim/reprieve.h, not the shim). All that it had reported before has been
 * handed in. */
#define SHIM_LINK_SAVED 100

/*
 * What a process reported. Strings are valid during the call; paths are relative to the checkpoint directory, normalised and never
 * above it, "" where there is none. HELLO has the executable's path instead.
 *
 * `lost` means: reports are missing here (the ring was full, a process died while it reported, or the channel holds nonsense).
 * Then nothing else in the message is set, and the directory must be looked at.
 */
struct shim_message {
	bool lost;
	int event; /* enum shim_event, or SHIM_LINK_SAVED */
	int pid;   /* getpid() there: another number than ours where the job made a PID namespace */
	int descriptor; /* -1 where there is none */
	unsigned flags; /* SHIM_FLAG_* */
	uint64_t device, inode;
	int64_t step; /* SHIM_LINK_SAVED: of the checkpoint, -1 where it has no number */
	const char *path;
	const char *path2;
};

typedef void shim_link_fn(void *argument, const struct shim_message *message);

struct shim_link;

/*
 * Makes `session_directory`/shim.channel, report.page and shim.doorbell; the directory must exist, belong to us alone and have a short path
 * (a socket's name has 107 bytes). `checkpoint_directory` is canonical; `alias` is the same as the user wrote it, absolute, or NULL.
 * The channel's blocks are allocated at once: a write to a page that a full disk cannot back would kill the job.
 */
int shim_link_open(struct loop *loop, const char *session_directory,
	const char *checkpoint_directory, const char *alias, shim_link_fn *received, void *argument,
	struct shim_link **link, struct err *err);

/* Removes all three. Processes that still run go on into a mapping that nobody reads. */
void shim_link_close(struct shim_link *link);

/* Hands out all that has been published by now. The loop does it when the doorbell rings and once a second; call it before
 * deciding anything. */
void shim_link_poll(struct shim_link *link);

/* The value of SHIM_ENV_CHANNEL for the job. Borrowed. */
const char *shim_link_channel(const struct shim_link *link);

/* The page that jobs poll and report through: raise the flag there, ask it who polls and how far they are. Looked at whenever the
 * channel is; its report_page_look() and report_page_tell() are called here. Borrowed. */
struct report_page *shim_link_page(const struct shim_link *link);

/* What becomes of SIGTERM in processes that have the shim (PROTOCOL.md). OFF until the first call; a process that starts while it is
 * OFF stays without it. */
void shim_link_shield(struct shim_link *link, enum shim_shield state);

enum shim_link_held {
	SHIM_LINK_HELD,
	SHIM_LINK_RELEASED,
	SHIM_LINK_GONE /* the process */
};

/* Has this process still got a file of the directory open under this number? For what a lost report left in doubt. By /proc, so
 * only where the job shares our PID namespace; HELD where /proc does not say. */
enum shim_link_held shim_link_holds(const struct shim_link *link, int pid, int descriptor);

#endif
