/* PURE. What is known of the newest checkpoint by its names and numbers, and of
 * the one that is being written. */
#ifndef LATEST_CHECKPOINT_H
#define LATEST_CHECKPOINT_H

#include "detector.h"

#include <stdbool.h>
#include <stdint.h>

struct latest_checkpoint {
	uint64_t generation; /* detector_generation() then */
	int64_t written_ms;  /* monotonic: its last write; 0 where nothing was sealed */
	int64_t step;        /* the highest that it, or its writer, named; -1 unknown */
	bool fresh;          /* written after the last request */
	uint64_t signature;  /* save_signature_of() then; 0: nothing was sealed */
	/* of what is being written now, by the word of who writes it; -1 unknown */
	int64_t next_step;
};

void latest_checkpoint_init(struct latest_checkpoint *latest);

/* Who writes calls it that step; -1: without a number. */
void latest_checkpoint_note_step(struct latest_checkpoint *latest, int64_t step);

/* Whether the path is still that of a file: temporary names may hold any number. */
typedef bool latest_checkpoint_is_there_fn(void *arg, const char *path);

/* What was being written is over, and not acknowledged yet: it is the newest. `complete`: SEALED;
 * otherwise torn, and the shape of the one before stands. Logs of the run give no number. */
void latest_checkpoint_update(struct latest_checkpoint *latest, const struct detector *detector,
			      bool complete, latest_checkpoint_is_there_fn *is_there, void *arg);

/* Does what is being written, or the last of the numbered checkpoints in it, look like the last
 * complete one: as many files, of the same names but for their numbers? */
bool latest_checkpoint_is_like(const struct latest_checkpoint *latest,
			       const struct detector *detector);

#endif
