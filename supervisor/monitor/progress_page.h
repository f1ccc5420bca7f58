/*
 * The page that jobs poll and report through (shim/reprieve.h, reprieve.py): raises the flag, and
 * reads what processes say about their steps and checkpoints. It works without the shim. The job
 * can write there, so nothing in it is used as a size or a place. One thread.
 */
#ifndef PROGRESS_PAGE_H
#define PROGRESS_PAGE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct progress_page;

/* `pid` has called the checkpoint of `step` (-1: no number) complete. */
typedef void progress_page_saved_fn(void *argument, pid_t pid, int64_t step);

/* Makes the file (mode 0600, blocks allocated); `doorbell` is where clients send a
 * byte to be looked at. */
int progress_page_open(const char *path, const char *doorbell, struct progress_page **page,
		       struct err *err);
/* Removes it. Clients go on into a mapping that nobody reads. */
void progress_page_close(struct progress_page *page);

/* The value of REPRIEVE_PAGE. Borrowed. */
const char *progress_page_path(const struct progress_page *page);

/* Raises the flag: another request. */
void progress_page_request(struct progress_page *page);
/* The request is over: `answered`: the flag stays up until all who poll have answered, for a minute
 * at most; it goes down at once otherwise. Who begins to poll from now on is not asked. */
void progress_page_end_request(struct progress_page *page, bool answered, int64_t now_ms);

/*
 * Looks at the slots; frees those whose process is gone, lowers a flag that has served. In two
 * halves, because a process first closes its files and then says "saved": what it had reported on
 * other ways by then must be handed in between the two.
 */
void progress_page_scan(struct progress_page *page, int64_t now_ms);
/* Hands out what progress_page_scan() found. While a request stands, all together once every
 * process that polls has answered it. */
void progress_page_deliver_saved(struct progress_page *page, progress_page_saved_fn *saved,
				 void *argument);

/* Processes that poll, and those of them that have not answered the request that stands. */
size_t progress_page_count_polling(const struct progress_page *page);
size_t progress_page_count_unanswered(const struct progress_page *page);

/* How far those are that report steps, together. */
struct training_progress {
	int64_t step;    /* the lowest of their newest ones */
	uint64_t steps;  /* the most that one has reported */
	int64_t step_ms; /* when the last report was seen (monotonic clock, within a second) */
	double mean_ms;  /* of a step, lately, of the slowest; 0: not known yet */
};
/* False when none does. By the last look. */
bool progress_page_read_progress(const struct progress_page *page,
				 struct training_progress *progress);

#endif
