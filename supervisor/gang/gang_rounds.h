/*
 * PURE. What a member does next about the rounds of its gang: from what the log says (gang_view.c)
 * and what is known here (gang_here.c), one action. It is asked again whenever either changes.
 */
#ifndef GANG_ROUNDS_H
#define GANG_ROUNDS_H

#include "storage/storage.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- gang_view.c --- */

/*
 * PURE. What the log of an attempt says (storage_gang.h): every member folds the same events in the
 * same order, so that all come to the same view. What lies in the store beside the log, such as the
 * commit of a round, is told by whoever has seen it.
 */

enum gang_round_state {
	/* No round was opened yet. */
	GANG_ROUND_NONE,
	GANG_ROUND_OPEN,
	GANG_ROUND_COMMITTED,
	/* It never will be: a member has left it out. */
	GANG_ROUND_OVER,
};

/* The newest round. One before it that is not over is committed: nobody opens a round before it
 * knows what became of the one before. */
struct gang_round {
	/* Of its event, and of its snapshot. */
	uint32_t number;
	enum gang_round_state state;
	uint32_t opener;
	/* The step of its checkpoint, or (at_least) the least that it may have; -1: it has none. */
	int64_t step;
	bool at_least;
	/* The jobs of all have ended, and each member gives what is there: the last round. */
	bool final;
	/* A member that has given its part has completed a later checkpoint since. */
	bool passed;
	/* The newest event that its checkpoint answers, as far as anybody has said; 0: none. */
	uint32_t answers;
	/* The newest GANG_EVENT_GONE when it was opened: those that had gone give no part. 0: none
	 * had. */
	uint32_t gone;
	/* OVER: by whom, at which step, and why. */
	uint32_t left_by;
	int64_t left_step;
	char left_reason[160];
};

enum gang_member_end {
	GANG_GOES_ON,
	/* Its job has ended. It stays for the rounds of the others. */
	GANG_HAS_ENDED,
	/* It gives no more parts. */
	GANG_HAS_LEFT,
	/* The same, and the others go on without it: it counts as one that has ended. */
	GANG_HAS_GONE,
};

struct gang_gone {
	/* The number of its GANG_EVENT_GONE; 0: it has not gone. */
	uint32_t event;
	/* Its job saves; and the step that it began to save last, or -1. */
	bool saves;
	int64_t step;
};

struct gang_view {
	uint32_t members;
	/* The number of the last event that was folded. */
	uint32_t read;
	/* A machine has come anew: the attempt is over. */
	bool over;

	struct gang_round round;
	/* The newest round that is known to be committed; 0: none. */
	uint32_t committed;
	/* Rounds in a row that were left out; and what each member that has left out one of them
	 * had then (count 0: it has not said). */
	unsigned failures;
	struct gang_steps *steps;

	/* The first notice: all end by it. 0: there is none. */
	uint32_t notice;
	/* What is asked for: the newest request, the first notice, or what one that has gone has
	 * left unanswered; and the newest event that a committed round answers. */
	uint32_t asked, answered;
	/* Of each member. */
	enum gang_member_end *ends;
	uint32_t ended, left;
	/* When each member was last known to live, by what has come to this one through the store.
	 * A member says nothing while its job trains, and a killed one says nothing of that. An
	 * event is a sign of whoever has put it. A commit is one of all: each has given its part
	 * after the round was opened (`opened_ms`), and how long after is not known. Times are of
	 * the monotonic clock, when this member has read of it. */
	int64_t *heard_ms, opened_ms;
	/* Of each member: it has said since the newest failure of a job that its own goes on. */
	bool *lives;
	/* Of each member; the newest event of them; and how many have gone. */
	struct gang_gone *gone_at;
	uint32_t gone, gone_count;
	/* A member whose job has ended has files in no snapshot. */
	bool more;
	/* A member has left after a notice, and all that any has ended with is in a committed
	 * snapshot: what the others save from then on is no checkpoint of all. */
	bool parted;
};

