/*
 * The supervisor's end of the shim's channel (shim/PROTOCOL.md): makes the channel file and the
 * doorbell, and hands out what the processes of the job report. Nothing that stands in the channel
 * is believed without a check, because the job can write there. One thread: the loop's.
 */
#ifndef SHIM_CHANNEL_H
#define SHIM_CHANNEL_H

#include "base/err.h"
#include "base/loop.h"
#include "progress_page.h"
#include "shim/shim.h"

#include <stdbool.h>
#include <stdint.h>

/* An event of ours: `pid` has called a checkpoint complete (shim/reprieve.h, not the shim). All
 * that it had reported before has been handed in. */
#define SHIM_CHANNEL_SAVED 100

/*
 * What a process reported. Strings are valid during the call; paths are relative to the checkpoint
 * directory, normalised and never above it, "" where there is none. HELLO has the executable's path
 * instead.
 *
 * `lost` means: reports are missing here (the ring was full, a process died while it reported, or
 * the channel holds nonsense). Then nothing else in the message is set, and the directory must be
 * looked at.
 */
struct shim_message {
	bool lost;
	int event; /* enum shim_event, or SHIM_CHANNEL_SAVED */
	int pid;   /* getpid() there: another number than ours where the job made a PID namespace */
	int descriptor; /* -1 where there is none */
	unsigned flags; /* SHIM_FLAG_* */
	uint64_t device, inode;
	int64_t step; /* SHIM_CHANNEL_SAVED: of the checkpoint, -1 where it has no number */
	const char *path;
	const char *path2;
};

typedef void shim_channel_fn(void *argument, const struct shim_message *message);

struct shim_channel;

/*
 * Makes `session_directory`/shim.channel, report.page and shim.doorbell; the directory must exist,
 * belong to us alone and have a short path (a socket's name has 107 bytes). `checkpoint_directory`
 * is canonical; `alias` is the same as the user wrote it, absolute, or NULL. The channel's blocks
 * are allocated at once: a write to a page that a full disk cannot back would kill the job.
 */
int shim_channel_open(struct loop *loop, const char *session_directory,
		      const char *checkpoint_directory, const char *alias,
		      shim_channel_fn *received, void *argument, struct shim_channel **channel,
		      struct err *err);

/* Removes all three. Processes that still run go on into a mapping that nobody reads. */
void shim_channel_close(struct shim_channel *channel);

/* Hands out all that has been published by now. The loop does it when the doorbell rings and once a
 * second; call it before deciding anything. */
void shim_channel_poll(struct shim_channel *channel);

/* The value of SHIM_ENV_CHANNEL for the job. Borrowed. */
const char *shim_channel_path(const struct shim_channel *channel);

/*
 * The page that jobs poll and report through: raise the flag there, ask it who polls and how far
 * they are. Looked at whenever the channel is; its progress_page_scan() and
 * progress_page_deliver_saved() are called here. Borrowed.
 */
struct progress_page *shim_channel_page(const struct shim_channel *channel);

/* What becomes of SIGTERM in processes that have the shim (PROTOCOL.md). OFF until the first call;
 * a process that starts while it is OFF stays without it. */
void shim_channel_set_sigterm_hold(struct shim_channel *channel, enum shim_hold state);

enum shim_channel_fd {
	SHIM_CHANNEL_FD_OPEN,
	SHIM_CHANNEL_FD_CLOSED,
	SHIM_CHANNEL_FD_GONE /* the process */
};

/*
 * Has this process still got a file of the directory open under this number? For what a lost report
 * left in doubt. By /proc, so only where the job shares our PID namespace; HELD where /proc does
 * not say.
 */
enum shim_channel_fd shim_channel_query_fd(const struct shim_channel *channel, int pid,
					   int descriptor);

#endif
