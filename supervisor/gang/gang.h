/*
 * supervisor/gang/: N supervisors, one a machine, that take, commit and restore one snapshot. The
 * scheduler starts and restarts them; what they know of each other is in the store alone, where
 * if-absent is the only consensus. storage_gang.h has the records, FORMAT.md the reasons.
 *
 *	gang_identity.h		PURE: how many members there are, and which one this is
 *	gang_sources.h		PURE: what a launcher says of the machines of a job
 *	gang_roster.h		PURE: who has come to a start, who is missing or stale
 *	start_rules.h		PURE: what a member does next before the job starts
 *	gang_view.h		PURE: what the log of the attempt says, folded
 *	gang_here.h		PURE: what is known of the job here, and of its parts
 *	gang_rounds.h		PURE: what this member does next about a round
 *	gang_runs.h		PURE: whether the job has begun anew within the attempt
 *	gang_stop.h		PURE: what the log means for the job here, and how a member ends
 *	gang_status.h		PURE: what a member tells of its gang
 *	gang_start.h		joins, waits for the others, and for all to have restored
 *	gang_feed.h		reads the log and appends to it, and says what is to be done
 *
 * After the start, what the members agree upon is one log, and each snapshot is a round in it:
 * storage_save() gives the part in a round, and waits for those of the others.
 */
#ifndef GANG_H
#define GANG_H

#include "gang_feed.h"
#include "gang_identity.h"
#include "gang_rounds.h"
#include "gang_runs.h"
#include "gang_start.h"
#include "gang_status.h"
#include "gang_view.h"

#endif
