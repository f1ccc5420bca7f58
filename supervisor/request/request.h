/*
 * supervisor/request/: asks the job for a checkpoint, and follows how its ranks react.
 *
 * Read first: checkpoint_request.h, then its rules for the ranks.
 *
 * For other folders:
 *
 *	checkpoint_request.h	sends a request: by signal, by polled flag, or by command; PURE:
 *				which processes get the signal
 *	rank_progress.h		PURE: for each rank: asked, delivered, saving, late; observes the
 *				ranks that were asked, until the request is over
 *	sigterm_hold.h		when processes get a SIGTERM that the shim holds back for them
 */
#ifndef REQUEST_H
#define REQUEST_H

#include "checkpoint_request.h"
#include "rank_progress.h"
#include "sigterm_hold.h"

#endif
