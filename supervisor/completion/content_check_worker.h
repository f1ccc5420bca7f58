/*
 * Runs content checks for the loop, on a thread: a disk that hangs, or files that are not in the
 * page cache, delay no notice.
 */
#ifndef CONTENT_CHECK_WORKER_H
#define CONTENT_CHECK_WORKER_H

#include "base/loop.h"
#include "detector.h"
#include "frameworks/frameworks.h"

#include <stdbool.h>
#include <stdint.h>

struct checker;

struct checker_options {
	struct loop *loop;
	/* of what it points to, all is borrowed; `fresh` and `valid` are set by the checker */
	struct check check;
	/* Called on the loop when a check has finished: poll again. */
	void (*ready)(void *arg);
	void *arg;
};

int content_check_worker_new(const struct checker_options *options, struct checker **checker,
			     struct err *err);
/* Waits so long at most for a running check. False: it goes on (workers_end_within()). */
bool content_check_worker_end_within(struct checker *checker, int64_t milliseconds);
/* Waits for a running check. */
void content_check_worker_free(struct checker *checker);

/*
 * Checks what was written of a checkpoint whose verdict is COMPLETE, and with it the others that
 * are as far. False: the thread is checking, and `ready` will be called. True: it has, and the
 * findings are noted (detector_note_findings()). What is written meanwhile is checked again.
 */
bool content_check_worker_run(struct checker *checker, struct detector *detector,
			      struct checkpoint *checkpoint);
bool content_check_worker_is_busy(const struct checker *checker);
/* Logs why the checkpoint is not saved, or not yet. `final`: the verdict is TORN. */
void content_check_worker_log(struct checker *checker, const struct checkpoint *checkpoint,
			      bool final);

#endif
