/*
 * A simulated world around the core: a job, its checkpoint directory, a store, clients, notices,
 * and time. All of it follows from a seed. The effects of the core are performed on it, and it
 * posts what follows from them, as the parts of the supervisor do.
 */
#ifndef WORLD_H
#define WORLD_H

#include "base/clock.h"
#include "core/core.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLIENTS 4
#define GENERATIONS 256
#define HAPPENINGS 64
/* A history that takes more steps does not come to rest. */
#define STEPS_MOST 4000

/* What the world does by itself. */
enum happening {
	HAPPEN_EVENT, /* posts `event` */
	HAPPEN_SAVE_BEGINS,
	HAPPEN_SAVE_ENDS,
	HAPPEN_LATE_ANSWER, /* nothing followed the save that was under way when it was asked */
	HAPPEN_CHILD_ENDS,
	HAPPEN_JUDGED, /* the last files of the child: on a disk that hangs, late */
	HAPPEN_TRY_TO_ASK,
	HAPPEN_SNAPSHOT_ENDS,
	HAPPEN_RETENTION_ENDS,
	HAPPEN_CLIENT,
	HAPPEN_CLIENT_LEAVES,
	HAPPEN_STOP,
	HAPPEN_EARLIER_STOP,
	HAPPEN_WITHDRAWN,
	HAPPEN_SIGTERM,
	HAPPEN_RUNNING_WRITTEN,
	HAPPEN_STORE_FAILS,
	HAPPEN_STORE_WORKS,
	HAPPEN_SUPERSEDED,
};

struct happens {
	enum happening what;
	int64_t at_ms;
	uint64_t order; /* of two at one time, the first one comes first */
	struct job_event event;
};

struct client {
	bool waits, done, until_asked, saved;
	int64_t made_ms;
};

/* A mutant: one effect that one event can have is not performed. */
struct mutant {
	enum job_event_kind event;
	enum job_timer timer; /* of JOB_EV_TIMER */
	enum job_effect_kind effect;
};

struct world {
	uint64_t random, order;
	int64_t now_ms;
	const struct mutant *mutant; /* NULL: none */
	bool traced;
	const char *wrong; /* the first thing that must not be; NULL: nothing yet */

	struct job_rules rules;
	struct job_model model;
	struct job_effects effects;
	struct happens happens[HAPPENINGS];
	size_t happens_count;
	size_t steps;

	/* the job */
	struct {
		bool launched, alive, handles_term, saves_when_asked, leaves_after_save,
			never_saves;
		bool polls;
		bool overwrites; /* fixed names: a save replaces what was complete */
		bool told;       /* it got a SIGTERM */
		bool rest_told;  /* and so did the processes that it has started */
		bool killed, unjudged;
		int64_t leaves_ms; /* so long after a SIGTERM; -1: never */
		int64_t save_ms, period_ms;
		int status;
		int64_t ended_ms;
	} child;
	struct {
		bool open, tears, again;
		int64_t began_ms, touched_ms;
		uint64_t late; /* this generation may be a late answer; 0: none */
	} save;
	uint64_t running;
	uint64_t generation;
	int64_t begun_ms[GENERATIONS]; /* when the save of each began */
	struct {
		bool tries, sent, failed;
		bool follows; /* the progress of each rank is looked at */
		int64_t sent_ms;
	} asked;

	/* the store */
	bool works, superseded, claims, claimed;
	int64_t works_since_ms, upload_ms;
	struct {
		bool flies, cancelled, lacks_newest;
		uint64_t generation, running;
		int64_t ends_ms, whole_ms; /* when it ends, and if nothing cuts it short */
	} snapshot;
	uint64_t durable; /* the newest durable generation */
	bool any_durable;
	struct {
		bool runs, stopped, limited;
	} retention;
	bool hurried;
	int64_t commit_until_ms, told_until_ms;

	/* notices */
	bool stop;
	int64_t deadline_ms, stop_ms;

	/* the gang: another member's checkpoint answers what was asked by then */
	int64_t answered_ms;
	uint32_t log;    /* events in the log of the gang */
	uint32_t notice; /* the first notice in it */
	bool leaves, others_are_slow;
	bool held, released, ended, early, kept, cancelled_restore;
	size_t passed, sigterms;
	struct client clients[CLIENTS];
};

uint64_t world_random(struct world *world, uint64_t below);
void world_expect(struct world *world, bool fact, const char *what);
void world_post(struct world *world, int64_t in_ms, struct job_event event);
void world_happens(struct world *world, int64_t in_ms, enum happening what);
struct job_view world_view(const struct world *world);
/* Performs an effect of `event`. */
void world_perform(struct world *world, const struct job_effect *effect,
		   const struct job_event *event);
/* Something happens. True: it is an event for the core, now in happens->event. */
bool world_happen(struct world *world, struct happens *happens);
/* A world that is about to start its job. */
void world_begin(struct world *world, uint64_t seed);

#endif
