/* What is known of a run just now, as plain values, borrowed for the moment. PURE. */
#ifndef RUN_FACTS_H
#define RUN_FACTS_H

#include "cloud/cloud.h"
#include "core/core.h"
#include "storage/storage.h"
#include "telemetry/telemetry.h"

#include <stdbool.h>
#include <sys/types.h>

#define RESUME_POINT_TEXT OBSERVED_DURABLE_TEXT

/* What is looked at for the view. */
enum run_look {
	LOOK_AT_MODEL, /* nothing: only the time and whether the job runs. From any callback */
	LOOK_AT_PARTS,
	LOOK_AT_PROCESSES, /* also at all processes, for who handles SIGTERM */
};

struct run_facts {
	const struct job_model *model;
	const struct job_rules *rules;
	struct job_view view;
	const char *job, *directory;
	bool of_scheduler;   /* the job's name is the scheduler's: a new submission has another */
	size_t stem;         /* of the name (job_name.h) */
	const char *store;   /* URL; NULL: none is available */
	const char *runtime; /* the runtime directory of this run; NULL: there is none */
	char *const *command;
	unsigned attempt; /* 0: none is claimed */
	pid_t pid;        /* of the job */
	bool saves;       /* an attempt is claimed, so that snapshots can be made */
	bool fresh;       /* it started from nothing */
	bool restored;    /* ... from a snapshot; neither: from files that were there */
	bool goes_back;   /* by --restore: another start with it does so again */
	bool expected;    /* checkpoints are */
	bool ask_chosen;  /* by the user: how it is asked */
	bool asks_by_command;
	bool handler_unseen; /* profile_choice */
	bool of_known_cloud; /* a source is armed whose notices have a usual time */
	/* Of this attempt, or what it started from; and the latter. */
	struct snapshot_id durable, from;
	const struct notice *stop; /* the one that stands; NULL: none */
};

/* What a preemption would cost now, by a look at the processes. */
struct preemption_facts run_facts_forecast(const struct run_facts *run);
/* "3-12, step 1200": what a start now would resume from; "": nothing. Returns `text`. */
const char *run_facts_resume_point(const struct run_facts *run, char text[RESUME_POINT_TEXT]);

#endif
