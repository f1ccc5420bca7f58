/*
 * PURE. Is what lies in the checkpoint directory complete? No I/O and no clock: events and the time
 * go in, a verdict comes out.
 *
 * Writes that follow each other without a pause are one burst: a checkpoint is rarely one file. A
 * burst is sealed when nothing is open for writing any more, nothing has happened for the quiet
 * time, and no writer died in it. When one did, whatever the burst touched is torn: a killed
 * process closes its files too, and to the kernel that looks like completion. A torn path stays
 * torn until it is written from empty to its close, replaced by a rename, or deleted. Of several
 * numbered checkpoints that one process wrote one after the other, without the pause that would
 * have ended a burst, only the last is torn, and the rest is sealed.
 *
 * Two witnesses report: the shim in the processes (who opened and closed what), and the kernel.
 * Files of processes without the shim are known from the kernel alone: written, closed, quiet, and
 * the job alive.
 *
 * The files have a word as well: where detector_poll() says SEALED, the caller has what was written
 * looked into (content_check.h), and hands the result to detector_apply_findings(), whose verdict
 * counts.
 *
 * Before detector_poll(), detector_process_ended() and detector_job_ended() hand in what both
 * witnesses have pending: a process's last events are queued before its end can be waited for.
 */
#ifndef DETECTOR_H
#define DETECTOR_H

#include "content_check.h"
#include "monitor/monitor.h"
#include "write_burst.h"

#include <stdbool.h>
#include <stdint.h>

#define DETECTOR_QUIET_MS 1000
#define DETECTOR_NEVER WRITE_BURST_NEVER

enum detector_verdict {
	DETECTOR_NOTHING,  /* nothing was written since the last acknowledged seal */
	DETECTOR_BUSY,     /* being written: ask again at the time given, or after the next event */
	DETECTOR_COMPLETE, /* complete: take it */
	DETECTOR_TORN,     /* over, but a writer died in it: its paths are torn */
};

enum writer_end {
	WRITER_END_EXITED,  /* by exit */
	WRITER_END_KILLED,  /* by a signal */
	WRITER_END_FAILED,  /* by exit, with a code that says so */
	WRITER_END_UNKNOWN, /* not there any more, and nobody knows how it went */
};

struct detector {
	struct write_burst burst;
	char **ignored;
	size_t ignored_count;
	bool needs_verify;
	/* words of the kernel were lost: what a look has found since may be open */
	bool events_lost;
	/* last, and the generation that it was about */
	enum detector_verdict reported_verdict;
	uint64_t reported_generation;
	/* of what was renamed away and may come back under another name */
	uint32_t moved_cookie;
	char *moved_path;
};

void detector_init(struct detector *detector, int64_t quiet_ms);
void detector_release(struct detector *detector);

/* Files whose path or name matches (fnmatch) neither start a burst nor hold one up: logs that stay
 * open for the whole run. */
void detector_ignore(struct detector *detector, const char *pattern);
bool detector_ignores(const struct detector *detector, const char *path);

/* What happened, in the order of each witness. */
void detector_handle_shim(struct detector *detector, const struct shim_message *message,
			  int64_t now_ms);
void detector_handle_kernel(struct detector *detector, const struct dir_event *event,
			    int64_t now_ms);

/* Before what was queued meanwhile is handed in: we have stood still for so long, and that counts
 * as no quiet time. */
void detector_add_stall(struct detector *detector, int64_t ms);

/*
 * Is something being written of which only the kernel tells? Then by `pid`, perhaps among others;
 * or, with nothing open by the shim's word and no event for the quiet time, by nobody: then it is
 * closed.
 */
bool detector_has_untracked(const struct detector *detector);
void detector_writer_seen(struct detector *detector, int pid);
bool detector_waits_for_untracked(const struct detector *detector, int64_t now_ms);
/* The last event, by either witness. */
int64_t detector_last_ms(const struct detector *detector);
void detector_each_untracked(const struct detector *detector, path_set_fn *act, void *argument);
void detector_all_closed(struct detector *detector);

/* Any process, by the number that the shim reports. One that wrote nothing changes nothing. */
void detector_process_ended(struct detector *detector, int pid, enum writer_end end,
			    int64_t now_ms);

/* The job and all its processes are gone. `clean`: of its own accord and with success; then nothing
 * more will come, and the burst is sealed at once. Otherwise a burst that is not over is torn. */
void detector_job_ended(struct detector *detector, bool clean, int64_t now_ms);

/* `at_ms`: when to ask again at the latest; DETECTOR_NEVER while only an event can
 * change the answer. */
enum detector_verdict detector_poll(struct detector *detector, int64_t now_ms, int64_t *at_ms);

/* The last event handed in was the commit of a save, by the profile: it need not
 * be quiet for so long. */
void detector_note_completion_marker(struct detector *detector);

/*
 * `pid` has said that its checkpoint is complete (shim/reprieve.h), and all that both witnesses saw
 * of it before has been handed in. Counts once all who wrote have said it; what is still open, torn
 * or refused is not complete by that.
 */
void detector_note_saved(struct detector *detector, int pid, int64_t now_ms);

/* What was written and has not been judged; in the burst or before it. */
void detector_each_unchecked(const struct detector *detector, path_set_fn *act, void *argument);

/*
 * After SEALED, with nothing written since (detector_generation()): what of
 * detector_each_unchecked() is not whole. BUSY: it may become so, ask again at `at_ms` or after the
 * next event; SEALED: without what is refused; TORN: nothing is left without it.
 */
enum detector_verdict detector_apply_findings(
	struct detector *detector, const struct findings *findings, int64_t now_ms, int64_t *at_ms);
/* BUSY for no other reason than that. */
bool detector_is_postponed(const struct detector *detector);

/* The verdict of the last detector_poll() was acted upon; does nothing when
 * something was written since. */
void detector_acknowledge(struct detector *detector);

/* Another number after every write: what was read between two equal ones was not
 * changed meanwhile. */
uint64_t detector_generation(const struct detector *detector);

/* What is sealed is what was left of torn work: its newest checkpoint is older
 * than the newest path. */
bool detector_accepted_previous(const struct detector *detector);

/* The path itself, or a directory above it. */
bool detector_is_torn(const struct detector *detector, const char *path);
void detector_each_torn(const struct detector *detector, path_set_fn *act, void *argument);

/* What is open for writing, for messages; a path once for each descriptor. */
void detector_each_open(const struct detector *detector, path_set_fn *act, void *argument);

/* What was written in this burst and is closed by all who wrote it: each complete for itself, as
 * far as can be known. */
void detector_each_closed(const struct detector *detector, path_set_fn *act, void *argument);

/* A checkpoint was asked for; and when the first open or write since then came
 * (DETECTOR_NEVER: not yet). */
void detector_requested(struct detector *detector, int64_t now_ms);
int64_t detector_first_open_ms(const struct detector *detector);

/*
 * Reports can be lost, and processes that nobody waits for can die. Asks `held` about every
 * descriptor that counts as open and drops those that are not: call it about once a second while
 * BUSY with something open. detector_needs_verify(): now would be good. A process that is gone
 * counts as ended from the second call on, with what both witnesses have pending handed in before
 * it: it may have reported its end a moment ago.
 */
typedef enum shim_channel_fd detector_query_fd_fn(void *argument, int pid, int descriptor);
void detector_verify(struct detector *detector, detector_query_fd_fn *held, void *argument,
		     int64_t now_ms);
bool detector_needs_verify(const struct detector *detector);

#endif
