#include "planning.h"

/* Checkpoints that follow each other within this time, or within this share of the usual gap, are
 * one save. */
#define SAME_SAVE_MS 250
#define SAME_SAVE_SHARE 4
/* One long pause, such as an evaluation, says little about the next gap. */
#define LONG_GAPS 4

void save_rhythm_note(struct save_rhythm *rhythm, int64_t now_ms)
{
	int64_t gap_ms = now_ms - rhythm->last_ms;
	int64_t most_ms = LONG_GAPS * rhythm->gap_ms;

	if (rhythm->last_ms == 0) {
		rhythm->last_ms = now_ms;
		return;
	}
	if (gap_ms < SAME_SAVE_MS || gap_ms < rhythm->gap_ms / SAME_SAVE_SHARE)
		return;
	rhythm->last_ms = now_ms;
	if (rhythm->gap_ms == 0)
		rhythm->gap_ms = gap_ms;
	else
		rhythm->gap_ms = (3 * rhythm->gap_ms + (gap_ms < most_ms ? gap_ms : most_ms)) / 4;
}
