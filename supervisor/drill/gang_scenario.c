#include "drill/gang_scenario.h"

#include "base/clock.h"
#include "base/exit_code.h"
#include "cloud/mock/mock.h"
#include "drill/comparison.h"
#include "gang_machines.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>

/* The others have so long after the deadline of the one that is taken away. */
#define OTHERS_END_MS 60000
/* When one has ended by itself, the others have so long. */
#define FOLLOW_MS 60000

/* --- a start that is preempted --- */

struct launched {
	uint32_t count;
	int64_t newest_ms;
	bool saved, committed, has_pace; /* any of them */
};

static struct launched look_at_launched(const struct gang_scenario *scenario)
{
	struct launched launched = {0};

	for (uint32_t i = 0; i < scenario->starting; i++) {
		const struct run_events *events = &scenario->instances[i].events;

		launched.count += events->launched_ms >= 0;
		if (events->launched_ms > launched.newest_ms)
			launched.newest_ms = events->launched_ms;
		launched.saved |= events->checkpoint_count > 0 || events->saving_ms >= 0;
		launched.has_pace |= notice_has_pace(&scenario->instances[i].counts, events);
		launched.committed |= !snapshot_id_is_none(events->commit.id);
	}
	return launched;
}

/* A job that saves by itself is given as long again to have a snapshot; one that saves when it is
 * asked would never have one. */
static bool is_due(const struct gang_scenario *scenario)
{
	struct launched launched = look_at_launched(scenario);
	int64_t passed_ms = clock_monotonic_ms() - launched.newest_ms;
	int64_t chosen_ms = scenario->options->notice_after_ms;
	int64_t after_ms = notice_after_ms(chosen_ms);

	return launched.count == scenario->options->members &&
	       notice_is_due(chosen_ms, passed_ms, launched.has_pace) &&
	       (!launched.saved || launched.committed || passed_ms >= 2 * after_ms);
}

/* False in *fired: one has ended before. */
static int await_notice(struct gang_scenario *scenario, bool *fired, struct err *err)
{
	*fired = false;
	while (!is_due(scenario)) {
		if (gang_machines_turn(scenario, err) < 0)
			return -1;
		if (gang_machines_running(scenario) < scenario->options->members)
			return gang_machines_wait(scenario, clock_monotonic_ms() + FOLLOW_MS, 0,
						  err);
	}
	*fired = true;
	return 0;
}

static int fire_notice(struct gang_scenario *scenario, struct gang_preemption *round,
		       struct err *err)
{
	struct mock *mock = scenario->mocks[round->lost];
	int64_t fired_ms = clock_monotonic_ms(), deadline_ms;

	if (mock_fire(mock, MOCK_STOP, err) < 0)
		return err_wrap(err, "notice");
	deadline_ms = mock_deadline_ms(mock);
	for (uint32_t i = 0; i < round->members; i++) {
		round->each[i].fired_ms = fired_ms;
		round->each[i].deadline_ms = deadline_ms;
	}
	console_warn(scenario->options->console, &scenario->instances[round->lost],
		     "NOTICE on the metadata endpoint: this machine will be gone in %.0f s",
		     (double)(deadline_ms - fired_ms) / 1000);
	return 0;
}

static int watch_preempted(struct gang_scenario *scenario, struct gang_preemption *round,
			   struct err *err)
{
	struct instance *lost = &scenario->instances[round->lost];
	int64_t deadline_ms;
	bool fired;

	if (await_notice(scenario, &fired, err) < 0)
		return -1;
	if (!fired)
		return 0;
	if (fire_notice(scenario, round, err) < 0)
		return -1;
	deadline_ms = round->each[0].deadline_ms;
	if (gang_machines_wait(scenario, deadline_ms, 0, err) < 0)
		return -1;
	if (lost->running) {
		console_warn(scenario->options->console, lost,
			     "the deadline: everything on the machine is killed");
		round->each[round->lost].killed = true;
		instance_kill_alone(lost);
	}
	return gang_machines_wait(scenario, deadline_ms + OTHERS_END_MS, 0, err);
}

