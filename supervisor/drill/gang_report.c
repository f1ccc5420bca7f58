#include "drill/gang_report.h"

#include "base/json.h"
#include "base/terminal_line.h"
#include "base/text.h"
#include "report_parts.h"

#include <inttypes.h>
#include <stdio.h>

static void print_member(const struct gang_preemption *round, uint32_t member, bool colour)
{
	const struct round_verdict *verdict = &round->verdicts[member];
	const struct round_facts *facts = &round->each[member];
	char noticed[CELL], saved[CELL], durable[CELL], ended[16], resumed[CELL];

	snprintf(ended, sizeof(ended), "%d", facts->exit_code);
	printf("%6" PRIu32 "  %7s  %7s  %7s  %6s  %-15s  %s%s%s%s\n", member,
	       report_time_cell(verdict->noticed_ms, noticed),
	       report_time_cell(verdict->saved_ms, saved),
	       report_time_cell(verdict->durable_ms, durable), facts->killed ? "killed" : ended,
	       report_resumed_cell(facts, resumed), report_result_colour(verdict->result, colour),
	       drill_result_name(verdict->result), colour ? PLAIN : "",
	       member == round->lost ? ", its machine was taken away" : "");
	if (verdict->reason[0])
		terminal_line_print("        %s", verdict->reason);
	if (verdict->proof[0])
		terminal_line_print("        seen: %s", verdict->proof);
}

static void print_round(const struct gang_scenario *scenario, unsigned index, bool colour)
{
	const struct gang_preemption *round = &scenario->rounds[index];

	if (scenario->facts.rounds_wanted > 1)
		terminal_line_print("Round %u: %s%s%s", index + 1, drill_result_name(round->result),
				    round->reason[0] ? ": " : "", round->reason);
	printf("%6s  %7s  %7s  %7s  %6s  %-15s\n", "member", "noticed", "saved", "durable", "ended",
	       "restored");
	for (uint32_t i = 0; i < round->members; i++)
		print_member(round, i, colour);
	printf("\n");
}

static struct compared compared_files(const struct gang_scenario *scenario)
{
	return (struct compared){
		.result = scenario->facts.comparison,
		.path = scenario->options->compare,
		.sizes = scenario->compared_sizes,
		.members = scenario->options->members,
		.member = scenario->compared,
	};
}

static void print_sums(const struct gang_scenario *scenario)
{
	const struct drill_facts *facts = &scenario->facts;
	struct compared compared = compared_files(scenario);

	terminal_line_print("  survived    %u of %u preemptions of one of %" PRIu32 " members",
			    facts->rounds_passed, facts->rounds_wanted, scenario->options->members);
	if (facts->last_ran)
		terminal_line_print("  last start  ended with %d", facts->last_exit);
	report_print_comparison(&compared, facts->rounds_passed > 0);
	report_print_shared(scenario->sandbox.shared);
	if (scenario->options->store)
		terminal_line_print("  snapshots   stay in %s, as job %s", scenario->sandbox.store,
				    scenario->sandbox.job);
}

/* Of each round, what the member lost that lost most. */
static struct losses add_lost(const struct gang_scenario *scenario)
{
	struct losses losses = {0};

	for (unsigned i = 0; i < scenario->facts.rounds_done; i++) {
		const struct gang_preemption *round = &scenario->rounds[i];
		struct losses most = {.ms = VERDICT_UNKNOWN,
				      .steps = VERDICT_UNKNOWN,
				      .steps_least = VERDICT_UNKNOWN};

		for (uint32_t m = 0; m < round->members; m++) {
			struct losses member = report_losses_of(&round->verdicts[m]);

			most.ms = member.ms > most.ms ? member.ms : most.ms;
			if (member.steps > most.steps) {
				most.steps = member.steps;
				most.steps_least = member.steps_least;
				most.epochs = member.epochs;
			}
		}
		report_add_losses(&losses, &most);
	}
	return losses;
}

