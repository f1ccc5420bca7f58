#include "drill/report.h"
#include "report_parts.h"

#include "base/json.h"
#include "base/terminal_line.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>

const char *report_time_cell(int64_t milliseconds, char cell[CELL])
{
	if (milliseconds == VERDICT_UNKNOWN)
		snprintf(cell, CELL, "-");
	else
		snprintf(cell, CELL, "%.2f s", (double)milliseconds / 1000);
	return cell;
}

static const char *lost_cell(const struct round_verdict *verdict, char cell[CELL])
{
	char length[CELL], whole[2 * CELL];

	report_time_cell(verdict->lost_ms, length);
	if (verdict->lost_steps == VERDICT_UNKNOWN)
		return report_time_cell(verdict->lost_ms, cell);
	snprintf(whole, sizeof(whole), "%s, %" PRId64 " step%s", length, verdict->lost_steps,
		 verdict->lost_steps == 1 ? "" : "s");
	text_set(cell, CELL, whole);
	return cell;
}

const char *report_resumed_cell(const struct round_facts *facts, char cell[CELL])
{
	char id[SNAPSHOT_ID_TEXT];

	if (!facts->next_launched)
		snprintf(cell, CELL, "-");
	else if (snapshot_id_is_none(facts->next_restored))
		snprintf(cell, CELL, "nothing");
	else if (facts->next_step >= 0)
		snprintf(cell, CELL, "step %" PRId64, facts->next_step);
	else
		snprintf(cell, CELL, "%s", snapshot_id_format(facts->next_restored, id));
	return cell;
}

const char *report_result_name(enum drill_result result)
{
	static const char *const names[] = {
		[DRILL_PASS] = "PASS",
		[DRILL_FAIL] = "FAIL",
		[DRILL_UNPROVEN] = "UNPROVEN",
	};

	return names[result];
}

const char *report_result_colour(enum drill_result result, bool colour)
{
	static const char *const colours[] = {
		[DRILL_PASS] = GREEN,
		[DRILL_FAIL] = RED,
		[DRILL_UNPROVEN] = YELLOW,
	};

	return colour ? colours[result] : "";
}

static void print_round(const struct scenario *scenario, unsigned index, bool colour)
{
	const struct round_verdict *verdict = &scenario->verdicts[index];
	char noticed[CELL], saved[CELL], durable[CELL], margin[CELL], lost[CELL], resumed[CELL];

	printf("%5u  %7s  %7s  %7s  %8s  %-15s  %-9s %s%s%s\n", index + 1,
	       report_time_cell(verdict->noticed_ms, noticed),
	       report_time_cell(verdict->saved_ms, saved),
	       report_time_cell(verdict->durable_ms, durable),
	       report_time_cell(verdict->margin_ms, margin), lost_cell(verdict, lost),
	       report_resumed_cell(&scenario->rounds[index], resumed),
	       report_result_colour(verdict->result, colour), report_result_name(verdict->result),
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
	printf("%5s  %7s  %7s  %7s  %8s  %-15s  %s\n", "round", "noticed", "saved", "durable",
	       "margin", "work lost", "resumed from");
	for (unsigned i = 0; i < scenario->facts.rounds_done; i++)
		print_round(scenario, i, colour);
	printf("\n");
	if (scenario->verdicts[0].noticed_ms == VERDICT_UNKNOWN)
		return;
	printf("noticed, saved, durable: seconds from the notice until reprieve had seen it,\n"
	       "until the checkpoint was complete on the machine's disk, and until it was in\n"
	       "the store. margin: from then to the machine's end.\n\n");
}

struct totals {
	int64_t lost_ms;
	int64_t lost_steps; /* VERDICT_UNKNOWN if it is unknown for any round */
};

static struct totals add_totals(const struct scenario *scenario)
{
	struct totals totals = {0};

	for (unsigned i = 0; i < scenario->facts.rounds_done; i++) {
		const struct round_verdict *verdict = &scenario->verdicts[i];

		if (verdict->lost_ms != VERDICT_UNKNOWN)
			totals.lost_ms += verdict->lost_ms;
		if (verdict->lost_steps == VERDICT_UNKNOWN)
			totals.lost_steps = VERDICT_UNKNOWN;
		else if (totals.lost_steps != VERDICT_UNKNOWN)
			totals.lost_steps += verdict->lost_steps;
	}
	return totals;
}

static void print_comparison(const struct scenario *scenario)
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
		terminal_line_print(
			"  result      %s equals that of the undisturbed run, byte for byte (%s)",
			path, text_bytes(scenario->compared_bytes, bytes, sizeof(bytes)));
		return;
	case COMPARISON_DIFFERENT:
		terminal_line_print("  result      %s DIFFERS from that of the undisturbed run",
				    path);
		return;
	case COMPARISON_MISSING_UNDISTURBED:
		terminal_line_print("  result      the undisturbed run has not written %s", path);
		return;
	case COMPARISON_MISSING:
		terminal_line_print("  result      the preempted run has not written %s", path);
		return;
	case COMPARISON_NOT_MADE:
		terminal_line_print("  result      %s was not compared", path);
		return;
	}
}

