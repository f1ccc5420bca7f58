#include "drill_page.h"

#include <inttypes.h>
#include <stdio.h>

static const char *format_seconds(int64_t ms, char text[32])
{
	snprintf(text, 32, ms == VERDICT_UNKNOWN ? "-" : "%.2f s", (double)ms / 1000);
	return text;
}

/* The window from the notice to the deadline, and what it was used for. */
static void add_bar(struct page_section *section, const struct round_verdict *verdict,
		    const char *number, int64_t window_ms)
{
	struct page_bar *bar = page_add_bar(section);
	char durable[32], margin[32];

	snprintf(bar->label, sizeof(bar->label), "%s: %s, durable after %s, %s before the end",
		 number, drill_result_name(verdict->result),
		 format_seconds(verdict->durable_ms, durable),
		 format_seconds(verdict->margin_ms, margin));
	page_add_phase(bar, PHASE_NOTICE, 0, window_ms);
	if (verdict->saved_ms != VERDICT_UNKNOWN)
		page_add_phase(bar, PHASE_SAVING,
			       verdict->asked_ms == VERDICT_UNKNOWN ? 0 : verdict->asked_ms,
			       verdict->saved_ms);
	if (verdict->saved_ms != VERDICT_UNKNOWN && verdict->durable_ms != VERDICT_UNKNOWN)
		page_add_phase(bar, PHASE_UPLOADING, verdict->saved_ms, verdict->durable_ms);
}

void drill_page_fill(struct page_section *section, const struct scenario *scenario)
{
	const struct drill_facts *facts = &scenario->facts;
	enum drill_result result;
	char reason[960], number[32], text[32];

	result = report_result(scenario, reason, sizeof(reason));
	snprintf(section->title, sizeof(section->title), "%s", drill_result_name(result));
	snprintf(section->note, sizeof(section->note), "%.600s", reason);
	page_add_figure(section, "survived", "survived", "%u of %u", facts->rounds_passed,
			facts->rounds_wanted);
	page_add_figure(section, "notice", "notice", "%s",
			format_seconds(scenario->options->notice_ms, text));
	for (unsigned i = 0; i < facts->rounds_done; i++)
		for (uint32_t m = 0; m < scenario->rounds[i].members; m++) {
			const struct round *round = &scenario->rounds[i];

			snprintf(number, sizeof(number), round->members > 1 ? "%u/%" PRIu32 : "%u",
				 i + 1, m);
			add_bar(section, &round->verdicts[m], number, scenario->options->notice_ms);
		}
}
