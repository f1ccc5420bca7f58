#include "report_parts.h"

#include "base/cleanup.h"
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

const char *report_result_colour(enum drill_result result, bool colour)
{
	static const char *const colours[] = {
		[DRILL_PASS] = GREEN,
		[DRILL_FAIL] = RED,
		[DRILL_UNPROVEN] = YELLOW,
		[DRILL_NOT_RUN] = RED,
	};

	return colour ? colours[result] : "";
}

void report_add_comparison(const struct compared *compared, struct junit *junit)
{
	auto_free char *name = text_format("result %s", compared->path ? compared->path : "");

	switch (compared->result) {
	case COMPARISON_NOT_ASKED:
		return;
	case COMPARISON_EQUAL:
		junit_add(junit, name, DRILL_PASS, NULL);
		return;
	case COMPARISON_DIFFERENT:
		junit_add(junit, name, DRILL_FAIL, "it differs from that of the undisturbed run");
		return;
	case COMPARISON_MISSING:
		junit_add(junit, name, DRILL_FAIL, "the preempted run has not written it");
		return;
	case COMPARISON_MISSING_UNDISTURBED:
		junit_add(junit, name, DRILL_UNPROVEN, "the undisturbed run has not written it");
		return;
	case COMPARISON_NOT_MADE:
		junit_add(junit, name, DRILL_UNPROVEN, "it was not compared");
		return;
	}
}

static const char *why_missing(const struct drill_facts *facts)
{
	return facts->timed_out ? "it has not taken place to its end: --timeout ended the drill"
				: "it did not take place";
}

void report_add_missing(const struct drill_facts *facts, struct junit *junit)
{
	for (unsigned i = facts->rounds_done; i < facts->rounds_wanted; i++) {
		auto_free char *name = text_format("preemption %u", i + 1);

		junit_add(junit, name, DRILL_UNPROVEN, why_missing(facts));
	}
}

void report_add_last(const struct drill_facts *facts, struct junit *junit)
{
	auto_free char *ended = text_format("the job ended with %d", facts->last_exit);

	if (facts->undisturbed_exit != 0)
		junit_add(junit, "undisturbed run", DRILL_FAIL, "the job failed");
	junit_add(junit, "last run, to the end of the job",
		  !facts->last_ran        ? DRILL_UNPROVEN
		  : facts->last_exit != 0 ? DRILL_FAIL
					  : DRILL_PASS,
		  facts->last_ran ? ended : why_missing(facts));
}

void report_print_comparison(const struct compared *compared, bool passed)
{
	const char *path = compared->path;
	char bytes[32], of_member[32] = "", member[40] = "";

	if (compared->members > 0) {
		snprintf(of_member, sizeof(of_member), " of member %" PRIu32, compared->member);
		snprintf(member, sizeof(member), "member %" PRIu32 " of ", compared->member);
	}
	switch (compared->result) {
	case COMPARISON_NOT_ASKED:
		if (passed)
			terminal_line_print(
				"  result      not compared: --compare FILE also proves "
				"the order of the data and the random state");
		return;
	case COMPARISON_EQUAL:
		terminal_line_print(
			"  result      %s equals that of the undisturbed run, byte for byte%s (%s)",
			path, compared->members > 0 ? ", at each member that writes it" : "",
			text_bytes(compared->sizes.preempted, bytes, sizeof(bytes)));
		return;
	case COMPARISON_DIFFERENT:
		terminal_line_print("  result      %s%s DIFFERS from that of the undisturbed run",
				    path, of_member);
		return;
	case COMPARISON_MISSING_UNDISTURBED:
		terminal_line_print("  result      the undisturbed run has not written %s", path);
		return;
	case COMPARISON_MISSING:
		terminal_line_print("  result      %sthe preempted run has not written %s", member,
				    path);
		return;
	case COMPARISON_NOT_MADE:
		terminal_line_print("  result      %s was not compared", path);
		return;
	}
}

static void add_known(int64_t *sum, int64_t more)
{
	*sum = *sum == VERDICT_UNKNOWN || more == VERDICT_UNKNOWN ? VERDICT_UNKNOWN : *sum + more;
}

void report_add_losses(struct losses *losses, const struct losses *more)
{
	add_known(&losses->ms, more->ms);
	add_known(&losses->steps, more->steps);
	add_known(&losses->steps_least, more->steps_least);
	losses->epochs |= more->epochs;
}

struct losses report_losses_of(const struct round_verdict *verdict)
{
	return (struct losses){
		.ms = verdict->lost_ms,
		.steps = verdict->lost_steps,
		.steps_least = verdict->lost_steps_least,
		.epochs = verdict->lost_epochs,
	};
}

const char *report_step_word(const struct losses *losses, bool several)
{
	if (losses->epochs)
		return several ? "epochs" : "epoch";
	return several ? "steps" : "step";
}

