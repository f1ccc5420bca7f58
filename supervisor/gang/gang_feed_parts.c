/* What becomes of the parts that this member gives, and of their rounds. */
#include "gang_feed_inside.h"

#include "base/clock.h"
#include "base/text.h"

void gang_feed_note_settled(struct gang_feed *feed)
{
	const struct gang_round *round = &feed->view.round;
	uint32_t settled = round->number > 0 ? round->number - 1 : 0;

	if (feed->view.over)
		settled = UINT32_MAX;
	else if (round->state != GANG_ROUND_OPEN)
		settled = round->number;
	atomic_store(&feed->settled, settled);
}

bool gang_feed_is_settled(const struct gang_feed *feed, uint32_t round)
{
	return round <= atomic_load(&feed->settled);
}

static void note_committed(struct gang_feed *feed)
{
	gang_heard_note(&feed->heard, &feed->view, NULL, clock_monotonic_ms());
	gang_feed_note_settled(feed);
	feed->heard_ms = clock_monotonic_ms();
}

void gang_feed_note_fate(struct gang_feed *feed, uint32_t round, enum gang_part_fate fate)
{
	gang_here_note_fate(&feed->here, &feed->view, round, fate);
	if (fate != GANG_FATE_COMMITTED)
		return;
	note_committed(feed);
	feed->options.committed(feed->options.arg, round,
				feed->here.put == round ? feed->here.put_generation : 0);
}

void gang_feed_note_part_begun(struct gang_feed *feed, uint32_t round, uint64_t generation,
			       int64_t step, bool beside)
{
	gang_here_note_part(&feed->here, round, generation, step, beside);
}

/* Once is no proof: it may have been slower than the one that had gone on. */
static void note_given(struct gang_here *here, uint32_t round)
{
	if (here->given != round)
		return;
	if (!here->beside)
		here->durable = here->given_generation;
	here->empties = here->beside ? here->empties + 1 : 0;
	here->learned = here->empties >= GANG_EMPTIES_TO_LEARN;
}

void gang_feed_note_part_ended(struct gang_feed *feed, uint32_t round, enum gang_part_end end,
			       bool put, const char *why)
{
	struct gang_here *here = &feed->here;

	gang_here_note_part_ended(here, round, put);
	if (end == GANG_PART_COMMITTED) {
		gang_view_committed(&feed->view, round);
		note_given(here, round);
		note_committed(feed);
	} else if (end == GANG_PART_COMMITTED_EARLIER || end == GANG_PART_UNFIT) {
		gang_feed_note_fate(feed, round,
				    end == GANG_PART_UNFIT ? GANG_FATE_UNFIT : GANG_FATE_COMMITTED);
	} else if (here->given == round) {
		here->given = 0;
	}
	if (end == GANG_PART_IMPOSSIBLE || end == GANG_PART_UNFIT) {
		here->unable = round;
		text_set(feed->reason, sizeof(feed->reason), why);
		here->unable_reason = feed->reason;
	}
	gang_feed_wake(feed);
}
