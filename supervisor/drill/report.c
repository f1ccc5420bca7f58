#include "drill/report.h"
#include "report_parts.h"

#include "base/json.h"
#include "base/terminal_line.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>

static const char *lost_cell(const struct round_verdict *verdict, char cell[CELL])
{
	struct losses losses = report_losses_of(verdict);
	char length[CELL], steps[CELL], whole[3 * CELL];

	report_time_cell(verdict->lost_ms, length);
	if (verdict->lost_steps == VERDICT_UNKNOWN)
		return report_time_cell(verdict->lost_ms, cell);
	snprintf(whole, sizeof(whole), "%s, %s %s", length,
		 report_steps(&losses, steps, sizeof(steps)),
		 report_step_word(&losses, losses.steps != 1));
	text_set(cell, CELL, whole);
	return cell;
}

static void print_round(const struct scenario *scenario, unsigned index, bool colour)
{
	const struct round_verdict *verdict = &scenario->verdicts[index];
	char noticed[CELL], saved[CELL], durable[CELL], margin[CELL], lost[CELL], resumed[CELL];

	printf("%5u  %7s  %7s  %7s  %8s  %-22s  %-9s %s%s%s\n", index + 1,
	       report_time_cell(verdict->noticed_ms, noticed),
	       report_time_cell(verdict->saved_ms, saved),
	       report_time_cell(verdict->durable_ms, durable),
	       report_time_cell(verdict->margin_ms, margin), lost_cell(verdict, lost),
	       report_resumed_cell(&scenario->rounds[index], resumed),
	       report_result_colour(verdict->result, colour), drill_result_name(verdict->result),
	       colour ? PLAIN : "");
	/* The last line says it of the only round. */
	if (verdict->reason[0] && scenario->facts.rounds_wanted > 1)
		terminal_line_print("       %s", verdict->reason);
	if (verdict->proof[0])
		terminal_line_print("       seen: %s", verdict->proof);
	if (verdict->remark[0]) {
		fputs(colour ? YELLOW : "", stdout);
		terminal_line_print("       note: %s", verdict->remark);
		fputs(colour ? PLAIN : "", stdout);
	}
}

static void print_table(const struct scenario *scenario, bool colour)
{
	if (scenario->facts.rounds_done == 0)
		return;
	printf("%5s  %7s  %7s  %7s  %8s  %-22s  %s\n", "round", "noticed", "saved", "durable",
	       "margin", "work lost", "restored");
	for (unsigned i = 0; i < scenario->facts.rounds_done; i++)
		print_round(scenario, i, colour);
	printf("\n");
	if (scenario->verdicts[0].noticed_ms == VERDICT_UNKNOWN)
		return;
	printf("noticed, saved, durable: seconds from the notice until reprieve had seen it,\n"
	       "until the checkpoint was complete on the machine's disk, and until it was in\n"
	       "the store. margin: from then to the machine's end.\n\n");
}

/* The sums of what is known; unknown if it is so for any round. */
static struct losses add_totals(const struct scenario *scenario)
{
	struct losses totals = {0};

	for (unsigned i = 0; i < scenario->facts.rounds_done; i++) {
		struct losses round = report_losses_of(&scenario->verdicts[i]);

		report_add_losses(&totals, &round);
	}
	return totals;
}

static struct compared compared_files(const struct scenario *scenario)
{
	return (struct compared){
		.result = scenario->facts.comparison,
		.path = scenario->options->compare,
		.sizes = scenario->compared_sizes,
	};
}

static void print_lost(struct losses totals)
{
	char length[32] = "unknown", steps[48];

	if (totals.ms == VERDICT_UNKNOWN && totals.steps == VERDICT_UNKNOWN)
		return;
	if (totals.ms != VERDICT_UNKNOWN)
		text_duration(totals.ms, length, sizeof(length));
	terminal_line_print("  work lost   %s: %s, time: %s", report_step_word(&totals, true),
			    report_steps(&totals, steps, sizeof(steps)), length);
}

static void print_sums(const struct scenario *scenario)
{
	const struct drill_facts *facts = &scenario->facts;
	struct losses totals = add_totals(scenario);
	struct compared compared = compared_files(scenario);

	terminal_line_print("  survived    %u of %u preemptions", facts->rounds_passed,
			    facts->rounds_wanted);
	if (facts->rounds_done > 0 && facts->command_exit == 0)
		print_lost(totals);
	if (facts->last_ran)
		terminal_line_print("  last run    ended with %d on machine %u", facts->last_exit,
				    scenario->last_machine);
	report_print_comparison(&compared, facts->rounds_passed > 0);
	report_print_shared(scenario->sandbox.shared);
}