static void print_end(struct gang_scenario *scenario, const struct gang_preemption *round,
		      uint32_t member)
{
	const struct console *console = scenario->options->console;
	const struct instance *instance = &scenario->instances[member];
	const struct round_facts *facts = &round->each[member];

	console_print_other_saves(console, instance);
	if (facts->killed && member == round->lost)
		return;
	if (facts->killed)
		console_warn(console, instance, "has not ended, and is killed");
	else
		console_print(console, instance, "`reprieve run` ended with %d%s", facts->exit_code,
			      facts->fired_ms >= 0 && member == round->lost
				      ? "; the machine is gone, and its disk with it"
				      : "");
}

static void note_ends(struct gang_scenario *scenario, struct gang_preemption *round)
{
	for (uint32_t i = 0; i < round->members; i++) {
		struct round_facts *facts = &round->each[i];

		facts->gone_ms = clock_monotonic_ms();
		facts->events = scenario->instances[i].events;
		facts->exit_code = instance_plain_exit_code(&scenario->instances[i]);
		print_end(scenario, round, i);
	}
	gang_verdict_share_commit(round->each, round->members);
}

/* They were ended by the gang, when one of them was. */
static bool was_told_to_end(const struct instance *instance)
{
	return instance->events.noticed_ms >= 0 || instance->exit_code == 128 + SIGKILL;
}

/* `round`: of this start; NULL: it is the last. */
static void collect_evidence(struct gang_scenario *scenario, struct gang_preemption *round,
			     bool over)
{
	unsigned done = scenario->facts.rounds_done;
	struct gang_preemption *before = done > 0 ? &scenario->rounds[done - 1] : NULL;

	for (uint32_t i = 0; i < scenario->options->members; i++) {
		struct instance *instance = &scenario->instances[i];

		evidence_collect(&scenario->evidence[i], &scenario->sandbox, scenario->options,
				 instance, over && !was_told_to_end(instance),
				 before ? &before->each[i] : NULL, round ? &round->each[i] : NULL);
		if (round)
			round->each[i].lost_most = scenario->options->lost_most;
		if (round)
			round->has_part[i] = scenario->evidence[i].has_part;
	}
}

static void lose_disk(struct gang_scenario *scenario, uint32_t member)
{
	free(scenario->disks[member]);
	scenario->disks[member] = NULL;
}

/* The others ended with it, so no job is left for another round. */
static bool ended_by_itself(const struct gang_preemption *round)
{
	for (uint32_t i = 0; i < round->members; i++)
		if (round->each[i].exit_code != 0)
			return round->each[0].fired_ms < 0;
	return true;
}

/* What the members do in another start can prove nothing any more, and takes as long as the job. */
static bool end_if_lost(const struct gang_scenario *scenario, const struct gang_preemption *round)
{
	if (!gang_verdict_is_lost(round))
		return false;
	console_warn(scenario->options->console, &scenario->instances[round->lost],
		     "the members do not save at the same steps: they are not started again");
	return true;
}

static int play_round(struct gang_scenario *scenario, unsigned number, bool *over, struct err *err)
{
	struct gang_preemption *round = &scenario->rounds[number - 1];
	uint32_t members = scenario->options->members;

	round->members = members;
	round->lost = number % members;
	for (uint32_t i = 0; i < members; i++)
		round->each[i].fired_ms = -1;
	if (gang_machines_start(scenario, number, false, err) < 0)
		return -1;
	if (watch_preempted(scenario, round, err) < 0)
		return -1;
	for (uint32_t i = 0; i < members; i++)
		round->each[i].killed |= scenario->instances[i].running;
	if (gang_machines_end(scenario, err) < 0)
		return -1;
	note_ends(scenario, round);
	*over = ended_by_itself(round) || end_if_lost(scenario, round);
	collect_evidence(scenario, round, *over);
	scenario->facts.rounds_done = number;
	for (uint32_t i = 0; *over && i < members; i++)
		if (round->each[i].exit_code != 0 && !was_told_to_end(&scenario->instances[i]))
			gang_machines_keep_last_lines(scenario, i);
	lose_disk(scenario, round->lost);
	gang_machines_release(scenario);
	return 0;
}

/* --- a start that is left alone --- */

