/*
 * supervisor/launch/: what the command is started with, and what is expected of it.
 *
 * For other folders, through this header alone:
 *
 *	expectation.h		does it save checkpoints? What the run takes for itself by that
 *	command_check.h		can it be run at all?
 *	child_environment.h	the variables that it gets
 */
#ifndef LAUNCH_H
#define LAUNCH_H

#include "child_environment.h"
#include "command_check.h"
#include "expectation.h"

#endif
