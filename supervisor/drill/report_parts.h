/* What the reports of one machine and of a gang share. */
#ifndef REPORT_PARTS_H
#define REPORT_PARTS_H

#include "drill/verdict.h"

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

const char *report_result_name(enum drill_result result);
const char *report_result_colour(enum drill_result result, bool colour);

/* A result file of the preempted run beside that of the undisturbed one. */
struct compared {
	enum comparison result;
	const char *path;
	uint64_t bytes;
	uint32_t members; /* of a gang; 0: one machine */
	uint32_t member;  /* of a gang: whose differs, or is missing */
};
/* One line. `passed`: a round has, so that it is said what was not asked for. */
void report_print_comparison(const struct compared *compared, bool passed);

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