static void print_sums(const struct scenario *scenario)
{
	const struct drill_facts *facts = &scenario->facts;
	struct totals totals = add_totals(scenario);
	char length[32], steps[48] = "";

	terminal_line_print("  survived    %u of %u preemptions", facts->rounds_passed,
			    facts->rounds_wanted);
	if (totals.lost_steps != VERDICT_UNKNOWN)
		snprintf(steps, sizeof(steps), ", %" PRId64 " step%s", totals.lost_steps,
			 totals.lost_steps == 1 ? "" : "s");
	if (facts->rounds_done > 0)
		terminal_line_print("  lost        %s of work%s in all",
				    text_duration(totals.lost_ms, length, sizeof(length)), steps);
	if (facts->last_ran)
		terminal_line_print("  last run    ended with %d on machine %u", facts->last_exit,
				    scenario->last_machine);
	print_comparison(scenario);
}

void report_print_last_lines(const char *lines, const char *whose, unsigned number)
{
	if (!lines)
		return;
	printf("The end of %s %u's log:\n", whose, number);
	for (const char *line = lines; *line;) {
		const char *end = line;

		while (*end && *end != '\n')
			end++;
		printf("  | %.*s\n", (int)(end - line), line);
		line = *end ? end + 1 : end;
	}
	printf("\n");
}

/* The reason of the only round says more than that one of one failed. */
static enum drill_result judge(const struct scenario *scenario, char *reason, size_t capacity)
{
	enum drill_result result = verdict_drill(&scenario->facts, reason, capacity);

	if (scenario->facts.rounds_wanted == 1 && scenario->facts.rounds_done == 1 &&
	    scenario->verdicts[0].result == result && result != DRILL_PASS)
		text_set(reason, capacity, scenario->verdicts[0].reason);
	return result;
}

void report_print(const struct scenario *scenario, bool colour, bool kept)
{
	char reason[600];
	enum drill_result result = judge(scenario, reason, sizeof(reason));

	printf("\n");
	print_table(scenario, colour);
	report_print_last_lines(scenario->last_lines, "machine", scenario->failed_machine);
	print_sums(scenario);
	if (scenario->options->store)
		terminal_line_print("  snapshots   stay in %s, as job %s", scenario->sandbox.store,
				    scenario->sandbox.job);
	if (kept)
		terminal_line_print("  logs        %s/machine-*.log", scenario->sandbox.scratch);
	puts("");
	fputs(report_result_colour(result, colour), stdout);
	terminal_line_print("%s%s%s", report_result_name(result), result == DRILL_PASS ? "" : ": ",
			    reason);
	fputs(colour ? PLAIN : "", stdout);
	fflush(stdout);
}

json_t *report_seconds_json(int64_t milliseconds)
{
	return milliseconds == VERDICT_UNKNOWN ? json_null()
					       : json_real((double)milliseconds / 1000);
}

static json_t *number_json(int64_t number)
{
	return number < 0 ? json_null() : json_integer(number);
}

static json_t *id_json(struct snapshot_id id)
{
	char text[SNAPSHOT_ID_TEXT];

	return snapshot_id_is_none(id) ? json_null() : json_string(snapshot_id_format(id, text));
}

