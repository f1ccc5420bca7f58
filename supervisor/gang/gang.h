/*
 * supervisor/gang/: N supervisors, one a machine, that take, commit and restore one snapshot. The
 * scheduler starts and restarts them; what they know of each other is in the store alone, where
 * if-absent is the only consensus. storage_gang.h has the records, FORMAT.md the reasons.
 *
 *	gang_identity.h	PURE: how many members there are, and which one this is
 *	start_rules.c	PURE: who has come to a start, and what a member does next
 *	gang_view.c	PURE: what the log of the attempt says, folded
 *	gang_here.c	PURE: what is known of the job here, and of its parts
 *	gang_rounds.h	PURE: what this member does next about a round
 *	gang_stop.c	PURE: what the log means for the job here, and how a member ends
 *	gang_status.c	PURE: what a member tells of its gang
 *	gang_start.h	joins, waits for the others, and for all to have restored
 *	gang_feed.c	reads the log and appends to it, and says what is to be done
 *
 * After the start, what the members agree upon is one log, and each snapshot is a round in it:
 * storage_save() gives the part in a round, and waits for those of the others.
 */
#ifndef GANG_H
#define GANG_H

#include "base/cancel.h"
#include "base/loop.h"
#include "base/workers.h"
#include "gang_identity.h"
#include "gang_rounds.h"
#include "gang_start.h"

#include <stdatomic.h>

/* --- gang_feed.c --- */

/*
 * Reads the log of the attempt, and appends to it, on a thread of its own: so it waits for no
 * upload. What is read is folded (gang_view.c), what follows is decided (gang_rounds.h), and what
 * the rest of the supervisor has to do is told by callbacks. Lives on the loop; nothing here blocks
 * but the release.
 *
 * What is asked for here is appended before anything is given that may answer it.
 *
 * The log is read every 2 seconds, and more often while something is awaited.
 */

#define GANG_READ_EVERY_MS 2000
/* Events of this member that wait to be appended. */
#define GANG_OUTBOX_MOST 8

struct gang_feed_options {
	struct loop *loop;
	/* Borrowed until the release. */
	struct storage *storage;
	struct gang_identity identity;
	uint32_t attempt;
	/* Of all members, in their order, as they came. Borrowed until the release. */
	json_t *hosts;
	/* Which members write into the directory of this one: it reads it once they have given
	 * their part in the round. NULL: none. Borrowed. */
	const bool *sharers;
	/* The attempt has started from a snapshot; so many in a row, from that one back, have no
	 * checkpoint of this member (storage_gang_recall()). */
	bool has_start;
	unsigned without;
	/* All on the loop. Brings up to date what is known of the job: `wants`, `urgent`,
	 * `begun`, `begun_step`, `gone_seen_ms`, `ended`, `finished`, `in_order`, `code`, `saving`,
	 * `saw`. */
	void (*look)(void *arg, struct gang_here *here);
	/* The snapshot of the round is in the store, with an earlier part of this member than that
	 * of its last save, or than it would give now: that of this checkpoint (0: of none). */
	void (*committed)(void *arg, uint32_t round, uint64_t generation);
	/* The part is to be given now (TAKE or GIVE_BESIDE), if that can be done. */
	void (*give)(void *arg, const struct gang_round_decision *decision);
	/* An event has its place in the log. `request`: of this member's, what it was told with. */
	void (*happened)(void *arg, const struct gang_event *event, uint64_t request);
	/* More is answered than before. */
	void (*answered)(void *arg, const struct gang_answer *answer);
	/* Once the job has ended: no other member needs this one. `lost`: its last files are
	 * in no snapshot of all. `silent`: the machine of another member is lost. */
	void (*left)(void *arg, bool lost, bool silent);
	void *arg;
};

enum gang_feed_work {
	FEED_READS,
	FEED_APPENDS,
	FEED_LISTS_PARTS,
	FEED_LOOKS_WHETHER_OVER,
	FEED_MARKS_GONE,
	FEED_LOOKS_AFTER_PART,
};

/* Zeroed: there is no gang. Others read `view` and `here`. */
struct gang_feed {
	struct gang_feed_options options;
	struct gang_view view;
	struct gang_here here;
	struct workers *workers;
	struct cancel cancel;
	struct timer timer;
	/* There may be events that were not read; the worker is at work. */
	bool unread, busy;
	int64_t pause_ms;
	/* When the worker last began what has shown that no event was left. */
	int64_t read_all_ms;
	/* What was swept reads as what is not there yet: whoever has stood still, or was cut off,
	 * while the gang started twice finds no event that says so. So at first, after a reading
	 * that came late, and now and then, it asks whether the attempt is over. By
	 * clock_boot_ms(): the last reading, and the last answer. */
	bool in_doubt;
	int64_t looked_ms, asked_ms;
	unsigned failures;
	char reason[160];

