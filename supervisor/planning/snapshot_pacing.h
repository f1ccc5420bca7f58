/*
 * PURE. When the next snapshot is begun. A job that saves ten times a second gets one every few
 * seconds, of the newest checkpoint that is complete then, so that what the requests cost is
 * bounded; a job that saves seldom gets each one at once.
 */
#ifndef SNAPSHOT_PACING_H
#define SNAPSHOT_PACING_H

#include <stdbool.h>
#include <stdint.h>

#define SNAPSHOT_PACING_NEVER INT64_MAX

/* How often snapshots were begun: some may follow each other closely, on average one in each
 * interval. Zero-initialise. Times are ms of CLOCK_MONOTONIC. */
struct snapshot_pacer {
	/* a snapshot may be begun although this time lies ahead, but not by more than
	 * SNAPSHOT_PACING_BURST intervals */
	int64_t paid_until_ms;
};
/* Snapshots that may follow each other closely. */
#define SNAPSHOT_PACING_BURST 3

struct snapshot_pacing_facts {
	int64_t now_ms;
	/* --snapshot-interval; 0: no limit */
	int64_t interval_ms;
	/* since when a complete checkpoint is in no snapshot that was begun; 0: none is */
	int64_t pending_ms;
	/* the last write to a file that is not a running one; 0: none yet */
	int64_t last_write_ms;
	/* fixed names are being written, or name a checkpoint that is: a snapshot now would have to
	 * leave them out, or what they name. It waits for at most so long; 0: there is none. */
	int64_t replacing_most_ms;
	/* Fixed names that belong to the checkpoint are awaited until then: with them it is what
	 * the job resumes from. 0: none is */
	int64_t partners_until_ms;
	/* a notice or a request: the interval does not count, but there are two a second at most
	 */
	bool urgent;
	/* the job has ended: this one is the last */
	bool last;
	/* only running files were written since the last snapshot, and no checkpoint is ever
	 * written: they are the job's work */
	bool only_running;
	/* when the job was launched, and the last snapshot was begun; 0: none yet */
	int64_t launched_ms, begun_ms;
};

/* Milliseconds until the next one is to be begun; 0: now; SNAPSHOT_PACING_NEVER: nothing to save.
 */
int64_t snapshot_pacing_wait_ms(const struct snapshot_pacer *pacer,
				const struct snapshot_pacing_facts *facts);
/* One is begun now. */
void snapshot_pacing_note_begun(struct snapshot_pacer *pacer, int64_t now_ms, int64_t interval_ms);

#endif
