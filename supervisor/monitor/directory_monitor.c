#include "directory_poller.h"
#include "monitor.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/held_directory.h"
#include "base/log.h"
#include "base/network_fs.h"
#include "base/text.h"
#include "base/walk.h"
#include "base/workers.h"
#include "workspace/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- directory_scan --- */

#define INTERVAL_LEAST_MS 100
#define INTERVAL_MOST_MS 5000
#define INTERVAL_SHARE 20

void directory_scan_compare(const struct snapshot_files *before, const struct snapshot_files *now,
			    directory_scan_fn *changed, void *arg)
{
	size_t old = 0;

	for (size_t i = 0; i < now->count; i++) {
		const struct snapshot_file *file = &now->items[i];
		const struct snapshot_file *same = NULL;

		while (old < before->count && strcmp(before->items[old].path, file->path) < 0)
			old++;
		if (old < before->count && text_equal(before->items[old].path, file->path))
			same = &before->items[old];
		if (!same || same->size != file->size || same->inode != file->inode ||
		    same->mtime_ns != file->mtime_ns)
			changed(arg, file->path);
	}
}

int64_t directory_scan_interval_ms(int64_t quiet_ms, int64_t took_ms)
{
	int64_t interval = quiet_ms / 2;

	if (interval > INTERVAL_MOST_MS)
		interval = INTERVAL_MOST_MS;
	if (interval < INTERVAL_LEAST_MS)
		interval = INTERVAL_LEAST_MS;
	return took_ms * INTERVAL_SHARE > interval ? took_ms * INTERVAL_SHARE : interval;
}

/* --- directory_poller --- */

#define DEEPEST 64

struct directory_poller {
	struct directory_monitor_options options;
	struct workers *workers;
	struct timer timer;
	struct snapshot_files last;
	bool any; /* `last` is one, or all files are new */
	bool running;
	int64_t reported_began_ms; /* when the last one began that has been told; 0: none has */

	/* The worker's while running. */
	struct snapshot_files now;
	bool complete; /* `now` is */
	int64_t began_ms, took_ms;
	int64_t ended_ms; /* the loop's: when the last one was told */
};

/* The server's word, not what a client remembers of it: NFS keeps the size of a
 * file for up to a minute. */
static int stat_entry(int directory, const char *name, struct statx *status)
{
	return statx(directory, name, AT_SYMLINK_NOFOLLOW | AT_STATX_FORCE_SYNC | AT_NO_AUTOMOUNT,
		     STATX_TYPE | STATX_SIZE | STATX_MTIME | STATX_INO, status);
}

/* False when it could not be read to its end. What is gone meanwhile is no loss. */
static bool scan_directory(const char *directory, struct snapshot_files *scan)
{
	auto_(walk_close) struct walk walk = {0};
	auto_close int held = held_directory_open(directory, NULL);
	bool complete = held >= 0 && walk_open_at(&walk, held, "", 0) == 0;

	while (walk_next(&walk)) {
		struct statx status;

		if (text_starts(walk.path, ".reprieve"))
			continue;
		if (stat_entry(walk.directory, walk.name, &status) < 0)
			complete &= errno == ENOENT;
		else if (!S_ISDIR(status.stx_mode))
			file_list_add(scan,
				      (struct snapshot_file){
					      .path = text_copy(walk.path),
					      .size = status.stx_size,
					      .mtime_ns = status.stx_mtime.tv_sec * 1000000000LL +
							  status.stx_mtime.tv_nsec,
					      .inode = status.stx_ino,
				      });
		else if (walk.depth <= DEEPEST && walk_enter(&walk) < 0)
			complete &= errno == EACCES;
	}
	return complete && walk_check(&walk, NULL) == 0;
}

static void poller_worker(void *arg)
{
	struct directory_poller *poller = arg;
	struct statx status;

	poller->began_ms = clock_monotonic_ms();
	poller->now = (struct snapshot_files){0};
	/* Asking for the directory makes its names be read anew. */
	poller->complete = stat_entry(AT_FDCWD, poller->options.directory, &status) == 0 &&
			   scan_directory(poller->options.directory, &poller->now);
	file_list_sort(&poller->now);
	poller->took_ms = clock_monotonic_ms() - poller->began_ms;
}

static void report_changed_path(void *arg, const char *path)
{
	const struct directory_poller *poller = arg;

	poller->options.said(poller->options.arg,
			     &(struct dir_event){
				     .change = DIR_CHANGED,
				     .path = path,
				     .since_ms = poller->reported_began_ms,
			     });
}

/* One that broke off is no word: what it did not see would be new the next time. */
static void report_changes(struct directory_poller *poller)
{
	if (!poller->complete) {
		snapshot_files_release(&poller->now);
		return;
	}
	if (poller->any)
		directory_scan_compare(&poller->last, &poller->now, report_changed_path, poller);
	snapshot_files_release(&poller->last);
	poller->last = poller->now;
	poller->now = (struct snapshot_files){0};
	poller->any = true;
	poller->reported_began_ms = poller->began_ms;
}

static void poller_worker_done(void *arg)
{
	struct directory_poller *poller = arg;

	poller->running = false;
	poller->ended_ms = clock_monotonic_ms();
	report_changes(poller);
	loop_arm(poller->options.loop, &poller->timer,
		 clock_monotonic_ms() +
			 directory_scan_interval_ms(poller->options.quiet_ms, poller->took_ms));
	poller->options.on_scanned(poller->options.arg);
}

