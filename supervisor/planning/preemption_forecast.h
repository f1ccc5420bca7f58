/* PURE. What a preemption would cost now, and what can be done with the notice that it comes with.
 * Durations in milliseconds. */
#ifndef PREEMPTION_FORECAST_H
#define PREEMPTION_FORECAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct preemption_facts {
	int64_t window_ms;     /* from the notice to the end */
	int64_t save_ms;       /* what a save takes; -1 not known yet */
	int64_t upload_ms;     /* from complete to durable; -1 not known yet */
	int64_t rest_ms;       /* until the pending one is durable; -1 not known */
	int64_t behind_ms;     /* how old the work is that is not durable */
	int64_t saving_for_ms; /* since the save under way began; -1: none is */
	bool can_ask;          /* the job can be made to save */
	bool pending;          /* a complete checkpoint is not durable yet */
	bool any_durable;
};

enum preemption_plan {
	/* a fresh checkpoint */
	PREEMPTION_SAVE,
	/* none can be had, but the job is just saving: that one, as long as there is time */
	PREEMPTION_AWAIT_SAVE,
	/* no time for that: first the newest complete one, which is not durable yet */
	PREEMPTION_FINISH_UPLOAD,
	/* nor for that, or there is none: what is durable is what there is */
	PREEMPTION_NOTHING,
};

/* The best that there is time for. What is not known is taken to fit. */
enum preemption_plan preemption_forecast_choose(const struct preemption_facts *facts);

/* Of an upload that has run for `elapsed_ms` and usually takes `usual_ms` (-1 not known): from what
 * it has measured, once that says something. */
int64_t preemption_forecast_rest_ms(int64_t elapsed_ms, uint64_t done, uint64_t total,
				    int64_t usual_ms);

/* Whether a save and its upload are known not to fit the window. */
bool preemption_forecast_is_too_long(const struct preemption_facts *facts);

/* "plan: a fresh checkpoint (to save takes 12 s, to make it durable 30 s, of 2 min 0 s)".
 * Returns `buffer`. */
const char *preemption_forecast_format_plan(const struct preemption_facts *facts, char *buffer,
					    size_t capacity);

/* "a preemption now would lose 14 min". Returns `buffer`. */
const char *preemption_forecast_format_loss(const struct preemption_facts *facts, char *buffer,
					    size_t capacity);

/*
 * What is at risk is said when it has grown to this, `said` times before: ten minutes, or twice
 * what usually lies between two durable checkpoints (-1 not known) where that is more; then at each
 * doubling.
 */
int64_t preemption_forecast_warn_ms(int64_t usual_gap_ms, unsigned said);

/* From the notice to the end, of "aws", "gcp" or "azure"; 0: not known. */
int64_t preemption_forecast_window_of(const char *cloud);

#endif
