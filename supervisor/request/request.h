/*
 * supervisor/request/: MAP
 *
 * For other folders, through this header alone:
 *
 *	checkpoint_request.h    * Asks the job for a checkpoint: a signal to its own process,
 *	                        checked against what that process handles before it is sent, a flag
 *	                        that it polls (then no signal), or a command
 *	rank_progress.h	* PURE
 *	sigterm_hold.h  * The shield's other end (shim/sigterm_handler.c): processes of the job keep
 *	                a SIGTERM that came from outside and say so; here it is decided when each
 *	                gets it
 *
 * Of this folder only:
 *
 *	rank_selection.h	* PURE: whom to ask for a checkpoint
 */
#ifndef REQUEST_H
#define REQUEST_H

#include "checkpoint_request.h"
#include "rank_progress.h"
#include "sigterm_hold.h"

#endif
