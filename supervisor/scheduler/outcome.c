#include "outcome.h"

#include "process/process.h"

#include <signal.h>
#include <sys/wait.h>

/* A job that saves and exits when asked has exited by then, even if it has much to clean up. */
#define LEAVING_MOST_MS (60 * 1000)

const char *outcome_name(const struct outcome *outcome)
{
	static const char *const names[OUTCOMES] = {
		[OUTCOME_FINISHED] = "finished",       [OUTCOME_FAILED] = "failed",
		[OUTCOME_STOPPED] = "stopped",         [OUTCOME_PREEMPTED] = "preempted",
		[OUTCOME_NOT_DURABLE] = "not_durable", [OUTCOME_REFUSED] = "refused",
	};

	return names[outcome->kind];
}

bool outcome_is_crash(int wait_status)
{
	int code = wait_status_exit_code(wait_status);
	/* A shell reports the signal of its child as 128 + n. */
	int signal = code > 128 ? code - 128 : 0;

	/* 42: TensorFlow exits so after a save, to be run again. */
	if (signal == 0)
		return code != 0 && code != EXIT_PREEMPTED && code != 42;
	return signal == SIGILL || signal == SIGTRAP || signal == SIGABRT || signal == SIGBUS ||
	       signal == SIGFPE || signal == SIGSEGV || signal == SIGSYS;
}

static bool continues_after_save(const struct outcome_facts *facts)
{
	return facts->goes_on && !facts->stopped;
}

bool outcome_is_interrupt(int wait_status)
{
	return wait_status_exit_code(wait_status) == 128 + SIGINT;
}

bool outcome_may_be_leaving(const struct outcome_facts *facts)
{
	return facts->asked && facts->lived_on_ms < LEAVING_MOST_MS && !facts->went_on &&
	       !continues_after_save(facts);
}

/* Whoever stops this machine may signal all of its processes, so that the job ends of a signal
 * before its supervisor tells it anything. A shell reports the signal of its child as 128 + n. */
static bool ended_of_a_stop_signal(int wait_status)
{
	int code = wait_status_exit_code(wait_status);

	return code == 128 + SIGTERM || code == 128 + SIGINT || code == 128 + SIGHUP ||
	       code == 128 + SIGKILL;
}

/* Within a notice, but before anybody told it anything. */
static bool ended_by_itself(const struct outcome_facts *facts)
{
	return facts->managed && !facts->told_to_end && !facts->asked;
}

static bool was_told_to_leave(const struct outcome_facts *facts)
{
	return facts->interrupted || facts->signalled ||
	       (facts->noticed && !facts->noticed_late && !ended_by_itself(facts) &&
		!continues_after_save(facts));
}

bool outcome_is_done(const struct outcome_facts *facts, const struct outcome *outcome)
{
	return facts->launched && outcome->exit_code == 0 && facts->all_durable && !facts->torn &&
	       !facts->elsewhere && !outcome_may_be_leaving(facts) && !was_told_to_leave(facts);
}

/* The job was asked and crashed before its save was complete. Another start would crash again, so
 * the outcome must not be one that is restarted. */
static bool crashed_when_asked(const struct outcome_facts *facts)
{
	return facts->asked_to_save && !facts->saved && !facts->stopped && !facts->resumes &&
	       outcome_is_crash(facts->wait_status);
}

struct outcome outcome_of(const struct outcome_facts *facts)
{
	int code;

	if (facts->start_failed)
		return (struct outcome){OUTCOME_REFUSED, facts->start_failed};
	if (!facts->launched && facts->noticed && facts->by_signal_only && !facts->managed)
		return (struct outcome){OUTCOME_STOPPED, 128 + SIGTERM};
	if (!facts->launched)
		return facts->noticed ? (struct outcome){OUTCOME_PREEMPTED, EXIT_PREEMPTED}
				      : (struct outcome){OUTCOME_REFUSED, EXIT_OWN_FAILURE};
	code = wait_status_exit_code(facts->wait_status);

	/* A plain `docker stop` of a command that saves no checkpoints: the code that any init
	 * would give. */
	if (facts->noticed && facts->by_signal_only && !facts->managed)
		return (struct outcome){code == 0 ? OUTCOME_FINISHED : OUTCOME_STOPPED, code};

	/*
	 * After a request, exit 0 is ambiguous: some trainers save and exit with 0 when they are
	 * asked. If it is called preempted, a finished job is started once more and ends at once.
	 * If it is called finished, an unfinished job loses the rest of its training. In a gang
	 * whichever member was asked, the jobs of all may leave by that, and before it is heard of.
	 */
	if (crashed_when_asked(facts))
		return (struct outcome){OUTCOME_FAILED, code};
	if (facts->noticed &&
	    (facts->told_to_end || ended_of_a_stop_signal(facts->wait_status) ||
	     (facts->of_gang && (facts->resumes || code == 0))) &&
	    !(code == 0 && continues_after_save(facts)))
		return facts->all_durable ? (struct outcome){OUTCOME_PREEMPTED, EXIT_PREEMPTED}
					  : (struct outcome){OUTCOME_NOT_DURABLE, EXIT_NOT_DURABLE};
	/* It was asked outside a stop. A scheduler must not take the rest of its training for done.
	 */
	if (code == 0 && facts->managed && !facts->noticed_late && facts->saved &&
	    outcome_may_be_leaving(facts))
		return facts->all_durable ? (struct outcome){OUTCOME_PREEMPTED, EXIT_PREEMPTED}
					  : (struct outcome){OUTCOME_NOT_DURABLE, EXIT_NOT_DURABLE};
	if (code == 0 && facts->strict_failed)
		return (struct outcome){OUTCOME_NOT_DURABLE, EXIT_NOT_DURABLE};
	if (outcome_is_interrupt(facts->wait_status))
		return (struct outcome){OUTCOME_STOPPED, code};
	return (struct outcome){code == 0 ? OUTCOME_FINISHED : OUTCOME_FAILED, code};
}
