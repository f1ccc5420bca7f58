/*
 * PURE. The steps of a job, as it prints them: "step 120 loss 0.3", or what --step-pattern finds.
 * Where did they stand when the checkpoint was made, and where do they go on?
 */
#ifndef STEPS_H
#define STEPS_H

#include "base/cleanup.h"
#include "event_log_reader.h"

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "step" is looked for, and "epoch" in a job that prints no step; or the user's pattern alone. */
enum {
	STEPS_OF_PATTERN,
	STEPS_OF_EPOCHS,
	STEPS_KINDS
};

struct step_patterns {
	regex_t each[STEPS_KINDS];
	unsigned count;
};
/* `chosen`: an extended regular expression whose last group is the number; NULL: none.
 * ERR_INVALID: it is none, or has no group. */
int step_patterns_make(struct step_patterns *patterns, const char *chosen, struct err *err);
void step_patterns_release(struct step_patterns *patterns);

struct step_sample {
	int64_t at_ms; /* when the line was seen */
	double value;
};

struct steps {
	struct step_sample *items;
	size_t count, capacity;
	double stride; /* the greatest rise from one to the next */
	bool fallen;   /* the last line was lower, and is left out */
	/* such as of an epoch each, or of many ranks: where it stands is not known */
	bool fell, fell_at_once;
};

struct job_steps {
	struct steps each[STEPS_KINDS];
};

/* Adds one line, without its end. Not ours, nor one that speaks of what was loaded. */
void job_steps_add(struct job_steps *steps, const struct step_patterns *patterns, const char *line,
		   size_t length, int64_t at_ms);
bool job_steps_have_pace(const struct job_steps *steps); /* two lines of them */
void job_steps_release(struct job_steps *steps);

/* What is known of two machines' steps, of which the first was taken away. */
struct step_facts {
	const char *word;         /* "step", "epoch" or "checkpoint"; NULL: nothing is counted */
	bool counted;             /* the first machine printed them */
	bool next_counted;        /* the next one, too */
	double first, last;       /* of the first machine */
	double stride;            /* not 0 */
	double before, low, high; /* at the save before, and between which values it saved */
	double step;              /* of the snapshot; -1: unknown */
	double next;              /* the next machine's first */
};

/* `next` and `next_events`: NULL, there is no next machine. By the checkpoints' own steps, from
 * their names or the job's word, where the job prints none. */
struct step_facts step_facts_of(const struct job_steps *steps, const struct run_events *events,
				const struct job_steps *next, const struct run_events *next_events);
/* The step of the snapshot is one of those that the job prints. */
bool step_facts_are_exact(const struct step_facts *facts);

enum continuation {
	CONTINUATION_UNKNOWN,
	CONTINUATION_PROVEN,
	CONTINUATION_ANEW,  /* from the beginning */
	CONTINUATION_OLDER, /* from before the save */
	CONTINUATION_AHEAD, /* from what no checkpoint has */
};
enum continuation step_facts_judge(const struct step_facts *facts);

struct steps_between {
	int64_t least, most;
};
/* What the first machine did beyond `kept`; or beyond where the next one begins. */
struct steps_between steps_since(const struct step_facts *facts, double kept);
struct steps_between steps_lost(const struct step_facts *facts);

#endif
