/*
 * supervisor/core/: PURE. What the supervisor decides: the job as plain values, what can happen to
 * it, and what is done about it. No I/O, no clock, no thread, no pointer to any part, so that a
 * test can copy, compare and print all of it. job/runner.c feeds it, job/perform.c performs what it
 * says.
 *
 *	job_step(model, rules, view, event) -> effects
 *
 * For other folders, through this header alone; read model.h first, then step.c:
 *
 *	model.h			what is known of the job
 *	event.h			what can happen
 *	effect.h		what is done about it
 *	lifecycle.h		the job's life as a table
 *	request_table.h		who asked for a checkpoint, and what each of them is told
 *	save_reason.h		why a checkpoint was saved
 *	stop_wish.h		which SIGTERMs are one wish that the job end
 *
 * Of this folder only:
 *
 *	step.c			the table of events; step.h: what these files share
 *	names.c			names of events
 *	stopping.c		a notice and what follows: the time, the plan, SIGTERM, SIGKILL
 *	deferring.c		a SIGTERM that waits for a save; a directory that settles
 *	asking.c		requests, and their answers
 *	saving.c		checkpoints become snapshots
 *	durable.c		what came of them; after the job's end, the last one
 *	membership.c		a job on several machines: what is done together
 *	measuring.c		what is measured: how long saves take, how often they come
 */
#ifndef CORE_H
#define CORE_H

#include "effect.h"
#include "event.h"
#include "model.h"

#include <stdint.h>

/*
 * Takes one event, and appends what is to be done to `effects`, in the order in which it must
 * happen. `view`: what the parts say at that moment. Once the job is over, nothing changes.
 */
void job_step(struct job_model *model, const struct job_rules *rules, const struct job_view *view,
	      const struct job_event *event, struct job_effects *effects);

/* The job has ended so. Ask before the event, because its last files are judged by it. */
enum child_end job_child_end(const struct job_model *model, const struct job_rules *rules,
			     const struct child_exit *child);

/* A model of a job that has not started. Its requests are released by request_table_release(). */
struct job_model job_model_new(const struct job_rules *rules);

/* After the last step: whoever still waits for a checkpoint is told that none will come. */
void job_end_requests(struct job_model *model, struct job_effects *effects);

/* --- what follows from the model --- */

/* When the next of its timers is due; CLOCK_NEVER: none is. `timer` says which. */
int64_t job_next_due_ms(const struct job_model *model, enum job_timer *timer);
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
/* The main process may end and leave the job to the processes that it has started. */
bool job_may_be_left(const struct job_model *model);
/* Files of a checkpoint that is being written may be uploaded. */
bool job_may_upload_early(const struct job_model *model);
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
