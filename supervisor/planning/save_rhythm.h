/*
 * PURE. How often the job saves by itself: the usual time from one complete checkpoint to the next.
 * It predicts the next save at a notice. Times are ms of CLOCK_MONOTONIC.
 */
#ifndef SAVE_RHYTHM_H
#define SAVE_RHYTHM_H

#include <stdint.h>

struct save_rhythm {
	int64_t last_ms; /* when the last save was complete; 0: none was yet */
	int64_t gap_ms;  /* from one to the next, smoothed; 0: there were no two yet */
};

/* A checkpoint became complete at `now_ms`. One that follows another closely belongs to the same
 * save: last.ckpt after epoch=3.ckpt. */
void save_rhythm_note(struct save_rhythm *rhythm, int64_t now_ms);

#endif
