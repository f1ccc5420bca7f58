#include "drill.h"

#include "base/json.h"
#include "base/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CELL 64
#define REASON 960

static int64_t add_known(int64_t sum, int64_t more)
{
	return sum == VERDICT_UNKNOWN || more == VERDICT_UNKNOWN ? VERDICT_UNKNOWN : sum + more;
}

/* The sums of what is known; unknown if it is so for any round. Of a gang, what the member lost
 * that lost most. */
static struct losses add_losses(const struct scenario *scenario)
{
	struct losses sum = {.word = "step"};

	for (unsigned i = 0; i < scenario->facts.rounds_done; i++) {
		const struct round *round = &scenario->rounds[i];
		struct losses most = round->verdicts[0].lost;

		for (uint32_t m = 1; m < round->members; m++)
			if (round->verdicts[m].lost.steps.most > most.steps.most)
				most = round->verdicts[m].lost;
		sum.ms = add_known(sum.ms, most.ms);
		sum.steps.most = add_known(sum.steps.most, most.steps.most);
		sum.steps.least = add_known(sum.steps.least, most.steps.least);
		sum.word = most.word ? most.word : sum.word;
	}
	return sum;
}

const char *drill_seconds_format(int64_t milliseconds, char cell[DRILL_SECONDS_TEXT])
{
	snprintf(cell, DRILL_SECONDS_TEXT, milliseconds == VERDICT_UNKNOWN ? "-" : "%.2f s",
		 (double)milliseconds / 1000);
	return cell;
}

/* "up to 12 steps, 1.2 s" */
static const char *format_losses(struct losses losses, char cell[CELL])
{
	int64_t most = losses.steps.most;
	char length[15] = "", steps[48] = "steps of a number that is not known";

	if (most != VERDICT_UNKNOWN)
		snprintf(steps, sizeof(steps), "%s%" PRId64 " %s%s",
			 losses.steps.least < most ? "up to " : "", most, losses.word,
			 most == 1 ? "" : "s");
	if (losses.ms != VERDICT_UNKNOWN)
		text_duration(losses.ms, length, sizeof(length));
	snprintf(cell, CELL, "%s%s%s", steps, *length ? ", " : "", length);
	return cell;
}

/* --- the whole --- */

enum drill_result report_result(const struct scenario *scenario, char *reason, size_t capacity)
{
	const struct drill_facts *facts = &scenario->facts;
	enum drill_result result = verdict_drill(facts, reason, capacity);
	bool equal = facts->comparison == COMPARISON_EQUAL;
	char lost[CELL];

	/* The reason of the only round says more than that one of one failed. */
	if ((result == DRILL_FAIL || result == DRILL_UNPROVEN) && facts->rounds_wanted == 1 &&
	    facts->rounds_done == 1 && scenario->rounds[0].result == result)
		text_set(reason, capacity, scenario->rounds[0].reason);
	if (result == DRILL_PASS)
		snprintf(reason, capacity, "lost %s; %s%s",
			 format_losses(add_losses(scenario), lost),
			 equal ? scenario->options->compare : "the result was not compared",
			 equal ? " equals that of an undisturbed run" : " (--compare FILE)");
	return result;
}

static const char *format_restored(const struct round_facts *facts, char cell[CELL])
{
	bool known = facts->next_step >= 0 && !snapshot_id_is_none(facts->next_restored);

	snprintf(cell, CELL, "step %" PRId64, facts->next_step);
	return known                   ? cell
	       : !facts->next_launched ? "-"
				       : drill_id_format(facts->next_restored, "nothing", cell);
}

