#include "request.h"

#include "base/clock.h"
#include "base/log.h"
#include "process/process.h"

#include <signal.h>

/* A longer pause between two decisions counts as this much waiting time: this process was stalled,
 * and the sender perhaps with it. */
#define DECIDE_EVERY_MS (SIGTERM_HOLD_PATIENCE_MS / 3)

enum sigterm_hold_verdict sigterm_hold_decide(const struct sigterm_hold *sigterm_hold,
					      const struct held_process *process)
{
	if (!sigterm_hold->active || process->sender_ours || process->for_ours)
		return SIGTERM_HOLD_RELEASE;
	if (sigterm_hold->noticed)
		return SIGTERM_HOLD_KEEP;
	return process->held_ms < SIGTERM_HOLD_PATIENCE_MS ? SIGTERM_HOLD_WAIT
							   : SIGTERM_HOLD_RELEASE;
}

/* A process that holds no SIGTERM any more ignores this one: the shim knows it by its value. False:
 * the process has ended. */
static bool deliver_sigterm(const struct held_process *process)
{
	const union sigval take_it = {.sival_int = SHIM_RELEASE_VALUE};

	log_debug("process %d gets its SIGTERM", (int)process->pid);
	return process_start_time(process->pid) == process->start_time &&
	       sigqueue(process->pid, SIGTERM, take_it) == 0;
}

static void tell_meant(struct sigterm_hold *sigterm_hold, const struct held_process *process)
{
	char sender[40] = "another program";

	if (process->sender > 0)
		snprintf(sender, sizeof(sender), "process %d", (int)process->sender);
	if (!sigterm_hold->said_meant)
		log_note("%s has sent SIGTERM to process %d of the job, which is no notice (to "
			 "preempt the job, send it to process %d)",
			 sender, (int)process->pid, (int)getpid());
	sigterm_hold->said_meant = true;
}

static void decide_held_processes(struct sigterm_hold *sigterm_hold)
{
	int64_t now = clock_monotonic_ms(), awake_ms = now - sigterm_hold->judged_ms;
	bool waits = false;
	size_t left = 0;

	awake_ms = awake_ms < DECIDE_EVERY_MS ? awake_ms : DECIDE_EVERY_MS;
	sigterm_hold->judged_ms = now;

	for (size_t i = 0; i < sigterm_hold->count; i++) {
		struct held_process process = sigterm_hold->processes[i];
		enum sigterm_hold_verdict verdict;

		process.held_ms += awake_ms;
		verdict = sigterm_hold_decide(sigterm_hold, &process);
		if (verdict == SIGTERM_HOLD_RELEASE) {
			/* Not what the job does to itself, or what was held back at a notice. */
			if (deliver_sigterm(&process) && sigterm_hold->active &&
			    process.sender_outside && !process.for_ours)
				tell_meant(sigterm_hold, &process);
			continue;
		}
		waits |= verdict == SIGTERM_HOLD_WAIT;
		if (verdict == SIGTERM_HOLD_KEEP && !sigterm_hold->said)
			log_note("holding back the SIGTERM that also reached the job's processes "
				 "until the checkpoint is saved (--shield off)");
		sigterm_hold->said |= verdict == SIGTERM_HOLD_KEEP;
		sigterm_hold->processes[left++] = process;
	}
	sigterm_hold->count = left;
	if (waits)
		loop_arm(sigterm_hold->loop, &sigterm_hold->timer, now + DECIDE_EVERY_MS);
}

static void on_hold_timer(struct timer *timer)
{
	decide_held_processes(container_of(timer, struct sigterm_hold, timer));
}

void sigterm_hold_start(struct sigterm_hold *sigterm_hold, struct loop *loop,
			struct tracker *tracker)
{
	sigterm_hold->loop = loop;
	sigterm_hold->tracker = tracker;
	sigterm_hold->timer.fired = on_hold_timer;
	sigterm_hold->active = tracker != NULL;
	if (tracker)
		tracker_set_sigterm_hold(tracker, SHIM_HOLD_ACTIVE);
}

void sigterm_hold_add(struct sigterm_hold *sigterm_hold, pid_t pid, pid_t sender, bool for_ours)
{
	struct process_sample sample;
	struct held_process process = {
		.pid = pid,
		.sender = sender,
		.start_time = process_start_time(pid),
		.for_ours = for_ours,
	};

	if (!sigterm_hold->tracker || process.start_time == 0)
		return;
	/* The shim repeats its report. */
	for (size_t i = 0; i < sigterm_hold->count; i++)
		if (sigterm_hold->processes[i].pid == pid &&
		    sigterm_hold->processes[i].start_time == process.start_time) {
			sigterm_hold->processes[i].for_ours = for_ours;
			decide_held_processes(sigterm_hold);
			return;
		}
	/* Soon, since a sender may have nothing else to do. What has ended is below nobody. */
	process.sender_ours = sender > 0 && process_is_below(sender, getpid());
	process.sender_outside =
		sender <= 0 || (!process.sender_ours && process_read_sample(sender, &sample));
	sigterm_hold->processes = memory_grow(sigterm_hold->processes, sigterm_hold->count + 1,
					      sizeof(*sigterm_hold->processes));
	if (sigterm_hold->count == 0)
		sigterm_hold->judged_ms = clock_monotonic_ms();
	sigterm_hold->processes[sigterm_hold->count++] = process;
	decide_held_processes(sigterm_hold);
}

void sigterm_hold_set_notice(struct sigterm_hold *sigterm_hold, bool stands)
{
	sigterm_hold->noticed = stands;
	sigterm_hold->said = false;
	if (sigterm_hold->tracker && !stands && !sigterm_hold->active)
		sigterm_hold_start(sigterm_hold, sigterm_hold->loop, sigterm_hold->tracker);
}

void sigterm_hold_end(struct sigterm_hold *sigterm_hold)
{
	if (!sigterm_hold->tracker || !sigterm_hold->active)
		return;
	sigterm_hold->active = false;
	tracker_set_sigterm_hold(sigterm_hold->tracker, SHIM_HOLD_RELEASED);
	decide_held_processes(sigterm_hold);
}

void sigterm_hold_release(struct sigterm_hold *sigterm_hold)
{
	if (sigterm_hold->tracker)
		loop_disarm(sigterm_hold->loop, &sigterm_hold->timer);
	free(sigterm_hold->processes);
	*sigterm_hold = (struct sigterm_hold){0};
}
