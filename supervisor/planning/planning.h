/*
 * supervisor/planning/: what to do with the time that there is. Everything here is PURE: plain
 * values in, plain values out, no clock. The files of core/ supply the facts.
 *
 * planning.c, in the order of this header but for the first: divides the time of a notice, and
 * plans for it; how often to ask for a checkpoint (--every auto); how often the job saves by
 * itself; when the next snapshot is begun; how far durability is behind the work.
 */
#ifndef PLANNING_H
#define PLANNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- how often to ask --- */

/*
 * PURE. How often a job should save (--every auto). Saving too often wastes the time of the saves;
 * saving too seldom wastes the work since the last one. Let C be the time for which a save stops
 * the job, M the mean time between two losses of the machine, and p the share of losses that are
 * announced early enough for a save. Then an interval of T wastes C/T + (1-p)T/2M of the time,
 * which is least at T = sqrt(2CM/(1-p)). For p = 0 this is Young's interval (CACM 17(9), 1974).
 * Like it, it assumes that C is small against M, and that losses come at random.
 */

/* the assumed mean time between losses, until some are known */
#define CHECKPOINT_INTERVAL_MTBF_MS (4 * 3600 * 1000)
/* the first save is requested after this time, to measure what one costs */
#define CHECKPOINT_INTERVAL_FIRST_MS 300000
#define CHECKPOINT_INTERVAL_LEAST_MS 10000
#define CHECKPOINT_INTERVAL_MOST_MS (6 * 3600 * 1000)

/* How earlier attempts of the job ended. */
struct interruption_history {
	int64_t ran_ms;         /* running time of the interrupted ones, summed, if recorded */
	int64_t save_ms;        /* time of a save in the newest that recorded it; -1: none did */
	uint32_t interruptions; /* attempts that are in ran_ms */
	uint32_t announced;     /* attempts that ended preempted, with the work durable */
	uint32_t unannounced;   /* attempts without an end record, or with work lost */
};

struct checkpoint_interval_facts {
	struct interruption_history past;
	int64_t save_ms; /* measured in this attempt; -1: not yet */
	int64_t mtbf_ms; /* given by the user; 0: not given, so the history is used */
	bool fits;       /* a save and its upload fit into a notice */
};

struct checkpoint_interval {
	int64_t every_ms;
	/* the time of a save that it was computed from; -1: unknown until the first save */
	int64_t save_ms;
	int64_t mtbf_ms;
	/* p above, 0 to 0.95 */
	double announced;
};

/* Between CHECKPOINT_INTERVAL_LEAST_MS and _MOST_MS. */
struct checkpoint_interval checkpoint_interval_choose(
	const struct checkpoint_interval_facts *facts);

/* The two differ by more than half, which is worth a log line. */
bool checkpoint_interval_differs(const struct checkpoint_interval *old,
				 const struct checkpoint_interval *now);

/* The smoothed time of a save: the newest has a weight of one quarter. `known_ms` -1: it is the
 * first. */
int64_t checkpoint_interval_smooth(int64_t known_ms, int64_t newest_ms);

/* --- the time of a notice --- */

/*
 * PURE. Divides the time that a notice leaves: wait for a checkpoint, finish a save, upload, exit.
 * The deadline itself is job_deadline_ms() of the job. All times are milliseconds of the monotonic
 * clock.
 */

struct deadline_budget {
	/* latest moment to wait for a save that has not begun */
	int64_t ask_until_ms;
	/* latest moment to wait for a running save before SIGTERM */
	int64_t stop_until_ms;
	/* latest moment for the commit; an upload is cancelled then, to leave time for an orderly
	 * exit */
	int64_t commit_until_ms;
};

/* now <= ask <= stop <= commit <= deadline, the end of the machine. If that has passed, all are
 * now. `upload_ms`: how long the last snapshot took from complete to committed; -1: none measured
 * yet. */
struct deadline_budget deadline_budget_split(int64_t now_ms, int64_t deadline_ms,
					     int64_t upload_ms);

/*
 * When to tell the other processes of a job that has not ended, of which `since_ms` its main
 * process knows and which is killed at `kill_ms`: SIGTERM ends a save under way if nobody handles
 * it, so that waits, but there has to be time left to end in.
 */