static void print_machine(const struct scenario *scenario, unsigned index, uint32_t member)
{
	const struct round *round = &scenario->rounds[index];
	const struct round_verdict *verdict = &round->verdicts[member];
	char cells[4][CELL], lost[CELL], restored[CELL], number[CELL];
	bool gang = round->members > 1;

	snprintf(number, CELL, gang ? "%u/%u" : "%u", index + 1, member);
	printf("%5s  %7s  %7s  %7s  %8s  %-24s  %-9s %s%s\n", number,
	       drill_seconds_format(verdict->noticed_ms, cells[0]),
	       drill_seconds_format(verdict->saved_ms, cells[1]),
	       drill_seconds_format(verdict->durable_ms, cells[2]),
	       drill_seconds_format(verdict->margin_ms, cells[3]),
	       verdict->lost.steps.most == VERDICT_UNKNOWN
		       ? drill_seconds_format(verdict->lost.ms, lost)
		       : format_losses(verdict->lost, lost),
	       format_restored(&round->each[member], restored), drill_result_name(verdict->result),
	       gang && member == round->lost ? ", its machine was taken away" : "");
	/* The last line says it of the only round. */
	if (verdict->reason[0] && (scenario->facts.rounds_wanted > 1 || gang))
		terminal_line_print("       %s", verdict->reason);
	if (verdict->proof[0])
		terminal_line_print("       seen: %s", verdict->proof);
	if (verdict->remark[0])
		terminal_line_print("       note: %s", verdict->remark);
}

static void print_rounds(const struct scenario *scenario)
{
	if (scenario->facts.rounds_done == 0)
		return;
	printf("round  noticed    saved  durable    margin  %-24s  restored\n", "work lost");
	for (unsigned i = 0; i < scenario->facts.rounds_done; i++)
		for (uint32_t m = 0; m < scenario->members; m++)
			print_machine(scenario, i, m);
	printf("\nnoticed, saved, durable: seconds from the notice until reprieve had seen it,\n"
	       "until the checkpoint was complete on the machine's disk, and until it was in\n"
	       "the store. margin: from then to the machine's end.\n\n");
}

