/*
 * supervisor/monitor/: the evidence of what the job does: events of the checkpoint directory, the
 * shim's reports, open files, and the job's own reports. completion/ judges it.
 *
 * Read first: directory_monitor.c and shim_channel.c, the two sources of events.
 *
 * For other folders:
 *
 *	directory_monitor.c	changes below the checkpoint directory, by events or by scans
 *	inotify_watch.c		the kernel's events; has struct dir_event
 *	shim_channel.c		the supervisor's end of the shim's channel (shim/PROTOCOL.md)
 *	left_channel.c		what a killed supervisor has not read of it; PURE: one record of it
 *	progress_page.c		the page through which jobs poll for requests and report steps
 *	open_files.c		who has files open for writing, by /proc and leases; who wrote last
 *	stall_clock.c		how long this process was stalled, which is not quiet time
 *
 * Of this folder only:
 *
 *	shared_file.h		a file that the job maps too, and may truncate
 *	inotify_table.h		watch descriptors and their paths; the only user of libinotifytools
 */
#ifndef MONITOR_H
#define MONITOR_H

#include "base/cleanup.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/text.h"
#include "shim/shim.h"
#include "storage/storage.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* --- inotify_watch.c --- */

/*
 * Reports the kernel's events (inotify) below the checkpoint directory, in new subdirectories too.
 * One watch at a time in a process. Lives on the loop.
 */

enum dir_change {
	/* a file, link or the like was created, or found in a directory that has just appeared */
	DIR_CREATED,
	/* written or truncated; writes through mmap cause no event */
	DIR_MODIFIED,
	/* a descriptor open for writing was closed, by the process or by its death */
	DIR_CLOSED_WRITE,
	/* a file or directory was renamed to this path */
	DIR_MOVED_TO,
	/* a file or directory was deleted, or has left the directory by a rename */
	DIR_DELETED,
	/* a directory was created, or found in a directory that has just appeared */
	DIR_DIRECTORY_CREATED,
	/* only from a scan: the file is new or differs from the scan before */
	DIR_CHANGED,
	/* events were lost, or the directory itself was replaced: anything may have changed */
	DIR_RESCAN,
};

struct dir_event {
	enum dir_change change;
	bool directory; /* the path is a directory */
	bool symlink;   /* the path is a symbolic link: it has no content that could be torn */
	/* MOVED_TO: its path before; NULL: it came from outside, or that is not known */
	const char *from;
	const char *path; /* relative to the directory, valid during the call; "" for RESCAN */
	/* CHANGED: when the scan before began, in ms of CLOCK_MONOTONIC: it has seen the file
	 * otherwise, or not at all; 0: there was none */
	int64_t since_ms;
};

typedef void dir_event_fn(void *argument, const struct dir_event *event);

struct inotify_watch;

/* `directory` is canonical. Files that exist already cause no events. If it does not exist, it is
 * looked for ten times a second, and all that is found in it then is told; so too when it was
 * removed. ERR_NO_SPACE and ERR_FAILED name the kernel limit that was hit. */
int inotify_watch_open(struct loop *loop, const char *directory, dir_event_fn *changed,
		       void *argument, struct inotify_watch **watch, struct err *err);
void inotify_watch_close(struct inotify_watch *watch);
AUTO_POINTER(struct inotify_watch, inotify_watch_close);

/* Reports all queued events. The loop does it within 20 ms; call it before a decision. */
void inotify_watch_drain(struct inotify_watch *watch);

/* False: a subdirectory could not be watched (max_user_watches). RESCAN was reported then. */
bool inotify_watch_is_complete(const struct inotify_watch *watch);

/* --- directory_monitor.c --- */

/*
 * Reports what changes below the checkpoint directory. It uses the kernel's events
 * (inotify_watch.c), and adds repeated scans if the events do not cover everything: on network
 * file systems, and for directories that cannot be watched. A thread reads names, sizes, times and
 * inode numbers, past the caches of NFS and FUSE. A server that hangs blocks only that thread.
 * Lives on the loop.
 */

