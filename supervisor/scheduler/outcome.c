#include "scheduler.h"

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

/* The job was asked and crashed before its save was complete. Another start would crash again, so
 * the outcome must not be one that is restarted. In a gang an error follows from the end of another
 * member. */
static bool crashed_when_asked(const struct outcome_facts *facts)
{
	return facts->asked_to_save && !facts->saved && !facts->stopped && !facts->resumes &&
	       !facts->of_gang && outcome_is_crash(facts->wait_status);
}

static bool was_asked_to_stop(const struct outcome_facts *facts)
{
	int code = wait_status_exit_code(facts->wait_status);

	if (!facts->noticed || !facts->launched)
		return facts->noticed;
	/*
	 * After a request, exit 0 is ambiguous: some trainers save and exit with 0 when they are
	 * asked. If it is called preempted, a finished job is started once more and ends at once.
	 * If it is called finished, an unfinished job loses the rest of its training. In a gang
	 * whichever member was asked, the jobs of all end by that: in order, or in a collective
	 * that fails, and perhaps before it is heard of.
	 */
	return (facts->told_to_end || ended_of_a_stop_signal(facts->wait_status) ||
		facts->of_gang) &&
	       !(code == 0 && continues_after_save(facts));
}

/* It was asked outside a stop. A scheduler must not take the rest of its training for done. */
static bool left_because_asked(const struct outcome_facts *facts)
{
	return wait_status_exit_code(facts->wait_status) == 0 && facts->managed &&
	       !facts->noticed_late && facts->saved && outcome_may_be_leaving(facts);
}

/* A plain `docker stop` of a command that saves no checkpoints: the code that any init would give.
 */
static bool is_an_init(const struct outcome_facts *facts)
{
	return facts->noticed && facts->by_signal_only && !facts->managed;
}

struct outcome outcome_of(const struct outcome_facts *facts)
{
	int code = facts->launched ? wait_status_exit_code(facts->wait_status) : 128 + SIGTERM;
	bool refused = facts->refusal || (!facts->launched && !facts->noticed);
	/* The job's own end counts, whatever was asked of it. */
	bool own = is_an_init(facts) || crashed_when_asked(facts);
	bool asked = !own && (was_asked_to_stop(facts) || left_because_asked(facts));
	bool lost = !own && facts->launched && code == 0 && facts->strict_failed;

	/* It has waited in vain for the other members of its gang: no failure, and nothing is lost.
	 */
	if (refused && facts->refusal == EXIT_PREEMPTED)
		return (struct outcome){OUTCOME_PREEMPTED, EXIT_PREEMPTED};
	if (refused)
		return (struct outcome){OUTCOME_REFUSED,
					facts->refusal ? facts->refusal : EXIT_OWN_FAILURE};
	if (asked && facts->all_durable)
		return (struct outcome){OUTCOME_PREEMPTED, EXIT_PREEMPTED};
	if (asked || lost)
		return (struct outcome){OUTCOME_NOT_DURABLE, EXIT_NOT_DURABLE};
	if (code == 0)
		return (struct outcome){OUTCOME_FINISHED, code};
	return (struct outcome){is_an_init(facts) || code == 128 + SIGINT ? OUTCOME_STOPPED
									  : OUTCOME_FAILED,
				code};
}
