/*
 * The shared-memory page through which a job polls for requests and reports steps and checkpoints
 * (shim/reprieve.h, reprieve.py). It works without the shim. Each process that uses it has a slot.
 * The job can write to the page, so that no value in it is used as a size or an index. One thread.
 */
#ifndef PROGRESS_PAGE_H
#define PROGRESS_PAGE_H

#include "base/cleanup.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

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

#endif
