/*
 * A model of a store that several machines use at once: the real code of storage/ over objects in
 * memory. Each machine is a script on a thread of its own, of which one runs at a time; before each
 * operation on the store it stops, and the search decides: does it go on, does another machine run
 * first, does the operation fail, is its answer lost, does the machine die here?
 *
 *	store_model_search.c	which decision is taken: all of them up to a bound, or by chance
 *	store_model_steps.c	the operations of the store, and whose turn it is
 *	store_model_scripts.c	what the machines do
 *	store_model_audit.c	what must be true in the end
 *	store_model_rules.c	takes chance, time and threads out; switches off one rule at a time
 *	test_store_model.c	the scenes, the bounds, and the rules that are missed
 */
#ifndef STORE_MODEL_H
#define STORE_MODEL_H

#include "memory_store.h"
#include "storage/storage.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MACHINES_MOST 4
#define STEPS_MOST 1200
#define RECORDS_MOST 24
/* Checkpoints of the steps from 1 on. */
#define MODEL_STEPS_MOST 9

/* --- a scene --- */

enum script {
	/* Claims, restores, saves, ends: what `reprieve run` does. */
	SCRIPT_RUN,
	/* `reprieve forget` from elsewhere, with a policy that keeps nothing. */
	SCRIPT_FORGET,
	/* Pins snapshot 1-1. */
	SCRIPT_PIN,
	/* Too, where a `forget` was killed before it removed it: as the message says. */
	SCRIPT_PIN_LEFT,
	/* These are done to the store, in one step: two days pass; a bit of the newest pack flips;
	 * the newest pack is lost; all objects are removed; in two steps: the newest pack is away,
	 * and comes back. */
	SCRIPT_DAYS,
	SCRIPT_FLIP,
	SCRIPT_LOSE,
	SCRIPT_EMPTY,
	SCRIPT_AWAY,
};

struct role {
	enum script script;
	/* Of SCRIPT_RUN. RESTORE_SPECIFIC: from 1-1. */
	enum restore_policy policy;
	unsigned saves;
	/* Forgets after each save, as --keep-last 1 does. */
	bool keeps_last;
};

/* How much may happen in one history. */
struct bounds {
	/* Machines that are stopped where they could go on; operations that fail or lose their
	 * answer; machines that die; and all of these together. */
	unsigned switches, faults, deaths, total;
};

struct scene {
	const char *name;
	struct role roles[MACHINES_MOST];
	size_t machines;
	/* Before: attempt 1 has saved so many steps, and was killed; `days` ago. */
	unsigned saved;
	bool days;
	/* The store is full with so many packs; 0: never. */
	unsigned room;
};

/* --- what has happened --- */

struct commit {
	struct snapshot_id id;
	unsigned step;
	/* 0: not yet. By world.time. */
	unsigned put_at;
	/* The save has returned: it is durable. */
	bool told;
	/* It names a pack that something has happened to. */
	bool hurt;
	/* A restore has found that, by world.time; 0: none has. */
	unsigned found_at;
	/* It was put, and the store has answered something else. */
	bool answer_lost;
	/* It was forgotten, by one who has looked last what is needed at this time; 0: it was not.
	 */
	unsigned forgotten_at;
	/* By this attempt, to which the store had said that it is full; 0: by another one. */
	uint32_t forgotten_full;
};
struct claiming {
	uint32_t number;
	enum restore_policy policy;
	unsigned put_at, confirmed_at, ended_at;
	bool by_hand; /* its first commit confirms it */
	/* The claim has returned, with this start. */
	bool returned;
	struct snapshot_id start;
};

enum op_kind {
	OP_PUT,
	OP_PUT_IF_ABSENT,
	OP_GET,
	OP_LIST,
	OP_REMOVE,
	OP_EVENT,
};
enum op_outcome {
	OP_WORKS,
	/* Nothing happens; "try again". */
	OP_FAILS,
	/* It happens; "try again". */
	OP_ANSWER_LOST,
	/* It happens; "exists", to a try of the backend's own. */
	OP_ANSWERS_EXISTS,
	/* It happens, or not; "no space". */
	OP_ANSWERS_FULL,
	OP_IS_FULL,
	/* Nothing happens; "denied". */
	OP_IS_REFUSED,
	/* The machine dies before it, after it; or it is dead. */
	OP_DIES_BEFORE,
	OP_DIES_AFTER,
	OP_DEAD,
};

struct model_step {
	unsigned machine;
	char text[120];
};

struct world;
struct machine {
	struct world *world;
	unsigned index;
	const struct role *role;
	pthread_t thread;
	pthread_cond_t turn;
	bool runnable, begun, dead;
	/* What it runs; and the store has told it that it is full. */
	uint32_t attempt;
	bool found_full;
	/* It is in storage_save(). */
	bool saving;
	/* All that it has seen of the store: with the same, it does the same. */
	uint64_t seen;
	unsigned nonces;
	unsigned saving_step;
	/* When its save began, by world.time. */
	unsigned saving_since;
	/* Its last operation; and, while it forgets, the one before it begins to remove. */
	unsigned stepped_at, decided_at;
	/* For a rule that is off: where it is in a claim, a save, a forget or a collection; it
	 * reads an old state of the store; it cannot read this key. */
	unsigned lists, looks;
	struct snapshot_id parent;
	bool forgetting, collecting, stale;
	struct memory_objects view;
	uint64_t unreadable;
};