static void start_poller_worker(struct directory_poller *poller)
{
	if (poller->running)
		return;
	poller->running = true;
	loop_disarm(poller->options.loop, &poller->timer);
	workers_run(poller->workers, poller_worker, poller_worker_done, poller);
}

static void poller_timer_fired(struct timer *timer)
{
	start_poller_worker(container_of(timer, struct directory_poller, timer));
}

struct directory_poller *directory_poller_new(const struct directory_monitor_options *options,
					      bool all)
{
	struct directory_poller *poller = memory_new(sizeof(*poller));

	*poller = (struct directory_poller){
		.options = *options,
		.timer.fired = poller_timer_fired,
		.any = all,
	};
	if (workers_new(options->loop, 1, &poller->workers, NULL) < 0) {
		free(poller);
		return NULL;
	}
	/* What is there before the job writes; of a directory on this machine it
	 * is a matter of microseconds. */
	poller_worker(poller);
	report_changes(poller);
	loop_arm(options->loop, &poller->timer,
		 clock_monotonic_ms() +
			 directory_scan_interval_ms(options->quiet_ms, poller->took_ms));
	return poller;
}

void directory_poller_free(struct directory_poller *poller)
{
	if (!poller)
		return;
	workers_free(poller->workers);
	loop_disarm(poller->options.loop, &poller->timer);
	if (poller->running)
		snapshot_files_release(&poller->now);
	snapshot_files_release(&poller->last);
	free(poller);
}

/* True: a scan that began at `since_ms` (CLOCK_MONOTONIC) or later has been reported. Otherwise a
 * scan is started soon. */
static bool directory_poller_has_scanned_since(struct directory_poller *poller, int64_t since_ms)
{
	if (poller->reported_began_ms >= since_ms)
		return true;
	/* At most half of the time is spent scanning, however often the job saves. */
	if (!poller->running)
		loop_arm(poller->options.loop, &poller->timer, poller->ended_ms + poller->took_ms);
	return false;
}

void directory_poller_scan_now(struct directory_poller *poller)
{
	if (poller->running) /* the thread has the place for it */
		return;
	poller_worker(poller);
	report_changes(poller);
}

struct directory_monitor {
	struct directory_monitor_options options;
	struct inotify_watch *watch;     /* NULL: it cannot be watched */
	struct directory_poller *poller; /* NULL: the kernel reports everything */
	struct err unwatched;            /* why `watch` is NULL */
	bool open;
};

static void report_all_files(struct directory_monitor *monitor)
{
	auto_(snapshot_files_release) struct snapshot_files files = {0};

	if (file_list_read(monitor->options.directory, &files, NULL) < 0)
		return;
	for (size_t i = 0; i < files.count; i++)
		monitor->options.said(monitor->options.arg,
				      &(struct dir_event){.change = DIR_CHANGED,
							  .path = files.items[i].path});
}

static double scan_interval_seconds(const struct directory_monitor *monitor)
{
	return (double)directory_scan_interval_ms(monitor->options.quiet_ms, 0) / 1000;
}

struct directory_monitor *directory_monitor_new(const struct directory_monitor_options *options)
{
	struct directory_monitor *monitor = memory_new(sizeof(*monitor));

	monitor->options = *options;
	return monitor;
}

void directory_monitor_free(struct directory_monitor *monitor)
{
	if (!monitor)
		return;
	if (monitor->watch)
		inotify_watch_close(monitor->watch);
	directory_poller_free(monitor->poller);
	free(monitor);
}

void directory_monitor_open(struct directory_monitor *monitor, bool job_runs)
{
	const char *directory = monitor->options.directory;
	const char *network;

	if (monitor->open)
		return;
	if (!monitor->watch && monitor->unwatched.kind == ERR_NONE)
		(void)inotify_watch_open(monitor->options.loop, directory, monitor->options.said,
					 monitor->options.arg, &monitor->watch,
					 &monitor->unwatched);
	/* Only there it can be told on which file system it is. */
	if (!file_is_directory(directory))
		return;
	monitor->open = true;
	network = network_fs_of(directory);
	if (!monitor->watch)
		log_note("polling %s every %.1f s instead of watching it: %s", directory,
			 scan_interval_seconds(monitor), monitor->unwatched.text);
	else if (network)
		log_note("%s is on %s, where the kernel does not report what other machines "
			 "write: polling it every %.1f s",
			 directory, network, scan_interval_seconds(monitor));
	if (!monitor->watch || network || monitor->options.polls)
		monitor->poller = directory_poller_new(&monitor->options, job_runs);
}

bool directory_monitor_is_open(const struct directory_monitor *monitor)
{
	return monitor->open;
}

void directory_monitor_drain(struct directory_monitor *monitor)
{
	if (monitor->watch)
		inotify_watch_drain(monitor->watch);
}

void directory_monitor_rescan(struct directory_monitor *monitor)
{
	if (monitor->poller)
		return;
	if (!monitor->watch || inotify_watch_is_complete(monitor->watch)) {
		report_all_files(monitor);
		return;
	}
	log_warn("inotify watch limit reached (fs.inotify.max_user_watches): polling %s every "
		 "%.1f s instead",
		 monitor->options.directory, scan_interval_seconds(monitor));
	monitor->poller = directory_poller_new(&monitor->options, true);
}

bool directory_monitor_is_current(struct directory_monitor *monitor, int64_t since_ms)
{
	return !monitor->poller || directory_poller_has_scanned_since(monitor->poller, since_ms);
}

void directory_monitor_scan_now(struct directory_monitor *monitor)
{
	if (monitor->poller)
		directory_poller_scan_now(monitor->poller);
}
