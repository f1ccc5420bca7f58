/*
 * supervisor/core/: PURE. What the supervisor decides: the job as plain values, what can happen to
 * it, and what is done about it. No I/O, no clock, no thread, no pointer to any part, so that a
 * test can copy, compare and print all of it. job/runner.c feeds it, and performs what it says.
 *
 *	job_step(model, rules, view, event) -> effects
 *
 * For other folders, through this header alone; read model.h first, then step.c:
 *
 *	model.h			what is known of the job
 *	core.h			what can happen, and what is done about it
 *
 * Of this folder only:
 *
 *	step.c			the table of events, and their names; step.h: what these files share
 *	stopping.c		the job's life as a table; a notice and what follows: the time, the
 *				plan, a SIGTERM that waits for a save, a directory that settles,
 *				SIGTERM, SIGKILL
 *	asking.c		who asked for a checkpoint, and what each of them is told
 *	saving.c		checkpoints become snapshots; what is measured: how long saves take,
 *				how often they come
 *	durable.c		what came of them; after the job's end, the last one
 *	membership.c		a job on several machines: what is done together
 */
#ifndef CORE_H
#define CORE_H

#include "base/cleanup.h"
#include "base/err.h"
#include "model.h"

#include <stdint.h>

/* --- event --- */

/* PURE. What can happen to the job. Each part of the supervisor posts its own (job/job_<part>.c).
 */

enum job_event_kind {
	JOB_EV_RESTORED,       /* or there was nothing to restore: `claim` */
	JOB_EV_START_FAILED,   /* it must not start, or cannot be executed: `code` */
	JOB_EV_CLAIMED,        /* late, for a job that runs: `claim` */
	JOB_EV_LAUNCHED,       /* `checkpoint` lies there and is not in the store, if `fresh` */
	JOB_EV_SIGNAL,         /* to us: `signal`; it was `ignored` when we were started */
	JOB_EV_STOP_ANNOUNCED, /* or its deadline has changed: `stop` */
	JOB_EV_STOP_CANCELLED, /* the last announced stop was withdrawn */
	JOB_EV_ADVICE,         /* save early, if that is cheap */
	JOB_EV_CLIENT,         /* `client` asks for a checkpoint */
	JOB_EV_CLIENT_GONE,    /* `client` has hung up */
	JOB_EV_SENDING,        /* the job is asked now, `by_flag` or not */
	JOB_EV_ASKED,          /* ... and was */
	JOB_EV_CANNOT_ASK,
	JOB_EV_SAVE_STARTED,    /* the first file of a save was opened */
	JOB_EV_RUNNING_WRITTEN, /* a running file was written */
	JOB_EV_COMPLETE,        /* `checkpoint`; `fresh`, `late`: tracker.h, latest_checkpoint */
	JOB_EV_CHILD_EXITED,    /* and what it wrote last has been judged: `mapped_status` */
	JOB_EV_PLANNED,         /* a snapshot holds `generation`, and all before it */
	JOB_EV_SNAPSHOT_DONE,   /* `snapshot` */
	JOB_EV_RETENTION_DONE,
	JOB_EV_GANG_ROUND, /* the members save the newest checkpoint now */
	JOB_EV_GANG_ASKS,  /* a checkpoint is asked for at another member: `gang` */
	JOB_EV_GANG_TOLD,  /* what was asked for here, or the first notice, is in the log: `gang` */
	JOB_EV_GANG_ANSWERED, /* what all were asked for is durable, perhaps by another one's
			       * checkpoint: `gang` */
	JOB_EV_GANG_LEFT,     /* no other member needs a part of this one any more: `lost` */
	JOB_EV_TIMER,         /* `timer` */
	JOB_EVENTS,
};

struct child_exit {
	int wait_status;   /* as waitpid(2) gave it */
	int mapped_status; /* ... and as the user's rules map it */
	bool resumes;      /* the profile says that this code means "run me again" */
};

/* How taking an attempt of the job ended. */
struct claim_event {
	enum attempt_phase phase;
	bool restored;       /* a snapshot was put into place: `step` */
	bool any_checkpoint; /* the durable state of the start has one, not only running files */
	bool managed;        /* the directory holds checkpoints of this job */
	bool any_durable;
	int64_t step;
	struct interruption_history past;
};

struct stop_event {
	int64_t deadline_ms; /* CLOCK_NEVER: none is known */
	bool by_sigterm;     /* the effective one is */
	bool alone;          /* there is no other notice */
};

