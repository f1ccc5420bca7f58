#include "scenario.h"

#include "base/clock.h"
#include "base/terminal_line.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Of a notice whose time is not said: so long after the start, and until the job has shown its
 * pace, by two lines of its count or by two checkpoints; but no longer than the second. */
#define NOTICE_AFTER_MS 5000
#define NOTICE_AFTER_MOST_MS 60000
/* The others have so long after the deadline of the one that is taken away, or after the end of the
 * first. */
#define OTHERS_END_MS 60000

#define WARNING "\033[1;33m"
#define PLAIN "\033[0m"

#define each_machine(scenario, machine)                      \
	for (struct machine *machine = (scenario)->machines; \
	     machine < (scenario)->machines + (scenario)->starting; machine++)

/* For people, as it happens: on stdout, with the seconds since the start. */
__attribute__((format(printf, 4, 5))) static void tell(const struct scenario *scenario,
						       const struct instance *instance, bool warns,
						       const char *format, ...)
{
	const struct scenario_options *options = scenario->options;
	auto_free char *text = NULL, *line = NULL;
	va_list args;

	if (options->silent)
		return;
	va_start(args, format);
	text = text_format_list(format, args);
	va_end(args);
	text_to_printable(text);
	line = text_format("%6.1f s  %s  %s",
			   (double)(clock_monotonic_ms() - options->began_ms) / 1000,
			   instance->label, text);
	fputs(options->colour && warns ? WARNING : "", stdout);
	terminal_line_put(line);
	fputs(options->colour && warns ? PLAIN : "", stdout);
	fflush(stdout);
}

/* --- one start --- */

/* One that is free now. 0: none. */
static unsigned find_free_port(void)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t size = sizeof(address);
	auto_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &size) < 0)
		return 0;
	return ntohs(address.sin_port);
}

/* Of its logs, and of a disk that is new in this start; 0 is the undisturbed one. */
static char *name_machine(const struct scenario *scenario, unsigned start, unsigned member)
{
	const char *scratch = scenario->sandbox.scratch;

	return scenario->options->gang == 0
		       ? text_format("%s/machine-%u", scratch, start)
		       : text_format("%s/start-%u-member-%u", scratch, start, member);
}

static int start_machine(struct scenario *scenario, struct sandbox_start start, struct err *err)
{
	const struct scenario_options *options = scenario->options;
	struct machine *machine = &scenario->machines[scenario->starting];
	const struct mock_options mock = {.cloud = options->cloud, .notice_ms = options->notice_ms};
	bool gang = options->gang > 0;
	const char *name, *value;
	char label[24];

	start.member = scenario->starting;
	start.has_directory = start.start > 0 && machine->disk;
	if (start.start > 0 && !machine->disk)
		machine->disk = name_machine(scenario, start.start, start.member);
	snprintf(label, sizeof(label), gang ? "member %u" : "machine %u",
		 gang ? start.member : start.start);
	instance_init(&machine->now, label, name_machine(scenario, start.start, start.member),
		      start.start > 0 ? text_copy(machine->disk)
				      : name_machine(scenario, 0, start.member));
	scenario->starting++;
	if (start.start > 0) {
		if (mock_start(&mock, &machine->mock, err) < 0)
			return err_wrap(err, "metadata server");
		mock_environment(machine->mock, &name, &value);
		start.variable = machine->variable = text_format("%s=%s", name, value);
	}
	tell(scenario, &machine->now, false, "starts %s%s",
	     start.has_directory ? "again, on the same machine" : "with no checkpoint on its disk",
	     start.start == 0                ? "; an undisturbed run, to compare with"
	     : start.start > options->rounds ? "; this one is left alone"
					     : "");
	return sandbox_start(&scenario->sandbox, &machine->now, &start, err);
}

static int start_all(struct scenario *scenario, unsigned number, struct err *err)
{
	const struct sandbox_start start = {.start = number, .port = find_free_port()};

	while (scenario->starting < scenario->members)
		if (start_machine(scenario, start, err) < 0)
			return -1;
	return 0;
}