/* All have come to the start. */
struct gang_view gang_view_new(uint32_t members, int64_t now_ms);
void gang_view_release(struct gang_view *view);
AUTO(struct gang_view, gang_view_release);

/* The next event, read at `now_ms`. False, and nothing is changed: it is not the next one, or makes
 * no sense. */
bool gang_view_fold(struct gang_view *view, const struct gang_event *event, int64_t now_ms);
/* The snapshot of the round is in the store. */
void gang_view_committed(struct gang_view *view, uint32_t round);
/* Whether the member had gone when the newest round was opened: it gives no part in it. */
static inline bool gang_view_does_without(const struct gang_view *view, uint32_t member)
{
	uint32_t event = view->gone_at[member].event;

	return event > 0 && event <= view->round.gone;
}
/* One member does for all what is done once in an attempt: the lowest that has not gone, or the
 * last to go. */
bool gang_view_is_first(const struct gang_view *view, uint32_t member);
static inline bool gang_view_is_open(const struct gang_view *view)
{
	return view->round.state == GANG_ROUND_OPEN;
}

/* --- gang_here.c: what is known here --- */

/*
 * PURE. What is known here of the job, and of the parts that this member has given: beside what the
 * log says (gang_view.c), all that its decisions are made from (gang_rounds.h, gang_stop.c).
 */

/* After so long all have read what was appended. */
#define GANG_READ_MS 2500
/* An older checkpoint is of use to the others if it stays for so long. */
#define GANG_KEEPS_LEAST_MS (2 * GANG_READ_MS)
/* So many snapshots in a row without a part of a member say that it has none. */
#define GANG_EMPTIES_TO_LEARN 2

/* What is known here, by subject. Times are of the monotonic clock, in ms. */
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding)
struct gang_here {
	uint32_t member;
	int64_t now_ms;
	/* The newest checkpoint that was complete in this attempt (generation 0: none), its step
	 * (-1: it has none), and that of the one before it (-1: there is none). */
	uint64_t generation;
	int64_t step, before;
	/* The newest complete ones of these ranks, when each was complete, and the newest step of
	 * a snapshot of all. */
	struct gang_steps steps;
	int64_t steps_ms[GANG_STEPS_MOST];
	int64_t shared_step;
	/* The job removes its checkpoints before the others have read of them: it has the newest
	 * alone. */
	bool keeps_short;
	/* Other members have the checkpoint directory too: of an older checkpoint nobody knows
	 * here what they have of it. */
	bool shares;
	/* When the newest GANG_EVENT_GONE of one that saves was read here; and from when on what
	 * the job begins is seen to be begun after that. 0: none has gone; INT64_MAX: not yet. */
	int64_t gone_read_ms, gone_seen_ms;
	/* Steps in a second, since the first one was complete; 0: not known. */
	double pace;
	int64_t first_step, first_ms;
	/* The job has begun anew within the attempt (gang_here.c), or its steps have fallen back:
	 * the rounds up to `fallen` were open then, and no checkpoint up to `stale` is given any
	 * more; nor is one that a member that has gone may have a part of. `anew`: the log is not
	 * read yet up to that moment. */
	uint32_t fallen;
	uint64_t stale;
	bool anew;
	/* The newest checkpoint's writer is dead: what that means is to be seen. */
	bool holds;

	/* A checkpoint is to be saved, since `wanted_ms`; or at once. */
	bool wants, urgent;
	/* It is to end by a notice. */
	bool stopping;
	/* The event of the log by which it leaves, alone; 0: it does not. */
	uint32_t leaves;
	/* What it asks for is still to be appended: a part that is given before would not say that
	 * it answers it. */
	bool telling;
	int64_t wanted_ms;
	/* Its job has ended, and what it wrote last of a numbered checkpoint is not whole. */
	bool torn_later;
	/* It has written something of a checkpoint in this attempt; and the step of the one that
	 * it began last, whatever has become of it; -1: it has none. */
	bool begun;
	int64_t begun_step;
	/* It had nothing to give in the last snapshots; in so many in a row. */
	bool learned;
	unsigned empties;
	/* Its job has ended, then; by itself, with 0; in order, if it was asked to: by itself, and
	 * its exit code says so. */
	bool ended, finished, in_order;
	int64_t ended_ms;
	/* The newest round then. */
	uint32_t ended_in;
	int code; /* what it tells the others of that: 0, or the exit code of a failure */
	/* After that, nothing is left to save, or nothing more can be done for it; and its part is
	 * being made, or waits for those of the others. */
	bool leaving, saving;
	/* The newest checkpoint that is in a snapshot of all. */
	uint64_t durable;
	/* What the attempt started from has a checkpoint of this member. */
	bool holds_start;

