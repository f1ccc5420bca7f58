/* PURE. What a preemption would cost now, and the plan for the notice that announces it. All
 * durations are milliseconds. */
#ifndef PREEMPTION_FORECAST_H
#define PREEMPTION_FORECAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
