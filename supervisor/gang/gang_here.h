/*
 * PURE. What is known here of the job, and of the parts that this member has given: beside what the
 * log says (gang_view.h), all that its decisions are made from (gang_rounds.h, gang_stop.h).
 */
#ifndef GANG_HERE_H
#define GANG_HERE_H

#include "gang_view.h"

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
	/* The newest GANG_EVENT_GONE, if all that had gone up to it were known here to have gone
	 * when the newest checkpoint was begun; else 0. */
	uint32_t begun_without;
	/* When the newest one was read here; and from when on what the job begins is seen to be
	 * begun after that. INT64_MAX: not yet. */
	int64_t gone_read_ms, gone_seen_ms;
	/* Steps in a second, since the first one was complete; 0: not known. When the newest step
	 * was complete. */
	double pace;
	int64_t first_step, first_ms;
	int64_t completed_ms;
	/* The job has begun anew within the attempt (gang_runs.h), or its steps have fallen back:
	 * the rounds up to `fallen` were open then, and no checkpoint up to `stale` is given any
	 * more. `anew`: the log is not read yet up to that moment. */
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
	/* The newest round in which a part of it may lie in the store, whatever has come of its
	 * save, and the checkpoint of the first try that may have put it: that one stays.
	 * `put_stays`: that try is over. */
	uint32_t put;
	uint64_t put_generation;
	bool put_stays;
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
/* A GANG_EVENT_GONE was read; `now_ms` is in `here`. */
void gang_here_note_gone(struct gang_here *here);

/* The part of this round is made now. */
void gang_here_note_part(struct gang_here *here, uint32_t round, uint64_t generation, int64_t step,
			 bool beside);
/* That try is over. `put`: a part of the round may lie in the store. */
void gang_here_note_part_ended(struct gang_here *here, uint32_t round, bool put);
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
/*
 * A member that has gone gives no part in the rounds behind its GANG_EVENT_GONE, and what its job
 * has saved together with the others lacks that part there. So a checkpoint is of those that are
 * left only if it was begun after this member had read of all that had gone by then. That is its
 * own order alone: no clocks are compared, and the others need not agree, because each decides
 * before it gives its part, and a snapshot has the parts of all that are left. Ranks that are slow
 * may begin late what the gone one had begun before: that step is none of those, also if the job
 * has begun anew: whether that was before or after the gone one had come there, nobody can know. A
 * member that saves nothing has no part in anything.
 *
 * `gone`: the newest GANG_EVENT_GONE up to which none gives a part. True: the newest checkpoint
 * here may lack one, or if there is none, what the attempt has started from.
 */
bool gang_here_may_lack_part(const struct gang_here *here, const struct gang_view *view,
			     uint32_t gone);
/* There is a checkpoint that may be given, if its round comes. */
static inline bool gang_here_can_give(const struct gang_here *here)
{
	return here->generation > here->stale;
}

#endif
