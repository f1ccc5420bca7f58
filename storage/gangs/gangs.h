/*
 * storage/gangs/: one snapshot of several machines: how their supervisors find each other, agree,
 * and commit together over the store alone. Read FORMAT.md here first, then gang_commit.h.
 *
 * For the rest of storage/, through this header alone:
 *
 *	gang_commit.h		a member's part, and the commit of the snapshot of all
 *	gang_choice.h		what a member restores: its own part, or those of all
 *
 * Of this folder only:
 *
 *	gang_assembly.h		the manifest of a snapshot, made of the parts of all
 *	gang_parts.h		PURE: whether the parts of all members are there
 *	gang_event.h		PURE: the record of an event in the log of an attempt
 *	gang_join_name.h	PURE: the name of a join's record
 *
 * The operations, declared in storage_gang.h and used through storage.h:
 *
 *	gang_join.c		how the members find each other at their start
 *	gang_log.c		what they agree upon, in one order
 */
#ifndef STORAGE_GANGS_H
#define STORAGE_GANGS_H

#include "gang_choice.h"
#include "gang_commit.h"

#endif
