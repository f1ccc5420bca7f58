#include "drill/scenario.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "cloud/mock/mock.h"
#include "drill/comparison.h"

#include <signal.h>
#include <stdlib.h>

/* --- time --- */

static void print_new_events(struct scenario *scenario, struct instance *instance)
{
	enum run_event event;

	while (instance_next_event(instance, &event))
		console_print_event(scenario->options->console, instance, event);
	instance_read_log(instance, scenario->options->verbose);
}

/* One turn: waits, reaps, prints. True: the run is still there. */
static bool turn(struct scenario *scenario, struct instance *instance, struct err *err)
{
	bool waited = sandbox_wait_turn(scenario->options, &scenario->signal, err) == 0;

	instance_poll(instance, 1);
	print_new_events(scenario, instance);
	return waited && instance->running;
}

static int64_t since_launch_ms(const struct instance *instance)
{
	int64_t launched_ms = instance->events.launched_ms;

	return launched_ms < 0 ? -1 : clock_monotonic_ms() - launched_ms;
}

static bool is_notice_due(const struct scenario *scenario, const struct instance *instance)
{
	return notice_is_due(scenario->options->notice_after_ms, since_launch_ms(instance),
			     notice_has_pace(&instance->counts, &instance->events));
}

/* Once. */
static void print_waiting(const struct scenario *scenario, const struct instance *instance,
			  bool *printed)
{
	int64_t after_ms = notice_after_ms(scenario->options->notice_after_ms);

	if (*printed || since_launch_ms(instance) <= after_ms)
		return;
	*printed = true;
	console_print(scenario->options->console, instance,
		      "the notice waits until the job has counted or saved twice, at most %d s "
		      "(--notice-after says when instead)",
		      NOTICE_AFTER_MOST_MS / 1000);
}

static void keep_last_lines(struct scenario *scenario, const struct instance *instance)
{
	if (scenario->last_lines)
		return;
	scenario->last_lines = instance_last_lines(instance, 10);
	scenario->failed_machine = instance->number;
}

/* Kills everything on the machine and reads the rest of its event log. */
static int end_instance(struct scenario *scenario, struct instance *instance, struct err *err)
{
	instance_kill(instance, 1);
	print_new_events(scenario, instance);
	if (sandbox_look_again(&scenario->sandbox, scenario->options))
		console_warn(scenario->options->console, instance,
			     "has changed your own directory: %s", scenario->sandbox.shared);
	if (!scenario->signal)
		return 0;
	keep_last_lines(scenario, instance);
	return err_set(err, ERR_CANCELLED, "ended by a signal");
}

/* --- the machines --- */

static int play_left_alone(struct scenario *scenario, struct instance *instance, const char *job,
			   const char *notice, const char *variable, int *exit_code,
			   struct err *err)
{
	const struct console *console = scenario->options->console;

	const struct sandbox_start start = {.job = job, .notice = notice, .variable = variable};

	if (sandbox_look(&scenario->sandbox, scenario->options, err) < 0 ||
	    sandbox_start(&scenario->sandbox, scenario->options, instance, &start, err) < 0)
		return -1;
	while (turn(scenario, instance, err))
		continue;
	if (end_instance(scenario, instance, err) < 0)
		return -1;
	*exit_code = instance->exit_code;
	if (*exit_code == 0) {
		console_print(console, instance, "the job has finished");
		return 0;
	}
	console_warn(console, instance, "`reprieve run` ended with %d", *exit_code);
	keep_last_lines(scenario, instance);
	return 0;
}

static int play_undisturbed(struct scenario *scenario, struct err *err)
{
	auto_(instance_release) struct instance instance;
	auto_free char *job = text_format("%s-undisturbed", scenario->sandbox.job);
	int64_t began_ms = clock_monotonic_ms();

	instance_init(&instance, scenario->sandbox.scratch, 0);
	console_print(scenario->options->console, &instance,
		      "first an undisturbed run, to compare with");
	if (play_left_alone(scenario, &instance, job, "none", NULL,
			    &scenario->facts.undisturbed_exit, err) < 0)
		return -1;
	scenario->undisturbed_ms = clock_monotonic_ms() - began_ms;
	return 0;
}