json_t *report_text_json(const char *text)
{
	return text && *text ? json_string(text) : json_null();
}

json_t *report_round_json(const struct round_facts *facts, const struct round_verdict *verdict,
			  const char *name, unsigned number)
{
	const struct run_events *events = &facts->events;
	json_t *round = json_pack("{s:i, s:b, s:s, s:o, s:o, s:o}", name, (int)number, "passed",
				  verdict->result == DRILL_PASS, "result",
				  report_result_name(verdict->result), "reason",
				  report_text_json(verdict->reason), "seen",
				  report_text_json(verdict->proof), "remark",
				  report_text_json(verdict->remark));

	json_object_update_new(round,
			       json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "noticed_seconds",
					 report_seconds_json(verdict->noticed_ms), "asked_seconds",
					 report_seconds_json(verdict->asked_ms), "saved_seconds",
					 report_seconds_json(verdict->saved_ms), "durable_seconds",
					 report_seconds_json(verdict->durable_ms), "margin_seconds",
					 report_seconds_json(verdict->margin_ms), "lost_seconds",
					 report_seconds_json(verdict->lost_ms), "lost_steps",
					 number_json(verdict->lost_steps)));
	json_object_update_new(round,
			       json_pack("{s:o, s:o, s:I, s:o, s:b, s:o, s:o, s:o}", "snapshot",
					 id_json(events->commit.id), "snapshot_step",
					 number_json(events->commit.step), "snapshot_bytes",
					 (json_int_t)events->commit.bytes, "last_step",
					 facts->counted ? number_json((int64_t)facts->count.last)
							: json_null(),
					 "killed_at_deadline", facts->killed, "exit_code",
					 facts->killed ? json_null()
						       : json_integer(facts->exit_code),
					 "resumed_from", id_json(facts->next_restored), "outcome",
					 report_text_json(events->outcome)));
	return round;
}

static json_t *comparison_json(const struct scenario *scenario)
{
	static const char *const names[] = {
		[COMPARISON_EQUAL] = "equal",
		[COMPARISON_DIFFERENT] = "different",
		[COMPARISON_MISSING_UNDISTURBED] = "missing_undisturbed",
		[COMPARISON_MISSING] = "missing",
		[COMPARISON_NOT_MADE] = "not_made",
	};

	if (scenario->facts.comparison == COMPARISON_NOT_ASKED)
		return json_null();
	return json_pack("{s:s, s:s, s:I}", "path", scenario->options->compare, "result",
			 names[scenario->facts.comparison], "bytes",
			 (json_int_t)scenario->compared_bytes);
}

void report_json(const struct scenario *scenario, bool kept)
{
	const struct scenario_options *options = scenario->options;
	const struct drill_facts *facts = &scenario->facts;
	struct totals totals = add_totals(scenario);
	json_t *rounds = json_array();
	char reason[600];
	enum drill_result result = judge(scenario, reason, sizeof(reason));
	json_t *whole;

	for (unsigned i = 0; i < facts->rounds_done; i++)
		json_array_append_new(rounds,
				      report_round_json(&scenario->rounds[i],
							&scenario->verdicts[i], "round", i + 1));
	whole = json_pack("{s:b, s:s, s:o, s:s, s:I, s:o, s:s, s:s}", "passed",
			  result == DRILL_PASS, "result", report_result_name(result), "reason",
			  report_text_json(reason), "cloud", mock_cloud_name(options->cloud),
			  "rounds_wanted", (json_int_t)facts->rounds_wanted, "notice_seconds",
			  report_seconds_json(options->notice_ms), "store", scenario->sandbox.store,
			  "job", scenario->sandbox.job);
	json_object_update_new(whole,
			       json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "rounds_passed",
					 (json_int_t)facts->rounds_passed, "rounds", rounds,
					 "lost_seconds", report_seconds_json(totals.lost_ms),
					 "lost_steps", number_json(totals.lost_steps), "last_exit",
					 facts->last_ran ? json_integer(facts->last_exit)
							 : json_null(),
					 "comparison", comparison_json(scenario), "directory",
					 kept ? json_string(scenario->sandbox.scratch)
					      : json_null()));
	json_print(whole, true);
}