static void poll_all(struct scenario *scenario)
{
	const struct scenario_options *options = scenario->options;

	each_machine(scenario, machine)
	{
		const struct run_events *events = &machine->now.events;

		instance_poll(&machine->now);
		while (instance_next_event(&machine->now))
			if (events->said[0])
				tell(scenario, &machine->now, events->warns, "%s", events->said);
		instance_read_log(&machine->now, &options->patterns, options->verbose);
	}
}

static uint32_t count_running(struct scenario *scenario)
{
	uint32_t running = 0;

	each_machine(scenario, machine) running += machine->now.running;
	return running;
}

/* -1: a signal ends the drill. */
static int turn(struct scenario *scenario, struct err *err)
{
	int waited = sandbox_wait_turn(&scenario->sandbox, err);

	poll_all(scenario);
	return waited;
}

/* Until all have ended. */
static int wait_ends(struct scenario *scenario, int64_t until_ms, struct err *err)
{
	while (count_running(scenario) > 0 && clock_monotonic_ms() < until_ms)
		if (turn(scenario, err) < 0)
			return -1;
	return 0;
}

static void keep_last_lines(struct scenario *scenario, const struct instance *instance)
{
	if (scenario->last_lines)
		return;
	scenario->last_lines = instance_last_lines(instance, 10);
	text_set(scenario->failed, sizeof(scenario->failed), instance->label);
}

/* Kills everything, and reads the rest of the logs. */
static void end_all(struct scenario *scenario)
{
	each_machine(scenario, machine)
	{
		instance_poll(&machine->now);
		if (machine->now.running)
			machine->now.exit_code = 128 + SIGKILL;
		machine->now.running = false;
	}
	instance_kill_all();
	poll_all(scenario);
	if (scenario->sandbox.signal && scenario->starting > 0)
		keep_last_lines(scenario, &scenario->machines->now);
}

static void release_all(struct scenario *scenario)
{
	each_machine(scenario, machine)
	{
		instance_release(&machine->now);
		mock_stop(machine->mock);
		free(machine->variable);
		machine->mock = NULL;
		machine->variable = NULL;
	}
	scenario->starting = 0;
}

/* --- facts --- */

static void read_store(const struct scenario *scenario, struct round_facts *facts)
{
	const struct storage_options options = {
		.url = scenario->sandbox.store,
		.job = scenario->sandbox.job,
		.read_only = true,
	};
	auto_(storage_close) struct storage *storage = NULL;
	auto_(snapshot_list_release) struct snapshot_list list = {0};
	struct err err = {0};

	if (storage_open(&options, &storage, NULL, &err) < 0 ||
	    storage_list_snapshots(storage, &list, NULL, &err) < 0)
		text_set(facts->store_error, sizeof(facts->store_error), err.text);
	for (size_t i = 0; i < list.count; i++) {
		const struct snapshot_info *info = &list.items[i];

		if (info->newest)
			facts->store_newest = info->id;
		facts->commit_good |= info->state == SNAPSHOT_GOOD &&
				      snapshot_id_compare(info->id, facts->events.commit.id) == 0;
	}
}

/* They were ended by the gang, when one of them was. */
static bool was_told_to_end(const struct instance *instance)
{
	return instance->events.noticed_ms >= 0 || instance->exit_code == 128 + SIGKILL;
}

/* Of this start, `round` (NULL: the last), and of the one before. `over`: the job has ended. */
static void collect_facts(struct scenario *scenario, struct round *round, bool over)
{
	unsigned done = scenario->facts.rounds_done;

	for (uint32_t i = 0; i < scenario->members; i++) {
		struct machine *machine = &scenario->machines[i];
		struct instance *now = &machine->now;

		if (done > 0) {
			struct round_facts *before = &scenario->rounds[done - 1].each[i];

			before->next_launched = now->events.launched_ms >= 0;
			before->next_restored = now->events.restored;
			before->next_step = now->events.restored_step;
			before->next_failed = over && !was_told_to_end(now) ? now->exit_code : 0;
			before->steps = step_facts_of(&machine->steps, &before->events, &now->steps,
						      &now->events);
		}
		job_steps_release(&machine->steps);
		machine->steps = now->steps;
		now->steps = (struct job_steps){0};
		if (!round)
			continue;
		struct round_facts *facts = &round->each[i];

		facts->steps = step_facts_of(&machine->steps, &facts->events, NULL, NULL);
		text_set(facts->warning, sizeof(facts->warning), now->warning);
		text_set(facts->said, sizeof(facts->said), now->said);
		facts->lost_most = scenario->options->lost_most;
		read_store(scenario, facts);
	}
}

