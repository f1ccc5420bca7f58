/*
 * supervisor/reporting/: what a run tells of itself, to people and to those who observe it. It
 * subscribes to what the core says is said, and to the end; it decides nothing of the job, and
 * knows no part of it but by the plain values of struct run_facts.
 *
 *	sentences.c		a row for each sentence of the core: for the log, an event, or both
 *	save_place.c		that the job saves elsewhere, or nothing at all
 *	status_report.c		PURE: what `reprieve status` tells; how far an upload is, and
 *				what time a notice leaves
 *	end_report.c		how it has ended, and what is durable
 */
#ifndef REPORTING_H
#define REPORTING_H

#include "base/loop.h"
#include "base/progress.h"
#include "cloud/cloud.h"
#include "completion/completion.h"
#include "core/core.h"
#include "scheduler/scheduler.h"
#include "storage/storage.h"
#include "telemetry/telemetry.h"
#include "upload/upload.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* --- what is known of a run just now, as plain values, borrowed for the moment. PURE --- */

#define RESUME_POINT_TEXT 80

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
	size_t stem;         /* of the name (job_name.c) */
	const char *store;   /* URL; NULL: none is available */
	const char *runtime; /* the runtime directory of this run; NULL: there is none */
	char *const *command;
	unsigned attempt;    /* 0: none is claimed */
	pid_t pid;           /* of the job */
	bool fresh;          /* it started from nothing */
	bool restored;       /* ... from a snapshot; neither: from files that were there */
	bool goes_back;      /* by --restore: another start with it does so again */
	bool expected;       /* checkpoints are */
	bool ask_chosen;     /* by the user: how it is asked */
	bool handler_unseen; /* profile_choice */
	/* Of this attempt, or what it started from; and the latter. */
	struct snapshot_id durable, from;
	const struct notice *stop; /* the one that stands; NULL: none */
};

/* What a preemption would cost now, by a look at the processes. */
struct preemption_facts run_facts_forecast(const struct run_facts *run);
/* "3-12, step 1200": what a start now would resume from; "": nothing. Returns `text`. */
const char *run_facts_resume_point(const struct run_facts *run, char text[RESUME_POINT_TEXT]);

/* --- what was said already, and where it is said: one for a run. All on the loop; nothing blocks
 * --- */

/* The caller fills what is above the line of a zeroed struct. */
struct reports {
	struct loop *loop;
	struct event_log *events;
	struct run_facts (*look)(void *arg, enum run_look look);
	void *arg;
	struct err no_store; /* why the store is unavailable; cleared once said */
	/* --- */
	struct err store_failure; /* of the last snapshot that failed */
	bool failed; /* any failure of ours was said, which --strict turns into an error */
	bool said_skipped_files, said_no_way, said_signal;
	struct path_list said_patterns; /* --exclude and --running that took a file */
	struct {
		struct timer timer;
		struct transfer_meter meter; /* of the upload that began at `upload_ms` */
		int64_t upload_ms;           /* 0: none */
		int64_t line_ms;             /* when the last line about it was logged */
		int64_t said_ms; /* the time left in the last line of the countdown; 0: none */
	} display;
	struct {
		/* The first file that was saved outside the directory; of checkpoints, the first
		 * one; once there are saves here as well, the one that is missed. Owned. */
		char *elsewhere;
		/* What was, each kind once (checkpoint_name_template()); and whether checkpoints
		 * are among it. */
		struct path_list files;
		bool checkpoints_elsewhere;
		bool saved_here; /* the checkpoint directory was written to */
		bool said_elsewhere, said_also;
		struct timer timer;
	} save_place;
};

/* --- sentences.c --- */
void reports_release(struct reports *reports);
/* Logs a failure of ours. */
void report_our_failure(struct reports *reports, const char *what, const struct err *err);
/* ... that there is no store, once. */
void report_no_store(struct reports *reports, const char *what);
/* `text`: a path, or a reason; NULL where the sentence has none, as `snapshot`. */
void report_sentence(struct reports *reports, enum job_sentence sentence, const char *text,
		     const struct snapshot_outcome *snapshot);

/* --- status_report.c --- */
/* After each step: begins or ends to show an upload and the time that a notice leaves. */
void display_follow(struct reports *reports, const struct job_model *model,
		    int64_t upload_began_ms);
void display_end(struct reports *reports);

/* --- save_place.c --- */
#define SAVE_PLACE_PATIENCE_MS 60000
/* The directory to watch for a checkpoint at `path`: the one that contains it and stays the same
 * over all attempts, outside of what is numbered or dated for one of them; what it has in common
 * with the `watched` directory is the user's own. At most size - 1 bytes;
 * returns `text`. */
const char *save_place_directory(const char *path, const char *watched, char *text, size_t size);
void save_place_expect(struct reports *reports); /* after the launch */
/* It was seen to save its checkpoints elsewhere, and has written nothing to the directory. */
bool save_place_is_elsewhere(const struct reports *reports);
void save_place_note_elsewhere(struct reports *reports, const char *path);
/* Something was written to this path in the directory. False: by a run that the command has
 * started. */
bool save_place_note_write(struct reports *reports, const char *path);
/* At the end of a job that was launched. `unsaved`: the last line says that its newest work is not
 * durable. */
void save_place_say_at_end(struct reports *reports, const struct run_facts *run, bool unsaved);

/* --- status_report.c --- */
/* `training`: the job's own report; NULL: there is none. The caller's. */
json_t *status_report(const struct reports *reports, enum run_look look,
		      const struct training_progress *training);

/* --- end_report.c --- */
struct end_facts {
	struct outcome outcome;
	const struct torn_files *torn;
	bool lacks_newest; /* no snapshot could hold the newest checkpoint, by how it writes */
	bool directory_is_empty; /* or is not there */
};

void report_end(struct reports *reports, const struct run_facts *run, const struct end_facts *end);
/* PURE. What is recorded of it for later attempts. Owned by the caller. */
json_t *end_record(const struct run_facts *run, const struct outcome *outcome);

#endif
