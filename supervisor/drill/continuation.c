#include "drill/continuation.h"

#include "base/text.h"

/* The drill sees a line, and reprieve a file, a little late. */
#define LATE_MS 100
/* Mostly it is no later than this. */
#define SEEN_MS 20
/* As few checkpoints may be the places of a rotation (0, 1, 2), which count nothing. */
#define SAVES_LEAST 4

bool continuation_is_same_count(const struct count_facts *facts)
{
	return facts->step >= 0 && facts->step >= facts->low - facts->stride &&
	       facts->step <= facts->high + facts->stride;
}

static int64_t steps_of(double steps)
{
	return steps > 0 ? (int64_t)steps : 0;
}

/* Beyond what was kept, which lies between these. */
static struct steps_between steps_beyond(const struct count_facts *facts, double kept_least,
					 double kept_most)
{
	return (struct steps_between){
		.least = steps_of(facts->last - kept_most),
		.most = steps_of(facts->last + facts->stride - 1 - kept_least),
	};
}

struct steps_between continuation_steps_since(const struct count_facts *facts, double kept)
{
	return steps_beyond(facts, kept, kept);
}

struct steps_between continuation_lost_steps(const struct count_facts *facts)
{
	double least = facts->next - facts->stride;

	/* Some print the step that they go on from. */
	if (continuation_is_same_count(facts) && facts->next >= facts->step) {
		least = facts->step > least ? facts->step : least;
		return continuation_steps_since(facts, least);
	}
	return steps_beyond(facts, least, facts->next - 1);
}

static enum continuation judge_earlier(const struct count_facts *facts, double low, double slack)
{
	if (facts->next <= facts->first && low > facts->first)
		return facts->bare ? CONTINUATION_UNKNOWN : CONTINUATION_ANEW;
	if (facts->next <= facts->first)
		return CONTINUATION_UNKNOWN;
	if (facts->next < low - slack)
		return facts->bare ? CONTINUATION_UNKNOWN : CONTINUATION_OLDER;
	/* Of two that are as near it may be the beginning. */
	return facts->next - facts->first < low - facts->next
		       ? CONTINUATION_UNKNOWN
		       : CONTINUATION_PROVEN;
}

enum continuation continuation_judge(const struct count_facts *facts)
{
	bool exact = continuation_is_same_count(facts);
	double low = exact ? facts->step : facts->low;
	double high = exact ? facts->step : facts->high;
	/* Some count from 0. */
	double slack = exact ? 1 : facts->stride;

	/* A checkpoint may be of a state somewhat older than its file. */
	if (!exact && (low - facts->before) / 2 > slack)
		slack = (low - facts->before) / 2;
	if (facts->saves)
		slack = 0;
	if (facts->next < low || facts->next <= facts->first)
		return judge_earlier(facts, low, slack);
	if (facts->next <= high + 2 * facts->stride)
		return CONTINUATION_PROVEN;
	if (facts->saves || facts->bare || facts->stride_unknown)
		return CONTINUATION_UNKNOWN;
	/* The lines of a program that buffers them come late. */
	if (!exact && facts->next <= facts->last + 2 * facts->stride)
		return CONTINUATION_PROVEN;
	return CONTINUATION_AHEAD;
}

/* --- what is counted --- */

void continuation_time_of_save(const struct run_events *events, struct save_time *time)
{
	const struct run_commit *commit = &events->commit;

	time->began_ms = time->about_ms = commit->checkpoint.captured_ms;
	time->ended_ms = commit->written_ms >= 0 ? commit->written_ms : commit->checkpoint.at_ms;
}

bool continuation_count_at_save(const struct job_counter *counter, const struct run_events *events,
				const struct save_time *written, struct count_facts *facts)
{
	*facts = (struct count_facts){
		.first = counter->samples[0].value,
		.last = counter->samples[counter->count - 1].value,
		.stride = counter->stride,
		.step = (double)events->commit.step,
		.bare = counter->kind == COUNTER_BARE || counter->kind == COUNTER_BARE_OF_EPOCH,
		.nested = counter->nested,
	};
	facts->low = facts->high = facts->saved = facts->before = facts->first;
	if (snapshot_id_is_none(events->commit.id))
		return false;
	job_counter_value_at(counter, written->began_ms - LATE_MS, &facts->low);
	job_counter_value_at(counter, written->about_ms + SEEN_MS, &facts->saved);
	job_counter_value_at(counter, written->ended_ms + LATE_MS, &facts->high);
	if (continuation_is_same_count(facts))
		facts->saved = facts->step;
	for (size_t i = 0; i < events->checkpoint_count; i++)
		if (events->checkpoints[i].at_ms < written->began_ms)
			job_counter_value_at(counter, events->checkpoints[i].captured_ms - LATE_MS,
					     &facts->before);
	return true;
}