struct directory_monitor;

struct directory_monitor_options {
	struct loop *loop;
	const char *directory; /* canonical; borrowed; need not exist yet */
	int64_t quiet_ms;
	bool polls; /* scan even if the kernel reports all changes */
	/* DIR_CHANGED comes from a scan, all other events from the kernel */
	dir_event_fn *said;
	/* all changes that a scan has found were reported */
	void (*on_scanned)(void *arg);
	void *arg;
};

struct directory_monitor *directory_monitor_new(const struct directory_monitor_options *options);
void directory_monitor_free(struct directory_monitor *monitor);

/* Begins to watch, be it for the directory to be made. Call it again until
 * directory_monitor_is_open(): then the directory is there, scans have begun if they are needed,
 * and why they are has been said. `job_runs`: the job may have written the files that a first scan
 * finds, so report them as changed. */
void directory_monitor_open(struct directory_monitor *monitor, bool job_runs);
/* False: the directory does not exist yet. */
bool directory_monitor_is_open(const struct directory_monitor *monitor);

/* Reports the events that the kernel has queued. */
void directory_monitor_drain(struct directory_monitor *monitor);
/* Call it after DIR_RESCAN and the rest of its batch: reports every file as changed, and begins to
 * scan repeatedly if the kernel cannot watch all subdirectories. */
void directory_monitor_rescan(struct directory_monitor *monitor);

/* True: no scans are needed, or a scan that began at `since_ms` (CLOCK_MONOTONIC) or later has been
 * reported. */
bool directory_monitor_is_current(struct directory_monitor *monitor, int64_t since_ms);
/* Scans if scans are needed, and reports before it returns. Blocks. */
void directory_monitor_scan_now(struct directory_monitor *monitor);

/* PURE. Calls `changed` for each file that is new, or has another size, time or inode number than
 * in the scan before; both are sorted. Files that are gone are not reported. */
void directory_scan_compare(const struct snapshot_files *before, const struct snapshot_files *now,
			    void (*changed)(void *arg, const char *path), void *arg);

/* PURE. Time between two scans if a scan takes `took_ms`: half of the quiet time, so that a verdict
 * has a recent scan, but long enough that at most a twentieth of the time is spent scanning. */
int64_t directory_scan_interval_ms(int64_t quiet_ms, int64_t took_ms);

/* --- progress_page.c --- */

/*
 * The shared-memory page through which a job polls for requests and reports steps and checkpoints
 * (shim/reprieve.h, reprieve.py). It works without the shim. Each process that uses it has a slot.
 * The job can write to the page, so that no value in it is used as a size or an index. One thread.
 */

struct progress_page;

/* `pid` has called the checkpoint of `step` (-1: no number) complete. */
typedef void progress_page_saved_fn(void *argument, pid_t pid, int64_t step);

/* Creates the file (mode 0600, blocks allocated). `doorbell`: path of the socket to which clients
 * send a byte after a report. */
int progress_page_open(const char *path, const char *doorbell, struct progress_page **page,
		       struct err *err);
/* Removes the file. Running clients keep their mapping, which nobody reads any more. */
void progress_page_close(struct progress_page *page);
AUTO_POINTER(struct progress_page, progress_page_close);

/* The value of REPRIEVE_PAGE. Borrowed. */
const char *progress_page_path(const struct progress_page *page);

/* Raises the flag: a new checkpoint request. */
void progress_page_request(struct progress_page *page);
/* Ends the request; processes that begin to poll later are not asked. `answered`: the flag stays up
 * until all polling processes have answered, for a minute at most. Otherwise it is lowered at
 * once. */
void progress_page_end_request(struct progress_page *page, bool answered, int64_t now_ms);

