/* PURE. How far durability is behind: for how long a complete checkpoint has been waiting to become
 * durable. Times are milliseconds of the monotonic clock. */
#ifndef RECOVERY_POINT_H
#define RECOVERY_POINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct recovery_point {
	/* since when a complete checkpoint waits to become durable; 0: none waits */
	int64_t waiting_ms;
	int64_t next_ms;  /* since when one behind it waits too; 0: none */
	int64_t usual_ms; /* time from complete to durable, smoothed; -1: not known yet */
	bool said;        /* warned, since it last fell behind */
};

void recovery_point_note_complete(struct recovery_point *point, int64_t now_ms);
/* A checkpoint that was complete since `completed_ms` has become durable. `newest`: there is no
 * newer one. */
void recovery_point_note_durable(struct recovery_point *point, int64_t completed_ms, bool newest,
				 int64_t now_ms);

/* A checkpoint has waited for longer than max(60 s, 3 times the usual time). */
bool recovery_point_is_behind(const struct recovery_point *point, int64_t now_ms);
/* When that will be so if nothing happens; CLOCK_NEVER: nothing waits. */
int64_t recovery_point_due_ms(const struct recovery_point *point);

/* "durable: step 1200, 4 min ago; the upload has fallen behind". `step` -1: unknown. `durable_ms`:
 * when the durable checkpoint was complete; 0: nothing is durable. Returns `buffer`. */
const char *recovery_point_format(const struct recovery_point *point, int64_t step,
				  int64_t durable_ms, int64_t now_ms, char *buffer,
				  size_t capacity);

/* Of the durable checkpoint, when the job has ended. */
struct durable_age {
	bool restored;    /* it was there at the start, and this attempt has added none */
	int64_t age_ms;   /* from its last write, or from the start, to the job's end */
	int64_t step;     /* -1: unknown */
	int64_t reported; /* the job's newest step when it was complete; -1: it reported none */
	int64_t last;     /* and at the end; -1: it reported none */
	int64_t newest;   /* step of the newest complete checkpoint; -1: unknown */
	bool local;       /* the newest complete one is not durable, and lies on this machine */
};

/*
 * What of an attempt's work is in no snapshot, in time: from the last write to what is durable, or
 * else from the launch, to the end of the work. Nobody sees a job stop its work. It ends
 *
 *   at the last write, if the job has reported its steps, and none after that;
 *   when it was told to end, if it obeyed: what follows is its last save, and its exit;
 *   at its exit, if nobody told it, or if it was killed and had not even saved until then.
 */
struct attempt_work {
	int64_t launched_ms, exited_ms;
	int64_t written_ms; /* before launched_ms: nothing that it has written is durable */
	int64_t told_ms;    /* by a signal, or a request by which it ends; 0: never */
	bool killed;        /* at the end, with SIGKILL */
	bool answered;      /* what it was told, by a save */
	int64_t lost_steps; /* -1: unknown */
};

int64_t recovery_point_lost_ms(const struct attempt_work *work);
/* What of it is durable. The rest of its time until the exit went into the last save and the exit.
 */
int64_t recovery_point_kept_ms(const struct attempt_work *work);

/* Steps after it, which are lost; -1: unknown. */
int64_t recovery_point_lost_steps(const struct durable_age *durable);
/* "step 160, 3.0 s before the end; 15 steps later are lost", or "are not durable" where some of
 * them lie on this machine. Returns `buffer`. */
const char *recovery_point_format_age(const struct durable_age *durable, char *buffer,
				      size_t capacity);

#endif
