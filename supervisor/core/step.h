/* PURE. Shared by the files of this folder: one step, and what each of them does in it. */
#ifndef STEP_H
#define STEP_H

#include "base/clock.h"
#include "core.h"

struct step {
	struct job_model *model;
	const struct job_rules *rules;
	const struct job_view *view;
	struct job_effects *effects;
};

static inline int64_t earlier_of(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* --- step.c --- */
/* This checkpoint is durable. */
void set_durable(struct job_model *model, const struct checkpoint *checkpoint);
void act(const struct step *step, enum job_effect_kind kind);
void act_at(const struct step *step, enum job_effect_kind kind, int64_t at_ms);
void act_on(const struct step *step, struct job_effect effect);
void say(const struct step *step, enum job_sentence sentence);
void arm(const struct step *step, enum job_timer timer, int64_t at_ms);
void disarm(const struct step *step, enum job_timer timer);

/* --- stopping.c --- */

/* The other events that step the table of the job's life. */
enum {
	EV_CHECKPOINT_COMPLETE = JOB_EVENTS, /* one that began after the request */
	EV_UPLOADED,                         /* no snapshot is running or waiting */
	EV_BUDGET_SPENT,                     /* the time for this state is over */
	LIFE_EVENTS,
};

/* Steps the table of the job's life, and does what it says. `event`: of either enum. */
void live(const struct step *step, int event);
/* A snapshot has ended: asks the job if that waited for it. */
void continue_plan(const struct step *step);
void tell_next_attempt(const struct step *step);
void on_budget_due(const struct step *step);

/* A SIGTERM that asks may be the last thing that the job gets: after the save under way, or the
 * next one if it is due in time; else now. */
void forward_sigterm_in_time(const struct step *step);
/* Forwards a deferred SIGTERM now. False: none was deferred, or the job is gone. */
bool end_deferral(const struct step *step);
void cancel_deferral(const struct step *step);
void note_awaited_save(const struct step *step);
/* A save is complete: ends a job that waits for nothing but its next save. */
void end_after_save(const struct step *step);
/* The job has answered: tells it to end, at a notice once its directory has settled. */
void settle(const struct step *step);
void on_settling_due(const struct step *step);

/* --- asking.c --- */

/* Takes the cause, the client and the event of `asked`. `saving`: the job saves for an earlier
 * asking. Returns the id; 0: a request that was there serves this one. */
uint64_t requests_make(const struct step *step, struct request asked, bool saving);
/* The request `id` is `event` in the gang's log; 0: its first notice. */
void requests_note_event(const struct step *step, uint64_t id, uint32_t event);
/* A SIGTERM was forwarded, which may be a request to the job. */
void requests_note_forwarded(const struct step *step);
/* The answer to what was sent is complete; `late`: it began before. */
void requests_note_complete(const struct step *step, uint64_t generation, bool late);
/* `generation` is durable, and all before it; or will not be, as far as is known. */
void requests_note_stored(const struct step *step, uint64_t generation, bool durable);
/* What is `event` in the gang's log, and all before it, is durable, by another member's checkpoint.
 */
void requests_note_elsewhere(const struct step *step, uint32_t event);
/* The notice stands no more. */
void requests_withdraw(const struct step *step);
/* The job is told to end, or has exited: it is asked no more. */
void requests_stop(const struct step *step);
/* Nothing more becomes durable. */
void requests_end(const struct step *step);
void request_checkpoint(const struct step *step, enum save_reason cause);
bool asks_by_flag(const struct job_rules *rules, const struct job_view *view);
void on_client(const struct step *step, const struct job_event *event);
void on_client_gone(const struct step *step, const void *client);
void on_sending(const struct step *step, const struct job_event *event);
void on_asked(const struct step *step);
void on_cannot_ask(const struct step *step);
void on_save_over_due(const struct step *step);

/* --- saving.c --- */
void on_save_started(const struct step *step, const struct job_event *event);
void on_running_written(const struct step *step, const struct job_event *event);
void on_complete(const struct step *step, const struct job_event *event);
void on_existing(const struct step *step, const struct job_event *event);
void on_claimed(const struct step *step, const struct claim_event *claim);
/* The newest complete checkpoint is saved, now or when it is due. */
void queue_snapshot(const struct step *step);
/* Now, if that can be, whether or not it is due. */
void begin_snapshot_now(const struct step *step);
/* What is complete, or was written to running files, is saved when it is due. */
void pace_snapshots(const struct step *step);
void on_retry_due(const struct step *step);

/* --- durable.c --- */
void on_snapshot_done(const struct step *step, const struct snapshot_event *snapshot);
void on_retention_done(const struct step *step);
/* The job has ended: EV_UPLOADED once nothing more can be made durable. */
void flush(const struct step *step);
void on_flush_due(const struct step *step);
void on_flush_interrupted(const struct step *step);

/* --- membership.c --- */
/* What is asked for here is asked for at all members. */
void share_request(const struct step *step, uint64_t request);
/* The job has ended, and all is done that could be. False: the others may need this one yet. */
bool leave_gang(const struct step *step);
/* All is durable that the notice asks for, and what is still to be saved waits for members that
 * end. True: it is over. */
bool gives_up_waiting(const struct step *step);
/* The time is over. True: it was only for the others that this one was still there. */
bool leave_gang_at_once(const struct step *step);
void on_gang_round(const struct step *step);
void on_gang_asks(const struct step *step, const struct gang_told *asked);
void on_gang_answered(const struct step *step, const struct gang_told *answered);
void on_gang_left(const struct step *step, bool lost, bool silent);

/* --- saving.c: what is measured --- */
void begin_measuring(const struct step *step);
void note_durable(const struct step *step, const struct checkpoint *checkpoint);
/* The interval begins now: the job was asked for another reason. */
void restart_interval(const struct step *step);
void on_interval_due(const struct step *step);
void on_risk_due(const struct step *step);

#endif
