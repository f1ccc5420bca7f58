/* PURE. What is known of the job. All times are milliseconds of the monotonic clock. */
#ifndef MODEL_H
#define MODEL_H

#include "lifecycle.h"
#include "planning/planning.h"
#include "request_table.h"
#include "save_reason.h"
#include "scheduler/scheduler.h"
#include "stop_wish.h"

#include <stdbool.h>
#include <stdint.h>

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
	bool every_auto, retains, strict;
	int64_t quiet_ms, snapshot_interval_ms, flush_ms, grace_ms;
	int64_t every_ms, mtbf_ms; /* 0: not given */
	int request_signal;
};

/* What the parts say just now. */
struct job_view {
	int64_t now_ms;
	bool child_running;
	/* the checkpoint directory */
	bool saving;   /* a save is under way, or goes on beside its number */
	bool own_word; /* the job itself has called its newest complete checkpoint so */
	/* all that is under way is closed since then, and the job's end would prove it complete; 0:
	 * not so, or nobody has told it to end */
	int64_t closed_ms;
	bool replacing; /* fixed names are being written */
	/* until when those are awaited that belong to the newest number; 0: none is */
	int64_t partners_until_ms;
	bool only_running; /* only running files were written so far */
	bool running_work; /* and they are more than curves */
	/* a snapshot now would hold only a part of the newest checkpoint, and nothing new */
	bool holds_less;
	bool saves_elsewhere;  /* its checkpoints, and has written nothing here */
	int64_t last_write_ms; /* to a file that is not a running one; 0: none yet */
	int64_t reported_step; /* the newest that the job has reported; -1: none */
	uint64_t running_generation;
	/* asking */
	bool polled;      /* a process polls the flag */
	bool has_target;  /* a process handles SIGTERM; only looked at when it matters */
	bool any_rank;    /* somebody was asked by a signal */
	bool rank_saving; /* ... and is saving */
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
	TIMER_DEFERRAL,  /* may the deferred SIGTERM be forwarded? */
	TIMER_SETTLING,  /* has the directory settled after the answer to a notice? */
	TIMER_INTERVAL,  /* --every */
	TIMER_SNAPSHOT,  /* the next snapshot is due */
	TIMER_RETRY,     /* a snapshot that failed is tried again */
	TIMER_FLUSH,     /* --flush-time */
	TIMER_RISK,      /* too much work is not durable */
	TIMER_POINT,     /* a checkpoint waits for too long to become durable */
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
		int64_t deadline_ms; /* CLOCK_NEVER: none */
	} stop;
	struct stop_wish stop_wish;
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
		unsigned saves;   /* that were complete since */
		int64_t until_ms; /* the directory settles, until then; 0: not yet */
		struct preemption_facts facts;
	} deferral;
	int64_t settling_until_ms; /* after the answer to a notice */
	int64_t told_ms;           /* when the job got its SIGTERM, or the user's Ctrl-C; 0: not */
	int64_t stopping_ms;       /* since when it is being ended */
	bool rest_told;            /* so have the processes that its main process has started */
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
	struct recovery_point point;
	/* after the job's end */
	struct {
		int64_t began_ms; /* 0: it has not ended */
		unsigned tries;
		bool once_more; /* the newest checkpoint was queued again */
		bool given_up;  /* --flush-time is over */
		/* Ctrl-C: it was said that another one ends the flush; that one came */
		bool offered, interrupted;
		bool refused; /* no more tries, because they would change nothing */
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
		bool window_said;
	} measured;
};

#endif
