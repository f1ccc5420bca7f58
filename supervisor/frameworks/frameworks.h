/*
 * supervisor/frameworks/: what is known about each training framework's checkpoints: how to
 * recognise a job of it, how to ask it to save, and what a finished save looks like.
 *
 * Read first: profile.h, then a few rows of profile_table.c.
 *
 * For other folders:
 *
 *	profile.h		PURE: one profile for each framework, and the choice between them
 *	profile_table.c		the profiles: one row for each framework
 *	profile_detect.h	recognises the framework of a command by its script and files
 *	layout_rules.h		PURE: incomplete checkpoints by names: a missing marker, half a pair
 *	file_format.h		PURE: is a file complete by its format: zip, npy, HDF5, ...
 *	pickle_format.h		PURE: where a pickle ends (through file_format.h)
 *	lightning_slurm.h	an emulated Slurm environment, in which Lightning saves on SIGUSR1
 */
#ifndef FRAMEWORKS_H
#define FRAMEWORKS_H

#include "file_format.h"
#include "layout_rules.h"
#include "lightning_slurm.h"
#include "profile.h"
#include "profile_detect.h"

#endif
