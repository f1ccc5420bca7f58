/*
 * The supervisor's end of the shim's channel (shim/PROTOCOL.md): creates the channel file and the
 * wake-up socket, and delivers the reports of the job's processes. Everything in the channel is
 * validated before use, because the job can write there. Lives on the loop.
 */
#ifndef SHIM_CHANNEL_H
#define SHIM_CHANNEL_H

#include "base/cleanup.h"
#include "base/err.h"
#include "base/loop.h"
#include "progress_page.h"
#include "shim/shim.h"

#include <stdbool.h>
#include <stdint.h>

/* An event beside enum shim_event: `pid` has called a checkpoint complete (shim/reprieve.h). All
 * its earlier reports have been delivered. */
#define SHIM_CHANNEL_SAVED 100

/*
 * A report of a process. Strings are valid during the call. Paths are relative to the checkpoint
 * directory, normalised, and never outside it; "": no path. HELLO has the executable's path
 * instead, and SAVED_ELSEWHERE an absolute one.
 *
 * `lost`: reports are missing here, because the ring was full, a process died while it reported, or
 * a record was invalid. Nothing else in the message is set, and the directory must be scanned.
 */
struct shim_message {
	bool lost;
	int event; /* enum shim_event, or SHIM_CHANNEL_SAVED */
	/* getpid() in the process: not our number for it if the job made a PID namespace */
	int pid;
	int descriptor; /* -1: none */
	unsigned flags; /* SHIM_FLAG_* */
	uint64_t device, inode;
	int64_t step; /* SHIM_CHANNEL_SAVED: step of the checkpoint; -1: no number */
	const char *path;
	const char *path2;
};

typedef void shim_channel_fn(void *argument, const struct shim_message *message);

struct shim_channel;

/*
 * Creates shim.channel, shim.pipe, report.page and shim.doorbell in `session_directory`, which must
 * exist, belong to us alone and have a short path (a socket's name has at most 107 bytes).
 * `checkpoint_directory` is canonical; `alias` is the same directory as the user wrote it,
 * absolute, or NULL. The channel's blocks are allocated at once, because a write to a page for
 * which a full disk has no block would kill the job (SIGBUS).
 */
int shim_channel_open(struct loop *loop, const char *session_directory,
		      const char *checkpoint_directory, const char *alias,
		      shim_channel_fn *received, void *argument, struct shim_channel **channel,
		      struct err *err);

/* Removes these files. Running processes keep their mapping, which nobody reads any more. */
void shim_channel_close(struct shim_channel *channel);
AUTO_POINTER(struct shim_channel, shim_channel_close);

/* Delivers all published reports. The loop does it at each wake-up and once a second; call it
 * before a decision. */
void shim_channel_poll(struct shim_channel *channel);

/* How many reports were delivered so far: the number of the next one. During the call that delivers
 * one, it counts already. */
uint64_t shim_channel_position(const struct shim_channel *channel);
/* The list of what is under way (workspace_write_under_way()) accounts for all that was delivered;
 * the reports of what is under way begin at `first`. For left_channel.h. */
void shim_channel_note_listed(struct shim_channel *channel, uint64_t first);
/* What its reader would have to know to make use of it: leaves the text beside the channel. */
void shim_channel_leave_known(const struct shim_channel *channel, const char *text);

/* The value of SHIM_ENV_CHANNEL for the job. Borrowed. */
const char *shim_channel_path(const struct shim_channel *channel);

/*
 * The page that jobs poll and report through. It is read whenever the channel is:
 * shim_channel_poll() calls progress_page_scan() and progress_page_deliver_saved(). Borrowed.
 */
struct progress_page *shim_channel_page(const struct shim_channel *channel);

/* Sets what processes with the shim do with a SIGTERM (PROTOCOL.md). OFF until the first call; a
 * process that starts while it is OFF never holds SIGTERM. */
void shim_channel_set_sigterm_hold(struct shim_channel *channel, enum shim_hold state);

/* Has processes that start from now on ignore these signals (bit n - 1: signal n) where they have
 * no handler. None until the first call. */
void shim_channel_set_notice_signals(struct shim_channel *channel, uint32_t signals);

#endif
