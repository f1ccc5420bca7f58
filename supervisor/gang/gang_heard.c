#include "gang_heard.h"

#include "base/text.h"

#include <stdlib.h>

static void note_all(struct gang_heard *heard, int64_t at_ms)
{
	for (uint32_t i = 0; i < heard->members; i++)
		if (heard->ms[i] < at_ms)
			heard->ms[i] = at_ms;
}

struct gang_heard gang_heard_new(uint32_t members, int64_t now_ms)
{
	struct gang_heard heard = {
		.ms = memory_new(members * sizeof(int64_t)),
		.members = members,
	};

	note_all(&heard, now_ms);
	return heard;
}

void gang_heard_release(struct gang_heard *heard)
{
	free(heard->ms);
	*heard = (struct gang_heard){0};
}

static void note_event(struct gang_heard *heard, const struct gang_event *event, int64_t now_ms)
{
	/* A machine that has come anew is another one. */
	if (event->kind == GANG_EVENT_REJOIN)
		return;
	if (event->kind == GANG_EVENT_GO)
		note_all(heard, now_ms);
	else if (event->member < heard->members)
		heard->ms[event->member] = now_ms;
}

void gang_heard_note(struct gang_heard *heard, const struct gang_view *view,
		     const struct gang_event *event, int64_t now_ms)
{
	/* Also of the round before the one that this event opens. */
	if (view->committed > heard->committed && view->committed == heard->round)
		note_all(heard, heard->opened_ms);
	heard->committed = view->committed;
	if (event)
		note_event(heard, event, now_ms);
	if (view->round.number != heard->round) {
		heard->round = view->round.number;
		heard->opened_ms = now_ms;
	}
}