/* --- a start that is preempted --- */

/* A gang that saves by itself is given as long again to have a snapshot; one that saves when it is
 * asked would never have one. */
static bool is_due(struct scenario *scenario)
{
	int64_t chosen_ms = scenario->options->notice_after_ms, newest_ms = 0;
	int64_t after_ms = chosen_ms == NOTICE_AFTER_UNSAID ? NOTICE_AFTER_MS : chosen_ms;
	bool saved = false, committed = scenario->options->gang == 0;
	bool has_pace = chosen_ms != NOTICE_AFTER_UNSAID;

	each_machine(scenario, machine)
	{
		const struct run_events *events = &machine->now.events;

		if (events->launched_ms < 0)
			return false;
		if (events->launched_ms > newest_ms)
			newest_ms = events->launched_ms;
		saved |= events->checkpoint_count > 0 || events->saving_ms >= 0;
		has_pace |=
			job_steps_have_pace(&machine->now.steps) || events->checkpoint_count > 1;
		committed |= !snapshot_id_is_none(events->commit.id);
	}
	int64_t passed_ms = clock_monotonic_ms() - newest_ms;

	if (passed_ms < after_ms)
		return false;
	if (!has_pace && !scenario->said_waiting)
		tell(scenario, &scenario->machines->now, false,
		     "the notice waits until the job has counted or saved twice, at most "
		     "%d s (--notice-after says when instead)",
		     NOTICE_AFTER_MOST_MS / 1000);
	scenario->said_waiting |= !has_pace;
	return (has_pace || passed_ms >= NOTICE_AFTER_MOST_MS) &&
	       (!saved || committed || passed_ms >= 2 * after_ms);
}

static int fire_notice(struct scenario *scenario, struct round *round, struct err *err)
{
	struct machine *lost = &scenario->machines[round->lost];
	int64_t fired_ms = clock_monotonic_ms(), deadline_ms;

	if (mock_fire(lost->mock, MOCK_STOP, err) < 0)
		return err_wrap(err, "notice");
	deadline_ms = mock_deadline_ms(lost->mock);
	for (uint32_t i = 0; i < round->members; i++) {
		round->each[i].fired_ms = fired_ms;
		round->each[i].deadline_ms = deadline_ms;
	}
	tell(scenario, &lost->now, true,
	     "NOTICE on the metadata endpoint: this machine will be gone in %.0f s",
	     (double)(deadline_ms - fired_ms) / 1000);
	return 0;
}

static int watch_preempted(struct scenario *scenario, struct round *round, struct err *err)
{
	struct instance *lost = &scenario->machines[round->lost].now;

	while (!is_due(scenario)) {
		if (turn(scenario, err) < 0)
			return -1;
		/* One has ended before: what the others do then is not of interest. */
		if (count_running(scenario) < scenario->members)
			return wait_ends(scenario, clock_monotonic_ms() + OTHERS_END_MS, err);
	}
	if (fire_notice(scenario, round, err) < 0 ||
	    wait_ends(scenario, round->each[0].deadline_ms, err) < 0)
		return -1;
	if (lost->running) {
		tell(scenario, lost, true, "the deadline: everything on the machine is killed");
		round->each[round->lost].killed = true;
		instance_kill(lost);
	}
	return wait_ends(scenario, round->each[0].deadline_ms + OTHERS_END_MS, err);
}

static void note_end(const struct scenario *scenario, struct round *round, uint32_t member)
{
	const struct instance *instance = &scenario->machines[member].now;
	struct round_facts *facts = &round->each[member];

	facts->gone_ms = clock_monotonic_ms();
	facts->events = instance->events;
	facts->exit_code = instance_plain_exit_code(instance);
	if (facts->killed && member != round->lost)
		tell(scenario, instance, true, "has not ended, and is killed");
	else if (!facts->killed)
		tell(scenario, instance, false, "`reprieve run` ended with %d%s", facts->exit_code,
		     facts->fired_ms >= 0 && member == round->lost
			     ? "; the machine is gone, and its disk with it"
			     : "");
}

