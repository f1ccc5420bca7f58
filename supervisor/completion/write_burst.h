/*
 * PURE. A write burst: writes to the checkpoint directory that follow each other without a pause.
 * It knows its paths and writers, whether it is over, and whether a writer died in it. detector.c
 * translates the events of the shim and the kernel into the calls below.
 */
#ifndef WRITE_BURST_H
#define WRITE_BURST_H

#include "workspace/workspace.h"
#include "writer_table.h"

#include <stdbool.h>
#include <stdint.h>

#define WRITE_BURST_NEVER INT64_MAX

// clang-format off
/* Marks of a path. TORN, REJECTED and UNCHECKED outlive the burst; the others end with it. */
enum write_burst_mark {
	/* written, created or renamed in this burst */
	WRITE_BURST_DIRTY = 1,
	/* its writer died: no snapshot contains it */
	WRITE_BURST_TORN = 2,
	/* the shim reports this path, and is believed rather than the kernel on open and closed */
	WRITE_BURST_SEEN = 4,
	/* the kernel has reported a write and no close yet */
	WRITE_BURST_WRITTEN = 8,
	/* it was empty when it was opened, so this burst has all of its content */
	WRITE_BURST_CREATED = 16,
	/* torn, and the kernel has reported a write since */
	WRITE_BURST_REWRITTEN = 32,
	/* written, and not content-checked since */
	WRITE_BURST_UNCHECKED = 64,
	/* failed the content check: no snapshot contains it */
	WRITE_BURST_REJECTED = 128,
	/* closed when a checkpoint with a higher number was begun, and not written since */
	WRITE_BURST_PREVIOUS = 256,
};
// clang-format on

struct write_burst {
	int64_t quiet_ms;
	/* with WRITE_BURST_* marks */
	struct path_set paths;
	struct writer_table writers;
	/* something was written, and its verdict is not acknowledged yet */
	bool active;
	/* a writer died in it */
	bool torn;
	/* the job has ended: do not wait for the quiet time */
	bool over;
	/* see write_burst_accept_previous() */
	bool previous_accepted;
	/* it was over before the event that is being handled */
	bool settled;
	/* the last write; the last request; the first write after that request */
	int64_t last_ms, request_ms, first_write_ms;
	/* how long this process was stalled since the last write: not quiet time */
	int64_t stalled_ms;
	/* changes with every write */
	uint64_t generation;
	/* generation whose last event was a completion marker; 0: none */
	uint64_t marker_generation;
	/* generation that the content check found incomplete, and how long to wait for its rest */
	uint64_t postponed_generation;
	int64_t postponed_until_ms;
	/* highest checkpoint number written in this burst; -1: none is numbered */
	int64_t unit;
	/* generation that all writers have called complete; 0: none */
	uint64_t saved_generation;
};

void write_burst_init(struct write_burst *burst, int64_t quiet_ms);
void write_burst_release(struct write_burst *burst);

/* Call it first for each event. If the burst was over by then, the event's write begins the next
 * one. */
void write_burst_before_event(struct write_burst *burst, int64_t now_ms);

/* This process was stalled for `ms` milliseconds, and perhaps the whole machine with the job: that
 * does not count as quiet time. */
void write_burst_add_stall(struct write_burst *burst, int64_t ms);

/* Something was written: begins a burst or continues it. */
void write_burst_write(struct write_burst *burst, int64_t now_ms);
/* The same for this path ("": its name is unknown), which gets DIRTY, UNCHECKED and `marks`. */
void write_burst_touch(struct write_burst *burst, const char *path, unsigned marks, int64_t now_ms);
/* A change other than a write, such as a deletion: it continues a burst but begins none, because
 * alone it leaves nothing to save. */
void write_burst_change(struct write_burst *burst, int64_t now_ms);

/* A descriptor of the path was closed. `complete`: with success; if the path was created in this
 * burst and nobody has it open, it is no longer torn. Otherwise it is torn. */
void write_burst_close_path(struct write_burst *burst, const char *path, bool complete);
/* Removes all descriptors of the process; true: there were some. `complete` as above, but false
 * leaves the marks alone. */
bool write_burst_close_all(struct write_burst *burst, int pid, bool complete);

/* The last event was the completion marker of a save. If only one process writes, nothing more will
 * come, and a quarter of the quiet time is enough. */
void write_burst_note_completion_marker(struct write_burst *burst);
/* `pid` calls its checkpoint complete. Once all writers have, the burst needs no quiet time. */
void write_burst_note_saved(struct write_burst *burst, int pid);
/* The burst is not over before `until_ms`. The next write cancels this. */
void write_burst_postpone(struct write_burst *burst, int64_t until_ms);

/* A writer died: all paths written so far are torn, and later writes of the burst too, because they
 * belong to the same checkpoint. */
void write_burst_mark_torn(struct write_burst *burst, int64_t now_ms);

/*
 * Call it when a torn burst is over. True: only the newest of several numbered checkpoints is torn.
 * That holds if one process wrote them all, has the shim, and had closed each before it began the
 * next. The earlier ones are then no longer torn, and the burst does not count as the answer to a
 * request.
 */
bool write_burst_accept_previous(struct write_burst *burst);

/* Is a file of it open for writing? */
bool write_burst_is_being_written(const struct write_burst *burst);
/* Is no file open, and is the quiet time over? False if there is no burst. */
bool write_burst_is_over(const struct write_burst *burst, int64_t now_ms);
/* When it will be over if nothing is written and no file is open. */
int64_t write_burst_over_at_ms(const struct write_burst *burst);

/* Is the path, or a directory above it, torn or rejected? */
bool write_burst_is_torn(const struct write_burst *burst, const char *path);

/* Ends the burst. Only the marks TORN, REJECTED and UNCHECKED are kept. */
void write_burst_end(struct write_burst *burst);

#endif
