#include "monitor.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "directory_poller.h"
#include "workspace/workspace.h"

#include <stdlib.h>

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