/* An event of the gang's log. */
struct gang_told {
	uint32_t event;
	uint64_t request; /* TOLD: of this member; 0: it is the first notice */
	/* ANSWERED: what that asks for, too; or another member has left by it, so that no more
	 * snapshots of all come */
	bool notice_is_over;
	/* ... the latter: no snapshot answers it */
	bool unanswered;
};

struct snapshot_event {
	bool durable, empty, changed; /* see save_result */
	/* the newest checkpoint had to be left out: it is not durable by it; `checkpoint` has the
	 * step and last write (0: none) of the newest that is */
	bool lacks_newest;
	bool not_whole; /* a part of a gang's that is not complete yet: no failure, but tried again
			 */
	enum err_kind error; /* if it is not durable */
	struct checkpoint checkpoint;
	uint64_t running_generation;
	int64_t took_ms; /* from the start of the upload to the commit */
};

struct job_event {
	enum job_event_kind kind;
	union {
		int code;
		struct {
			int signal;
			bool ignored;
		};
		struct child_exit child;
		struct {
			void *client;
			bool until_asked;
		};
		struct {
			struct checkpoint checkpoint; /* without reason */
			bool fresh, late;
		};
		/* what is written belongs to a run that the command has started */
		bool foreign;
		struct {
			/* the last files of all members will not be durable; the machine of
			 * another member is lost, and the job has failed by that */
			bool lost, silent;
		};
		bool by_flag;
		uint64_t generation;
		enum job_timer timer;
		struct claim_event claim;
		struct stop_event stop;
		struct snapshot_event snapshot;
		struct gang_told gang;
	};
};

/* --- effect --- */

/* PURE. What is done about an event. job/runner.c has one case for each kind. */

enum job_effect_kind {
	/* the start */
	JOB_DO_LAUNCH,
	JOB_DO_KEEP_SIGNAL, /* for the job, when it is launched */
	JOB_DO_CLAIM,       /* takes an attempt of the job, late */
	/* signals and notices */
	JOB_DO_PASS_SIGNAL,       /* to the job, as any init does */
	JOB_DO_TAKE_FOR_NOTICE,   /* the signal that came is a stop notice */
	JOB_DO_TELL_NEXT_ATTEMPT, /* until `at_ms` this one may commit; 0: it is not preempted */
	/* asking */
	JOB_DO_ASK,
	JOB_DO_STOP_ASKING,   /* and end what follows the asking: progress, flag */
	JOB_DO_CONFIRM_FLAG,  /* the flag was answered */
	JOB_DO_REPLY,         /* to `client`: `reply` */
	JOB_DO_REFUSE,        /* `client`: `refusal` */
	JOB_DO_SHARE_REQUEST, /* with the other members of the gang: `request` */
	/* ending the job */
	JOB_DO_FORWARD_SIGTERM, /* which may be a request to the job */
	JOB_DO_TERMINATE,       /* SIGTERM, to its main process */
	JOB_DO_TERMINATE_REST,  /* SIGTERM, to those that it has started */
	JOB_DO_KILL,            /* SIGKILL, to all of its processes */
	JOB_DO_HOLD_SIGTERM,    /* those that others send to its processes */
	JOB_DO_UNHOLD_SIGTERM,  /* the notice was withdrawn */
	JOB_DO_RELEASE_SIGTERM, /* to the processes for which it was held back */
	/* snapshots */
	JOB_DO_TAKE_SNAPSHOT,       /* of model.newest */
	JOB_DO_CANCEL,              /* the restore, the claim, the snapshot under way */
	JOB_DO_SET_COMMIT_DEADLINE, /* `at_ms` */
	JOB_DO_HURRY_STORE,
	JOB_DO_CALM_STORE,
	JOB_DO_START_RETENTION,
	JOB_DO_STOP_RETENTION,
	JOB_DO_LIMIT_RETENTION, /* to `at_ms` milliseconds from now */
	JOB_DO_LEAVE_GANG,      /* once no other member needs this one */
	/* */
	JOB_DO_SAY, /* `sentence` */
	JOB_DO_END, /* leave the loop */
	JOB_EFFECTS,
};

/* What is logged, and written to the event log: a row each in reporting/sentences.c. */
enum job_sentence {
	SAY_PLAN,
	SAY_WITHDRAWN,
	SAY_NOT_ASKED,
	SAY_CANNOT_ASK,
	SAY_NO_WAY_TO_ASK,
	SAY_SAVE_IS_USED,
	SAY_SAVING,
	SAY_COMPLETE,
	SAY_SAVED,
	SAY_DEFERRED,
	SAY_KILLING,
	SAY_OUT_OF_TIME,
	SAY_FLUSH_GOES_ON,     /* after Ctrl-C: another one ends it */
	SAY_FLUSH_INTERRUPTED, /* by that */
	SAY_NO_STORE,
	SAY_DURABLE,
	SAY_DURABLE_QUIETLY, /* one of many */
	SAY_STORE_WORKS,
	SAY_NOT_DURABLE, /* a first failure */
	SAY_STILL_FAILING,
	SAY_SUPERSEDED,
	SAY_WINDOW_TOO_SHORT,
	SAY_AT_RISK,
	SAY_INTERVAL,
	JOB_SENTENCES,
};

