/*
 * Runs inspections for the loop: a few files at once, because they are in the page cache, a lot of
 * them on a thread of its own.
 */
#ifndef CONTENT_CHECK_WORKER_H
#define CONTENT_CHECK_WORKER_H

#include "base/loop.h"
#include "detector.h"
#include "frameworks/frameworks.h"

#include <stdbool.h>
#include <stdint.h>

struct checker;

/* `directory` and `profile` are borrowed. `ready` is called on the loop when there
 * is something new to ask for. */
struct checker *content_check_worker_new(struct loop *loop, const char *directory,
					 const struct profile *profile, void (*ready)(void *arg),
					 void *arg);
/* Waits for what runs. */
void content_check_worker_free(struct checker *checker);

/*
 * After detector_poll() said SEALED: looks into what has not been judged, hands that to
 * detector_apply_findings(), and says what is refused. BUSY with DETECTOR_NEVER: it is being looked
 * into, and `ready` will be called; poll again then. `at_once`: blocks instead.
 */
enum detector_verdict content_check_worker_poll(struct checker *checker, struct detector *detector,
						bool at_once, int64_t *at_ms);

#endif
