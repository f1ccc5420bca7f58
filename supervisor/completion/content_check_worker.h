/*
 * Runs content checks for the loop. A few files are checked on the spot, because they are still in
 * the page cache; many files are checked on a thread.
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
	/* borrowed; `profile` and `patterns` may be NULL */
	const char *directory;
	const struct profile *profile;
	const struct file_patterns *patterns;
	/* Called on the loop when a check on the thread has finished: poll again. */
	void (*ready)(void *arg);
	void *arg;
};

struct checker *content_check_worker_new(const struct checker_options *options);
/* Waits for a running check. */
void content_check_worker_free(struct checker *checker);

/*
 * Checks what was written of a checkpoint whose verdict is COMPLETE, and notes the findings
 * (detector_note_findings()). False: the thread is checking; `ready` will be called. `at_once`:
 * block until the check is done.
 */
bool content_check_worker_run(struct checker *checker, struct detector *detector,
			      struct checkpoint *checkpoint, bool at_once);
/* Logs why the checkpoint that was checked last is not saved, or not yet. `final`: the verdict is
 * TORN. */
void content_check_worker_log(struct checker *checker, bool final);

#endif
