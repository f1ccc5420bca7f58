/*
 * Runs inspections for the loop: a few files at once, because they are in the page cache, a lot of them on a thread of its own.
 */
#ifndef CONTENT_CHECK_WORKER_H
#define CONTENT_CHECK_WORKER_H

#include "base/loop.h"
#include "frameworks/frameworks.h"
#include "detector.h"

#include <stdbool.h>
#include <stdint.h>

struct inspector;

/* `directory` and `profile` are borrowed. `ready` is called on the loop when there is something new to ask for. */
struct inspector *inspector_new(struct loop *loop, const char *directory,
	const struct profile *profile, void (*ready)(void *arg), void *arg);
/* Waits for what runs. */
void inspector_free(struct inspector *inspector);

/*
 * After sealing_poll() said SEALED: looks into what has not been judged, hands that to sealing_judge(), and says what is refused.
 * BUSY with SEALING_NEVER: it is being looked into, and `ready` will be called; poll again then. `at_once`: blocks instead.
 */
enum sealing_verdict inspector_judge(
	struct inspector *inspector, struct sealing *sealing, bool at_once, int64_t *at_ms);

#endif