const char *report_steps(const struct losses *losses, char *text, size_t capacity)
{
	if (losses->steps == VERDICT_UNKNOWN)
		text_set(text, capacity, "unknown");
	else
		snprintf(text, capacity, "%s%" PRId64,
			 losses->steps_least < losses->steps ? "up to " : "", losses->steps);
	return text;
}

void report_print_pass(const struct compared *compared, const struct losses *losses, char *text,
		       size_t capacity)
{
	char steps[48], length[32];
	bool known = losses->steps != VERDICT_UNKNOWN;
	auto_free char *result =
		compared->result == COMPARISON_EQUAL
			? text_format("%s equals that of an undisturbed run", compared->path)
			: text_copy("the result was not compared (--compare FILE)");

	report_steps(losses, steps, sizeof(steps));
	text_duration(losses->ms, length, sizeof(length));
	snprintf(text, capacity, "lost %s%s%s%s%s%s; %s",
		 known ? steps : "steps of a number that is not known", known ? " " : "",
		 known ? report_step_word(losses, losses->steps != 1) : "",
		 losses->ms == VERDICT_UNKNOWN ? "" : ", ",
		 losses->ms == VERDICT_UNKNOWN ? "" : length,
		 losses->ms == VERDICT_UNKNOWN ? "" : " of work", result);
}

void report_print_shared(const char *shared)
{
	if (*shared)
		terminal_line_print("  CHANGED     your own directory, by a machine: %s", shared);
}

void report_print_kept(const char *scratch, const char *logs, enum drill_result result)
{
	if (!scratch)
		return;
	terminal_line_print("  logs        %s/%s", scratch, logs);
	terminal_line_print("  kept        %s, with the machines and their store%s; remove it when "
			    "you have seen it",
			    scratch,
			    result == DRILL_PASS ? "" : ", since the drill has not passed");
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

json_t *report_seconds_json(int64_t milliseconds)
{
	return milliseconds == VERDICT_UNKNOWN ? json_null()
					       : json_real((double)milliseconds / 1000);
}

json_t *report_number_json(int64_t number)
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
				  drill_result_name(verdict->result), "reason",
				  report_text_json(verdict->reason), "seen",
				  report_text_json(verdict->proof), "remark",
				  report_text_json(verdict->remark));

	json_object_update_new(round,
			       json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
					 "noticed_seconds",
					 report_seconds_json(verdict->noticed_ms), "asked_seconds",
					 report_seconds_json(verdict->asked_ms), "saved_seconds",
					 report_seconds_json(verdict->saved_ms), "durable_seconds",
					 report_seconds_json(verdict->durable_ms), "margin_seconds",
					 report_seconds_json(verdict->margin_ms), "lost_seconds",
					 report_seconds_json(verdict->lost_ms), "lost_steps",
					 report_number_json(verdict->lost_steps),
					 "lost_steps_least",
					 report_number_json(verdict->lost_steps_least)));
	json_object_update_new(round,
			       json_pack("{s:o, s:o, s:I, s:o, s:b, s:o, s:o, s:o}", "snapshot",
					 id_json(events->commit.id), "snapshot_step",
					 report_number_json(events->commit.step), "snapshot_bytes",
					 (json_int_t)events->commit.bytes, "last_step",
					 facts->counted
						 ? report_number_json((int64_t)facts->count.last)
						 : json_null(),
					 "killed_at_deadline", facts->killed, "exit_code",
					 facts->killed ? json_null()
						       : json_integer(facts->exit_code),
					 "resumed_from", id_json(facts->next_restored), "outcome",
					 report_text_json(events->outcome)));
	return round;
}

json_t *report_comparison_json(const struct compared *compared)
{
	static const char *const names[] = {
		[COMPARISON_EQUAL] = "equal",
		[COMPARISON_DIFFERENT] = "different",
		[COMPARISON_MISSING_UNDISTURBED] = "missing_undisturbed",
		[COMPARISON_MISSING] = "missing",
		[COMPARISON_NOT_MADE] = "not_made",
	};
	json_t *json;

	if (compared->result == COMPARISON_NOT_ASKED)
		return json_null();
	json = json_pack("{s:s, s:s}", "path", compared->path, "result", names[compared->result]);
	if (compared->result == COMPARISON_EQUAL || compared->result == COMPARISON_DIFFERENT)
		json_object_update_new(json, json_pack("{s:I, s:I}", "bytes",
						       (json_int_t)compared->sizes.preempted,
						       "undisturbed_bytes",
						       (json_int_t)compared->sizes.undisturbed));
	if (compared->members > 0 &&
	    (compared->result == COMPARISON_DIFFERENT || compared->result == COMPARISON_MISSING))
		json_object_set_new(json, "member", json_integer(compared->member));
	return json;
}