/* Of an error of one, and of the others' ends that follow from it, the error. */
static int note_exits(struct gang_scenario *scenario, int *exits)
{
	int first = 0;

	for (uint32_t i = 0; i < scenario->options->members; i++) {
		const struct instance *instance = &scenario->instances[i];

		exits[i] = instance->exit_code;
		console_print(scenario->options->console, instance, "`reprieve run` ended with %d",
			      exits[i]);
		if (exits[i] == 0)
			continue;
		if (first == 0 || !was_told_to_end(instance))
			first = exits[i];
		if (!was_told_to_end(instance))
			gang_machines_keep_last_lines(scenario, i);
	}
	return first;
}

static int play_left_alone(struct gang_scenario *scenario, unsigned number, bool undisturbed,
			   int *exit_code, struct err *err)
{
	if (gang_machines_start(scenario, number, undisturbed, err) < 0)
		return -1;
	if (gang_machines_leave_alone(scenario, err) < 0)
		return -1;
	if (gang_machines_end(scenario, err) < 0)
		return -1;
	*exit_code = note_exits(scenario, scenario->last_exits);
	if (!undisturbed)
		collect_evidence(scenario, NULL, true);
	gang_machines_release(scenario);
	return 0;
}

/* Those that the members have written undisturbed; mostly one of them writes for all. */
static void compare_files(struct gang_scenario *scenario)
{
	const char *path = scenario->options->compare;

	scenario->facts.comparison = COMPARISON_NOT_MADE;
	if (!scenario->facts.last_ran)
		return;
	scenario->facts.comparison = COMPARISON_MISSING_UNDISTURBED;
	for (uint32_t i = 0; i < scenario->options->members; i++) {
		auto_free char *undisturbed = text_format("%s/undisturbed-member-%" PRIu32 "/%s",
							  scenario->sandbox.scratch, i, path);
		auto_free char *preempted = text_format("%s/%s", scenario->disks[i], path);
		struct compared_sizes sizes;
		enum comparison result = comparison_of_files(undisturbed, preempted, &sizes);

		if (result == COMPARISON_MISSING_UNDISTURBED)
			continue;
		scenario->facts.comparison = result;
		scenario->compared = i;
		scenario->compared_sizes.undisturbed += sizes.undisturbed;
		scenario->compared_sizes.preempted += sizes.preempted;
		if (result != COMPARISON_EQUAL)
			return;
	}
}

/* --- the whole --- */

static void prepare(struct gang_scenario *scenario)
{
	const struct scenario_options *options = scenario->options;
	size_t members = options->members;

	scenario->instances = memory_new(members * sizeof(*scenario->instances));
	scenario->mocks = memory_new(members * sizeof(struct mock *));
	scenario->variables = memory_new(members * sizeof(char *));
	scenario->disks = memory_new(members * sizeof(char *));
	scenario->evidence = memory_new(members * sizeof(*scenario->evidence));
	scenario->disk_numbers = memory_new(members * sizeof(unsigned));
	scenario->last_exits = memory_new(members * sizeof(int));
	scenario->rounds = memory_new(options->rounds * sizeof(*scenario->rounds));
	for (unsigned i = 0; i < options->rounds; i++) {
		scenario->rounds[i].each = memory_new(members * sizeof(struct round_facts));
		scenario->rounds[i].verdicts = memory_new(members * sizeof(struct round_verdict));
		scenario->rounds[i].has_part = memory_new(members * sizeof(bool));
	}
	for (uint32_t i = 0; i < options->members; i++) {
		scenario->evidence[i].members = options->members;
		scenario->evidence[i].member = i;
		scenario->evidence[i].parts = options->parts;
	}
}

static int play_last(struct gang_scenario *scenario, struct err *err)
{
	scenario->last_start = scenario->options->rounds + 1;
	if (play_left_alone(scenario, scenario->last_start, false, &scenario->facts.last_exit,
			    err) < 0)
		return -1;
	scenario->facts.last_ran = true;
	return 0;
}