/* The run ended without a preemption, so no job is left for another round. */
static bool ended_by_itself(const struct round *round)
{
	for (uint32_t i = 0; i < round->members; i++)
		if (round->each[i].killed || round->each[i].exit_code != 0)
			return round->each[0].fired_ms < 0;
	return true;
}

static int play_round(struct scenario *scenario, unsigned number, bool *over, struct err *err)
{
	struct round *round = &scenario->rounds[number - 1];
	struct machine *lost;
	int played;

	round->lost = number % scenario->members;
	for (uint32_t i = 0; i < round->members; i++)
		round->each[i].fired_ms = -1;
	played = start_all(scenario, number, err);
	if (played == 0)
		played = watch_preempted(scenario, round, err);
	for (uint32_t i = 0; i < scenario->starting; i++)
		round->each[i].killed |= scenario->machines[i].now.running;
	end_all(scenario);
	if (played < 0)
		return -1;
	for (uint32_t i = 0; i < round->members; i++)
		note_end(scenario, round, i);
	verdict_share_commit(round);
	*over = ended_by_itself(round);
	collect_facts(scenario, round, *over);
	scenario->facts.rounds_done = number;
	each_machine(scenario, machine) if (*over && machine->now.exit_code != 0 &&
					    !was_told_to_end(&machine->now))
		keep_last_lines(scenario, &machine->now);
	lost = &scenario->machines[round->lost];
	free(lost->disk);
	lost->disk = NULL;
	release_all(scenario);
	return 0;
}

/* --- a start that is left alone --- */

/* Of an error of one, and of the others' ends that follow from it, the error. */
static int note_exits(struct scenario *scenario)
{
	int first = 0;

	for (uint32_t i = 0; i < scenario->members; i++) {
		const struct instance *instance = &scenario->machines[i].now;
		int code = scenario->last_exits[i] = instance->exit_code;

		tell(scenario, instance, false,
		     code == 0 ? "the job has finished" : "`reprieve run` ended with %d", code);
		if (code == 0)
			continue;
		if (first == 0 || !was_told_to_end(instance))
			first = code;
		if (!was_told_to_end(instance))
			keep_last_lines(scenario, instance);
	}
	return first;
}

static int play_left_alone(struct scenario *scenario, unsigned number, int *exit_code,
			   struct err *err)
{
	int played = start_all(scenario, number, err);

	if (played == 0)
		played = wait_ends(scenario, CLOCK_NEVER, err);
	end_all(scenario);
	if (played < 0)
		return -1;
	*exit_code = note_exits(scenario);
	if (number > 0)
		collect_facts(scenario, NULL, true);
	release_all(scenario);
	return 0;
}

/* --- the whole --- */

/* Of one file of two machines. What cannot be read, such as a directory, is missing. */
static enum comparison compare_file(const char *undisturbed, const char *preempted,
				    uint64_t bytes[2])
{
	auto_fclose FILE *a = fopen(undisturbed, "re");
	auto_fclose FILE *b = fopen(preempted, "re");
	static char from_a[65536], from_b[65536];
	bool equal = true;
	size_t got_a = 1, got_b = 1;

	if (!a)
		return COMPARISON_MISSING_UNDISTURBED;
	if (!b)
		return COMPARISON_MISSING;
	while (got_a > 0 || got_b > 0) {
		got_a = fread(from_a, 1, sizeof(from_a), a);
		got_b = fread(from_b, 1, sizeof(from_b), b);
		if (ferror(a))
			return COMPARISON_MISSING_UNDISTURBED;
		if (ferror(b))
			return COMPARISON_MISSING;
		bytes[0] += got_a;
		bytes[1] += got_b;
		equal &= got_a == got_b && memcmp(from_a, from_b, got_a) == 0;
	}
	return equal ? COMPARISON_EQUAL : COMPARISON_DIFFERENT;
}

