/*
 * supervisor/frameworks/: MAP
 *
 * For other folders, through this header alone:
 *
 *	file_format.h	* PURE
 *	layout_rules.h	* PURE
 *	lightning_slurm.h       * PyTorch Lightning saves on SIGUSR1 and goes on, tells `scontrol`
 *	                        when the save is done, and resumes from it by itself: all of that
 *	                        only under Slurm
 *	profile.h	* PURE
 *	profile_detect.h        * Finds out which framework a command trains with: reads the script
 *	                        that it names (bounded, once), and the names in the checkpoint
 *	                        directory
 *	profile_print.h	What a profile says, in words and as JSON
 */
#ifndef FRAMEWORKS_H
#define FRAMEWORKS_H

#include "file_format.h"
#include "layout_rules.h"
#include "lightning_slurm.h"
#include "profile.h"
#include "profile_detect.h"
#include "profile_print.h"

#endif