	/* The newest round in which it gives or has given its part, with which checkpoint, and
	 * (`beside`) whether there was none. */
	uint32_t given;
	uint64_t given_generation;
	int64_t given_step;
	bool beside;
	/* Its save has failed, and the part may lie in the store all the same: there it stays. */
	bool lies;
	/* The newest round for which it has tried in vain to make its part; why. */
	uint32_t unable;
	const char *unable_reason;
	/* The newest event that the newest checkpoint answers; 0: none. */
	uint32_t saw;
	/* When this member last said that its job goes on; 0: never. */
	int64_t goes_on_ms;
	/* When the newest round was read to be over. */
	int64_t over_ms;
};

/* At first. */
struct gang_here gang_here_new(uint32_t member);
/* A checkpoint is complete; `now_ms` is in `here`. It was seen to be begun at `begun_ms`. */
void gang_here_note_complete(struct gang_here *here, const struct gang_view *view,
			     uint64_t generation, int64_t step, int64_t begun_ms);
/* That step is not in the directory any more. */
void gang_here_forget_step(struct gang_here *here, int64_t step);
/* Its place in `steps`; -1: it is not there. */
int gang_here_find_step(const struct gang_here *here, int64_t step);
/*
 * A GANG_EVENT_GONE of a member that saves was read; `now_ms` is in `here`. What the jobs have
 * saved together with it lacks its part from now on, as if the job had begun anew: only a
 * checkpoint is given that was begun after this, and is not of the step that the gone one began
 * last. That is the order of this member alone: no clocks are compared, and the others need not
 * agree, because each decides before it gives its part, and a snapshot has the parts of all that
 * are left.
 */
void gang_here_note_gone(struct gang_here *here);

/* The part of this round is made now. */
void gang_here_note_part(struct gang_here *here, uint32_t round, uint64_t generation, int64_t step,
			 bool beside);
/* The snapshot of the round is in the store. */
void gang_here_note_shared(struct gang_here *here, uint32_t round);
/* What has become of the part that may lie there, of the round that is open in `view`. */
void gang_here_note_fate(struct gang_here *here, struct gang_view *view, uint32_t round,
			 enum gang_part_fate fate);
/*
 * Whoever puts the last part commits, and whoever has given another one may be told to end before
 * it sees that. So what its save has ended with says nothing: before a member says that something
 * is not durable, it looks up whether this round is committed. 0: there is none to look up.
 */
uint32_t gang_here_in_doubt(const struct gang_view *view, const struct gang_here *here);

/* The job has begun anew, and writes its next checkpoint. */
void gang_here_note_anew(struct gang_here *here, const struct gang_view *view);
/* The log has been read to its end since. */
void gang_here_note_read(struct gang_here *here, const struct gang_view *view);
/* There is a checkpoint that may be given, if its round comes. */
static inline bool gang_here_can_give(const struct gang_here *here)
{
	return here->generation > here->stale;
}

/* The others are given so long to open a round, by whoever opened the last one. */
#define GANG_OPEN_PAUSE_MS 2000
/* So often those that have ended are told that the job goes on elsewhere. */
#define GANG_GOES_ON_MS 10000