/* Those that the members have written undisturbed; mostly one of them writes for all. */
static void compare_files(struct scenario *scenario)
{
	const char *path = scenario->options->compare;
	struct drill_facts *facts = &scenario->facts;

	facts->comparison = !path              ? COMPARISON_NOT_ASKED
			    : !facts->last_ran ? COMPARISON_NOT_MADE
					       : COMPARISON_MISSING_UNDISTURBED;
	for (uint32_t i = 0; path && facts->last_ran && i < scenario->members; i++) {
		auto_free char *disk = name_machine(scenario, 0, i);
		auto_free char *undisturbed = text_format("%s/%s", disk, path);
		auto_free char *preempted = text_format("%s/%s", scenario->machines[i].disk, path);
		enum comparison result =
			compare_file(undisturbed, preempted, scenario->compared_bytes);

		if (result == COMPARISON_MISSING_UNDISTURBED)
			continue;
		facts->comparison = result;
		scenario->compared = i;
		if (result != COMPARISON_EQUAL)
			return;
	}
}

static void judge_rounds(struct scenario *scenario)
{
	struct drill_facts *facts = &scenario->facts;

	facts->timed_out = scenario->sandbox.signal == SIGALRM;
	for (uint32_t i = 0; facts->timed_out && facts->rounds_done > 0 && i < scenario->members;
	     i++)
		scenario->rounds[facts->rounds_done - 1].each[i].next_cut = !facts->last_ran;
	if (verdict_is_no_command(facts->undisturbed_exit))
		facts->command_exit = facts->undisturbed_exit;
	for (unsigned i = 0; i < facts->rounds_done; i++) {
		struct round *round = &scenario->rounds[i];

		verdict_round(round);
		facts->rounds_passed += round->result == DRILL_PASS;
		facts->rounds_unproven += round->result == DRILL_UNPROVEN;
		for (uint32_t m = 0; i == 0 && m < round->members; m++)
			if (round->verdicts[m].result == DRILL_NOT_RUN)
				facts->command_exit = round->each[m].exit_code;
	}
}

static int play_starts(struct scenario *scenario, struct err *err)
{
	const struct scenario_options *options = scenario->options;
	struct drill_facts *facts = &scenario->facts;
	bool over;

	if (sandbox_make(&scenario->sandbox, options, err) < 0)
		return -1;
	if (options->compare && play_left_alone(scenario, 0, &facts->undisturbed_exit, err) < 0)
		return -1;
	over = facts->undisturbed_exit != 0;
	for (unsigned number = 1; number <= options->rounds && !over; number++)
		if (play_round(scenario, number, &over, err) < 0)
			return -1;
	if (!over && play_left_alone(scenario, options->rounds + 1, &facts->last_exit, err) < 0)
		return -1;
	facts->last_ran = !over;
	return 0;
}

int scenario_play(const struct scenario_options *options, struct scenario *scenario,
		  struct err *err)
{
	uint32_t members = options->gang > 0 ? options->gang : 1;

	*scenario = (struct scenario){
		.options = options,
		.members = members,
		.facts = {.rounds_wanted = options->rounds, .command = options->command[0]},
		.machines = memory_new(members * sizeof(*scenario->machines)),
		.last_exits = memory_new(members * sizeof(int)),
		.rounds = memory_new(options->rounds * sizeof(*scenario->rounds)),
	};
	for (unsigned i = 0; i < options->rounds; i++)
		scenario->rounds[i] = (struct round){
			.members = members,
			.each = memory_new(members * sizeof(struct round_facts)),
			.verdicts = memory_new(members * sizeof(struct round_verdict)),
		};
	if (play_starts(scenario, err) < 0 && scenario->sandbox.signal != SIGALRM) {
		if (err->kind != ERR_NO_SPACE)
			return -1;
		text_set(scenario->facts.too_large, sizeof(scenario->facts.too_large), err->text);
	}
	compare_files(scenario);
	judge_rounds(scenario);
	return 0;
}

void scenario_release(struct scenario *scenario)
{
	release_all(scenario);
	for (uint32_t i = 0; i < scenario->members; i++) {
		free(scenario->machines[i].disk);
		job_steps_release(&scenario->machines[i].steps);
	}
	for (unsigned i = 0; i < scenario->facts.rounds_wanted; i++) {
		free(scenario->rounds[i].each);
		free(scenario->rounds[i].verdicts);
	}
	sandbox_release(&scenario->sandbox);
	free(scenario->machines);
	free(scenario->last_exits);
	free(scenario->rounds);
	free(scenario->last_lines);
	*scenario = (struct scenario){0};
}