static int fire_notice(struct scenario *scenario, struct instance *instance, struct mock *mock,
		       struct round_facts *facts, struct err *err)
{
	int64_t fired_ms = clock_monotonic_ms();

	if (mock_fire(mock, MOCK_STOP, err) < 0)
		return err_wrap(err, "notice");
	facts->fired_ms = fired_ms;
	facts->deadline_ms = mock_deadline_ms(mock);
	console_warn(scenario->options->console, instance,
		     "NOTICE on the metadata endpoint: this machine will be gone in %.0f s",
		     (double)(facts->deadline_ms - fired_ms) / 1000);
	return 0;
}

/* The run ended without a preemption, so no job is left for another round. */
static bool ended_by_itself(const struct round_facts *facts)
{
	return facts->fired_ms < 0 || (!facts->killed && facts->exit_code == 0);
}

static void print_end(struct scenario *scenario, const struct instance *instance,
		      const struct round_facts *facts)
{
	const struct console *console = scenario->options->console;

	console_print_other_saves(console, instance);
	if (facts->killed)
		console_warn(console, instance,
			     "the deadline: everything on the machine is killed");
	else if (ended_by_itself(facts))
		console_warn(console, instance, "`reprieve run` ended by itself, with %d",
			     facts->exit_code);
	else
		console_print(console, instance,
			      "`reprieve run` ended with %d; the machine is gone, and its disk "
			      "with it",
			      facts->exit_code);
}

static int watch_preempted(struct scenario *scenario, struct instance *instance, struct mock *mock,
			   struct round_facts *facts, struct err *err)
{
	bool printed = false;

	while (!is_notice_due(scenario, instance)) {
		print_waiting(scenario, instance, &printed);
		if (!turn(scenario, instance, err))
			return 0;
	}
	if (fire_notice(scenario, instance, mock, facts, err) < 0)
		return -1;
	while (clock_monotonic_ms() < facts->deadline_ms)
		if (!turn(scenario, instance, err))
			return 0;
	facts->killed = instance->running;
	return 0;
}

static int play_preempted(struct scenario *scenario, struct instance *instance,
			  struct round_facts *facts, struct err *err)
{
	auto_(mock_stop) struct mock *mock = NULL;
	auto_free char *variable = NULL;
	const char *notice =
		scenario->options->notice_chosen ? NULL : mock_cloud_name(scenario->options->cloud);
	struct err watch_err = {0};
	int watched;

	if (sandbox_start_mock(scenario->options, &mock, &variable, err) < 0)
		return -1;
	console_print(scenario->options->console, instance,
		      "starts with no checkpoint on its disk");
	const struct sandbox_start start = {.job = scenario->sandbox.job,
					    .notice = notice,
					    .variable = variable};

	if (sandbox_look(&scenario->sandbox, scenario->options, err) < 0 ||
	    sandbox_start(&scenario->sandbox, scenario->options, instance, &start, err) < 0)
		return -1;
	facts->fired_ms = -1;
	watched = watch_preempted(scenario, instance, mock, facts, &watch_err);
	if (end_instance(scenario, instance, err) < 0)
		return -1;
	if (watched < 0) {
		*err = watch_err;
		return -1;
	}
	facts->gone_ms = clock_monotonic_ms();
	facts->events = instance->events;
	facts->exit_code = instance_plain_exit_code(instance);
	print_end(scenario, instance, facts);
	return 0;
}

/* `facts`: of this machine; NULL: it is the last. */
static void collect_evidence(struct scenario *scenario, struct instance *instance, bool over,
			     struct round_facts *facts)
{
	unsigned done = scenario->facts.rounds_done;

	evidence_collect(&scenario->evidence, &scenario->sandbox, scenario->options, instance, over,
			 done > 0 ? &scenario->rounds[done - 1] : NULL, facts);
}

static int play_round(struct scenario *scenario, unsigned number, bool *over, struct err *err)
{
	struct round_facts *facts = &scenario->rounds[number - 1];
	auto_(instance_release) struct instance instance;

	instance_init(&instance, scenario->sandbox.scratch, number);
	if (play_preempted(scenario, &instance, facts, err) < 0)
		return -1;
	*over = ended_by_itself(facts);
	collect_evidence(scenario, &instance, *over, facts);
	facts->lost_most = scenario->options->lost_most;
	scenario->facts.rounds_done = number;
	if (*over && facts->exit_code != 0)
		keep_last_lines(scenario, &instance);
	return 0;
}

