#include "outcome.h"

#include <signal.h>
#include <sys/wait.h>

int outcome_child_code(int wait_status)
{
	return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
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
	code = outcome_child_code(facts->wait_status);

	/* A plain `docker stop` of a command that has nothing to do with checkpoints: what any init would answer. */
	if (facts->noticed && facts->by_signal_only && !facts->managed)
		return (struct outcome){code == 0 ? "finished" : "stopped", code};

	/*
	 * Once it was asked, exit 0 is ambiguous: some trainers save and leave with 0 when asked to. Calling that preempted costs a
	 * finished job one more start, which ends at once; calling it finished would lose the rest of the training.
	 */
	if (facts->noticed && facts->told_to_end)
		return facts->all_durable ? (struct outcome){"preempted", EXIT_PREEMPTED}
					  : (struct outcome){"lost", EXIT_NOT_DURABLE};
	if (code == 0 && facts->strict_failed)
		return (struct outcome){"lost", EXIT_NOT_DURABLE};
	return (struct outcome){code == 0 ? "finished" : "failed", code};
}