void gang_report_print(const struct gang_scenario *scenario, bool colour, bool kept)
{
	char reason[960];
	struct compared compared = compared_files(scenario);
	struct losses losses = add_lost(scenario);
	enum drill_result result = gang_scenario_judge(scenario, reason, sizeof(reason));

	printf("\n");
	for (unsigned i = 0; i < scenario->facts.rounds_done; i++)
		print_round(scenario, i, colour);
	report_print_last_lines(scenario->last_lines, "member", scenario->failed_member);
	print_sums(scenario);
	report_print_kept(kept ? scenario->sandbox.scratch : NULL, "start-*-member-*.log", result);
	puts("");
	fputs(report_result_colour(result, colour), stdout);
	if (result == DRILL_PASS)
		report_print_pass(&compared, &losses, reason, sizeof(reason));
	terminal_line_print("%s: %s", drill_result_name(result), reason);
	fputs(colour ? PLAIN : "", stdout);
	fflush(stdout);
}

static json_t *round_json(const struct gang_preemption *round, unsigned number)
{
	json_t *each = json_array();

	for (uint32_t i = 0; i < round->members; i++)
		json_array_append_new(each, report_round_json(&round->each[i], &round->verdicts[i],
							      "member", i));
	return json_pack("{s:i, s:i, s:b, s:s, s:o, s:o}", "round", (int)number, "lost_member",
			 (int)round->lost, "passed", round->result == DRILL_PASS, "result",
			 drill_result_name(round->result), "reason",
			 report_text_json(round->reason), "members", each);
}

void gang_report_json(const struct gang_scenario *scenario, bool kept)
{
	const struct drill_facts *facts = &scenario->facts;
	struct compared compared = compared_files(scenario);
	json_t *rounds = json_array(), *exits = json_array(), *whole;
	char reason[960];
	enum drill_result result = gang_scenario_judge(scenario, reason, sizeof(reason));

	for (unsigned i = 0; i < facts->rounds_done; i++)
		json_array_append_new(rounds, round_json(&scenario->rounds[i], i + 1));
	for (uint32_t i = 0; facts->last_ran && i < scenario->options->members; i++)
		json_array_append_new(exits, json_integer(scenario->last_exits[i]));
	whole = json_pack("{s:b, s:s, s:o, s:i, s:s, s:i, s:i, s:o, s:o}", "passed",
			  result == DRILL_PASS, "result", drill_result_name(result), "reason",
			  report_text_json(reason), "gang", (int)scenario->options->members,
			  "cloud", mock_cloud_name(scenario->options->cloud), "rounds_wanted",
			  (int)facts->rounds_wanted, "rounds_passed", (int)facts->rounds_passed,
			  "rounds", rounds, "last_exits", exits);
	json_object_update_new(whole,
			       json_pack("{s:s, s:s, s:o, s:o, s:o, s:o}", "store",
					 scenario->sandbox.store, "job", scenario->sandbox.job,
					 "notice_seconds",
					 report_seconds_json(scenario->options->notice_ms),
					 "changed", report_text_json(scenario->sandbox.shared),
					 "comparison", report_comparison_json(&compared),
					 "directory",
					 report_text_json(kept ? scenario->sandbox.scratch
							       : NULL)));
	json_print(whole, true);
}

char *gang_report_junit(const struct gang_scenario *scenario)
{
	auto_(junit_release) struct junit junit = {0};
	struct compared compared = compared_files(scenario);
	struct losses losses = add_lost(scenario);
	char reason[960];
	enum drill_result result = gang_scenario_judge(scenario, reason, sizeof(reason));

	for (unsigned i = 0; i < scenario->facts.rounds_done; i++) {
		const struct gang_preemption *round = &scenario->rounds[i];

		for (uint32_t m = 0; m < round->members; m++) {
			const struct round_verdict *verdict = &round->verdicts[m];
			auto_free char *name =
				text_format("preemption %u, member %" PRIu32, i + 1, m);

			junit_add(&junit, name, verdict->result,
				  verdict->reason[0] ? verdict->reason : verdict->proof);
		}
	}
	report_add_missing(&scenario->facts, &junit);
	report_add_last(&scenario->facts, &junit);
	report_add_comparison(&compared, &junit);
	if (result == DRILL_PASS)
		report_print_pass(&compared, &losses, reason, sizeof(reason));
	junit_add(&junit, "the drill as a whole", result, reason);
	return junit_format(&junit);
}
