/* Plays a list of preemptions, for the job bare, under reprieve and under a script, and says what
 * each makes of the time. */
#include "drill.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int trace_parse(char *text, struct trace *trace, struct err *err)
{
	char *rest = NULL;

	*trace = (struct trace){0};
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		struct trace_stop *stop = &trace->stops[trace->count];
		double at, notice = 0;
		int read = 0;

		line[strcspn(line, "#")] = '\0';
		if (!line[strspn(line, " \t\r")])
			continue;
		if (trace->count == TRACE_MOST)
			return err_set(err, ERR_INVALID, "more than %d preemptions", TRACE_MOST);
		if ((sscanf(line, "%lf %n%lf %n", &at, &read, &notice, &read) < 1) || line[read] ||
		    !(at > 0 && at < 1e9 && notice >= 0 && notice < 1e6) ||
		    (trace->count > 0 && (int64_t)(at * 1000) <= stop[-1].at_ms))
			return err_set(err, ERR_INVALID,
				       "'%s': write a later time than in the line before, and the "
				       "notice, both in seconds: 7200 120",
				       line);
		stop->at_ms = (int64_t)(at * 1000);
		stop->notice_ms = (int64_t)(notice * 1000);
		trace->count++;
	}
	return trace->count > 0 ? 0 : err_set(err, ERR_INVALID, "it has no preemption");
}

int64_t trace_gap_ms(const struct trace *trace, size_t index, double speed)
{
	int64_t before_ms = index > 0 ? trace->stops[index - 1].at_ms : 0;

	if (index >= trace->count)
		return CLOCK_NEVER;
	return (int64_t)((double)(trace->stops[index].at_ms - before_ms) / speed);
}

double trace_goodput(const struct lane *lane, int64_t undisturbed_ms)
{
	return lane->finished && lane->paid_ms > 0 ? (double)undisturbed_ms / (double)lane->paid_ms
						   : 0;
}

/* --- playing --- */

/* From the machine's start until nothing of it is left. `left_alone`: it ended by itself. */
static int run_machine(struct sandbox *sandbox, struct instance *machine, int64_t gap_ms,
		       int64_t notice_ms, bool *left_alone, struct err *err)
{
	int64_t due_ms = gap_ms == CLOCK_NEVER ? CLOCK_NEVER : clock_monotonic_ms() + gap_ms;
	bool noticed = notice_ms == 0;
	int waited = 0;

	*left_alone = true;
	while (waited == 0 && machine->running) {
		waited = sandbox_wait_turn(sandbox, err);
		instance_poll(machine);
		instance_read_log(machine, &sandbox->options->patterns, sandbox->options->verbose);
		if (!machine->running || clock_monotonic_ms() < due_ms)
			continue;
		*left_alone = false;
		due_ms += notice_ms;
		if (noticed)
			break;
		noticed = true;
		kill(machine->pid, SIGTERM);
	}
	if (machine->running)
		machine->exit_code = 128 + SIGKILL;
	instance_kill_all();
	instance_read_log(machine, &sandbox->options->patterns, sandbox->options->verbose);
	return waited;
}

static int play_lane(struct sandbox *sandbox, enum lane_kind kind, const struct trace *trace,
		     double speed, struct lane *lane, struct err *err)
{
	const struct scenario_options *options = sandbox->options;
	bool left_alone = false;
	int played = 0;

	for (unsigned i = 0; played == 0 && !left_alone; i++) {
		int64_t notice_ms = i < trace->count ? trace->stops[i].notice_ms : 0, began_ms;
		auto_free char *name = text_format("%s/%s-%u", sandbox->scratch, lane->name, i + 1);
		struct instance machine;

		if (notice_ms > options->notice_ms)
			notice_ms = options->notice_ms;
		instance_init(&machine, name, name);
		played = sandbox_start_lane(sandbox, &machine, kind, notice_ms, err);
		began_ms = clock_monotonic_ms();
		if (played == 0)
			played = run_machine(sandbox, &machine, trace_gap_ms(trace, i, speed),
					     notice_ms, &left_alone, err);
		lane->machines++;
		lane->paid_ms += clock_monotonic_ms() - began_ms;
		lane->exit_code = machine.exit_code;
		/* A job that finishes in its notice has finished. */
		lane->finished = played == 0 && machine.exit_code == 0;
		left_alone |= lane->finished;
		text_set(lane->said, sizeof(lane->said), machine.said);
		file_remove_tree(machine.directory, NULL);
		instance_release(&machine);
	}
	return played;
}