/*
 * Reads all slots, frees those of dead processes, and lowers a flag that is no longer needed.
 *
 * Reading and delivering are two calls, because a process closes its files before it reports
 * "saved": hand in the shim's and the kernel's events of those files between the two calls.
 */
void progress_page_scan(struct progress_page *page, int64_t now_ms);
/* Calls `saved` for each report that progress_page_scan() found. During a request it waits until
 * every polling process has answered, and then reports all together. */
void progress_page_deliver_saved(struct progress_page *page, progress_page_saved_fn *saved,
				 void *argument);

/* Number of polling processes; number of those that have not answered the current request. */
size_t progress_page_count_polling(const struct progress_page *page);
size_t progress_page_count_unanswered(const struct progress_page *page);

/* Progress of all processes that report steps. */
struct training_progress {
	int64_t step;    /* lowest of the newest step numbers */
	uint64_t steps;  /* most steps that one process has reported */
	int64_t step_ms; /* time of the last report, CLOCK_MONOTONIC, within a second */
	double mean_ms;  /* recent duration of a step, of the slowest process; 0: unknown */
};
/* As of the last scan. False: no process reports steps. */
bool progress_page_read_progress(const struct progress_page *page,
				 struct training_progress *progress);
/* The newest step that was reported, of the process that is furthest behind; also after all
 * processes have ended. -1: none was. */
int64_t progress_page_last_step(struct progress_page *page);

/* --- shim_channel.c --- */

/*
 * The supervisor's end of the shim's channel (shim/PROTOCOL.md): creates the channel file and the
 * wake-up socket, and delivers the reports of the job's processes. Everything in the channel is
 * validated before use, because the job can write there. Lives on the loop.
 */

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
 * the reports of what is under way begin at `first`. For left_channel.c. */
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

/* --- left_channel.c: one record --- */

/* PURE. One record of the channel (shim/PROTOCOL.md) as a message. The job could have written
 * anything there: what is not sound is no message. */

/* The strings of a message. */
struct shim_record_paths {
	char path[SHIM_PATH_MOST + 1], path2[SHIM_PATH_MOST + 1];
};

/* `record` is a copy that nobody else writes to, with the number `sequence`. The message borrows
 * `paths`. False: it is no record of the library's. */
bool shim_record_read(const struct shim_record *record, uint64_t sequence,
		      struct shim_record_paths *paths, struct shim_message *message);

/* --- left_channel.c: what was left unread --- */

/*
 * What a supervisor that was killed has not read in the shim's channel: the file outlives both it
 * and the job. Validated like a living one, since the job could write there. Blocks.
 */

/* In the session directory. */
#define LEFT_CHANNEL_KNOWN "shim.known"

struct left_report {
	struct shim_message message;
	struct shim_record_paths paths; /* which the message borrows */
};

struct left_channel {
	char *directory; /* canonical */
	int supervisor;  /* its pid, as it saw it */
	/* In their order, from those on that begin what was under way when it wrote its list, as
	 * far as the ring still has them. What cannot be read is left out. */
	struct left_report *reports;
	size_t count;
	/* so many of them the list accounts for */
	size_t listed;
	/* shim_channel_leave_known() */
	struct bytes known;
};

/* From the session directory of a dead supervisor. ERR_NOT_FOUND: it has left nothing that can be
 * of use: it is of an earlier boot of the machine, or reports were lost since, or nothing says what
 * was known. ERR_CORRUPT: no channel of this version. There is nothing to release then. */
int left_channel_read(const char *session_directory, struct left_channel *left, struct err *err);
void left_channel_release(struct left_channel *left);
AUTO(struct left_channel, left_channel_release);

/* --- open_files.c: who wrote last --- */

/* The processes that wrote checkpoints last, as the shim reports them. */

#define RECENT_WRITERS 256

struct recent_writer {
	/* of its first and its last report about a checkpoint file, CLOCK_MONOTONIC */
	int64_t first_ms, ms;
	pid_t pid;
};