/* The reason of the only round says more than that one of one failed. */
static enum drill_result judge(const struct scenario *scenario, char *reason, size_t capacity)
{
	enum drill_result result = verdict_drill(&scenario->facts, reason, capacity);

	if (result != DRILL_NOT_RUN && scenario->facts.rounds_wanted == 1 &&
	    scenario->facts.rounds_done == 1 && scenario->verdicts[0].result == result &&
	    result != DRILL_PASS)
		text_set(reason, capacity, scenario->verdicts[0].reason);
	return result;
}

void report_print(const struct scenario *scenario, bool colour, bool kept)
{
	char reason[900];
	struct losses totals = add_totals(scenario);
	struct compared compared = compared_files(scenario);
	enum drill_result result = judge(scenario, reason, sizeof(reason));

	printf("\n");
	print_table(scenario, colour);
	report_print_last_lines(scenario->last_lines, "machine", scenario->failed_machine);
	print_sums(scenario);
	if (scenario->options->store)
		terminal_line_print("  snapshots   stay in %s, as job %s", scenario->sandbox.store,
				    scenario->sandbox.job);
	report_print_kept(kept ? scenario->sandbox.scratch : NULL, "machine-*.log", result);
	puts("");
	fputs(report_result_colour(result, colour), stdout);
	if (result == DRILL_PASS)
		report_print_pass(&compared, &totals, reason, sizeof(reason));
	terminal_line_print("%s: %s", drill_result_name(result), reason);
	fputs(colour ? PLAIN : "", stdout);
	fflush(stdout);
}

void report_json(const struct scenario *scenario, bool kept)
{
	const struct scenario_options *options = scenario->options;
	const struct drill_facts *facts = &scenario->facts;
	struct losses totals = add_totals(scenario);
	struct compared compared = compared_files(scenario);
	json_t *rounds = json_array();
	char reason[900];
	enum drill_result result = judge(scenario, reason, sizeof(reason));
	json_t *whole;

	for (unsigned i = 0; i < facts->rounds_done; i++)
		json_array_append_new(rounds,
				      report_round_json(&scenario->rounds[i],
							&scenario->verdicts[i], "round", i + 1));
	whole = json_pack("{s:b, s:s, s:o, s:o, s:s, s:I, s:o, s:s, s:s}", "passed",
			  result == DRILL_PASS, "result", drill_result_name(result), "reason",
			  report_text_json(reason), "changed",
			  report_text_json(scenario->sandbox.shared), "cloud",
			  mock_cloud_name(options->cloud), "rounds_wanted",
			  (json_int_t)facts->rounds_wanted, "notice_seconds",
			  report_seconds_json(options->notice_ms), "store", scenario->sandbox.store,
			  "job", scenario->sandbox.job);
	json_object_update_new(whole, json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:o}",
						"rounds_passed", (json_int_t)facts->rounds_passed,
						"rounds", rounds, "lost_seconds",
						report_seconds_json(totals.ms), "lost_steps",
						report_number_json(totals.steps), "last_exit",
						facts->last_ran ? json_integer(facts->last_exit)
								: json_null(),
						"comparison", report_comparison_json(&compared),
						"directory",
						kept ? json_string(scenario->sandbox.scratch)
						     : json_null()));
	json_print(whole, true);
}

char *report_junit(const struct scenario *scenario)
{
	auto_(junit_release) struct junit junit = {0};
	struct losses totals = add_totals(scenario);
	struct compared compared = compared_files(scenario);
	char reason[900];
	enum drill_result result = judge(scenario, reason, sizeof(reason));

	for (unsigned i = 0; i < scenario->facts.rounds_done; i++) {
		const struct round_verdict *verdict = &scenario->verdicts[i];
		auto_free char *name = text_format("preemption %u", i + 1);

		junit_add(&junit, name, verdict->result,
			  verdict->reason[0] ? verdict->reason : verdict->proof);
	}
	report_add_missing(&scenario->facts, &junit);
	report_add_last(&scenario->facts, &junit);
	report_add_comparison(&compared, &junit);
	if (result == DRILL_PASS)
		report_print_pass(&compared, &totals, reason, sizeof(reason));
	junit_add(&junit, "the drill as a whole", result, reason);
	return junit_format(&junit);
}
