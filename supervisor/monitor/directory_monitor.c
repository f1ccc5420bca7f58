#include "monitor.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/held_directory.h"
#include "base/log.h"
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

#define INTERVAL_LEAST_MS 100
#define INTERVAL_MOST_MS 5000
#define INTERVAL_SHARE 20

void directory_scan_compare(const struct snapshot_files *before, const struct snapshot_files *now,
			    void (*changed)(void *arg, const char *path), void *arg)
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

#define DEEPEST 64

struct directory_monitor {
	struct directory_monitor_options options;
	struct inotify_watch *watch; /* NULL: it cannot be watched */
	struct err unwatched;        /* why `watch` is NULL */
	bool open;

	/* The scans. */
	struct workers *workers; /* NULL: none, the kernel reports everything */
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

static void scan(void *arg)
{
	struct directory_monitor *monitor = arg;
	const char *directory = monitor->options.directory;
	struct statx status;

	monitor->began_ms = clock_monotonic_ms();
	monitor->now = (struct snapshot_files){0};
	/* Asking for the directory makes its names be read anew. */
	monitor->complete = stat_entry(AT_FDCWD, directory, &status) == 0 &&
			    scan_directory(directory, &monitor->now);
	file_list_sort(&monitor->now);
	monitor->took_ms = clock_monotonic_ms() - monitor->began_ms;
}

static void report_changed_path(void *arg, const char *path)
{
	const struct directory_monitor *monitor = arg;

	monitor->options.said(monitor->options.arg,
			      &(struct dir_event){
				      .change = DIR_CHANGED,
				      .path = path,
				      .since_ms = monitor->reported_began_ms,
			      });
}

/* One that broke off is no word: what it did not see would be new the next time. */
static void report_changes(struct directory_monitor *monitor)
{
	if (!monitor->complete) {
		snapshot_files_release(&monitor->now);
		return;
	}
	if (monitor->any)
		directory_scan_compare(&monitor->last, &monitor->now, report_changed_path, monitor);
	snapshot_files_release(&monitor->last);
	monitor->last = monitor->now;
	monitor->now = (struct snapshot_files){0};
	monitor->any = true;
	monitor->reported_began_ms = monitor->began_ms;
}

static void scan_later(struct directory_monitor *monitor)
{
	loop_arm(monitor->options.loop, &monitor->timer,
		 clock_monotonic_ms() +
			 directory_scan_interval_ms(monitor->options.quiet_ms, monitor->took_ms));
}

static void scan_done(void *arg)
{
	struct directory_monitor *monitor = arg;

	monitor->running = false;
	monitor->ended_ms = clock_monotonic_ms();
	report_changes(monitor);
	scan_later(monitor);
	monitor->options.on_scanned(monitor->options.arg);
}

static void timer_fired(struct timer *timer)
{
	struct directory_monitor *monitor = container_of(timer, struct directory_monitor, timer);

	if (monitor->running)
		return;
	monitor->running = true;
	workers_run(monitor->workers, scan, scan_done, monitor);
}

/* `all`: reports every file of the first scan as changed. */
static void begin_scans(struct directory_monitor *monitor, bool all)
{
	if (workers_new(monitor->options.loop, 1, &monitor->workers, NULL) < 0)
		return;
	monitor->any = all;
	/* What is there before the job writes; of a directory on this machine it is a matter of
	 * microseconds. */
	directory_monitor_scan_now(monitor);
	scan_later(monitor);
}

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
	monitor->timer.fired = timer_fired;
	return monitor;
}

void directory_monitor_free(struct directory_monitor *monitor)
{
	if (!monitor)
		return;
	if (monitor->watch)
		inotify_watch_close(monitor->watch);
	if (monitor->workers) {
		workers_free(monitor->workers);
		loop_disarm(monitor->options.loop, &monitor->timer);
	}
	if (monitor->running)
		snapshot_files_release(&monitor->now);
	snapshot_files_release(&monitor->last);
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
		begin_scans(monitor, job_runs);
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
	if (monitor->workers)
		return;
	if (!monitor->watch || inotify_watch_is_complete(monitor->watch)) {
		report_all_files(monitor);
		return;
	}
	log_warn("inotify watch limit reached (fs.inotify.max_user_watches): polling %s every "
		 "%.1f s instead",
		 monitor->options.directory, scan_interval_seconds(monitor));
	begin_scans(monitor, true);
}

bool directory_monitor_is_current(struct directory_monitor *monitor, int64_t since_ms)
{
	if (!monitor->workers || monitor->reported_began_ms >= since_ms)
		return true;
	/* At most half of the time is spent scanning, however often the job saves. */
	if (!monitor->running)
		loop_arm(monitor->options.loop, &monitor->timer,
			 monitor->ended_ms + monitor->took_ms);
	return false;
}

void directory_monitor_scan_now(struct directory_monitor *monitor)
{
	if (!monitor->workers || monitor->running) /* the thread has the place for it */
		return;
	scan(monitor);
	report_changes(monitor);
}
