#include "directory_poller.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/held_directory.h"
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

bool directory_poller_has_scanned_since(struct directory_poller *poller, int64_t since_ms)
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