int trace_play(const struct scenario_options *options, const struct trace *trace,
	       struct trace_result *result, struct err *err)
{
	static const char *const names[] = {"undisturbed", "reprieve", "script"};
	const struct trace none = {.count = 0};
	int played = sandbox_make(result->sandbox, options, err);

	result->speed = 1;
	for (enum lane_kind i = 0; i < TRACE_LANES; i++)
		result->lanes[i].name = names[i];
	for (enum lane_kind i = 0; played == 0 && i < TRACE_LANES; i++) {
		struct lane *lane = &result->lanes[i];

		played = play_lane(result->sandbox, i, i > 0 ? trace : &none, result->speed, lane,
				   err);
		if (played == 0 && i == 0 && !lane->finished)
			return err_set(err, ERR_INVALID, "the job ends with %d undisturbed%s%s",
				       lane->exit_code, *lane->said ? ": " : "", lane->said);
		if (!options->silent)
			printf("%s: %u machine%s, %.1f s\n", lane->name, lane->machines,
			       lane->machines == 1 ? "" : "s", (double)lane->paid_ms / 1000);
		fflush(stdout);
		/* All that the trace has falls into the time that the job takes. */
		if (i == 0)
			result->speed = (double)trace->stops[trace->count - 1].at_ms /
					(double)(lane->paid_ms > 0 ? lane->paid_ms : 1);
	}
	return played;
}

/* --- saying --- */

static void print_lane(const struct trace_result *result, const struct lane *lane)
{
	char ended[40] = "the job finished", paid[32];

	if (lane->machines == 0)
		text_set(ended, sizeof(ended), "not played");
	else if (!lane->finished)
		snprintf(ended, sizeof(ended), "ended with %d", lane->exit_code);
	terminal_line_print("%-13s %8u  %10s  %6.1f %%  %s%s%s", lane->name, lane->machines,
			    drill_seconds_format(lane->paid_ms, paid),
			    100 * trace_goodput(lane, result->lanes[0].paid_ms), ended,
			    lane->finished || !lane->said[0] ? "" : ": ",
			    lane->finished ? "" : lane->said);
}

void trace_print(const struct trace *trace, const struct trace_result *result)
{
	char length[32], notice[32];
	size_t unannounced = 0;

	for (size_t i = 0; i < trace->count; i++)
		unannounced += trace->stops[i].notice_ms == 0;
	printf("\nTrace: %zu preemption%s in %s, %zu without notice, played %.3g times as fast; a "
	       "notice lasts at most %s.\n\n%-13s %8s  %10s  %8s\n",
	       trace->count, trace->count == 1 ? "" : "s",
	       text_duration(trace->stops[trace->count - 1].at_ms, length, sizeof(length)),
	       unannounced, result->speed,
	       text_duration(result->sandbox->options->notice_ms, notice, sizeof(notice)), "",
	       "machines", "paid", "goodput");
	for (size_t i = 0; i < TRACE_LANES; i++)
		print_lane(result, &result->lanes[i]);
	printf("\ngoodput: the time that the job takes undisturbed, of the time that was paid "
	       "for.\nscript: examples/bash/trap_and_sync.sh, which copies each second here.\n");
	fflush(stdout);
}

void trace_json(const struct trace *trace, const struct trace_result *result)
{
	json_t *lanes = json_array();

	for (size_t i = 0; i < TRACE_LANES; i++) {
		const struct lane *lane = &result->lanes[i];

		json_array_append_new(lanes,
				      json_pack("{s:s, s:i, s:b, s:i, s:o, s:o}", "name",
						lane->name, "machines", (int)lane->machines,
						"finished", lane->finished, "exit_code",
						lane->exit_code, "paid_seconds",
						json_seconds(lane->paid_ms), "goodput",
						json_real(
							trace_goodput(lane,
								      result->lanes[0].paid_ms))));
	}
	json_print(json_pack("{s:i, s:o, s:o}", "preemptions", (int)trace->count, "speed",
			     json_real(result->speed), "lanes", lanes),
		   true);
}