static bool count_output(const struct job_counter *counter, const struct run_events *events,
			 const struct save_time *written, const struct job_log *next_log,
			 struct count_facts *facts)
{
	const struct job_counter *next = job_log_match(next_log, counter);

	if (!next || next->fell_at_once ||
	    !continuation_count_at_save(counter, events, written, facts))
		return false;
	facts->next = next->samples[0].value;
	/* A machine that was taken away early has not shown how seldom the job prints. */
	if (counter->count < 2) {
		facts->stride = next->stride;
		facts->stride_unknown = next->count < 2;
	}
	return true;
}

/* `stride` and `next` are still to be set. */
static struct count_facts facts_of_saves(double first, double last, int64_t step)
{
	return (struct count_facts){
		.first = first,
		.last = last,
		.low = (double)step,
		.high = (double)step,
		.saved = (double)step,
		.before = first,
		.step = (double)step,
		.saves = true,
	};
}

/* A refutation needs more than what a rotation looks like. */
static bool is_telling(const struct count_facts *facts, size_t count)
{
	return facts->stride > 0 && (count >= SAVES_LEAST || facts->next > facts->low);
}

/* By the names of all files that were written. */
static bool count_names(const struct job_counter *counter, const struct run_events *events,
			const struct job_log *next_log, struct count_facts *facts)
{
	const struct job_counter *next = job_log_match(next_log, counter);
	bool holds_step = false;

	if (!next || counter->fell || next->fell_at_once || counter->count < 2)
		return false;
	for (size_t i = 0; i < counter->count; i++)
		holds_step |= counter->samples[i].value == (double)events->commit.step;
	*facts = facts_of_saves(counter->samples[0].value,
				counter->samples[counter->count - 1].value, events->commit.step);
	facts->stride = counter->stride;
	facts->next = next->samples[0].value;
	return holds_step && is_telling(facts, counter->count);
}

/* By what reprieve has seen complete, without the preload library. It does not see all of them. */
static bool count_saves(const struct run_events *events, const struct run_events *next,
			struct count_facts *facts)
{
	const struct run_checkpoint *checkpoints = events->checkpoints;
	size_t count = events->checkpoint_count;

	if (count < 2 || events->commit.step < 0 || next->first_step < 0)
		return false;
	*facts = facts_of_saves((double)events->first_step, (double)checkpoints[count - 1].step,
				events->commit.step);
	facts->next = (double)next->first_step;
	for (size_t i = 1; i < count; i++) {
		double rise = (double)(checkpoints[i].step - checkpoints[i - 1].step);

		if (checkpoints[i - 1].step < 0 || rise < 0)
			return false;
		if (rise > facts->stride)
			facts->stride = rise;
	}
	return is_telling(facts, count);
}

/* The lower decides. The epochs may go on while the steps of each begin anew. */
static int rank_of(const struct continuation_facts *facts)
{
	bool exact = continuation_is_same_count(&facts->count);

	switch (facts->continuation) {
	case CONTINUATION_OLDER:
		return facts->count.nested && !exact ? 4 : 0;
	case CONTINUATION_PROVEN:
		return facts->count.bare ? 5 : exact ? 1 : 2;
	case CONTINUATION_ANEW:
		return 3;
	case CONTINUATION_AHEAD:
		return 6;
	case CONTINUATION_UNKNOWN:
		break;
	}
	return 7;
}

static void take(struct continuation_facts *best, const struct count_facts *count, const char *word)
{
	struct continuation_facts one = {
		.continuation = continuation_judge(count),
		.counted = true,
		.count = *count,
	};

	best->counted = true;
	text_set(one.word, sizeof(one.word), word);
	if (rank_of(&one) < rank_of(best))
		*best = one;
}

struct continuation_facts continuation_of_machines(
	const struct job_log *log, const struct run_events *events, const struct save_time *written,
	const struct job_log *next_log, const struct run_events *next)
{
	struct continuation_facts best = {.continuation = CONTINUATION_UNKNOWN};
	struct count_facts count;
	bool named = false;

	for (size_t i = 0; i < log->count; i++) {
		const struct job_counter *counter = &log->counters[i];

		named |= counter->kind == COUNTER_NAME;
		if (counter->kind == COUNTER_NAME
			    ? count_names(counter, events, next_log, &count)
			    : job_log_counts(log, counter) &&
				      count_output(counter, events, written, next_log, &count))
			take(&best, &count, counter->word);
	}
	if (!named && count_saves(events, next, &count))
		take(&best, &count, "checkpoint");
	/* The machine before had not come so far. */
	best.counted |= job_log_steps(next_log) && !job_log_steps(log);
	return best;
}