static int play_last(struct scenario *scenario, struct err *err)
{
	auto_(mock_stop) struct mock *mock = NULL;
	auto_free char *variable = NULL;
	auto_(instance_release) struct instance instance;
	const char *notice =
		scenario->options->notice_chosen ? NULL : mock_cloud_name(scenario->options->cloud);

	instance_init(&instance, scenario->sandbox.scratch, scenario->options->rounds + 1);
	scenario->last_machine = instance.number;
	if (sandbox_start_mock(scenario->options, &mock, &variable, err) < 0)
		return -1;
	console_print(scenario->options->console, &instance,
		      "starts with no checkpoint on its disk; this one is left alone");
	if (play_left_alone(scenario, &instance, scenario->sandbox.job, notice, variable,
			    &scenario->facts.last_exit, err) < 0)
		return -1;
	scenario->facts.last_ran = true;
	collect_evidence(scenario, &instance, true, NULL);
	return 0;
}

static void compare_files(struct scenario *scenario)
{
	const char *path = scenario->options->compare;

	scenario->facts.comparison = COMPARISON_NOT_MADE;
	if (!scenario->facts.last_ran)
		return;
	auto_free char *undisturbed =
		text_format("%s/machine-0/%s", scenario->sandbox.scratch, path);
	auto_free char *preempted = text_format("%s/machine-%u/%s", scenario->sandbox.scratch,
						scenario->last_machine, path);

	scenario->facts.comparison =
		comparison_of_files(undisturbed, preempted, &scenario->compared_sizes);
}

static void judge_drill(struct scenario *scenario)
{
	struct drill_facts *facts = &scenario->facts;

	facts->shared = scenario->sandbox.shared;
	facts->shared_way = scenario->sandbox.shared_way;
	facts->left_out = scenario->sandbox.left_out;
	facts->timed_out = scenario->signal == SIGALRM;
	if (facts->timed_out && facts->rounds_done > 0 && !facts->last_ran)
		scenario->rounds[facts->rounds_done - 1].next_cut = true;
	if (verdict_is_no_command(facts->undisturbed_exit))
		facts->command_exit = facts->undisturbed_exit;
	for (unsigned i = 0; i < scenario->facts.rounds_done; i++) {
		verdict_round(&scenario->rounds[i], &scenario->verdicts[i]);
		scenario->facts.rounds_passed += scenario->verdicts[i].result == DRILL_PASS;
		scenario->facts.rounds_unproven += scenario->verdicts[i].result == DRILL_UNPROVEN;
		if (i == 0 && scenario->verdicts[i].result == DRILL_NOT_RUN)
			facts->command_exit = scenario->rounds[i].exit_code;
	}
}

static int play_machines(struct scenario *scenario, struct err *err)
{
	const struct scenario_options *options = scenario->options;
	bool over = false;

	if (options->compare && play_undisturbed(scenario, err) < 0)
		return -1;
	over = scenario->facts.undisturbed_exit != 0;
	for (unsigned number = 1; number <= options->rounds && !over; number++)
		if (play_round(scenario, number, &over, err) < 0)
			return -1;
	if (!over && play_last(scenario, err) < 0)
		return -1;
	return 0;
}

int scenario_play(const struct scenario_options *options, struct scenario *scenario,
		  struct err *err)
{
	*scenario = (struct scenario){.options = options,
				      .facts = {.rounds_wanted = options->rounds,
						.command = options->command[0]}};
	scenario->rounds = memory_new(options->rounds * sizeof(*scenario->rounds));
	scenario->verdicts = memory_new(options->rounds * sizeof(*scenario->verdicts));
	if (sandbox_make(&scenario->sandbox, options, err) < 0)
		return -1;
	if (play_machines(scenario, err) < 0 && scenario->signal != SIGALRM)
		return -1;
	if (options->compare)
		compare_files(scenario);
	judge_drill(scenario);
	return 0;
}

void scenario_release(struct scenario *scenario)
{
	sandbox_release(&scenario->sandbox);
	evidence_release(&scenario->evidence);
	free(scenario->rounds);
	free(scenario->verdicts);
	free(scenario->last_lines);
	*scenario = (struct scenario){0};
}