	struct gang_told_event {
		struct gang_event event;
		uint64_t request;
	} outbox[GANG_OUTBOX_MOST];
	size_t outbox_count;
	struct gang_answer answered; /* that was told of last */
	bool left;
	/* It has told the others that it leaves alone. */
	bool leaves_alone;

	/* In this round all `sharers` have given; of this one it is said in the store who had gone.
	 */
	uint32_t sharers_given, marked;
	/* What lies beside the log may have changed: parts, and commits. */
	bool look_due;

	/* The worker's, while `busy`. */
	struct {
		enum gang_feed_work kind;
		int64_t begun_ms;
		struct gang_event event;
		uint32_t round;
		/* `anew` when it was begun */
		bool anew;
		/* it is to be said who is missing */
		bool says;
		bool worked, there;
		uint32_t have, wanted, missing;
		enum gang_part_fate fate;
		struct err err;
	} work;

	/* Rounds up to this one get no more parts than they have. */
	_Atomic uint32_t settled;
	/* When the others were last known to go on: by a commit, or because one has ended, or
	 * says that its job goes on. */
	int64_t heard_ms;
	/* When somebody was last said to be missing. */
	int64_t said_ms;
	int64_t left_out_said_ms;
};

int gang_feed_start(struct gang_feed *feed, const struct gang_feed_options *options,
		    struct err *err);
/* Without a gang nothing here does anything. */
static inline bool gang_feed_is_running(const struct gang_feed *feed)
{
	return feed->workers != NULL;
}

/* Whether that is the notice that this member ends by. */
static inline bool gang_feed_ends_by(const struct gang_feed *feed, uint32_t event)
{
	return gang_rounds_notice(&feed->view, &feed->here) == event;
}

/* The others need the job to go on. Once the ranks of one that leaves alone are gone, those of the
 * others begin anew, and what they save then is no checkpoint with what this one has saved before.
 */
static inline bool gang_feed_needs_job(const struct gang_feed *feed)
{
	return feed->leaves_alone || gang_rounds_awaits_step(&feed->view, &feed->here);
}

/* The job has ended, and nothing is left to save here: `left` is called in the end. */
void gang_feed_leave(struct gang_feed *feed);
/* Something has changed here. */
void gang_feed_wake(struct gang_feed *feed);
/* Seen to be begun at `begun_ms` of CLOCK_MONOTONIC. */
void gang_feed_note_complete(struct gang_feed *feed, uint64_t generation, int64_t step,
			     int64_t begun_ms);
/* The job has begun anew. */
void gang_feed_note_anew(struct gang_feed *feed);
/* Is appended as soon as that can be; `number` and `member` are filled in. `request`: for
 * happened(). */
void gang_feed_tell(struct gang_feed *feed, const struct gang_event *event, uint64_t request);

/* The machine of this member is to be taken away: `event` is a GANG_EVENT_NOTICE, and all end by
 * it. Or, where the others go on without it, one of GANG_EVENT_LEAVING is made of it; once. The
 * keeper of a directory that others have too, and one whose job has ended, do not leave alone. */
void gang_feed_tell_notice(struct gang_feed *feed, struct gang_event *event);
/* At the end of the process: reads what is left of the log, so that the view is of its end. Stops
 * the feed; the view stays. Blocks until `until_ms` at most. */
void gang_feed_read_rest(struct gang_feed *feed, int64_t until_ms);
/* At the end of the process, after its last save: the others wait for no part of
 * a member that leaves alone. Stops the feed; the view stays. Blocks for some seconds. */
void gang_feed_say_last_word(struct gang_feed *feed);

/* The save of a part has ended. `durable`: the snapshot of all is in the store, with it. Else
 * `fate` says what is known; VOID: the part cannot be made, and the round is left out. `put`: a
 * part of this member may lie in the store, and is looked after from now on. */
void gang_feed_note_part_ended(struct gang_feed *feed, uint32_t round, bool durable,
			       enum gang_part_fate fate, bool put, const char *why);
/* So old the event may be that `happened` is told of: it was put after the log was last read to its
 * end. */
int64_t gang_feed_age_ms(const struct gang_feed *feed);

/* For `reprieve status` (gang_status.c). The caller decrefs. */
json_t *gang_feed_status(const struct gang_feed *feed);

/* From any thread: the round gets no more parts than it has. */
bool gang_feed_is_settled(const struct gang_feed *feed, uint32_t round);

void gang_feed_release(struct gang_feed *feed);

#endif
