/* PURE. What can happen to the job. Each part of the supervisor posts its own (job/job_<part>.c).
 */
#ifndef EVENT_H
#define EVENT_H

#include "base/err.h"
#include "model.h"

enum job_event_kind {
	JOB_EV_RESTORED,       /* or there was nothing to restore: `claim` */
	JOB_EV_RESTORE_FAILED, /* and the job must not start without it: `code` */
	JOB_EV_CLAIMED,        /* late, for a job that runs: `claim` */
	JOB_EV_LAUNCHED,       /* `checkpoint` lies there and is not in the store, if `fresh` */
	JOB_EV_LAUNCH_FAILED,  /* `code` */
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

/* What that means for its last files. */
enum child_end {
	CHILD_END_CLEAN,   /* what is closed counts as complete */
	CHILD_END_ASKED,   /* ... only if it was closed since the request, or has its signature */
	CHILD_END_CRASHED, /* what was not complete before is torn */
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

const char *job_event_name(enum job_event_kind kind); /* "save_started" */

#endif
