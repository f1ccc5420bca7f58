#include "sigterm_hold.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "process/process.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define DEPTH_MOST 64
/* Who stands still, with the sender perhaps, has not waited. */
#define STEP_MS (SHIELD_PATIENCE_MS / 3)

enum shield_verdict shield_judge(const struct shield_facts *facts)
{
	if (facts->let_go || facts->sender_ours || facts->for_ours)
		return SHIELD_HAND_ON;
	if (facts->noticed)
		return SHIELD_KEEP;
	return facts->kept_ms < SHIELD_PATIENCE_MS ? SHIELD_WAIT : SHIELD_HAND_ON;
}

static bool is_below_us(pid_t pid)
{
	struct process_pulse pulse;
	pid_t us = getpid();

	for (int depth = 0; depth < DEPTH_MOST && pid > 1; depth++) {
		if (!process_read_pulse(pid, &pulse))
			return false;
		if (pulse.parent == us)
			return true;
		pid = pulse.parent;
	}
	return false;
}

/* To whoever keeps nothing by now it means nothing. */
static void hand_on(const struct shield_process *process)
{
	const union sigval take_it = {.sival_int = SHIM_TAKE_IT};

	if (process_start_time(process->pid) == process->start_time)
		sigqueue(process->pid, SIGTERM, take_it);
}

static void judge_all(struct shield *shield)
{
	int64_t now = clock_monotonic_ms(), awake_ms = now - shield->judged_ms;
	bool waits = false;
	size_t left = 0;

	awake_ms = awake_ms < STEP_MS ? awake_ms : STEP_MS;
	shield->judged_ms = now;

	for (size_t i = 0; i < shield->count; i++) {
		struct shield_process process = shield->processes[i];
		struct shield_facts facts = {.let_go = !shield->standing,
			.noticed = shield->noticed,
			.sender_ours = process.sender > 0 && is_below_us(process.sender),
			.for_ours = process.for_ours,
			.kept_ms = process.kept_ms += awake_ms};
		enum shield_verdict verdict = shield_judge(&facts);

		if (verdict == SHIELD_HAND_ON) {
			log_debug("process %d gets its SIGTERM", (int)process.pid);
			hand_on(&process);
			continue;
		}
		waits |= verdict == SHIELD_WAIT;
		if (verdict == SHIELD_KEEP && !shield->said)
			log_note("SIGTERM reached the job's processes as well: they get it when "
				 "the checkpoint is taken (--shield off: at once)");
		shield->said |= verdict == SHIELD_KEEP;
		shield->processes[left++] = process;
	}
	shield->count = left;
	if (waits)
		loop_arm(shield->loop, &shield->timer, now + STEP_MS);
}

static void due(struct timer *timer)
{
	judge_all(container_of(timer, struct shield, timer));
}

void shield_raise(struct shield *shield, struct loop *loop, struct tracker *tracker)
{
	shield->loop = loop;
	shield->tracker = tracker;
	shield->timer.fired = due;
	shield->standing = tracker != NULL;
	if (tracker)
		tracker_shield(tracker, SHIM_SHIELD_STANDING);
}

void shield_kept(struct shield *shield, pid_t pid, pid_t sender, bool for_ours)
{
	struct shield_process process = {.pid = pid,
		.sender = sender,
		.start_time = process_start_time(pid),
		.for_ours = for_ours};

	if (!shield->tracker || process.start_time == 0)
		return;
	/* It says so again and again. */
	for (size_t i = 0; i < shield->count; i++)
		if (shield->processes[i].pid == pid &&
			shield->processes[i].start_time == process.start_time) {
			shield->processes[i].for_ours = for_ours;
			judge_all(shield);
			return;
		}
	shield->processes =
		memory_grow(shield->processes, shield->count + 1, sizeof(*shield->processes));
	if (shield->count == 0)
		shield->judged_ms = clock_monotonic_ms();
	shield->processes[shield->count++] = process;
	judge_all(shield);
}

void shield_notice(struct shield *shield, bool stands)
{
	shield->noticed = stands;
	shield->said = false;
	if (shield->tracker && !stands && !shield->standing)
		shield_raise(shield, shield->loop, shield->tracker);
}

void shield_let_go(struct shield *shield)
{
	if (!shield->tracker || !shield->standing)
		return;
	shield->standing = false;
	tracker_shield(shield->tracker, SHIM_SHIELD_LET_GO);
	judge_all(shield);
}

void shield_release(struct shield *shield)
{
	if (shield->tracker)
		loop_disarm(shield->loop, &shield->timer);
	free(shield->processes);
	*shield = (struct shield){0};
}