enum client_reply {
	REPLY_ASKED,
	REPLY_SAVED,
	REPLY_DURABLE,
	REPLY_FAILED,
};

enum client_refusal {
	REFUSED_SUPERSEDED,
	REFUSED_NOT_STARTED,
	REFUSED_BEING_STOPPED,
	REFUSED_ENDS_WHEN_ASKED,
	REFUSED_CANNOT_ASK,
};

struct job_effect {
	enum job_effect_kind kind;
	void *client;
	int64_t at_ms;
	enum client_reply reply;
	bool last; /* of the client's replies */
	enum client_refusal refusal;
	enum job_sentence sentence;
	uint64_t request;
};

/* Zero-initialise; may be used again after `count` is set to 0. */
struct job_effects {
	struct job_effect *items; /* owned */
	size_t count, capacity;
};

void job_effects_release(struct job_effects *effects);
AUTO(struct job_effects, job_effects_release);

/*
 * Takes one event, and appends what is to be done to `effects`, in the order in which it must
 * happen. `view`: what the parts say at that moment. Once the job is over, nothing changes.
 */
void job_step(struct job_model *model, const struct job_rules *rules, const struct job_view *view,
	      const struct job_event *event, struct job_effects *effects);

/* The job has ended so. Ask before the event, because its last files are judged by it. */
enum job_end job_child_end(const struct job_model *model, const struct job_rules *rules,
			   const struct child_exit *child);

/* A model of a job that has not started. Its requests are released by request_table_release(). */
struct job_model job_model_new(const struct job_rules *rules);

/* After the last step: whoever still waits for a checkpoint is told that none will come. */
void job_end_requests(struct job_model *model, struct job_effects *effects);

/* --- what follows from the model --- */

/* When the next of its timers is due; CLOCK_NEVER: none is. `timer` says which. */
int64_t job_next_due_ms(const struct job_model *model, enum job_timer *timer);
/* A checkpoint waits much longer than usual to become durable. */
bool job_is_upload_behind(const struct job_model *model, int64_t now_ms);
/* The newest complete checkpoint is not durable. */
bool job_has_pending(const struct job_model *model);
/* Running files have grown since the last durable snapshot. */
bool job_has_running_tail(const struct job_model *model, const struct job_view *view);
/* The job can be asked in another way than by a SIGTERM that may end it. */
bool job_can_request(const struct job_rules *rules, const struct job_view *view);
/* ... or by a SIGTERM that a process handles. */
bool job_can_request_or_signal(const struct job_rules *rules, const struct job_view *view);
/* The job is asked now, or was and has not saved yet. */
bool job_is_asking(const struct job_model *model);
/* The newest asking was a SIGTERM. */
bool job_asked_by_sigterm(const struct job_model *model, const struct job_rules *rules);
/* It has an attempt in the store, which no other one has taken over. */
bool job_can_save(const struct job_model *model);
/* What a preemption would cost now. */
struct preemption_facts job_forecast(const struct job_model *model, const struct job_rules *rules,
				     const struct job_view *view);
/* What the job wrote last and that is in no snapshot, because it was not complete. */
enum unsaved_work {
	UNSAVED_NOTHING,
	UNSAVED_CUT,   /* the save that the end has cut, as far as is known */
	UNSAVED_SAVES, /* more: the job went on after such a save */
};

/* After the last step: until when it may be asked whether the newest checkpoint is in a snapshot
 * all the same. `end_ms`: the deadline of the notice that stands (CLOCK_NEVER: none), of which half
 * of what is left is for that, since what comes of the run is still to be said. Without one it is
 * --flush-time, but some seconds at most. */
int64_t job_last_look_ms(const struct job_model *model, const struct job_rules *rules,
			 int64_t now_ms, int64_t end_ms);

/* After the last step: it is known only now that what is the newest checkpoint is in a snapshot. */
void job_note_late_commit(struct job_model *model);
/* ... and answers the notice by which all members of the gang end. */
void job_note_late_answer(struct job_model *model);

/* Completes the facts of the outcome when the job has ended. */
struct outcome_facts job_outcome_facts(const struct job_model *model, const struct job_rules *rules,
				       const struct job_view *view, enum unsaved_work unsaved);

#endif
