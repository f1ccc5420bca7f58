/* PURE. What is known of the job. All times are milliseconds of the monotonic clock. */
#ifndef MODEL_H
#define MODEL_H

#include "base/cleanup.h"
#include "completion/directory_view.h"
#include "planning/planning.h"
#include "scheduler/scheduler.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- why a checkpoint was saved --- */

/* PURE. Why a checkpoint was saved: because somebody asked for it, or by the job itself. */

enum save_reason {
	SAVED_BY_ITSELF, /* the job saved without being asked */
	SAVED_AT_EXIT,   /* ... and was known to be complete only when the job had exited */
	SAVED_ON_REQUEST,
	SAVED_AT_INTERVAL,
	SAVED_ON_ADVICE,
	SAVED_AT_NOTICE,
	SAVE_REASONS,
};

/* "change", "exit", "request", "interval", "advice", "notice": as in events and manifests. */
const char *save_reason_name(enum save_reason reason);

/*
 * The job's life: core/stopping.c has the table of (state, event) -> (action, next state). Uploads
 * are a second, small machine beside it (saving.c), because a checkpoint that the job saves by
 * itself is uploaded without any change of the job's state. Finished, preempted and requeued are no
 * states: outcome.c computes them once, at the end, from facts.
 */

enum job_state {
	JOB_RESTORING, /* the newest good snapshot is being restored; the job has not started */
	JOB_RUNNING,
	/* a stop is announced, the job has been asked, its checkpoint is not complete yet */
	JOB_CHECKPOINTING,
	JOB_STOPPING,  /* the job has got a SIGTERM, or is being killed */
	JOB_UPLOADING, /* the job has exited; its complete checkpoints are being uploaded */
	JOB_OVER,
	JOB_STATES,
};

/* Indexed by enum job_state; ends with NULL. */
extern const char *const job_state_names[JOB_STATES + 1];

/*
 * Who asked for a checkpoint, and what each of them is told (asking.c).
 *
 * A request is made by a client, a notice, an interval or advice. It is answered by what the job
 * saved after it was made, and by nothing else:
 *
 *	PENDING  a save was under way already: the job is asked once more when that has ended
 *	ASKED    the job is being asked, or was asked; the next complete checkpoint answers it
 *	SAVED    that checkpoint is complete; the request ends when it is durable, or is lost
 *
 * Requests that coincide share one save, each with an answer of its own. Only one asking is under
 * way at a time: a second signal would interrupt the job's handler.
 *
 * Of a gang, each request is an event in its log, and so is the first notice: what answers the
 * request here answers the event (request_table_saw()). Times say nothing of it, because an event
 * is read later than it happened. As on one machine, a checkpoint that was under way will do at a
 * notice, and for nothing else.
 */

enum request_phase {
	REQUEST_PENDING,
	REQUEST_ASKED,
	REQUEST_SAVED,
	REQUEST_OVER, /* to be removed */
};

struct request {
	uint64_t id;
	enum save_reason cause;
	enum request_phase phase;
	uint64_t generation; /* SAVED: the checkpoint that answers it */
	uint32_t event;      /* of a gang's log: what it is there; 0: not known yet, or a notice */
	void *client;        /* who waits for it; NULL: nobody */
	bool until_asked;    /* the client waits for the asking only, not for the checkpoint */
};

enum asking {
	ASKING_NONE,
	ASKING_BEGUN, /* a process to ask is being looked for */
	ASKING_SENT,  /* the job was asked: the next checkpoint that began since is the answer */
};

struct request_table {
	enum asking asking;
	struct request *items;
	size_t count;
	uint64_t last_id;
	/* of a gang: the first notice in its log (0: none), whether a checkpoint has answered a
	 * notice, and the newest request that one has answered */
	uint32_t notice;
	bool notice_saved;
	uint32_t saw;
};

void request_table_release(struct request_table *table);

/* A request waits for a checkpoint that the job was, is or will be asked for. */
bool request_table_is_open(const struct request_table *table);
/* The most urgent cause of the asking under way; SAVED_BY_ITSELF: none is. */
enum save_reason request_table_cause(const struct request_table *table);
/* Somebody waits for `generation`, or for more. */
bool request_table_awaits(const struct request_table *table);
/* Of a gang: the newest event of its log such that the newest complete checkpoint answers it, and
 * all before it; 0: none. The first notice counts for all that follows it. */
