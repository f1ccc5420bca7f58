/*
 * supervisor/gang/: N supervisors, one a machine, that take, commit and restore one snapshot. The
 * scheduler starts and restarts them; what they know of each other is in the store alone, where
 * if-absent is the only consensus. storage_gang.h has the records, FORMAT.md the reasons.
 *
 *	gang_identity.h		PURE: how many members there are, and which one this is
 *	gang_roster.h		PURE: who has come to a start, who is missing or stale
 *	start_rules.h		PURE: what a member does next before the job starts
 *	start_log.h		what the start reads in and appends to the log of an attempt
 *	gang_start.h		joins, waits for the others, and for all to have restored
 *	gang_notice.h		a notice at one member is one for all
 *
 * What follows the start is the storage's: storage_save() waits for the parts of all members.
 */
#ifndef GANG_H
#define GANG_H

#include "gang_identity.h"
#include "gang_notice.h"
#include "gang_start.h"

#endif
