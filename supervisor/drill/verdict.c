#include "verdict.h"

#include "base/text.h"
#include "scheduler/scheduler.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *what_differs(enum comparison comparison)
{
	switch (comparison) {
	case COMPARISON_NOT_ASKED:
	case COMPARISON_EQUAL:
	case COMPARISON_MISSING_UNDISTURBED:
	case COMPARISON_NOT_MADE:
		return NULL;
	case COMPARISON_DIFFERENT:
		return "the result differs from the undisturbed run's. (Is it the same each time "
		       "without a preemption? Run the job twice, without reprieve, and compare: "
		       "if not, seed it, and write no time into the file)";
	case COMPARISON_MISSING:
		return "the preempted run did not write the file to compare";
	}
	return NULL;
}

/* NULL: the comparison says nothing against the job. */
static const char *what_is_missing(enum comparison comparison)
{
	switch (comparison) {
	case COMPARISON_NOT_ASKED:
	case COMPARISON_EQUAL:
	case COMPARISON_DIFFERENT:
	case COMPARISON_MISSING:
		return NULL;
	case COMPARISON_MISSING_UNDISTURBED:
		return "the undisturbed run did not write the file to compare";
	case COMPARISON_NOT_MADE:
		return "the results could not be compared";
	}
	return NULL;
}

__attribute__((format(printf, 4, 5))) static enum drill_result say(
	enum drill_result result, char *reason, size_t capacity, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (reason)
		vsnprintf(reason, capacity, format, args);
	va_end(args);
	return result;
}

static const char *what_would_keep_it_apart(enum users_way way)
{
	switch (way) {
	case USERS_BY_PATH:
		return "If the job wrote it, it names it by an absolute path: let it use one that "
		       "is relative to its working directory. If another program did, end that "
		       "first";
	case USERS_BY_MLFLOW:
		return "MLflow writes where the meta.yaml in mlruns says, by an absolute path: set "
		       "MLFLOW_TRACKING_URI=file:mlruns-of-drill for the drill, or move mlruns "
		       "away";
	case USERS_SHARED:
		return "The machines share that directory, which is not copied (it is a virtual "
		       "environment or has too many files): let the job write to another one";
	}
	return "";
}

static enum drill_result judge_drill(const struct drill_facts *facts, char *reason, size_t capacity)
{
	unsigned failed = facts->rounds_done - facts->rounds_passed - facts->rounds_unproven;

	/* A whole line in quotes is one word. */
	if (facts->command_exit == 127 && facts->command && strchr(facts->command, ' '))
		return say(DRILL_NOT_RUN, reason, capacity,
			   "the command cannot be run: there is no command named '%s' (127): write "
			   "it without the quotes, or behind `sh -c`",
			   facts->command);
	if (facts->command_exit != 0)
		return say(DRILL_NOT_RUN, reason, capacity, "the command cannot be run: %s (%d)",
			   facts->command_exit == 127 ? "there is no such command"
						      : "it is no program that may be executed",
			   facts->command_exit);
	if (facts->undisturbed_exit != 0)
		return say(DRILL_FAIL, reason, capacity, "the undisturbed run failed with %d",
			   facts->undisturbed_exit);
	if (failed > 0)
		return say(DRILL_FAIL, reason, capacity, "%u of %u preemptions failed", failed,
			   facts->rounds_wanted);
	if (facts->last_ran && facts->last_exit != 0)
		return say(DRILL_FAIL, reason, capacity, "the last run failed with %d",
			   facts->last_exit);
	if (what_differs(facts->comparison))
		return say(DRILL_FAIL, reason, capacity, "%s", what_differs(facts->comparison));
	if (facts->shared && facts->shared[0])
		return say(DRILL_UNPROVEN, reason, capacity,
			   "your own directory, which all machines of the drill see, was written "
			   "to while they ran: %s. What the job keeps there a new machine does not "
			   "have. %s",
			   facts->shared, what_would_keep_it_apart(facts->shared_way));
	if (facts->timed_out)
		return say(DRILL_UNPROVEN, reason, capacity,
			   "the drill did not end within --timeout: give it more time, or the job "
			   "fewer steps");
	if (facts->rounds_unproven > 0)
		return say(DRILL_UNPROVEN, reason, capacity, "%u of %u preemptions prove nothing",
			   facts->rounds_unproven, facts->rounds_wanted);
	if (facts->rounds_done < facts->rounds_wanted)
		return say(DRILL_UNPROVEN, reason, capacity, "only %u of %u preemptions took place",
			   facts->rounds_done, facts->rounds_wanted);
	if (!facts->last_ran)
		return say(DRILL_UNPROVEN, reason, capacity, "the job was not run to its end");
	if (what_is_missing(facts->comparison))
		return say(DRILL_UNPROVEN, reason, capacity, "%s",
			   what_is_missing(facts->comparison));
	return say(DRILL_PASS, reason, capacity, "%s", "");
}

enum drill_result verdict_drill(const struct drill_facts *facts, char *reason, size_t capacity)
{
	char failed[900];
	enum drill_result result = judge_drill(facts, failed, sizeof(failed));

	if (result == DRILL_FAIL && facts->left_out && facts->left_out[0])
		return say(DRILL_UNPROVEN, reason, capacity,
			   "the machines did not have %s (a copy finds no room, for which TMPDIR "
			   "or "
			   "--directory can name another place, or it would hold itself), and what "
			   "fails without it is not refuted: %s",
			   facts->left_out, failed);
	return say(result, reason, capacity, "%s", failed);
}