uint32_t request_table_saw(const struct request_table *table);

/* How the job is asked for a checkpoint. */
enum request_method {
	/* SIGTERM if the job handles it, or the flag once a process polls */
	REQUEST_AUTO,
	/* do not ask: there are only the job's periodic checkpoints */
	REQUEST_NONE,
	REQUEST_SIGNAL,
	REQUEST_COMMAND,
	/* the flag that the job polls (shim/reprieve.h) */
	REQUEST_FLAG,
};

/* A complete checkpoint. */
struct checkpoint {
	uint64_t generation; /* how many were complete by then: another number for each */
	int64_t step;        /* -1: unknown */
	enum save_reason reason;
	int64_t completed_ms; /* when it was known to be complete */
	int64_t written_ms;   /* its last write: later work of the job is not in it */
	bool by_word;         /* the job called it complete: nothing of it is still to come */
	/* the newest step that the job had reported by then; -1: none */
	int64_t reported_step;
	/* none was complete in this attempt: it is the one of the start, with newer running files
	 */
	bool as_of_start;
	/* there is none at all: it holds curves, and nothing to resume from */
	bool curves_only;
};

/* What does not change while the job runs: the user's options and the profile. */
struct job_rules {
	enum request_method ask;
	bool may_flag;         /* the flag is used once a process polls it */
	bool asks_by_sigterm;  /* the signal that asks is SIGTERM */
	bool ends_when_asked;  /* a signal makes it save and exit: only a stop may use it */
	bool zero_is_finished; /* it trains on after a save: exit 0 is no answer to a request */
	bool expects_saves;    /* an option says that the job saves checkpoints */
	bool place_chosen;     /* an option says where */
	bool has_store;
	bool of_gang;  /* one of several machines that save together */
	bool requeues; /* under Slurm, which is asked to start the job again */
	/* bit n - 1: by signal n the scheduler announces the end of the job */
	uint64_t notice_signals;
	bool every_auto, retains;
	int64_t quiet_ms, snapshot_interval_ms, flush_ms, grace_ms;
	int64_t every_ms, mtbf_ms; /* 0: not given */
	int request_signal;
};

/* What the parts say just now. */
struct job_view {
	int64_t now_ms;
	bool child_running;
	struct directory_view directory;
	bool saves_elsewhere; /* its checkpoints, and has written nothing here */
	/* asking */
	bool has_target;     /* a process handles SIGTERM; only looked at when it matters */
	bool could_use_usr1; /* none does, but one handles SIGUSR1 */
	bool any_rank;       /* somebody was asked by a signal */
	bool rank_saving;    /* ... and is saving */
	/* the upload under way */
	bool uploading;
	/* ... and waits for other members of the gang, or for its turn among them */
	bool awaits_gang;
	/* the jobs of all have ended, and their last files are not durable yet; when the others
	 * were last known to go on (0: never) */
	bool awaits_final;
	int64_t gang_heard_ms;
	/* the others need its job to go on until a snapshot of all answers the notice */
	bool gang_needs_job;
	/* a snapshot of the gang is in the store, of this attempt */
	bool gang_has_saved;
	uint64_t bytes_done, bytes_total;
	int64_t upload_began_ms;
	int64_t accepted_ms;     /* when the store last took new bytes; 0: never */
	int64_t usual_window_ms; /* from a notice of this cloud to the end; 0: unknown */
};

enum attempt_phase {
	ATTEMPT_NONE,      /* there is no store: nothing will be saved */
	ATTEMPT_UNCLAIMED, /* it is claimed when the job first writes */
	ATTEMPT_CLAIMING,  /* the store is at work: also during the restore */
	ATTEMPT_CLAIMED,
};

enum job_timer {
	TIMER_BUDGET,    /* the time for this state of its life is over */
	TIMER_SAVE_OVER, /* does the save still go on that a request waits for? */
	TIMER_SETTLING,  /* has the directory settled, so that the job may be told to end? */
	TIMER_INTERVAL,  /* --every */
	TIMER_SNAPSHOT,  /* the next snapshot is due */
	TIMER_RETRY,     /* a snapshot that failed is tried again */
	TIMER_FLUSH,     /* --flush-time */
	TIMER_RISK,      /* too much work is not durable */
	JOB_TIMERS,
};

struct job_model {
	enum job_state state;
	int64_t due_ms[JOB_TIMERS]; /* CLOCK_NEVER: not armed */
	struct outcome_facts facts;
	int64_t launched_ms;