static void print_last_lines(const struct scenario *scenario)
{
	auto_free char *lines = scenario->failed ? instance_last_lines(scenario->failed, 10) : NULL;
	char *rest = NULL;

	if (!lines)
		return;
	printf("The end of %s's log:\n", scenario->failed->label);
	for (char *line = strtok_r(lines, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		printf("  | %s\n", line);
	printf("\n");
}

static void print_sums(const struct scenario *scenario, bool kept, enum drill_result result)
{
	const struct drill_facts *facts = &scenario->facts;
	const struct sandbox *sandbox = &scenario->sandbox;
	const char *path = scenario->options->compare;
	bool gang = scenario->members > 1;
	auto_free char *members = text_format(" of one of %" PRIu32 " members", scenario->members);
	auto_free char *member = text_format(" of member %" PRIu32, scenario->compared);

	terminal_line_print("  survived    %u of %u preemptions%s", facts->rounds_passed,
			    facts->rounds_wanted, gang ? members : "");
	if (facts->last_ran)
		terminal_line_print("  last run    ended with %d", facts->last_exit);
	if (path || facts->rounds_passed > 0)
		terminal_line_print("  result      %s%s%s%s", path ? path : "",
				    path && gang ? member : "", path ? " " : "",
				    comparison_rows[facts->comparison].said);
	if (scenario->options->store)
		terminal_line_print("  snapshots   stay in %s, as job %s", sandbox->store,
				    sandbox->job);
	if (kept && sandbox->scratch)
		terminal_line_print("  kept        %s, with the machines, their logs (*.log) and "
				    "their store%s; remove it when you have seen it",
				    sandbox->scratch,
				    result == DRILL_PASS ? "" : ", since the drill has not passed");
}

void report_print(const struct scenario *scenario, bool kept)
{
	char reason[REASON];
	enum drill_result result = report_result(scenario, reason, sizeof(reason));

	printf("\n");
	print_rounds(scenario);
	print_last_lines(scenario);
	print_sums(scenario, kept, result);
	printf("\n");
	terminal_line_print("%s: %s", drill_result_name(result), reason);
	fflush(stdout);
}

/* --- JSON --- */

static json_t *seconds_json(int64_t milliseconds)
{
	return milliseconds == VERDICT_UNKNOWN ? json_null()
					       : json_real((double)milliseconds / 1000);
}

static json_t *text_json(const char *text)
{
	return text && *text ? json_string(text) : json_null();
}

static json_t *id_json(struct snapshot_id id)
{
	char text[SNAPSHOT_ID_TEXT];

	return text_json(drill_id_format(id, "", text));
}

// clang-format off
static json_t *machine_json(const struct round *round, uint32_t member)
{
	const struct round_facts *facts = &round->each[member];
	const struct round_verdict *verdict = &round->verdicts[member];
	const struct run_commit *commit = &facts->events.commit;
	int64_t last = facts->steps.counted ? (int64_t)facts->steps.last : -1;
	const struct {
		const char *name;
		json_t *value;
	} fields[] = {
		{"passed", json_boolean(verdict->result == DRILL_PASS)},
		{"result", json_string(drill_result_name(verdict->result))},
		{"reason", text_json(verdict->reason)},
		{"seen", text_json(verdict->proof)},
		{"remark", text_json(verdict->remark)},
		{"noticed_seconds", seconds_json(verdict->noticed_ms)},
		{"asked_seconds", seconds_json(verdict->asked_ms)},
		{"saved_seconds", seconds_json(verdict->saved_ms)},
		{"durable_seconds", seconds_json(verdict->durable_ms)},
		{"margin_seconds", seconds_json(verdict->margin_ms)},
		{"lost_seconds", seconds_json(verdict->lost.ms)},
		{"lost_steps", json_integer_or_null(verdict->lost.steps.most)},
		{"lost_steps_least", json_integer_or_null(verdict->lost.steps.least)},
		{"snapshot", id_json(commit->id)},
		{"snapshot_step", json_integer_or_null(commit->step)},
		{"snapshot_bytes", json_integer((json_int_t)commit->bytes)},
		{"last_step", json_integer_or_null(last)},
		{"killed_at_deadline", json_boolean(facts->killed)},
		{"exit_code", facts->killed ? json_null() : json_integer(facts->exit_code)},
		{"resumed_from", id_json(facts->next_restored)},
		{"outcome", text_json(facts->events.outcome)},
		{"member", json_integer(member)},
	};
	json_t *json = json_object();

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		json_object_set_new(json, fields[i].name, fields[i].value);
	return json;
}

/* Of one machine, what is said of it; of a gang, what is said of each member. */
static json_t *round_json(const struct round *round, unsigned number)
{
	json_t *json = round->members == 1 ? machine_json(round, 0) : json_pack("{s:i, s:b, s:s, s:o, s:[]}",
		"lost_member", (int)round->lost, "passed", round->result == DRILL_PASS,
		"result", drill_result_name(round->result), "reason", text_json(round->reason), "members");

	json_object_set_new(json, "round", json_integer(number));
	for (uint32_t i = 0; round->members > 1 && i < round->members; i++)
		json_array_append_new(json_object_get(json, "members"), machine_json(round, i));
	return json;
}

static json_t *comparison_json(const struct scenario *scenario)
{
	enum comparison result = scenario->facts.comparison;

	return result == COMPARISON_NOT_ASKED ? json_null() : json_pack("{s:s, s:s, s:I, s:I, s:i}",
		"path", scenario->options->compare, "result", comparison_rows[result].name,
		"undisturbed_bytes", (json_int_t)scenario->compared_bytes[0],
		"bytes", (json_int_t)scenario->compared_bytes[1], "member", (int)scenario->compared);
}

void report_json(const struct scenario *scenario, bool kept)
{
	const struct scenario_options *options = scenario->options;
	const struct drill_facts *facts = &scenario->facts;
	struct losses losses = add_losses(scenario);
	json_t *rounds = json_array(), *exits = json_array();
	char reason[REASON];
	enum drill_result result = report_result(scenario, reason, sizeof(reason));

	for (unsigned i = 0; i < facts->rounds_done; i++)
		json_array_append_new(rounds, round_json(&scenario->rounds[i], i + 1));
	for (uint32_t i = 0; facts->last_ran && i < scenario->members; i++)
		json_array_append_new(exits, json_integer(scenario_instance(scenario, scenario->start, i)->exit_code));
	json_print(json_pack("{s:b, s:s, s:s, s:s, s:i, s:i, s:i, s:o, s:o, s:o, s:s*, s:s*, s:o, s:o, s:o, s:o, s:o}",
		"passed", result == DRILL_PASS, "result", drill_result_name(result), "reason", reason,
		"cloud", mock_clouds[options->cloud].name, "gang", (int)options->gang,
		"rounds_wanted", (int)facts->rounds_wanted, "rounds_passed", (int)facts->rounds_passed,
		"rounds", rounds, "last_exits", exits,
		"last_exit", facts->last_ran ? json_integer(facts->last_exit) : json_null(),
		"store", scenario->sandbox.store, "job", scenario->sandbox.job,
		"notice_seconds", seconds_json(options->notice_ms),
		"lost_seconds", seconds_json(losses.ms), "lost_steps", json_integer_or_null(losses.steps.most),
		"comparison", comparison_json(scenario), "directory", text_json(kept ? scenario->sandbox.scratch : NULL)), true);
}
// clang-format on

/* --- JUnit --- */

struct junit {
	struct bytes cases;
	unsigned tests, failures;
};

static void add_case(struct junit *junit, const char *name, enum drill_result result,
		     const char *reason)
{
	auto_free char *title = text_escape_markup(name);
	auto_free char *said = text_escape_markup(reason ? reason : "");
	bool passed = result == DRILL_PASS;

	junit->tests++;
	junit->failures += !passed;
	bytes_format(&junit->cases, NULL, "  <testcase classname=\"reprieve.drill\" name=\"%s\">",
		     title);
	if (passed)
		bytes_format(&junit->cases, NULL, "<system-out>%s</system-out>", said);
	else
		bytes_format(&junit->cases, NULL, "<failure type=\"%s\" message=\"%s\"/>",
			     drill_result_name(result), said);
	bytes_format(&junit->cases, NULL, "</testcase>\n");
}

static void add_cases(struct junit *junit, const struct scenario *scenario)
{
	const struct drill_facts *facts = &scenario->facts;
	const struct comparison_row *compared = &comparison_rows[facts->comparison];
	const char *missing =
		facts->timed_out ? "it has not taken place to its end: --timeout ended the drill"
				 : "it did not take place";
	auto_free char *ended = text_format("the job ended with %d", facts->last_exit);

	for (unsigned i = 0; i < facts->rounds_wanted; i++) {
		const struct round *round = &scenario->rounds[i];
		bool done = i < facts->rounds_done, gang = done && round->members > 1;

		for (uint32_t m = 0; m < (done ? round->members : 1); m++) {
			const struct round_verdict *verdict = &round->verdicts[m];
			auto_free char *name =
				text_format(gang ? "preemption %u, member %u" : "preemption %u",
					    i + 1, m);

			add_case(junit, name, done ? verdict->result : DRILL_UNPROVEN,
				 !done                ? missing
				 : verdict->reason[0] ? verdict->reason
						      : verdict->proof);
		}
	}
	if (facts->undisturbed_exit != 0)
		add_case(junit, "undisturbed run", DRILL_FAIL, "the job failed");
	add_case(junit, "last run, to the end of the job",
		 !facts->last_ran        ? DRILL_UNPROVEN
		 : facts->last_exit != 0 ? DRILL_FAIL
					 : DRILL_PASS,
		 facts->last_ran ? ended : missing);
	if (facts->comparison != COMPARISON_NOT_ASKED) {
		auto_free char *name = text_format("result %s", scenario->options->compare);

		add_case(junit, name, compared->result, compared->said);
	}
}

char *report_junit(const struct scenario *scenario, const char *why)
{
	struct junit junit = {.tests = 0};
	char reason[REASON];
	enum drill_result result = DRILL_UNPROVEN;
	char *text;

	text_set(reason, sizeof(reason), why);
	if (scenario) {
		result = report_result(scenario, reason, sizeof(reason));
		add_cases(&junit, scenario);
	}
	add_case(&junit, "the drill as a whole", result, reason);
	text = text_format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
			   "<testsuite name=\"reprieve drill\" tests=\"%u\" failures=\"%u\" "
			   "errors=\"0\">\n%.*s</testsuite>\n",
			   junit.tests, junit.failures, (int)junit.cases.size,
			   (const char *)junit.cases.data);
	bytes_release(&junit.cases);
	return text;
}
