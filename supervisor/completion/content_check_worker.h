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

/* `directory` and `profile` are borrowed; `profile` may be NULL. `ready` is called on the loop when
 * a check on the thread has finished: call content_check_worker_poll() again. */
struct checker *content_check_worker_new(struct loop *loop, const char *directory,
					 const struct profile *profile, void (*ready)(void *arg),
					 void *arg);
/* Waits for a running check. */
void content_check_worker_free(struct checker *checker);

/*
 * Call it after detector_poll() returned COMPLETE. Checks the unchecked paths, applies the findings
 * (detector_apply_findings()), logs them, and returns the resulting verdict. BUSY with *at_ms ==
 * DETECTOR_NEVER: the thread is checking; `ready` will be called. BUSY with another *at_ms: poll
 * again at that time. `at_once`: block until the check is done.
 */
enum detector_verdict content_check_worker_poll(struct checker *checker, struct detector *detector,
						bool at_once, int64_t *at_ms);

#endif
