#include "verdict.h"

#include "base/log.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SAMPLES_MOST (1 << 18)
/* The drill sees a line, and reprieve a file, a little late. */
#define LATE_MS 100
/* As few checkpoints may be the places of a rotation (0, 1, 2), which count nothing. */
#define SAVES_LEAST 4
/* Steps of an epoch, or of many ranks, fall among the first of a machine. */
#define AT_ONCE 4

/* --- the pattern --- */

int step_patterns_make(struct step_patterns *patterns, const char *chosen, struct err *err)
{
	static const char *const usual[] = {
		[STEPS_OF_PATTERN] = "(^|[^[:alnum:]/])(step|steps|iter|iteration|iterations)"
				     "[]\"'(:=# \t[]+([0-9]+)([^.0-9]|[.]$|$)",
		[STEPS_OF_EPOCHS] = "(^|[^[:alnum:]/])(epoch|epochs)"
				    "[]\"'(:=# \t[]+([0-9]+)([^.0-9]|[.]$|$)",
	};
	char why[120];

	for (unsigned i = 0; i < (chosen ? 1 : STEPS_KINDS); i++) {
		int code = regcomp(&patterns->each[i], chosen ? chosen : usual[i],
				   REG_EXTENDED | (chosen ? 0 : REG_ICASE));

		if (code != 0) {
			regerror(code, &patterns->each[i], why, sizeof(why));
			return err_set(err, ERR_INVALID,
				       "'%s' is no extended regular expression: %s", chosen, why);
		}
		patterns->count++;
	}
	if (chosen && patterns->each[0].re_nsub == 0)
		return err_set(err, ERR_INVALID,
			       "'%s' has no group that holds the number: write 'epoch ([0-9]+)'",
			       chosen);
	return 0;
}

void step_patterns_release(struct step_patterns *patterns)
{
	while (patterns->count > 0)
		regfree(&patterns->each[--patterns->count]);
}

/* --- samples --- */

static void add_sample(struct steps *steps, double value, int64_t at_ms)
{
	double before = steps->count > 0 ? steps->items[steps->count - 1].value : value;
	bool falls = value < before;

	/* One that falls alone is of another kind of line ("best at step 40"). */
	steps->fell |= falls && steps->fallen;
	steps->fell_at_once |= steps->fell && steps->count < AT_ONCE;
	steps->fallen = falls;
	if (falls || steps->count == SAMPLES_MOST)
		return;
	if (value - before > steps->stride)
		steps->stride = value - before;
	if (steps->count == steps->capacity) {
		steps->capacity = steps->capacity ? 2 * steps->capacity : 64;
		steps->items = memory_grow(steps->items, steps->capacity, sizeof(*steps->items));
	}
	steps->items[steps->count++] = (struct step_sample){.at_ms = at_ms, .value = value};
}

static bool speaks_of_loading(const char *line)
{
	return strcasestr(line, "resum") || strcasestr(line, "restor") ||
	       strcasestr(line, "loaded") || strcasestr(line, "loading");
}

void job_steps_add(struct job_steps *steps, const struct step_patterns *patterns, const char *line,
		   size_t length, int64_t at_ms)
{
	auto_free char *text = NULL;

	if (log_prefix_length(line, length) > 0)
		return;
	text = text_copy_n(line, length);
	/* One of ours may have come between the parts of the job's. */
	text[strstr(text, "reprieve") ? (size_t)(strstr(text, "reprieve") - text) : strlen(text)] =
		'\0';
	if (speaks_of_loading(text))
		return;
	for (unsigned i = 0; i < patterns->count; i++) {
		/* Of the usual ones the last group is what stands behind the number. */
		size_t group = patterns->count == 1 ? patterns->each[i].re_nsub : 3;
		regmatch_t found[16];

		if (group < 16 && regexec(&patterns->each[i], text, 16, found, 0) == 0 &&
		    found[group].rm_so >= 0)
			add_sample(&steps->each[i], strtod(text + found[group].rm_so, NULL), at_ms);
	}
}

void job_steps_release(struct job_steps *steps)
{
	for (size_t i = 0; i < STEPS_KINDS; i++)
		free(steps->each[i].items);
	*steps = (struct job_steps){0};
}

/* --- two machines --- */

/* The last one by then; before the first one, that. */
static double value_at(const struct steps *steps, int64_t at_ms)
{
	size_t i = steps->count;

	while (i > 1 && steps->items[i - 1].at_ms > at_ms)
		i--;
	return steps->items[i - 1].value;
}

static void note_save(const struct steps *steps, const struct run_events *events,
		      struct step_facts *facts)
{
	const struct run_checkpoint *saved = &events->commit.checkpoint;

	facts->step = (double)events->commit.step;
	facts->low = value_at(steps, saved->captured_ms - LATE_MS);
	facts->high = value_at(steps, saved->at_ms + LATE_MS);
	for (size_t i = 0; i < events->checkpoint_count; i++)
		if (events->checkpoints[i].at_ms < saved->captured_ms)
			facts->before =
				value_at(steps, events->checkpoints[i].captured_ms - LATE_MS);
}

