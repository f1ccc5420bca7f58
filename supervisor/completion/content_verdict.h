/* PURE. What follows for a burst from what its files themselves say (content_check.h). */
#ifndef CONTENT_VERDICT_H
#define CONTENT_VERDICT_H

#include "content_check.h"
#include "write_burst.h"

/*
 * What is not whole may still become so: a save with pauses between its files, or a writer that no
 * witness sees. After so long without a write it is given up, and the rest is taken without it.
 */
#define CONTENT_VERDICT_FORMAT_MS 30000
#define CONTENT_VERDICT_MARKER_MS 600000

/* How long to wait until all that is refused is given up, if nothing is written
 * until then; 0: no longer. */
int64_t content_verdict_wait_ms(const struct findings *findings);

/* All that is unjudged in the burst is judged: refused, or not. False when nothing that it wrote is
 * left to be taken. */
bool content_verdict_apply(struct write_burst *burst, const struct findings *findings);

#endif