enum gang_round_action {
	/* Nothing, until something changes or `again_ms`. */
	GANG_WAIT,
	/* To append a round, of `step`, `at_least`. */
	GANG_OPEN,
	/* To give the newest checkpoint in the open round. */
	GANG_TAKE,
	/* To give what lies beside checkpoints, or an empty part. */
	GANG_GIVE_BESIDE,
	/* To append that the open round is left out: `step`, `reason`. Only if no part of this
	 * member lies there: the last one may be there already. */
	GANG_LEAVE_OUT,
	/* A save has failed, and its part may lie there: to look up what has become of it, again
	 * and again, until that is known (gang_here_note_fate()). */
	GANG_LOOK_AFTER_PART,
	/* To append that the job goes on here, for those where it has ended. */
	GANG_SAY_GOES_ON,
	/* To append that it has gone on to `step`. */
	GANG_SAY_PASSED,
	/* To append that the checkpoint of the newest round answers `answers`. */
	GANG_SAY_ANSWERS,
};

struct gang_round_decision {
	enum gang_round_action action;
	uint32_t round;
	int64_t step;
	bool at_least;
	/* TAKE: not the newest checkpoint, but that of `step`, which all members have. */
	bool older;
	/* OPEN, SAY_ANSWERS: the newest event that the checkpoint answers; 0: none. */
	uint32_t answers;
	/* Static, or of `here`. */
	const char *reason;
	/* WAIT: then it is to be asked again; INT64_MAX: when something changes. */
	int64_t again_ms;
};

struct gang_round_decision gang_rounds_decide(const struct gang_view *view,
					      const struct gang_here *here);

/* The open round is about a step that this member is still to come to. While time allows, its job
 * is not ended before: the others have gone past all that it has. */
bool gang_rounds_awaits_step(const struct gang_view *view, const struct gang_here *here);

/* The newest step that is complete here and at all members that have said what they have, and is in
 * no snapshot yet; -1: there is none. */
int64_t gang_rounds_common_step(const struct gang_view *view, const struct gang_here *here);

/* One may be opened for what is to be saved here. */
bool gang_rounds_may_open(const struct gang_view *view, const struct gang_here *here);

/* The event that this member is to end by: its own, if it leaves alone, or the first notice of all;
 * 0: there is none. */
static inline uint32_t gang_rounds_notice(const struct gang_view *view,
					  const struct gang_here *here)
{
	return here->leaves > 0 ? here->leaves : view->notice;
}

/* --- gang_stop.c --- */

/*
 * PURE. How a member ends: what the log means for the job here, what the member says once its job
 * has ended, how long it stays for the rounds of the others, and what it leaves them with.
 */

/* --- what others have told --- */

enum gang_news_kind {
	GANG_NEWS_NOTHING,
	GANG_NEWS_ASKS, /* for a checkpoint */
	GANG_NEWS_STOP, /* the job is to end here too, within `left_ms` (CLOCK_NEVER: unknown) */
};

struct gang_news {
	enum gang_news_kind kind;
	int64_t left_ms;
	/* Of the notice: "gang-3", and "member 3 on host: its job has failed (exit code 1)". */
	char identity[24], reason[160];
};

/* An event of another member, or of this one that has come anew, which was folded into the view
 * last; `age_ms`: so old it may be. */
struct gang_news gang_news_of(const struct gang_view *view, const struct gang_event *event,
			      int64_t age_ms);
/* "gang-3": the identity of a notice that was given at this member. */
void gang_news_identity(uint32_t member, char *text, size_t size);

/* What is durable of all members. */
struct gang_answer {
	uint32_t event; /* the newest that is answered */
	uint32_t round; /* by this snapshot */
	/* What the notice asks for that this member ends by is answered, or will not be any more;
	 * and the latter. */
	bool notice_is_over, unanswered;
};

/* `notice`: gang_rounds_notice(). */
struct gang_answer gang_answer_of(const struct gang_view *view, uint32_t notice);

/* --- the end --- */

enum gang_end_action {
	/* It trains, or waits: for its own files, or because others need a part of it. */
	GANG_STAY,
	/* To append that its job has ended: `more`. Once more: it leaves. */
	GANG_SAY_ENDED,
	/* To append that it has gone, and the others go on without it. */
	GANG_SAY_GONE,
	GANG_LEAVE,
};

