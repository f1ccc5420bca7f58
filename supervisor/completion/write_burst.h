/*
 * PURE. Writes to the checkpoint directory that follow each other without a pause: which paths, by
 * whom, whether it is over, and whether a writer died in it. detector.c says what the witnesses'
 * events mean for it.
 */
#ifndef WRITE_BURST_H
#define WRITE_BURST_H

#include "workspace/workspace.h"
#include "writer_table.h"

#include <stdbool.h>
#include <stdint.h>

#define WRITE_BURST_NEVER INT64_MAX

// clang-format off
/* Marks of a path. All but TORN, REFUSED and UNJUDGED belong to the burst and go with it. */
enum write_burst_mark {
	WRITE_BURST_DIRTY = 1,      /* touched */
	WRITE_BURST_TORN = 2,       /* its writer died: part of no snapshot */
	/* the shim reports on it, so that the kernel's word on open and closed does not count */
	WRITE_BURST_SEEN = 4,
	WRITE_BURST_WRITTEN = 8,    /* the kernel saw a write and no close yet */
	WRITE_BURST_CREATED = 16,     /* opened when it was empty */
	WRITE_BURST_REWRITTEN = 32, /* torn, and the kernel has seen a write since */
	WRITE_BURST_UNCHECKED = 64,  /* touched, and nobody has looked into it since */
	WRITE_BURST_REJECTED = 128,  /* who looked found it not whole: part of no snapshot */
	/* closed when the next numbered checkpoint was begun, and not touched since */
	WRITE_BURST_PREVIOUS = 256,
};
// clang-format on

struct write_burst {
	int64_t quiet_ms;
	struct path_set paths; /* with BURST_* marks */
	struct writer_table writers;
	bool active;            /* something was written, and not acknowledged */
	bool torn;              /* a writer died in it */
	bool over;              /* the job ended: no need to wait */
	bool previous_accepted; /* what is torn of it does not matter to the rest */
	bool settled;           /* it was over when the event came that is being looked at */
	int64_t last_ms, request_ms, first_write_ms;
	int64_t stalled_ms; /* of the time since the last write: nobody was there to see anything */
	uint64_t generation; /* changes with every write */
	/* the event that made it this one was the commit of a save; 0: none was */
	uint64_t marker_generation;
	/* what was written up to then is not whole, but may still become so */
	uint64_t postponed_generation;
	int64_t postponed_until_ms;
	int64_t unit;              /* the highest number of a checkpoint in it; -1: none has one */
	uint64_t saved_generation; /* who wrote up to then has called it complete; 0: nobody did */
};

void write_burst_init(struct write_burst *burst, int64_t quiet_ms);
void write_burst_release(struct write_burst *burst);

/* First of all at each event, before it changes anything: is the burst that there is over already?
 * Then the event belongs to the next one. */
void write_burst_before_event(struct write_burst *burst, int64_t now_ms);

/* We have stood still for so long, and perhaps the whole machine with the job:
 * that was no quiet time. */
void write_burst_add_stall(struct write_burst *burst, int64_t ms);

/* Something was written: a burst begins or goes on. */
void write_burst_write(struct write_burst *burst, int64_t now_ms);
/* The same, to this path; "" where it has no name. */
void write_burst_touch(struct write_burst *burst, const char *path, unsigned marks, int64_t now_ms);
/* A change that is no write, like a deletion: alone it is nothing to save. */
void write_burst_change(struct write_burst *burst, int64_t now_ms);

/* The application is done with one descriptor of the path. */
void write_burst_close_path(struct write_burst *burst, const char *path, bool complete);
/* Drops what the process has open; true when there was something. */
bool write_burst_close_all(struct write_burst *burst, int pid, bool complete);

/* The last event was the commit of a save: where only one process writes, nothing more will come,
 * and a quarter of the quiet time is enough. */
void write_burst_note_completion_marker(struct write_burst *burst);
/* `pid` calls what it wrote complete: with the word of all who wrote, nothing has to be quiet. */
void write_burst_note_saved(struct write_burst *burst, int pid);
/* Not over before that time, unless something is written. */
void write_burst_postpone(struct write_burst *burst, int64_t until_ms);

/* A writer died: what was touched by now is torn, and what others still write belongs to the
 * same checkpoint. */
void write_burst_mark_torn(struct write_burst *burst, int64_t now_ms);

/*
 * Nobody is left to write. True when what was torn is the last of several numbered checkpoints and
 * nothing else, each written by one process, with the shim in it, that had closed it before it
 * began the next: those before it are not torn then, and nothing answers a request.
 */
bool write_burst_accept_previous(struct write_burst *burst);

bool write_burst_is_being_written(const struct write_burst *burst);
/* Quiet for long enough, whether or not somebody has asked since. False when there is none. */
bool write_burst_is_over(const struct write_burst *burst, int64_t now_ms);
/* When it will be, if nothing happens until then and nothing is open. */
int64_t write_burst_over_at_ms(const struct write_burst *burst);

/* The path itself, or a directory above it, is torn or refused. */
bool write_burst_is_torn(const struct write_burst *burst, const char *path);

/* Only what is torn or refused is remembered, and what nobody has looked into. */
void write_burst_end(struct write_burst *burst);

#endif