int64_t deadline_budget_rest_ms(int64_t since_ms, int64_t kill_ms, bool saving);

/*
 * When to kill it: at commit_until_ms. Killing it earlier helps only the upload, of what is
 * complete or of what its end proves complete, and may tear what the job still writes. So even then
 * it has the time that the upload does not need, at least half of the time since it was told, and
 * half of the time since it closed its last file: it is killed once it has been still for as long
 * as there is left.
 *
 * It got its SIGTERM at `told_ms`. `pending`: a complete checkpoint is not durable. `closed_ms`:
 * all that it was writing is closed since then, and its end would prove that complete; 0: not so.
 * Whether it handles SIGTERM says nothing more: it may be between two files all the same.
 */
int64_t deadline_budget_kill_ms(const struct deadline_budget *budget, int64_t told_ms, bool pending,
				int64_t closed_ms);

/* --- what a preemption costs --- */

/* PURE. What a preemption would cost now, and the plan for the notice that announces it. All
 * durations are milliseconds. */

struct preemption_facts {
	int64_t window_ms;     /* from the notice to the end of the machine */
	int64_t save_ms;       /* time of a save; -1: not measured yet */
	int64_t upload_ms;     /* what a snapshot takes; -1: not measured yet */
	int64_t rest_ms;       /* until the pending checkpoint is durable; -1: unknown */
	int64_t behind_ms;     /* work that is not durable, as the time since the durable one */
	int64_t saving_for_ms; /* since the save under way began; -1: none is under way */
	int64_t save_gap_ms;   /* from one save to the next, usually; 0: unknown */
	int64_t since_save_ms; /* since the last save was complete */
	/* since the start of a job that saves by itself and has not done so yet; -1: another one */
	int64_t unsaved_for_ms;
	bool can_ask; /* the job can be asked for a checkpoint */
	/* nobody waits for its end: it trains on until no further save is due in time */
	bool trains_on;
	bool pending; /* a complete checkpoint is not durable yet */
	bool any_durable;
};

enum preemption_plan {
	/* ask for a fresh checkpoint and upload it */
	PREEMPTION_SAVE,
	/* the job cannot be asked, but is saving: wait for that save */
	PREEMPTION_AWAIT_SAVE,
	/* the job cannot be asked, but its next save is due in time: wait for that one */
	PREEMPTION_AWAIT_NEXT,
	/* the same, but how often it saves is not known: its first save may come in time */
	PREEMPTION_AWAIT_FIRST,
	/* a fresh one does not fit: first upload the newest complete one */
	PREEMPTION_FINISH_UPLOAD,
	/* neither fits, or no checkpoint is pending: rely on what is durable */
	PREEMPTION_NOTHING,
};

/* The best plan that there is time for. A duration that is not known is assumed to fit. */
enum preemption_plan preemption_forecast_choose(const struct preemption_facts *facts);

/* Until the next save of a job that saves by itself; 0: it is late; -1: none is expected, because
 * how often it saves is not known, or because it has stopped saving. */
int64_t preemption_forecast_next_save_ms(const struct preemption_facts *facts);

/* How long an upload will still take that has run for `elapsed_ms`: by the share that is done, once
 * that says enough, else by the usual time (`usual_ms`, -1: unknown). -1: unknown. */
int64_t preemption_forecast_rest_ms(int64_t elapsed_ms, uint64_t done, uint64_t total,
				    int64_t usual_ms);

/* A save and its upload are known not to fit the window. */
bool preemption_forecast_is_too_long(const struct preemption_facts *facts);

/* "plan: a fresh checkpoint (save takes 12 s, upload 30 s; 2 min 0 s left)". Returns `buffer`. */
const char *preemption_forecast_format_plan(const struct preemption_facts *facts, char *buffer,
					    size_t capacity);

/* "a preemption now would lose 14 min". Returns `buffer`. */
const char *preemption_forecast_format_loss(const struct preemption_facts *facts, char *buffer,
					    size_t capacity);

/*
 * The age of the work at risk at which to warn, after `said` warnings. The first comes at ten
 * minutes, or at twice the usual time between two durable checkpoints (-1: unknown) if that is
 * longer; each further one at twice the age of the one before. INT64_MAX: no more warnings.
 */
int64_t preemption_forecast_warn_ms(int64_t usual_gap_ms, unsigned said);