static struct step_facts facts_of_lines(const struct steps *steps, const struct run_events *events,
					const struct steps *next)
{
	double first = steps->items[0].value;
	struct step_facts facts = {
		.counted = true,
		.next_counted = next && next->count > 0 && !next->fell_at_once,
		.first = first,
		.last = steps->items[steps->count - 1].value,
		.stride = steps->stride,
		.before = first,
		.low = first,
		.high = first,
		.step = -1,
	};

	if (!snapshot_id_is_none(events->commit.id))
		note_save(steps, events, &facts);
	if (next && facts.next_counted)
		facts.next = next->items[0].value;
	/* A machine that was taken away early may not have shown how seldom the job prints. */
	if (next && facts.next_counted && steps->count < 3 && next->stride > facts.stride)
		facts.stride = next->stride;
	if (facts.stride == 0)
		facts.stride = 1;
	return facts;
}

/* By what reprieve has seen complete. A refutation needs more than what a rotation looks like. */
static void count_saves(const struct run_events *events, const struct run_events *next,
			struct step_facts *facts)
{
	size_t count = events->checkpoint_count;
	struct step_facts saves = {
		.word = "checkpoint",
		.first = (double)events->first_step,
		.before = (double)events->first_step,
		.low = (double)events->commit.step,
		.high = (double)events->commit.step,
		.step = (double)events->commit.step,
		.next = (double)next->first_step,
	};

	if (count < 2 || saves.step < 0 || next->first_step < 0)
		return;
	for (size_t i = 1; i < count; i++) {
		double rise =
			(double)(events->checkpoints[i].step - events->checkpoints[i - 1].step);

		if (events->checkpoints[i - 1].step < 0 || rise < 0)
			return;
		if (rise > saves.stride)
			saves.stride = rise;
	}
	saves.last = (double)events->checkpoints[count - 1].step;
	if (saves.stride > 0 && (count >= SAVES_LEAST || saves.next > saves.low))
		*facts = saves;
}

struct step_facts step_facts_of(const struct job_steps *steps, const struct run_events *events,
				const struct job_steps *next, const struct run_events *next_events)
{
	static const char *const words[] = {"step", "epoch"};
	struct step_facts facts = {.step = -1, .stride = 1};

	for (size_t i = 0; i < STEPS_KINDS && !facts.next_counted; i++) {
		struct step_facts one;

		if (steps->each[i].count == 0 || steps->each[i].fell || steps->each[i].fallen)
			continue;
		one = facts_of_lines(&steps->each[i], events, next ? &next->each[i] : NULL);
		one.word = words[i];
		if (!facts.counted || one.next_counted)
			facts = one;
	}
	if (!facts.next_counted && next_events)
		count_saves(events, next_events, &facts);
	return facts;
}

static bool is_between(double value, double least, double most)
{
	return value >= least && value <= most;
}

/* By the time of the save. The drill sees lines late on a busy computer: then the next machine,
 * which goes on right behind it, shows that both count the same. */
bool step_facts_are_exact(const struct step_facts *facts)
{
	double step = facts->step, stride = facts->stride;
	bool goes_on = facts->next_counted && facts->next > facts->first &&
		       is_between(facts->next, step, step + 2 * stride);

	return step >= 0 && (is_between(step, facts->low - stride, facts->high + stride) ||
			     (goes_on && is_between(step, facts->first, facts->last + stride)));
}

static enum continuation judge_earlier(const struct step_facts *facts, double low, double slack)
{
	if (facts->next <= facts->first)
		return low > facts->first ? CONTINUATION_ANEW : CONTINUATION_UNKNOWN;
	if (facts->next < low - slack)
		return CONTINUATION_OLDER;
	/* Of two that are as near it may be the beginning. */
	return facts->next - facts->first < low - facts->next
		       ? CONTINUATION_UNKNOWN
		       : CONTINUATION_PROVEN;
}

enum continuation step_facts_judge(const struct step_facts *facts)
{
	bool exact = step_facts_are_exact(facts);
	bool saves = !facts->counted;
	double low = exact ? facts->step : facts->low, high = exact ? facts->step : facts->high;
	/* Some count from 0; and a checkpoint may be of a state somewhat older than its file. */
	double slack = exact ? 1 : facts->stride, older = (facts->low - facts->before) / 2;

	if (!facts->word || (facts->counted && !facts->next_counted))
		return CONTINUATION_UNKNOWN;
	if (!exact && older > slack)
		slack = older;
	if (facts->next < low || facts->next <= facts->first)
		return judge_earlier(facts, low, saves ? 0 : slack);
	if (facts->next <= high + 2 * facts->stride)
		return CONTINUATION_PROVEN;
	/* The lines of a program that buffers them come late. */
	if (!saves && !exact && facts->next <= facts->last + 2 * facts->stride)
		return CONTINUATION_PROVEN;
	return saves ? CONTINUATION_UNKNOWN : CONTINUATION_AHEAD;
}

static struct steps_between steps_beyond(const struct step_facts *facts, double kept_least,
					 double kept_most)
{
	double least = facts->last - kept_most, most = facts->last + facts->stride - 1 - kept_least;

	return (struct steps_between){
		.least = least > 0 ? (int64_t)least : 0,
		.most = most > 0 ? (int64_t)most : 0,
	};
}

struct steps_between steps_since(const struct step_facts *facts, double kept)
{
	return steps_beyond(facts, kept, kept);
}

struct steps_between steps_lost(const struct step_facts *facts)
{
	double least = facts->next - facts->stride;

	/* Some print the step that they go on from. */
	if (step_facts_are_exact(facts) && facts->next >= facts->step)
		return steps_since(facts, facts->step > least ? facts->step : least);
	return steps_beyond(facts, least, facts->next - 1);
}
