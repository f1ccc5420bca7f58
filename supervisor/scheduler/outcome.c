#include "outcome.h"

#include "process/process.h"

#include <signal.h>
#include <sys/wait.h>

/* Who saves and leaves when asked has left by then, also where it still has much to put away. */
#define LEAVING_MOST_MS (60 * 1000)

bool outcome_is_crash(int wait_status)
{
	int code = wait_status_exit_code(wait_status);
	int signal = code > 128 ? code - 128 : 0; /* of a child of its shell, perhaps */

	if (signal == 0)
		return code != 0 && code != EXIT_PREEMPTED && code != 42;
	return signal == SIGILL || signal == SIGTRAP || signal == SIGABRT || signal == SIGBUS ||
	       signal == SIGFPE || signal == SIGSEGV || signal == SIGSYS;
}

static bool continues_after_save(const struct outcome_facts *facts)
{
	return facts->goes_on && !facts->stopped;
}

bool outcome_may_be_leaving(const struct outcome_facts *facts)
{
	return facts->asked && facts->lived_on_ms < LEAVING_MOST_MS && !continues_after_save(facts);
}

bool outcome_is_done(const struct outcome_facts *facts, const struct outcome *outcome)
{
	return facts->launched && outcome->exit_code == 0 && facts->all_durable && !facts->torn &&
	       !outcome_may_be_leaving(facts) &&
	       (!facts->noticed || facts->noticed_late || continues_after_save(facts));
}

/* Asked, and then it crashed in or before its save: another start would not help, and must not
 * look as if it could. */
static bool crashed_when_asked(const struct outcome_facts *facts)
{
	return facts->asked_to_save && !facts->saved && !facts->stopped && !facts->resumes &&
	       outcome_is_crash(facts->wait_status);
}

struct outcome outcome_of(const struct outcome_facts *facts)
{
	int code;

	if (facts->start_failed)
		return (struct outcome){"refused", facts->start_failed};
	if (!facts->launched && facts->noticed && facts->by_signal_only && !facts->managed)
		return (struct outcome){"stopped", 128 + SIGTERM};
	if (!facts->launched)
		return facts->noticed ? (struct outcome){"preempted", EXIT_PREEMPTED}
				      : (struct outcome){"refused", EXIT_OWN_FAILURE};
	code = wait_status_exit_code(facts->wait_status);

	/* A plain `docker stop` of a command that has nothing to do with checkpoints: what any
	 * init would answer. */
	if (facts->noticed && facts->by_signal_only && !facts->managed)
		return (struct outcome){code == 0 ? "finished" : "stopped", code};

	/*
	 * Once it was asked, exit 0 is ambiguous: some trainers save and leave with 0 when asked
	 * to. Calling that preempted costs a finished job one more start, which ends at once;
	 * calling it finished would lose the rest of the training.
	 */
	if (crashed_when_asked(facts))
		return (struct outcome){"failed", code};
	if (facts->noticed && facts->told_to_end && !(code == 0 && continues_after_save(facts)))
		return facts->all_durable ? (struct outcome){"preempted", EXIT_PREEMPTED}
					  : (struct outcome){"not_durable", EXIT_NOT_DURABLE};
	if (code == 0 && facts->strict_failed)
		return (struct outcome){"not_durable", EXIT_NOT_DURABLE};
	return (struct outcome){code == 0 ? "finished" : "failed", code};
}