/* From the notice to the end of the machine, for the source "aws", "gcp" or "azure"; 0: unknown. */
int64_t preemption_forecast_window_of(const char *cloud);

/* --- how far durability is behind --- */

/*
 * What of an attempt's work is in no snapshot, in time: from the last write to what is durable, or
 * else from the launch, to the end of the work. Nobody sees a job stop its work. It ends
 *
 *   at the last write, if the job has reported its steps, and none after that;
 *   when it was told to end, if it obeyed: what follows is its last save, and its exit;
 *   at its exit, if nobody told it, or if it was killed and had not even saved until then.
 */
struct attempt_work {
	int64_t launched_ms, exited_ms;
	int64_t written_ms; /* before launched_ms: nothing that it has written is durable */
	int64_t told_ms;    /* by a signal, or a request by which it ends; 0: never */
	bool killed;        /* at the end, with SIGKILL */
	bool answered;      /* what it was told, by a save */
	int64_t lost_steps; /* -1: unknown */
};

int64_t recovery_point_lost_ms(const struct attempt_work *work);
/* What of it is durable. The rest of its time until the exit went into the last save and the exit.
 */
int64_t recovery_point_kept_ms(const struct attempt_work *work);

/* --- how often the job saves --- */

/*
 * PURE. How often the job saves by itself: the usual time from one complete checkpoint to the next.
 * It predicts the next save at a notice. Times are ms of CLOCK_MONOTONIC.
 */

struct save_rhythm {
	int64_t last_ms; /* when the last save was complete; 0: none was yet */
	int64_t gap_ms;  /* from one to the next, smoothed; 0: there were no two yet */
};

/* A checkpoint became complete at `now_ms`. One that follows another closely belongs to the same
 * save: last.ckpt after epoch=3.ckpt. */
void save_rhythm_note(struct save_rhythm *rhythm, int64_t now_ms);

/* --- when the next snapshot is begun --- */

/*
 * PURE. When the next snapshot is begun. A job that saves ten times a second gets one every few
 * seconds, of the newest checkpoint that is complete then, so that what the requests cost is
 * bounded; a job that saves seldom gets each one at once.
 */

#define SNAPSHOT_PACING_NEVER INT64_MAX

/* How often snapshots were begun: some may follow each other closely, on average one in each
 * interval. Zero-initialise. Times are ms of CLOCK_MONOTONIC. */
struct snapshot_pacer {
	/* a snapshot may be begun although this time lies ahead, but not by more than
	 * SNAPSHOT_PACING_BURST intervals */
	int64_t paid_until_ms;
};
/* Snapshots that may follow each other closely. */
#define SNAPSHOT_PACING_BURST 3

struct snapshot_pacing_facts {
	int64_t now_ms;
	/* --snapshot-interval; 0: no limit */
	int64_t interval_ms;
	/* since when a complete checkpoint is in no snapshot that was begun; 0: none is */
	int64_t pending_ms;
	/* the last write to a file that is not a running one; 0: none yet, or nothing follows it */
	int64_t last_write_ms;
	/* fixed names are being written, or name a checkpoint that is: a snapshot now would have to
	 * leave them out, or what they name. It waits for at most so long; 0: there is none. */
	int64_t replacing_most_ms;
	/* Fixed names that belong to the checkpoint are awaited until then: with them it is what
	 * the job resumes from. 0: none is */
	int64_t partners_until_ms;
	/* a notice or a request: the interval does not count, but there are two a second at most
	 */
	bool urgent;
	/* the job has ended: this one is the last */
	bool last;
	/* only running files were written since the last snapshot, and no checkpoint is ever
	 * written: they are the job's work */
	bool only_running;
	/* when the job was launched, and the last snapshot was begun; 0: none yet */
	int64_t launched_ms, begun_ms;
};

/* Milliseconds until the next one is to be begun; 0: now; SNAPSHOT_PACING_NEVER: nothing to save.
 */
int64_t snapshot_pacing_wait_ms(const struct snapshot_pacer *pacer,
				const struct snapshot_pacing_facts *facts);
/* One is begun now. */
void snapshot_pacing_note_begun(struct snapshot_pacer *pacer, int64_t now_ms, int64_t interval_ms);

#endif
