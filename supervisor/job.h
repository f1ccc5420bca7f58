/*
 * One job from restore to exit: owns the parts, feeds events to the job machine (job_machine.h) and carries its actions out.
 *
 *	job.c            the machine's driver: actions, timers, the end
 *	job_start.c      up to the launch: session, resume, environment, child
 *	job_profile.c    what the profile adds to the environment
 *	job_notices.c    signals and watchers -> notices
 *	job_requests.c   checkpoints on request, and who waits for them
 *	job_receipts.c   what came of a request, rank by rank
 *	job_snapshots.c  snapshots, retention, the recovery point
 *	job_flush.c      after the job's end: until everything is durable, or given up
 */
#ifndef JOB_H
#define JOB_H

#include "ask.h"
#include "base/cancel.h"
#include "base/loop.h"
#include "base/workers.h"
#include "budget.h"
#include "child.h"
#include "cloud/cloud.h"
#include "control.h"
#include "events.h"
#include "job_machine.h"
#include "job_name.h"
#include "options.h"
#include "outcome.h"
#include "profile.h"
#include "receipts.h"
#include "recovery_point.h"
#include "resume.h"
#include "session.h"
#include "shield.h"
#include "signals.h"
#include "snapshots.h"
#include "tending.h"
#include "tracker.h"
#include "workspace.h"

struct job {
	const struct run_options *options;
	const struct signals_inherited *inherited;
	struct job_name name;
	struct profile_choice profile;
	const char *store;    /* URL; NULL: none can be had */
	struct err no_store;  /* why there is none, until it has been said */
	bool store_is_needed; /* the user chose it: without it the job is not started */
	enum job_state state;

	struct loop loop;
	struct signals signals;
	struct workers *workers;
	struct cancel cancel; /* of restoring and claiming */
	struct session session;
	struct control *control;
	struct events events;
	struct workspace workspace;
	struct tracker *tracker;
	struct cloud_watch *watch;
	struct child child;
	struct ask ask;
	struct shield shield;
	struct snapshots *snapshots; /* NULL until an attempt is claimed */
	struct tending *tending;     /* likewise, and without --keep-* */
	json_t *snapshot_about;      /* of every snapshot's manifest; NULL: nothing */

	struct timer budget_timer;
	struct timer sweep_timer; /* kills what is left of a preempted job */
	struct budget budget;
	struct {
		struct timer timer;
		int64_t began_ms; /* 0: the job has not ended */
		unsigned tries;
		bool once_more; /* everything was tried again after the job's end */
		bool given_up;  /* --flush-time is over */
	} flush;

	struct resume_request resume_request;
	struct resume_result resume;
	struct err resume_err;
	bool resuming, resume_failed;

	struct notices notices;
	struct {
		bool active;     /* a request is out, and its checkpoint has not been sealed */
		int64_t sent_ms; /* when the job was asked; 0: not yet */
		bool answered;   /* some request was followed by a complete checkpoint */
		char reason[16];
	} request;
	struct receipts receipts; /* of the newest request */
	struct timer receipts_timer;
	struct timer every_timer;
	struct timer retry_timer; /* a snapshot that the store refused is tried again */

	struct sealed newest_sealed; /* if any_sealed */
	uint64_t durable_generation; /* of the newest durable one */
	int64_t durable_step;
	int64_t durable_ms; /* when what is durable was complete, or the restored checkpoint was put in place; 0: nothing is */
	struct recovery_point point;
	struct timer point_timer;
	int64_t upload_ms; /* from seal to commit, last time; -1 */
	bool any_sealed;
	bool store_failing;  /* said once per outage */
	bool tending_failed; /* said once */
	bool ours_failed;    /* anything that --strict turns into an error */
	bool killed;         /* SIGKILL was sent */
	bool superseded;     /* another attempt has taken over: publish no more */

	struct control_request *waiting[8]; /* clients of `reprieve checkpoint` */
	size_t waiting_count;

	struct outcome_facts facts;
	int refusal;        /* exit code when the job was never started */
	char **environment; /* "NAME=value", what the job sees of us; NULL-terminated */
};

/* Runs the whole life; returns the exit code. */
int job_run(struct job *job);

/* --- between the parts of this module --- */

/* job.c */
void job_feed(struct job *job, enum job_event event);
void job_forward_sigterm(struct job *job);
void job_failed(struct job *job, const char *what,
	const struct err *err); /* says it once, counts for --strict */

/* job_start.c */
int job_open(struct job *job, struct err *err);
void job_begin_resume(struct job *job);
void job_claim_late(struct job *job);
void job_launch(struct job *job);
void job_close(struct job *job);

void job_add_environment(struct job *job, char *pair); /* "NAME=value", taken over */

/* job_profile.c */
void job_add_profile_environment(struct job *job);

/* job_notices.c */
void job_signal_received(void *arg, const struct signalfd_siginfo *info);
/* -1 only for a list of sources that makes no sense. */
int job_start_watching(struct job *job, struct err *err);
void job_take_notice(struct job *job, const struct notice *notice);
/* --acknowledge: after the last commit, the cloud need not wait any more. Blocks for a moment. */
void job_acknowledge(struct job *job, const struct outcome *outcome);
/* What `reprieve status` shows of the sources and of the notice that stands. The caller releases. */
json_t *job_sources(const struct job *job);
json_t *job_notice(const struct job *job); /* NULL: none */

/* job_requests.c */
void job_request(struct job *job, const char *reason);
void job_prepare_asking(struct job *job);
void job_end_request(struct job *job);
bool job_asks_by_flag(const struct job *job); /* a request now would go out so */
bool job_can_ask(const struct job *job);      /* by more than a SIGTERM that may end it */
void job_checkpoint_saving(void *arg, const char *path);
void job_checkpoint_sealed(void *arg);
bool job_files_closed(void *arg);
void job_open_control(struct job *job);
void job_tell_clients(struct job *job, json_t *reply, bool last); /* takes over `reply` */

/* job_receipts.c */
void job_begin_receipts(struct job *job);
void job_add_receipts(struct job *job, const struct rank *ranks, size_t count, size_t expected);
void job_end_receipts(struct job *job);      /* looks no more; what was seen stays */
json_t *job_receipts(const struct job *job); /* NULL: nobody was asked */

/* job_snapshots.c */
int job_start_snapshots(struct job *job, struct err *err);
void job_ship(struct job *job); /* the newest complete checkpoint */
void job_note_sealed(struct job *job);
bool job_is_durable(const struct job *job);
json_t *job_status(const struct job *job);

/* job_flush.c */
void job_flush(struct job *job);
/* A snapshot failed: arms the next try, or returns false where there is none. */
bool job_flush_again(struct job *job, enum err_kind kind);

#endif
