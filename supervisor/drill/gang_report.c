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
	       report_result_name(verdict->result), colour ? PLAIN : "",
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
		terminal_line_print("Round %u: %s%s%s", index + 1,
				    report_result_name(round->result), round->reason[0] ? ": " : "",
				    round->reason);
	printf("%6s  %7s  %7s  %7s  %6s  %-15s\n", "member", "noticed", "saved", "durable", "ended",
	       "resumed from");
	for (uint32_t i = 0; i < round->members; i++)
		print_member(round, i, colour);
	printf("\n");
}

static void print_comparison(const struct gang_scenario *scenario)
{
	const char *path = scenario->options->compare;
	char bytes[32];

	switch (scenario->facts.comparison) {
	case COMPARISON_NOT_ASKED:
		if (scenario->facts.rounds_passed > 0)
			terminal_line_print(
				"  result      not compared: --compare FILE also proves "
				"the order of the data and the random state");
		return;
	case COMPARISON_EQUAL:
		terminal_line_print("  result      %s equals that of the undisturbed run, byte "
				    "for byte, at each member that writes it (%s)",
				    path,
				    text_bytes(scenario->compared_bytes, bytes, sizeof(bytes)));
		return;
	case COMPARISON_DIFFERENT:
		terminal_line_print("  result      %s of member %" PRIu32
				    " DIFFERS from that of the undisturbed run",
				    path, scenario->compared);
		return;
	case COMPARISON_MISSING_UNDISTURBED:
		terminal_line_print("  result      the undisturbed run has not written %s", path);
		return;
	case COMPARISON_MISSING:
		terminal_line_print("  result      member %" PRIu32
				    " of the preempted run has not written %s",
				    scenario->compared, path);
		return;
	case COMPARISON_NOT_MADE:
		terminal_line_print("  result      %s was not compared", path);
		return;
	}
}

static void print_sums(const struct gang_scenario *scenario, bool kept)
{
	const struct drill_facts *facts = &scenario->facts;

	terminal_line_print("  survived    %u of %u preemptions of one of %" PRIu32 " members",
			    facts->rounds_passed, facts->rounds_wanted, scenario->options->members);
	if (facts->last_ran)
		terminal_line_print("  last start  ended with %d", facts->last_exit);
	print_comparison(scenario);
	if (scenario->options->store)
		terminal_line_print("  snapshots   stay in %s, as job %s", scenario->sandbox.store,
				    scenario->sandbox.job);
	if (kept)
		terminal_line_print("  logs        %s/start-*-member-*.log",
				    scenario->sandbox.scratch);
}

void gang_report_print(const struct gang_scenario *scenario, bool colour, bool kept)
{
	char reason[660];
	enum drill_result result = gang_scenario_judge(scenario, reason, sizeof(reason));

	printf("\n");
	for (unsigned i = 0; i < scenario->facts.rounds_done; i++)
		print_round(scenario, i, colour);
	report_print_last_lines(scenario->last_lines, "member", scenario->failed_member);
	print_sums(scenario, kept);
	puts("");
	fputs(report_result_colour(result, colour), stdout);
	terminal_line_print("%s%s%s", report_result_name(result), result == DRILL_PASS ? "" : ": ",
			    reason);
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
			 report_result_name(round->result), "reason",
			 report_text_json(round->reason), "members", each);
}

static const char *comparison_name(enum comparison comparison)
{
	static const char *const names[] = {
		[COMPARISON_NOT_ASKED] = "",
		[COMPARISON_EQUAL] = "equal",
		[COMPARISON_DIFFERENT] = "different",
		[COMPARISON_MISSING_UNDISTURBED] = "missing_undisturbed",
		[COMPARISON_MISSING] = "missing",
		[COMPARISON_NOT_MADE] = "not_made",
	};

	return names[comparison];
}

void gang_report_json(const struct gang_scenario *scenario, bool kept)
{
	const struct drill_facts *facts = &scenario->facts;
	json_t *rounds = json_array(), *exits = json_array(), *whole;
	char reason[660];
	enum drill_result result = gang_scenario_judge(scenario, reason, sizeof(reason));

	for (unsigned i = 0; i < facts->rounds_done; i++)
		json_array_append_new(rounds, round_json(&scenario->rounds[i], i + 1));
	for (uint32_t i = 0; facts->last_ran && i < scenario->options->members; i++)
		json_array_append_new(exits, json_integer(scenario->last_exits[i]));
	whole = json_pack("{s:b, s:s, s:o, s:i, s:s, s:i, s:i, s:o, s:o}", "passed",
			  result == DRILL_PASS, "result", report_result_name(result), "reason",
			  report_text_json(reason), "gang", (int)scenario->options->members,
			  "cloud", mock_cloud_name(scenario->options->cloud), "rounds_wanted",
			  (int)facts->rounds_wanted, "rounds_passed", (int)facts->rounds_passed,
			  "rounds", rounds, "last_exits", exits);
	json_object_update_new(whole,
			       json_pack("{s:s, s:s, s:o, s:o, s:o}", "store",
					 scenario->sandbox.store, "job", scenario->sandbox.job,
					 "notice_seconds",
					 report_seconds_json(scenario->options->notice_ms),
					 "comparison",
					 report_text_json(comparison_name(facts->comparison)),
					 "directory",
					 report_text_json(kept ? scenario->sandbox.scratch
							       : NULL)));
	json_print(whole, true);
}
