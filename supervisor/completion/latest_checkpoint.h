/* PURE. What is known about the newest checkpoint, and about the one that is being written. */
#ifndef LATEST_CHECKPOINT_H
#define LATEST_CHECKPOINT_H

#include "detector.h"

#include <stdbool.h>
#include <stdint.h>

struct latest_checkpoint {
	/* detector_generation() at the time of the verdict */
	uint64_t generation;
	/* its last write, in ms of CLOCK_MONOTONIC; 0: no checkpoint yet */
	int64_t written_ms;
	/* the highest step that a path of it has, or that its writer reported; -1: unknown */
	int64_t step;
	/* written after the last request */
	bool fresh;
	/* save_signature_of() of the newest complete checkpoint; 0: none yet */
	uint64_t signature;
	/* step of the checkpoint that is being written, as its writer reported it; -1: unknown */
	int64_t next_step;
};

void latest_checkpoint_init(struct latest_checkpoint *latest);

/* A writer has reported this step for the checkpoint under way; -1 (no number) changes nothing. */
void latest_checkpoint_note_step(struct latest_checkpoint *latest, int64_t step);

/* Does the path still exist? A temporary name that is gone may contain any number. */
typedef bool latest_checkpoint_is_there_fn(void *arg, const char *path);

/*
 * Makes the burst that is over the newest checkpoint. Call it before detector_acknowledge().
 * `complete`: the verdict was COMPLETE; otherwise it was TORN, and the signature of the previous
 * complete checkpoint is kept. Numbers in names of log files do not count as steps.
 */
void latest_checkpoint_update(struct latest_checkpoint *latest, const struct detector *detector,
			      bool complete, latest_checkpoint_is_there_fn *is_there, void *arg);

/* Has the burst under way, or the newest numbered checkpoint in it, the signature of the last
 * complete checkpoint: as many files, with the same names apart from their numbers? */
bool latest_checkpoint_is_like(const struct latest_checkpoint *latest,
			       const struct detector *detector);

#endif