static int play_starts(struct gang_scenario *scenario, struct err *err)
{
	const struct scenario_options *options = scenario->options;
	bool over;

	if (options->compare &&
	    play_left_alone(scenario, 0, true, &scenario->facts.undisturbed_exit, err) < 0)
		return -1;
	over = scenario->facts.undisturbed_exit != 0;
	for (unsigned number = 1; number <= options->rounds && !over; number++)
		if (play_round(scenario, number, &over, err) < 0)
			return -1;
	if (!over && play_last(scenario, err) < 0)
		return -1;
	if (options->compare)
		compare_files(scenario);
	return 0;
}

static int exit_of_no_command(const struct gang_preemption *round)
{
	for (uint32_t i = 0; i < round->members; i++)
		if (round->verdicts[i].result == DRILL_NOT_RUN)
			return round->each[i].exit_code;
	return 0;
}

static void judge_rounds(struct gang_scenario *scenario)
{
	struct drill_facts *facts = &scenario->facts;

	facts->shared = scenario->sandbox.shared;
	facts->shared_way = scenario->sandbox.shared_way;
	facts->left_out = scenario->sandbox.left_out;
	facts->timed_out = scenario->signal == SIGALRM;
	if (facts->timed_out && facts->rounds_done > 0 && !facts->last_ran)
		for (uint32_t i = 0; i < scenario->options->members; i++)
			scenario->rounds[facts->rounds_done - 1].each[i].next_cut = true;
	if (verdict_is_no_command(facts->undisturbed_exit))
		facts->command_exit = facts->undisturbed_exit;
	for (unsigned i = 0; i < facts->rounds_done; i++) {
		gang_verdict_round(&scenario->rounds[i]);
		facts->rounds_passed += scenario->rounds[i].result == DRILL_PASS;
		facts->rounds_unproven += scenario->rounds[i].result == DRILL_UNPROVEN;
		if (i == 0 && scenario->rounds[i].result == DRILL_NOT_RUN)
			facts->command_exit = exit_of_no_command(&scenario->rounds[i]);
	}
}

int gang_scenario_play(const struct scenario_options *options, struct gang_scenario *scenario,
		       struct err *err)
{
	*scenario = (struct gang_scenario){.options = options,
					   .facts = {.rounds_wanted = options->rounds,
						     .command = options->command[0]}};
	if (sandbox_make(&scenario->sandbox, options, err) < 0)
		return -1;
	prepare(scenario);
	if (play_starts(scenario, err) < 0) {
		instance_kill(scenario->instances, scenario->starting);
		if (scenario->signal != SIGALRM)
			return -1;
	}
	judge_rounds(scenario);
	return 0;
}

/* The reason of the only round says more than that one of one failed. */
enum drill_result gang_scenario_judge(const struct gang_scenario *scenario, char *reason,
				      size_t capacity)
{
	const struct drill_facts *facts = &scenario->facts;
	enum drill_result result = verdict_drill(facts, reason, capacity);

	if (result == DRILL_PASS || result == DRILL_NOT_RUN || !reason)
		return result;
	if (facts->rounds_wanted == 1 && facts->rounds_done == 1 &&
	    scenario->rounds[0].result == result)
		text_set(reason, capacity, scenario->rounds[0].reason);
	else if (scenario->idle)
		text_set(reason, capacity,
			 "no member did anything for 10 minutes in the last start: do they wait "
			 "for each other at different steps?");
	return result;
}

void gang_scenario_release(struct gang_scenario *scenario)
{
	uint32_t members = scenario->options ? scenario->options->members : 0;

	gang_machines_release(scenario);
	for (uint32_t i = 0; scenario->evidence && i < members; i++) {
		evidence_release(&scenario->evidence[i]);
		free(scenario->disks[i]);
	}
	for (unsigned i = 0; scenario->rounds && i < scenario->options->rounds; i++) {
		free(scenario->rounds[i].each);
		free(scenario->rounds[i].verdicts);
		free(scenario->rounds[i].has_part);
	}
	sandbox_release(&scenario->sandbox);
	free(scenario->instances);
	free(scenario->mocks);
	free(scenario->variables);
	free(scenario->disks);
	free(scenario->evidence);
	free(scenario->disk_numbers);
	free(scenario->last_exits);
	free(scenario->rounds);
	free(scenario->last_lines);
	*scenario = (struct gang_scenario){0};
}
