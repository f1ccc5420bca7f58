/*
 * PURE. Did a job go on where its checkpoint was made? Compares what it counts (the steps in its
 * output, or those of the checkpoints that it saves) on one machine with the first count on the
 * next.
 */
#ifndef CONTINUATION_H
#define CONTINUATION_H

#include "event_log_reader.h"
#include "job_log.h"

#include <stdbool.h>
#include <stdint.h>

enum continuation {
	CONTINUATION_UNKNOWN,
	CONTINUATION_PROVEN,
	CONTINUATION_ANEW,  /* it began to count again where the machine before had begun */
	CONTINUATION_OLDER, /* it went on from an older point than the checkpoint's */
	CONTINUATION_AHEAD, /* ... from a later one, which no checkpoint in the store has */
};

/* One count on two machines. */
struct count_facts {
	double first, last;  /* on the machine before */
	double low, high;    /* the least and the most that the checkpoint can be of */
	double saved;        /* about the count that it is of */
	double before;       /* at the save before that; `first`: there was none */
	double stride;       /* the greatest rise from one to the next */
	double step;         /* that the checkpoint itself names; -1: none */
	double next;         /* the first on the next machine */
	bool stride_unknown; /* neither machine has counted twice: what is left out is not known */
	bool saves;          /* checkpoints are counted: the next one is always a later one */
	bool bare;           /* what is counted is not said: it may be a clock */
	bool nested;         /* in an epoch, perhaps, and each epoch begins anew */
};

enum continuation continuation_judge(const struct count_facts *facts);

/* Of a number that is known only to one interval of what the job prints. */
struct steps_between {
	int64_t least, most;
};

/*
 * How many steps are done twice; `next` must be known. What the next machine counts decides: what
 * it does not do again is not lost. A job that prints each tenth step has done up to nine more
 * since its last line, and has gone on from up to ten before its first: only the bounds are known.
 * A step that the checkpoint names, and one that is printed each time, are exact.
 */
struct steps_between continuation_lost_steps(const struct count_facts *facts);
/* The same of a machine whose work is `kept` up to that step. */
struct steps_between continuation_steps_since(const struct count_facts *facts, double kept);

/* The step that the checkpoint names is one of this count, and not of another (its epoch). */
bool continuation_is_same_count(const struct count_facts *facts);

struct continuation_facts {
	enum continuation continuation;
	bool counted; /* both machines, or only the next one, have a count, be it that it says
			 nothing */
	/* What decided, if it is known. */
	char word[16]; /* "step" */
	struct count_facts count;
};

/* When a checkpoint was written. */
struct save_time {
	int64_t began_ms, ended_ms;
	int64_t about_ms; /* what it holds is of then, for people */
};

/* Of the newest one in the store. */
void continuation_time_of_save(const struct run_events *events, struct save_time *time);

/* Judges every count that both machines have, and returns what decides. `written`: what the next
 * machine has loaded; `next`: its events. */
struct continuation_facts continuation_of_machines(
	const struct job_log *log, const struct run_events *events, const struct save_time *written,
	const struct job_log *next_log, const struct run_events *next);

/* The count in the output when that was written. False: there is no checkpoint. */
bool continuation_count_at_save(const struct job_counter *counter, const struct run_events *events,
				const struct save_time *written, struct count_facts *facts);

#endif
