#include "drill.h"

#include "base/clock.h"
#include "base/log.h"

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

/* Of the current start. */
#define each_machine(scenario, machine)                                                    \
	for (struct instance *machine = scenario_instance(scenario, (scenario)->start, 0), \
			     *machine##_end = machine + (scenario)->starting;              \
	     machine < machine##_end; machine++)

struct instance *scenario_instance(const struct scenario *scenario, unsigned start, uint32_t member)
{
	return &scenario->instances[start * scenario->members + member];
}

/* For people, as it happens: on stdout, with the seconds since the start. */
__attribute__((format(printf, 3, 4))) static void tell(
	const struct scenario *scenario, const struct instance *instance, const char *format, ...)
{
	const struct scenario_options *options = scenario->options;
	double seconds = (double)(clock_monotonic_ms() - options->began_ms) / 1000;
	auto_free char *text = NULL, *line = NULL;
	va_list args;

	va_start(args, format);
	text = text_format_list(format, args);
	va_end(args);
	text_to_printable(text);
	line = text_format("%6.1f s  %s  %s", seconds, instance->label, text);
	if (options->silent)
		return;
	puts(line);
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

/* The machine of a member that was not taken away in the start before keeps its disk. */
static int start_machine(struct scenario *scenario, struct err *err)
{
	const struct scenario_options *options = scenario->options;
	const struct mock_options mock = {.cloud = options->cloud, .notice_ms = options->notice_ms};
	unsigned start = scenario->start, member = scenario->starting++;
	struct instance *machine = scenario_instance(scenario, start, member);
	const char *scratch = scenario->sandbox.scratch;
	bool gang = options->gang > 0;
	bool again = start > 1 && member != scenario->rounds[start - 2].lost;
	char *name = gang ? text_format("%s/start-%u-member-%u", scratch, start, member)
			  : text_format("%s/machine-%u", scratch, start);

	instance_init(machine, name, again ? (machine - scenario->members)->directory : name);
	free(name);
	snprintf(machine->label, sizeof(machine->label), gang ? "member %u" : "machine %u",
		 gang ? member : start);
	if (start > 0 && mock_start(&mock, &machine->mock, err) < 0)
		return err_wrap(err, "metadata server");
	tell(scenario, machine, "starts %s%s",
	     again ? "again, on the same machine" : "with no checkpoint on its disk",
	     start == 0                ? "; an undisturbed run, to compare with"
	     : start > options->rounds ? "; this one is left alone"
				       : "");
	if (sandbox_start(&scenario->sandbox, machine, start, member, err) < 0)
		return err_wrap(err, "%s", machine->label);
	return 0;
}

static void poll_all(struct scenario *scenario)
{
	const struct scenario_options *options = scenario->options;

	each_machine(scenario, machine)
	{
		const struct run_events *events = &machine->events;

		instance_poll(machine);
		while (instance_next_event(machine))
			if (events->said[0])
				tell(scenario, machine, "%s", events->said);
		instance_read_log(machine, &options->patterns, options->verbose);
	}
}

static uint32_t count_running(const struct scenario *scenario)
{
	uint32_t running = 0;

	each_machine(scenario, machine) running += machine->running;
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

/* Kills everything, and reads the rest of the logs. `round`: NULL, nothing should be left. */
static void end_all(struct scenario *scenario, struct round *round)
{
	each_machine(scenario, machine)
	{
		instance_poll(machine);
		if (!machine->running)
			continue;
		machine->exit_code = 128 + SIGKILL;
		machine->running = false;
		if (round)
			round->each[machine - scenario_instance(scenario, scenario->start, 0)]
				.killed = true;
	}
	instance_kill_all();
	poll_all(scenario);
	if (scenario->sandbox.signal && scenario->starting > 0 && !scenario->failed)
		scenario->failed = scenario_instance(scenario, scenario->start, 0);
	each_machine(scenario, machine)
	{
		mock_stop(machine->mock);
		machine->mock = NULL;
	}
}

/* --- a start that is preempted --- */

/* A gang that saves by itself is given as long again to have a snapshot; one that saves when it is
 * asked would never have one. */
static bool is_due(struct scenario *scenario)
{
	int64_t chosen_ms = scenario->options->notice_after_ms, newest_ms = 0, passed_ms;
	bool has_pace = chosen_ms != NOTICE_AFTER_UNSAID;
	int64_t after_ms = has_pace ? chosen_ms : NOTICE_AFTER_MS;
	bool saved = false, committed = scenario->options->gang == 0;

	each_machine(scenario, machine)
	{
		const struct run_events *events = &machine->events;

		if (events->launched_ms < 0)
			return false;
		if (events->launched_ms > newest_ms)
			newest_ms = events->launched_ms;
		saved |= events->checkpoint_count > 0 || events->saving_ms >= 0;
		has_pace |= machine->steps.each[0].count > 1 || machine->steps.each[1].count > 1 ||
			    events->checkpoint_count > 1;
		committed |= !snapshot_id_is_none(events->commit.id);
	}
	passed_ms = clock_monotonic_ms() - newest_ms;
	if (passed_ms < after_ms)
		return false;
	if (!has_pace && !scenario->said_waiting)
		tell(scenario, scenario_instance(scenario, scenario->start, 0),
		     "the notice waits until the job has counted or saved twice, at most %d s "
		     "(--notice-after says when instead)",
		     NOTICE_AFTER_MOST_MS / 1000);
	scenario->said_waiting |= !has_pace;
	return (has_pace || passed_ms >= NOTICE_AFTER_MOST_MS) &&
	       (!saved || committed || passed_ms >= 2 * after_ms);
}

static int watch_preempted(struct scenario *scenario, struct round *round, struct err *err)
{
	struct instance *lost = scenario_instance(scenario, scenario->start, round->lost);
	int64_t fired_ms, deadline_ms;

	while (!is_due(scenario)) {
		if (turn(scenario, err) < 0)
			return -1;
		/* One has ended before: what the others do then is not of interest. */
		if (count_running(scenario) < scenario->members)
			return wait_ends(scenario, clock_monotonic_ms() + OTHERS_END_MS, err);
	}
	fired_ms = clock_monotonic_ms();
	if (mock_control(lost->mock, "fire", NULL, err) < 0)
		return err_wrap(err, "notice");
	deadline_ms = mock_deadline_ms(lost->mock);
	for (uint32_t i = 0; i < round->members; i++) {
		round->each[i].fired_ms = fired_ms;
		round->each[i].deadline_ms = deadline_ms;
	}
	tell(scenario, lost, "NOTICE on the metadata endpoint: this machine will be gone in %.0f s",
	     (double)(deadline_ms - fired_ms) / 1000);
	if (wait_ends(scenario, deadline_ms, err) < 0)
		return -1;
	if (lost->running) {
		tell(scenario, lost, "the deadline: everything on the machine is killed");
		round->each[round->lost].killed = true;
		instance_kill(lost);
	}
	return wait_ends(scenario, deadline_ms + OTHERS_END_MS, err);
}

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

static void note_end(const struct scenario *scenario, struct round *round, uint32_t member)
{
	const struct instance *machine = scenario_instance(scenario, scenario->start, member);
	struct round_facts *facts = &round->each[member];
	bool lost = member == round->lost;

	facts->gone_ms = clock_monotonic_ms();
	facts->events = machine->events;
	facts->exit_code = instance_plain_exit_code(machine);
	text_set(facts->warning, sizeof(facts->warning), machine->warning);
	text_set(facts->said, sizeof(facts->said), machine->said);
	if (facts->killed && !lost)
		tell(scenario, machine, "has not ended, and is killed");
	else if (!facts->killed)
		tell(scenario, machine, "`reprieve run` ended with %d%s", facts->exit_code,
		     facts->fired_ms >= 0 && lost ? "; the machine is gone, and its disk with it"
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

static void note_round(struct scenario *scenario, struct round *round)
{
	for (uint32_t i = 0; i < round->members; i++)
		note_end(scenario, round, i);
	verdict_share_commit(round);
	for (uint32_t i = 0; i < round->members; i++)
		read_store(scenario, &round->each[i]);
	scenario->over = ended_by_itself(round);
	scenario->facts.rounds_done++;
}

/* --- all starts --- */

/* They were ended by the gang, when one of them was. */
static bool was_told_to_end(const struct instance *instance)
{
	return instance->events.noticed_ms >= 0 || instance->exit_code == 128 + SIGKILL;
}

/* Of an error of one, and of the others' ends that follow from it, the error. */
static int note_exits(struct scenario *scenario)
{
	int first = 0;

	each_machine(scenario, machine)
	{
		int code = machine->exit_code;

		tell(scenario, machine,
		     code == 0 ? "the job has finished" : "`reprieve run` ended with %d", code);
		if (code != 0 && (first == 0 || !was_told_to_end(machine)))
			first = code;
	}
	return first;
}

static int play_start(struct scenario *scenario, struct err *err)
{
	struct drill_facts *facts = &scenario->facts;
	bool last = scenario->start > facts->rounds_wanted;
	struct round *round =
		scenario->start > 0 && !last ? &scenario->rounds[scenario->start - 1] : NULL;
	int played = 0;

	scenario->starting = 0;
	scenario->sandbox.port = find_free_port();
	while (played == 0 && scenario->starting < scenario->members)
		played = start_machine(scenario, err);
	if (played == 0)
		played = round ? watch_preempted(scenario, round, err)
			       : wait_ends(scenario, CLOCK_NEVER, err);
	end_all(scenario, round);
	if (played < 0)
		return -1;
	if (round) {
		note_round(scenario, round);
	} else if (last) {
		facts->last_exit = note_exits(scenario);
		facts->last_ran = scenario->over = true;
	} else {
		facts->undisturbed_exit = note_exits(scenario);
		scenario->over = facts->undisturbed_exit != 0;
	}
	each_machine(scenario, machine)
	{
		bool failed = machine->exit_code != 0 && !was_told_to_end(machine);

		if (scenario->over && failed && !scenario->failed)
			scenario->failed = machine;
	}
	return 0;
}

static int play_starts(struct scenario *scenario, struct err *err)
{
	if (sandbox_make(&scenario->sandbox, scenario->options, err) < 0)
		return -1;
	for (scenario->start = scenario->options->compare ? 0 : 1;; scenario->start++)
		if (play_start(scenario, err) < 0 || scenario->over)
			return scenario->over ? 0 : -1;
}

/* --- facts --- */

/* Of one file of two machines. What cannot be read, such as a directory, is missing. */
static enum comparison compare_file(const char *undisturbed, const char *preempted,
				    uint64_t bytes[2])
{
	auto_fclose FILE *a = fopen(undisturbed, "re");
	auto_fclose FILE *b = fopen(preempted, "re");
	static char from_a[65536], from_b[65536];
	bool equal = true;
	size_t got_a = 1, got_b = 1;

	while (a && b && (got_a > 0 || got_b > 0)) {
		got_a = fread(from_a, 1, sizeof(from_a), a);
		got_b = fread(from_b, 1, sizeof(from_b), b);
		bytes[0] += got_a;
		bytes[1] += got_b;
		equal &= got_a == got_b && memcmp(from_a, from_b, got_a) == 0;
	}
	return !a || ferror(a)   ? COMPARISON_MISSING_UNDISTURBED
	       : !b || ferror(b) ? COMPARISON_MISSING
	       : equal           ? COMPARISON_EQUAL
				 : COMPARISON_DIFFERENT;
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
		const struct instance *last = scenario_instance(scenario, scenario->start, i);
		auto_free char *undisturbed =
			text_format("%s/%s", scenario_instance(scenario, 0, i)->directory, path);
		auto_free char *preempted = text_format("%s/%s", last->directory, path);
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

/* What is known of the machines by the next ones, unless that start was cut. */
static void collect_facts(const struct scenario *scenario, unsigned number)
{
	const struct drill_facts *drill = &scenario->facts;
	struct round *round = &scenario->rounds[number];
	bool has_next = number + 1 < drill->rounds_done || drill->last_ran;
	bool is_end = scenario->over && number + 2 == scenario->start;

	for (uint32_t i = 0; i < round->members && has_next; i++) {
		const struct instance *next = scenario_instance(scenario, number + 2, i);
		struct round_facts *facts = &round->each[i];

		facts->next_launched = next->events.launched_ms >= 0;
		facts->next_restored = next->events.restored;
		facts->next_step = next->events.restored_step;
		facts->next_failed = is_end && !was_told_to_end(next) ? next->exit_code : 0;
	}
	if (has_next)
		verdict_adopt(round);
	for (uint32_t i = 0; i < round->members; i++) {
		const struct instance *now = scenario_instance(scenario, number + 1, i);
		const struct instance *next = now + scenario->members;
		struct round_facts *facts = &round->each[i];

		facts->next_cut = !has_next && drill->timed_out;
		facts->steps =
			step_facts_of(&now->steps, &facts->events, has_next ? &next->steps : NULL,
				      has_next ? &next->events : NULL);
	}
}

static void judge_rounds(struct scenario *scenario)
{
	struct drill_facts *facts = &scenario->facts;

	facts->timed_out = scenario->sandbox.signal == SIGALRM;
	if (verdict_is_no_command(facts->undisturbed_exit))
		facts->command_exit = facts->undisturbed_exit;
	for (unsigned i = 0; i < facts->rounds_done; i++) {
		struct round *round = &scenario->rounds[i];

		collect_facts(scenario, i);
		verdict_round(round);
		facts->rounds_passed += round->result == DRILL_PASS;
		facts->rounds_unproven += round->result == DRILL_UNPROVEN;
		for (uint32_t m = 0; i == 0 && m < round->members; m++)
			if (round->verdicts[m].result == DRILL_NOT_RUN)
				facts->command_exit = round->each[m].exit_code;
	}
}

/* --- the whole --- */

static void make_round(struct round *round, uint32_t members, uint32_t lost, unsigned lost_most)
{
	*round = (struct round){
		.members = members,
		.lost = lost,
		.each = memory_new(members * sizeof(*round->each)),
		.verdicts = memory_new(members * sizeof(*round->verdicts)),
	};
	for (uint32_t i = 0; i < members; i++)
		round->each[i] = (struct round_facts){.fired_ms = -1, .lost_most = lost_most};
}

int scenario_play(const struct scenario_options *options, struct scenario *scenario,
		  struct err *err)
{
	uint32_t members = options->gang > 0 ? options->gang : 1;
	size_t instances = (options->rounds + 2) * (size_t)members;

	*scenario = (struct scenario){
		.options = options,
		.members = members,
		.facts = {.rounds_wanted = options->rounds, .command = options->command[0]},
		.instances = memory_new(instances * sizeof(*scenario->instances)),
		.rounds = memory_new(options->rounds * sizeof(*scenario->rounds)),
	};
	for (unsigned i = 0; i < options->rounds; i++)
		make_round(&scenario->rounds[i], members, (i + 1) % members, options->lost_most);
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
	unsigned rounds = scenario->facts.rounds_wanted;

	for (size_t i = 0; i < (rounds + 2) * (size_t)scenario->members; i++)
		instance_release(&scenario->instances[i]);
	for (unsigned i = 0; i < rounds; i++) {
		free(scenario->rounds[i].each);
		free(scenario->rounds[i].verdicts);
	}
	sandbox_release(&scenario->sandbox);
	free(scenario->instances);
	free(scenario->rounds);
	*scenario = (struct scenario){0};
}