/* One switch for each rule; at most one is off. */
enum rule {
	RULE_NONE,
	RULE_SECOND_LOOK,
	RULE_CONFIRM,
	RULE_CLAIM_NAMES_START,
	RULE_LOOK_BEFORE_COMMIT,
	RULE_LOOK_AFTER_COMMIT,
	RULE_BOTH_LOOKS,
	RULE_PACKS_BEFORE_COMMIT,
	RULE_READ_BACK,
	RULE_PUT_AGAIN_ASKS,
	RULE_EMPTIED_STORE,
	RULE_SET_ASIDE,
	RULE_NEWEST_IS_KEPT,
	RULE_STARTS_ARE_KEPT,
	RULE_NEWER_ARE_KEPT,
	RULE_FORGET_LOOKS_AGAIN,
	RULE_PIN_PLACE,
	RULE_FORGET_SIGN,
	RULE_PIN_LOOKS_AGAIN,
	RULE_PACKS_FIRST,
	RULE_YOUNG_PACKS,
	RULE_NEWER_PACKS,
	RULE_NO_NEW_CLAIM,
	RULE_ORPHANS_ARE_NEWER,
	RULE_SWEPT,
	RULE_OWN_CLAIM,
	RULES
};

struct world {
	const struct scene *scene;
	enum rule off;
	struct memory_objects objects;
	struct machine machines[MACHINES_MOST];
	struct machine *now; /* NULL: the test itself, without decisions */
	pthread_mutex_t mutex;
	pthread_cond_t done;
	bool quit;
	/* The history is left: all operations fail. */
	bool abandoned;
	/* The machine has just got its turn: it makes a step. */
	bool switched;
	unsigned switches, faults, deaths;
	unsigned time;
	/* Of claims and commits, which the audit looks at. */
	uint64_t order;
	struct commit commits[RECORDS_MOST];
	size_t commit_count;
	struct claiming claims[RECORDS_MOST];
	size_t claim_count;
	bool damaged, emptied, forgot, pinned, chosen_by_user;
	char hurt_pack[96];
	/* A commit that was under way when the store was emptied has come into the new one. */
	bool stray;
	/* When a pack was lost; 0: none was. */
	unsigned lost_at;
	unsigned nonces; /* of the test itself */
	struct model_step steps[STEPS_MOST];
	size_t step_count;
	char wrong[400]; /* "" : nothing */
};

/* --- store_model_search.c --- */

struct search_result {
	uint64_t histories, decisions, states;
	/* The choices of the history that went wrong, to be shown again: "2 12=1 17=3". */
	char choices[400];
};
/* All histories of the scene in which so much happens at most; ends at the first that goes wrong
 * (world.wrong). */
void search_all(struct world *world, unsigned depth, struct search_result *result);
/* So many histories by chance, deeper ones. */
void search_random(struct world *world, uint64_t seed, uint64_t count,
		   struct search_result *result);
void search_replay(struct world *world, const char *choices, struct search_result *result);
/* For the machine that has its turn. */
unsigned search_choose(struct world *world, unsigned count);
struct bounds search_bounds(void);

/* --- store_model_steps.c --- */

void world_open(struct world *world, const struct scene *scene, enum rule off);
void world_close(struct world *world);
/* One history: choices by search_choose(). */
void world_run(struct world *world, const struct memory_objects *before);
extern struct world *world_now;
/* Whether and how the machine's next operation happens. */
enum op_outcome model_step(struct machine *machine, enum op_kind kind, const char *key);
void model_note(struct world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
void model_wrong(struct world *world, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
struct store *model_store(void);
/* Something happens to a pack: to all that names it. */
void model_hurt(struct world *world, const char *key);
struct commit *model_commit(struct world *world, struct snapshot_id id);
struct claiming *model_claiming(struct world *world, uint32_t number);
/* Another attempt had taken over from that one by then, and counted. */
bool model_is_fenced(const struct world *world, uint32_t number, unsigned by);

/* --- store_model_scripts.c --- */

void scripts_prepare(void);
void scripts_clean(void);
void script_run(struct machine *machine);
/* What lay in the store before. */
void script_before(struct world *world, struct memory_objects *before);
int script_open(struct storage **storage, struct err *err);
/* Restores and compares; false: model_wrong() says why, or *damaged. */
int script_restore(struct world *world, struct storage *storage, struct snapshot_id id,
		   struct err *err);

/* --- store_model_audit.c --- */

void audit_world(struct world *world);

/* --- store_model_rules.c --- */

const char *rule_name(enum rule rule);

#endif
