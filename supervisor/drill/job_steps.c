/* Which of the things that a job counts are its steps. See job_log.h. */
#include "drill/job_log.h"

#include "base/text.h"

/* A size of a batch is printed each time, and a bar of a check before the training is short. */
static bool counts_steps(const struct job_counter *counter)
{
	const struct job_sample *samples = counter->samples;

	return !counter->fell && counter->count > 1 &&
	       samples[counter->count - 1].value > samples[0].value;
}

/* Counted on through the epochs, or NULL. */
static const struct job_counter *counted_on(const struct job_log *log,
					    const struct job_counter *counter)
{
	enum job_counter_kind kind = job_counter_kind_of_epoch(counter->kind);

	for (size_t i = 0; i < log->count; i++)
		if (log->counters[i].kind == kind &&
		    text_equal(log->counters[i].label, counter->label))
			return &log->counters[i];
	return NULL;
}

bool job_log_counts(const struct job_log *log, const struct job_counter *counter)
{
	if (counter->fell)
		return false;
	/* What does not begin anew in each epoch is no step of one. */
	for (size_t i = 0; i < log->count; i++)
		if (!log->counters[i].fell && counted_on(log, &log->counters[i]) == counter)
			return false;
	return true;
}

static const struct job_counter *most_steps(const struct job_log *log, enum job_counter_kind kind)
{
	const struct job_counter *most = NULL;

	for (size_t i = 0; i < log->count; i++) {
		const struct job_counter *counter = &log->counters[i];
		const struct job_counter *steps =
			counter->fell ? counted_on(log, counter) : counter;

		if (counter->kind == kind && steps && counts_steps(steps) &&
		    (kind != COUNTER_BARE || steps->total > 0) &&
		    (!most || steps->count > most->count))
			most = steps;
	}
	return most;
}

/* Its epochs, if it counts nothing within them. */
static const struct job_counter *epochs_of(const struct job_log *log)
{
	const struct job_counter *epochs = most_steps(log, COUNTER_EPOCH);

	if (!epochs || log->in_fractions)
		return NULL;
	for (size_t i = 0; i < log->count; i++)
		if ((log->counters[i].kind == COUNTER_STEP ||
		     log->counters[i].kind == COUNTER_BAR ||
		     (log->counters[i].kind == COUNTER_BARE && log->counters[i].total > 0)) &&
		    log->counters[i].fell)
			return NULL;
	return epochs;
}

const struct job_counter *job_log_steps(const struct job_log *log)
{
	static const enum job_counter_kind kinds[] = {COUNTER_STEP, COUNTER_BAR, COUNTER_BARE};
	const struct job_counter *steps = NULL;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !steps; i++)
		steps = most_steps(log, kinds[i]);
	return steps ? steps : epochs_of(log);
}
