/*
 * PURE. Finds what a job counts in its output: "step 120 loss 0.3", "Epoch [3/10]", "{'epoch':
 * 0.4}", the bars of tqdm and Keras, lines that begin with a number; and in the names of the files
 * that it writes. What is alike but for its numbers belongs to one counter, so that two machines'
 * counters can be matched.
 *
 * Steps that begin anew in each epoch ("Epoch [3/10], Step [100/500]", a bar for each epoch) are
 * counted on as well, if the line says of how many they are: epoch * 500 + step. The epoch is that
 * of the line, or else of the last line that had one.
 */
#ifndef JOB_LOG_H
#define JOB_LOG_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JOB_LABEL_SIZE 96
#define JOB_COUNTERS_MOST 48

enum job_counter_kind {
	COUNTER_STEP, /* step, iteration, batch, ... */
	COUNTER_EPOCH,
	COUNTER_BAR,  /* " 12%|#  | 120/1000 [" */
	COUNTER_NAME, /* "checkpoint-120": the names of the files that it writes */
	COUNTER_BARE, /* a line's first number, perhaps a clock: it proves, and never refutes */
	COUNTER_STEP_OF_EPOCH, /* the next three: the same, counted on through the epochs */
	COUNTER_BAR_OF_EPOCH,
	COUNTER_BARE_OF_EPOCH,
	COUNTER_KINDS,
};

struct job_sample {
	int64_t at_ms; /* when the line was seen */
	double value;
};

struct job_counter {
	char label[JOB_LABEL_SIZE]; /* the line up to the number; other numbers in it are "#" */
	char word[16];              /* what is counted, for people: "step" */
	enum job_counter_kind kind;
	struct job_sample *samples; /* in the order of the output; not 0 of them */
	size_t count, capacity;
	double stride; /* the greatest rise from one to the next; 1: there is none */
	double total;  /* "/500", the last one; 0: the lines do not say it */
	bool nested;   /* the line names an epoch before it */
	bool fell;     /* it does not rise steadily: the steps of each epoch, or of many ranks */
	bool fell_at_once; /* within its first samples */
};

struct job_log {
	struct job_counter counters[JOB_COUNTERS_MOST];
	size_t count;
	double epoch;      /* the last one that was printed */
	bool in_epochs;    /* there was one */
	bool in_fractions; /* of epochs, as 1.25: they do not number those that steps belong to */
};

/* Adds one complete line, without its end. Skips our own lines, and such as "resumed from step
 * 118", which is no step of this machine. */
void job_log_add(struct job_log *log, const char *line, size_t length, int64_t at_ms);
/* Adds the numbers in the name of a file. */
void job_log_add_name(struct job_log *log, const char *name);
void job_log_release(struct job_log *log);
AUTO(struct job_log, job_log_release);

/* The counter of the same lines in another machine's log, or NULL. */
const struct job_counter *job_log_match(const struct job_log *log,
					const struct job_counter *counter);
/* What counts on through the epochs what this kind counts; COUNTER_KINDS: nothing does. */
enum job_counter_kind job_counter_kind_of_epoch(enum job_counter_kind kind);
/* Does the counter rise steadily, and is what it counts so? */
bool job_log_counts(const struct job_log *log, const struct job_counter *counter);
/* The one that people would call the job's step, or NULL. Of a job that counts nothing finer it is
 * its epoch. */
const struct job_counter *job_log_steps(const struct job_log *log);

/* The last value at that time. False: there was none yet. */
bool job_counter_value_at(const struct job_counter *counter, int64_t at_ms, double *value);

/* The length of the line at `text`, whose end is a newline or, of a progress bar, a carriage
 * return. */
size_t job_log_line_length(const char *text, size_t size);

/* The offset at which the last `lines` lines of a log begin. */
size_t job_log_tail(const char *text, size_t size, unsigned lines);

#endif