struct recent_writers {
	struct recent_writer items[RECENT_WRITERS];
	size_t count;
};

/* True: the process is new here. If the table is full, the oldest entry is replaced. */
bool recent_writers_note(struct recent_writers *writers, pid_t pid, int64_t now_ms);
bool recent_writers_has(const struct recent_writers *writers, pid_t pid);
void recent_writers_forget(struct recent_writers *writers, pid_t pid);
/* Removes one process that is gone or a zombie, and returns its PID; 0: there is none. Our own
 * children are left to the code that reaps them. Reads /proc. */
pid_t recent_writers_take_gone(struct recent_writers *writers);

/* --- open_files.c: who has files open --- */

/*
 * Finds the processes that have files of a directory open for writing, or mapped writable, in
 * /proc: for processes without the shim. Also asks the kernel whether anybody has a file open for
 * writing.
 */

/* `path`: such a file, or the directory where one is mapped. Borrowed. */
typedef void open_files_fn(void *arg, pid_t pid, const char *path);

/*
 * Calls `found` once for each of our descendants that has a file of `directory` (canonical) open
 * for writing. Misses processes whose /proc cannot be read, and those that reach the directory by
 * another path (a container's bind mount). Takes some 20 us for each process.
 */
void open_files_find_holders(const char *directory, open_files_fn *found, void *arg);

/* Does `pid` exist, and has it not begun to exit? Then it closed its files itself. */
bool open_files_is_running(pid_t pid);
/* Does this process have a file of `directory` open for writing? */
bool open_files_is_holder(const char *directory, pid_t pid);

enum open_files_descriptor {
	OPEN_FILES_DESCRIPTOR_OPEN,
	OPEN_FILES_DESCRIPTOR_CLOSED,
	OPEN_FILES_DESCRIPTOR_GONE /* the process has ended, or has begun to */
};
/*
 * Does the process still have a file of the directory (canonical, without a slash at its end) open
 * under this number? For use after lost reports. Reads /proc, so the process must share our PID
 * namespace; OPEN if /proc gives no answer.
 */
enum open_files_descriptor open_files_query_descriptor(const char *directory, pid_t pid,
						       int descriptor);

enum open_files_state {
	OPEN_FILES_NONE,
	OPEN_FILES_OPEN,
	OPEN_FILES_UNKNOWN, /* another user's file, or a file system that does not say: NFS, FUSE */
};
/*
 * Does any process on this machine, in whatever container, have the file open for writing or mapped
 * writable? Does not block; a process that opens the file meanwhile is delayed by some
 * microseconds. NONE also for a file that is gone and for what is no regular file.
 */
enum open_files_state open_files_query_file(const char *path);

/* --- stall_clock.c --- */

/*
 * Measures how long this process was stalled: by a paused machine, a disk that hangs, or a SIGSTOP.
 * The kernel's clocks run on meanwhile, but nothing was observed, so that time must not count as
 * quiet time.
 */

struct stall_clock {
	struct loop *loop;
	struct timer timer;
	int64_t slice_ms;   /* longest pause between two samples that is not a stall */
	int64_t seen_ms;    /* time of the last sample; CLOCK_NEVER: disabled */
	int64_t stalled_ms; /* stalled since the last read */
};

/* `whole_ms`: the duration to be measured against. The error is at most a quarter of it, or 60
 * ms. */
void stall_clock_init(struct stall_clock *stall_clock, struct loop *loop, int64_t whole_ms);
void stall_clock_release(struct stall_clock *stall_clock);

/* Begins or ends the measuring. While it runs, the loop wakes up some thirty times a second. */
void stall_clock_enable(struct stall_clock *stall_clock, bool counts);

/* Milliseconds stalled since the last call; 0 while disabled. Call it before events that were
 * queued meanwhile are handed in. Does not block. */
int64_t stall_clock_read_and_reset(struct stall_clock *stall_clock);

#endif
