/* PURE. What is done about an event. job/perform.c has one row for each kind. */
#ifndef EFFECT_H
#define EFFECT_H

#include "base/cleanup.h"
#include "model.h"

enum job_effect_kind {
	/* the start */
	JOB_DO_LAUNCH,
	JOB_DO_CANCEL_RESTORE,
	JOB_DO_KEEP_SIGNAL, /* for the job, when it is launched */
	JOB_DO_CLAIM,       /* takes an attempt of the job, late */
	/* signals and notices */
	JOB_DO_PASS_SIGNAL,       /* to the job, as any init does */
	JOB_DO_TAKE_FOR_NOTICE,   /* the signal that came is a stop notice */
	JOB_DO_TELL_NEXT_ATTEMPT, /* until `at_ms` this one may commit; 0: it is not preempted */
	/* asking */
	JOB_DO_ASK,
	JOB_DO_STOP_TRYING,   /* to ask */
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
	JOB_DO_TAKE_SNAPSHOT, /* of model.newest */
	JOB_DO_CANCEL_SNAPSHOTS,
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
	SAY_SAVING_QUIETLY, /* nobody asked for it */
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
	SAY_UPLOAD_BEHIND,
	SAY_WINDOW_TOO_SHORT,
	SAY_AT_RISK,
	SAY_INTERVAL,
	JOB_SENTENCES,
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
	enum request_effect_kind reply;
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

#endif
