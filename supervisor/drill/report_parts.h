/* What the reports of one machine and of a gang share. */
#ifndef REPORT_PARTS_H
#define REPORT_PARTS_H

#include "drill/round_verdict.h"
#include "drill/verdict.h"
#include "junit.h"

#include <jansson.h>

#define RED "\033[1;31m"
#define GREEN "\033[1;32m"
#define YELLOW "\033[33m"
#define PLAIN "\033[0m"

#define CELL 48

/* Always in seconds, so that the rows can be compared. "-": it did not happen. Returns `cell`. */
const char *report_time_cell(int64_t milliseconds, char cell[CELL]);
/* "step 120": what the next machine has started from. Returns `cell`. */
const char *report_resumed_cell(const struct round_facts *facts, char cell[CELL]);

const char *report_result_colour(enum drill_result result, bool colour);

/* A result file of the preempted run beside that of the undisturbed one. */
struct compared {
	enum comparison result;
	const char *path;
	struct compared_sizes sizes;
	uint32_t members; /* of a gang; 0: one machine */
	uint32_t member;  /* of a gang: whose differs, or is missing */
};
/* What was lost; VERDICT_UNKNOWN where it is. */
struct losses {
	int64_t ms, steps, steps_least;
	bool epochs; /* each step is one */
};
/* Adds those of a round; what is unknown of one is unknown of all. */
void report_add_losses(struct losses *losses, const struct losses *more);
struct losses report_losses_of(const struct round_verdict *verdict);
/* "3", "up to 29" or "unknown". Returns `text`. */
const char *report_steps(const struct losses *losses, char *text, size_t capacity);
/* "step", "steps", "epoch" or "epochs". Static. */
const char *report_step_word(const struct losses *losses, bool several);
/* What a pass does not say by itself: "lost up to 29 steps, 1.2 s of work; ..." */
void report_print_pass(const struct compared *compared, const struct losses *losses, char *text,
		       size_t capacity);
/* What was written in the user's own directory; "": no line. */
void report_print_shared(const char *shared);
/* Where the machines, their logs and their store are left, and why; NULL: nowhere. */
void report_print_kept(const char *scratch, const char *logs, enum drill_result result);
/* One line. `passed`: a round has, so that it is said what was not asked for. */
void report_print_comparison(const struct compared *compared, bool passed);

/* The cases of the comparison, if one was asked for, and of the last run. */
void report_add_comparison(const struct compared *compared, struct junit *junit);
void report_add_last(const struct drill_facts *facts, struct junit *junit);
/* One case for each preemption that did not take place. */
void report_add_missing(const struct drill_facts *facts, struct junit *junit);

/* The end of "machine 2's log"; `lines` NULL: nothing. */
void report_print_last_lines(const char *lines, const char *whose, unsigned number);

/* The caller owns what these return. `name`: of the member that has the number. */
json_t *report_round_json(const struct round_facts *facts, const struct round_verdict *verdict,
			  const char *name, unsigned number);
json_t *report_seconds_json(int64_t milliseconds);
json_t *report_number_json(int64_t number);
json_t *report_comparison_json(const struct compared *compared);
json_t *report_text_json(const char *text);

#endif
