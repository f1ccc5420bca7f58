/*
 * PURE. Is what lies in the checkpoint directory complete? No I/O and no clock: events and the time go in, a verdict comes out.
 *
 * Writes that follow each other without a pause are one burst: a checkpoint is rarely one file. A burst is sealed when nothing is
 * open for writing any more, nothing has happened for the quiet time, and no writer died in it. When one did, whatever the burst
 * touched is torn: a killed process closes its files too, and to the kernel that looks like completion. A torn path stays torn until it
 * is written from empty to its close, replaced by a rename, or deleted. Of several numbered checkpoints that one process wrote one
 * after the other, without the pause that would have ended a burst, only the last is torn, and the rest is sealed.
 *
 * Two witnesses report: the shim in the processes (who opened and closed what), and the kernel. Files of processes without the shim
 * are known from the kernel alone: written, closed, quiet, and the job alive.
 *
 * The files have a word as well: where sealing_poll() says SEALED, the caller has what was written looked into (content_check.h), and
 * hands the result to sealing_judge(), whose verdict counts.
 *
 * Before sealing_poll(), sealing_process_ended() and sealing_job_ended() hand in what both witnesses have pending: a process's
 * last events are queued before its end can be waited for.
 */
#ifndef DETECTOR_H
#define DETECTOR_H

#include "write_burst.h"
#include "monitor/monitor.h"
#include "content_check.h"

#include <stdbool.h>
#include <stdint.h>

#define SEALING_QUIET_MS 1000
#define SEALING_NEVER BURST_NEVER

enum sealing_verdict {
	SEALING_NOTHING, /* nothing was written since the last acknowledged seal */
	SEALING_BUSY,    /* being written: ask again at the time given, or after the next event */
	SEALING_SEALED,  /* complete: take it */
	SEALING_TORN,    /* over, but a writer died in it: its paths are torn */
};

enum sealing_end {
	SEALING_EXITED, /* by exit */
	SEALING_KILLED, /* by a signal */
	SEALING_FAILED, /* by exit, with a code that says so */
	SEALING_GONE,   /* not there any more, and nobody knows how it went */
};

struct sealing {
	struct burst burst;
	char **ignored;
	size_t ignored_count;
	bool in_doubt;
	bool unsure; /* words of the kernel were lost: what a look has found since may be open */
	enum sealing_verdict told; /* last, and the generation that it was about */
	uint64_t told_generation;
	uint32_t moved_cookie; /* of what was renamed away and may come back under another name */
	char *moved_path;
};

void sealing_init(struct sealing *sealing, int64_t quiet_ms);
void sealing_release(struct sealing *sealing);

/* Files whose path or name matches (fnmatch) neither start a burst nor hold one up: logs that stay open for the whole run. */
void sealing_ignore(struct sealing *sealing, const char *pattern);
bool sealing_ignores(const struct sealing *sealing, const char *path);

/* What happened, in the order of each witness. */
void sealing_shim(struct sealing *sealing, const struct shim_message *message, int64_t now_ms);
void sealing_kernel(struct sealing *sealing, const struct dir_event *event, int64_t now_ms);

/* Before what was queued meanwhile is handed in: we have stood still for so long, and that counts as no quiet time. */
void sealing_stood_still(struct sealing *sealing, int64_t ms);

/* Is something being written of which only the kernel tells? Then by `pid`, perhaps among others; or, with nothing open by the shim's word
 * and no event for the quiet time, by nobody: then it is closed. */
bool sealing_is_unseen(const struct sealing *sealing);
void sealing_sighted(struct sealing *sealing, int pid);
bool sealing_waits_for_unseen(const struct sealing *sealing, int64_t now_ms);
/* The last event, by either witness. */
int64_t sealing_last_ms(const struct sealing *sealing);
void sealing_each_unseen(const struct sealing *sealing, path_set_fn *act, void *argument);
void sealing_nobody_writes(struct sealing *sealing);

/* Any process, by the number that the shim reports. One that wrote nothing changes nothing. */
void sealing_process_ended(struct sealing *sealing, int pid, enum sealing_end end, int64_t now_ms);

/* The job and all its processes are gone. `clean`: of its own accord and with success; then nothing more will come, and the burst
 * is sealed at once. Otherwise a burst that is not over is torn. */
void sealing_job_ended(struct sealing *sealing, bool clean, int64_t now_ms);

/* `at_ms`: when to ask again at the latest; SEALING_NEVER while only an event can change the answer. */
enum sealing_verdict sealing_poll(struct sealing *sealing, int64_t now_ms, int64_t *at_ms);

/* The last event handed in was the commit of a save, by the profile: it need not be quiet for so long. */
void sealing_commit(struct sealing *sealing);

/* `pid` has said that its checkpoint is complete (shim/reprieve.h), and all that both witnesses saw of it before has been handed in.
 * Counts once all who wrote have said it; what is still open, torn or refused is not complete by that. */
void sealing_saved(struct sealing *sealing, int pid, int64_t now_ms);

/* What was written and has not been judged; in the burst or before it. */
void sealing_each_unjudged(const struct sealing *sealing, path_set_fn *act, void *argument);

/* After SEALED, with nothing written since (sealing_generation()): what of sealing_each_unjudged() is not whole. BUSY: it may become
 * so, ask again at `at_ms` or after the next event; SEALED: without what is refused; TORN: nothing is left without it. */
enum sealing_verdict sealing_judge(
	struct sealing *sealing, const struct refusals *refusals, int64_t now_ms, int64_t *at_ms);
/* BUSY for no other reason than that. */
bool sealing_is_held(const struct sealing *sealing);

/* The verdict of the last sealing_poll() was acted upon; does nothing when something was written since. */
void sealing_acknowledge(struct sealing *sealing);

/* Another number after every write: what was read between two equal ones was not changed meanwhile. */
uint64_t sealing_generation(const struct sealing *sealing);

/* What is sealed is what was left of torn work: its newest checkpoint is older than the newest path. */
bool sealing_is_spared(const struct sealing *sealing);

/* The path itself, or a directory above it. */
bool sealing_is_torn(const struct sealing *sealing, const char *path);
void sealing_each_torn(const struct sealing *sealing, path_set_fn *act, void *argument);

/* What is open for writing, for messages; a path once for each descriptor. */
void sealing_each_open(const struct sealing *sealing, path_set_fn *act, void *argument);

/* What was written in this burst and is closed by all who wrote it: each complete for itself, as far as can be known. */
void sealing_each_closed(const struct sealing *sealing, path_set_fn *act, void *argument);

/* A checkpoint was asked for; and when the first open or write since then came (SEALING_NEVER: not yet). */
void sealing_requested(struct sealing *sealing, int64_t now_ms);
int64_t sealing_first_open_ms(const struct sealing *sealing);

/*
 * Reports can be lost, and processes that nobody waits for can die. Asks `held` about every descriptor that counts as open and
 * drops those that are not: call it about once a second while BUSY with something open. sealing_in_doubt(): now would be good.
 * A process that is gone counts as ended from the second call on, with what both witnesses have pending handed in before it:
 * it may have reported its end a moment ago.
 */
typedef enum shim_link_held sealing_held_fn(void *argument, int pid, int descriptor);
void sealing_verify(struct sealing *sealing, sealing_held_fn *held, void *argument, int64_t now_ms);
bool sealing_in_doubt(const struct sealing *sealing);

#endif
