#include "directory_monitor.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "directory_poller.h"
#include "directory_scan.h"
#include "workspace/workspace.h"

#include <stdio.h>
#include <stdlib.h>

struct directory_monitor {
	struct directory_monitor_options options;
	struct inotify_watch *watch;     /* NULL: no directory yet, or it cannot be watched */
	struct directory_poller *poller; /* NULL: the kernel reports everything */
	char missing_evidence[400];
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
	struct err err;

	if (directory_monitor_is_open(monitor) || !file_is_directory(directory))
		return;
	network = network_fs_of(directory);
	if (inotify_watch_open(monitor->options.loop, directory, monitor->options.said,
			       monitor->options.arg, &monitor->watch, &err) < 0)
		snprintf(monitor->missing_evidence, sizeof(monitor->missing_evidence),
			 "polling %.200s every %.1f s instead of watching it: %.150s", directory,
			 scan_interval_seconds(monitor), err.text);
	else if (network)
		snprintf(monitor->missing_evidence, sizeof(monitor->missing_evidence),
			 "%.200s is on %s, where the kernel does not report what other machines "
			 "write: polling it every %.1f s",
			 directory, network, scan_interval_seconds(monitor));
	if (!monitor->watch || network || monitor->options.polls)
		monitor->poller = directory_poller_new(&monitor->options, job_runs);
	else if (job_runs)
		report_all_files(monitor);
}

bool directory_monitor_is_open(const struct directory_monitor *monitor)
{
	return monitor->watch || monitor->poller;
}

const char *directory_monitor_missing_evidence(const struct directory_monitor *monitor)
{
	return monitor->missing_evidence;
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