struct gang_end_decision {
	enum gang_end_action action;
	/* There are files here that no snapshot of all holds. */
	bool more;
	/* LEAVE: the final round is not durable, or will not be opened. */
	bool lost;
	/* LEAVE: the job has failed here, and member `silent` has said nothing since: its machine
	 * is lost, and the error follows from that. */
	bool is_silent;
	uint32_t silent;
};

/* A job that has failed has its last checkpoint saved for so long, before the others are told. */
#define GANG_FAILED_SAVES_MS 5000
/* So long after its job has failed a member waits for the `ended` of all others, which they say
 * once they have read of the failure. */
#define GANG_SILENT_MS 20000

/* What a member does about its end. `asked`: the notice that it ends by; 0: none. */
struct gang_end_decision gang_leave_decide(const struct gang_view *view,
					   const struct gang_here *here, uint32_t asked);

/* --- gang_status.c --- */

/*
 * PURE. What a member tells of its gang to `reprieve status`: which one it is, what it knows of
 * each other, and the newest round. A member that was killed cannot say so: of one that has not
 * ended it is told how long nothing was heard of it, and never that it goes on. Who
 * has given a part in an open round is in the store alone.
 */

/* So many members are listed; of more, those that do not go on come first. */
#define GANG_STATUS_MEMBERS_MOST 512

/*
 * {"members", "member", "over", "ended", "left", "gone", "list": [{"member", "host", "state",
 * "heard_seconds"}], "round": {"id", "step", "state", "opened_by", "gave", "without"}}; `round` is
 * null before the first one, `gave` says whether this member has given its part, or is doing so,
 * and `without`, if any had gone before it, which. `state` is "goes on" of this member alone; "has
 * not ended" of another comes with `heard_seconds`. `hosts`: of all, in their order. The caller
 * decrefs.
 */
json_t *gang_status_json(const struct gang_view *view, const struct gang_here *here, int64_t now_ms,
			 uint32_t attempt, const json_t *hosts);

/* --- gang_here.c: has the job begun anew? --- */

/*
 * PURE. Has the job begun anew within the attempt? A launcher may start the ranks again (torchrun,
 * a loop of a shell, elastic membership), from an earlier checkpoint, and they save a step once
 * more that the ranks before them have saved: the two are no checkpoint of one state. No launcher
 * says so in a way that is the same on all machines. But the processes are others:
 *
 * - A process that has written two checkpoints is dead while the job lives, and a process that has
 *   written none begins to: the job has begun anew. What was complete before is never given again.
 * - Until a new process has completed a checkpoint, nobody knows what the death of the newest one's
 *   writer means: nothing is given.
 *
 * Savers that fork a process for each checkpoint wrote one each. Who writes is known through the
 * shim alone.
 */

/* More ranks than a machine has. */
#define GANG_WRITERS_MOST 256

struct gang_writer {
	/* 0: another process has its number by now, or another program runs in it. */
	int pid;
	bool dead;
	/* Checkpoints of different steps that it wrote to; the step of the last one. */
	unsigned written;
	int64_t step;
	/* It has written since the newest checkpoint was complete; it wrote that one. */
	bool writes, newest;
};

struct gang_runs {
	struct gang_writer writers[GANG_WRITERS_MOST];
	size_t count;
};

bool gang_runs_knows(const struct gang_runs *runs, int pid);
/* The process is gone, or runs another program. */
void gang_runs_note_dead(struct gang_runs *runs, int pid);
/* It writes to a checkpoint. Those that are gone are noted before. True: the job has begun anew. */
bool gang_runs_note_write(struct gang_runs *runs, int pid);
/* A checkpoint is complete; `step` -1: it has none. */
void gang_runs_note_complete(struct gang_runs *runs, int64_t step);
/* The newest checkpoint's writer is dead, and nobody else has completed one. */
bool gang_runs_holds(const struct gang_runs *runs);

#endif