	/* the merged stop notice */
	struct {
		bool stands, by_sigterm;
		int64_t deadline_ms; /* of the machine; CLOCK_NEVER: none stands, or none is known
				      */
	} stop;
	int64_t wish_ms; /* when the newest wish to stop began, by a SIGTERM; 0: there was none */
	struct deadline_budget budget;
	struct {
		bool made;         /* for the notice that stands */
		bool upload_first; /* the job is asked after the upload under way */
		enum preemption_plan choice;
		struct preemption_facts facts;
	} plan;
	/* a SIGTERM that is forwarded after the save under way, or the next */
	struct {
		bool awaited;
		unsigned saves; /* that were complete since */
		struct preemption_facts facts;
	} deferral;
	/* after the answer to a notice, or the save that SIGTERM waits for; 0: not yet */
	int64_t settling_until_ms;
	int64_t told_ms;     /* when the job got its SIGTERM, or the user's Ctrl-C; 0: not */
	int64_t stopping_ms; /* since when it is being ended */
	bool rest_told;      /* so have the processes that its main process has started */
	bool killed;

	struct request_table requests;
	/* the newest asking */
	struct {
		int64_t sent_ms; /* 0: not yet */
		bool by_flag;
		bool forwarded;   /* it was a SIGTERM, forwarded as it was received */
		bool answered;    /* a complete checkpoint followed */
		unsigned answers; /* of all askings */
		/* when that first happened, even if the request had been withdrawn; 0: never */
		int64_t first_answer_ms;
	} asking;

	bool any_complete;
	struct checkpoint newest; /* the newest complete one, if any */
	enum attempt_phase attempt;
	bool claim_tried; /* the store had no room: each complete checkpoint tries again */
	struct {
		bool in_flight;
		int64_t pending_ms; /* since when a complete checkpoint waits for one; 0: none */
		int64_t partners_until_ms; /* until when it waits for what belongs to that one */
		int64_t begun_ms;          /* the last one; 0: none was */
		uint64_t durable_generation;
		uint64_t durable_running; /* of the running files in the last durable one */
		/* ... when the job ended: what changes afterwards is not its work; 0: not yet */
		uint64_t ended_running;
		struct snapshot_pacer pacer;
		bool any_durable; /* this attempt's, or the one that it started from */
		bool failing;     /* the store does; said once for each outage */
		bool superseded;  /* another attempt has taken over: publish no more */
		bool retaining;   /* old snapshots are being removed */
		unsigned said;    /* lines of log for frequent saves */
		int64_t said_ms;
	} snapshots;
	/* the durable checkpoint: -1 and 0 are unknown, or none */
	struct {
		int64_t step, reported_step;
		int64_t written_ms;           /* its last write, or when it was restored */
		int64_t committed_ms, gap_ms; /* the newest commit; from the one before to it */
		bool as_of_start;             /* no checkpoint of this attempt is in it */
	} durable;
	int64_t waiting_ms; /* since when a complete checkpoint waits to become durable; 0: none */
	/* after the job's end */
	struct {
		int64_t began_ms; /* 0: it has not ended */
		unsigned tries;
		bool once_more; /* the newest checkpoint was queued again */
		bool given_up;  /* --flush-time is over */
		/* Ctrl-C: it was said that another one ends the flush; that one came */
		bool offered, interrupted;
	} flush;

	/* after the end of a gang's job: the others may need a part of this member */
	struct {
		bool leaving, left;
		/* the last files of all are not durable, because of another member */
		bool lost;
		/* what the notice asks for is durable, of all members, or never will be */
		bool answered;
		/* what is pending was saved since then: it is of no use without theirs */
		bool excused;
	} gang;

	struct {
		int64_t save_ms;   /* of a save, smoothed; -1: none yet */
		int64_t saving_ms; /* since when one is under way; 0: none is */
		int64_t upload_ms; /* of the last snapshot with a new checkpoint; -1: none */
		struct save_rhythm rhythm;
		/* until then, what is complete next belongs to the save before it; 0: it does not
		 */
		int64_t same_save_until_ms;
		struct checkpoint_interval interval; /* every_ms 0: none */
		struct interruption_history past;    /* earlier attempts */
		unsigned risk_said;                  /* warnings since the last commit */
		bool behind_said;                    /* and that the store falls behind */
		bool window_said;
	} measured;
};

#endif
