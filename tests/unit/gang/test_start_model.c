/*
 * A model of the start of a gang: two or three members, of which each may end or stand still
 * between any look at the store and what it does upon it, and be started anew meanwhile, in every
 * order. What is decided is decided by start_rules.c; the store is a few numbers here.
 *
 * A machine that stands still is one that the search does not move; one that has died is never
 * moved again. A lost answer to a put is one of the two: the storage reads back what is there.
 *
 * From every state that is reached, those that live are then moved in turn: in a bounded number of
 * moves all of them have started in one attempt.
 */
#include "effort.h"
#include "gang/gang_start.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define MEMBERS_MOST 3
#define PROCESSES_MOST 9 /* a process keeps its number, which is its nonce, for good */
#define ATTEMPTS_MOST 12 /* of a search and what comes after it */
#define SEARCHED_MOST 4  /* no search goes on behind this attempt */
#define MOVES_MOST 400   /* until all have started, once nobody dies any more */
#define TABLE_SIZE (1u << 21)

/* What was wrong once, and has to be found here. */
enum fault {
	FAULT_NONE,
	/* The others take notice of confirmed claims alone. */
	FAULT_UNCONFIRMED_HIDDEN,
	/* Member 0 claims the next number, whatever it is. */
	FAULT_CLAIM_ANY_NUMBER,
	/* Member 0 lets all go by a mark, whoever has come anew. */
	FAULT_GO_BY_MARK,
	/* A process is as young as its last join. */
	FAULT_BORN_AT_LAST_JOIN,
};

enum phase {
	PHASE_NONE, /* not started yet */
	PHASE_LOOKING,
	PHASE_ACTING,
	PHASE_CLAIMED, /* not confirmed */
	PHASE_STARTED,
	PHASE_ENDED,
};

struct process {
	uint8_t phase, step;
	uint8_t member, first_after, turn, launch;
	uint8_t after, restored, rejoined;
	bool joined;
	/* What it looks at, in two moves: the newest attempt first, then what lies below it. */
	bool has_newest, saw_confirmed;
	uint8_t newest;
	/* ACTING: what it has chosen. */
	uint8_t chosen[MEMBERS_MOST];
	uint8_t births[2];
	/* Of the same member, and had joined before this one was there; with a clock all that began
	 * before it. */
	uint16_t older;
};

struct attempt_state {
	uint8_t names[MEMBERS_MOST]; /* process + 1 */
	bool confirmed, over, go;
	uint8_t first; /* enum gang_first_event */
	uint8_t ready; /* a bit for each member */
	uint16_t joins;
	/* The turn that each of them has joined with. */
	uint8_t turns[PROCESSES_MOST], firsts[PROCESSES_MOST];
};

struct world {
	uint8_t members, count, newest, slips, refusals;
	struct process processes[PROCESSES_MOST];
	struct attempt_state attempts[ATTEMPTS_MOST];
};

static struct search {
	enum fault fault;
	/* How many may come anew while others are still there; how often a claim slips. */
	unsigned anew;
	/* The store's clock tells the processes apart; else they have all begun at one time. */
	bool clock;
	/* From each how manieth state on nobody dies any more. */
	unsigned ends_every;
	uint64_t *table;
	size_t states;
	const char *violation;
} search;

/* --- what a process sees --- */

static void name_of(unsigned process, char nonce[33])
{
	/* So that a later one is sometimes the lower. */
	snprintf(nonce, 33, "%x", (process * 5 + 3) % 16);
}

static struct gang_join join_of(const struct world *world, unsigned index)
{
	const struct process *process = &world->processes[index];
	struct gang_join join = {
		.member = process->member,
		.members = world->members,
		.first_after = process->first_after,
		.turn = process->turn,
		.put_ms = 1,
		.birth_ms = search.clock ? 1 + index * 2 * GANG_SAME_TIME_MS : 1,
	};

	name_of(index, join.nonce);
	if (process->launch) {
		join.launch.put_ms = process->launch;
		snprintf(join.launch.id, sizeof(join.launch.id), "%u", process->launch);
	}
	return join;
}

static struct gang_claim claim_of(const struct world *world, uint8_t number, unsigned member)
{
	const struct attempt_state *attempt = &world->attempts[number];
	struct gang_claim claim = {.attempt = number, .members = number > 0 ? world->members : 0};

	if (number > 0)
		claim.own = join_of(world, attempt->names[member] - 1u);
	return claim;
}

static size_t joins_below(const struct world *world, uint8_t number, struct gang_join *joins)
{
	const struct attempt_state *attempt = &world->attempts[number];
	size_t count = 0;

	for (unsigned i = 0; i < world->count; i++) {
		if (!(attempt->joins & (1u << i)))
			continue;
		joins[count] = join_of(world, i);
		joins[count].first_after = attempt->firsts[i];
		joins[count++].turn = attempt->turns[i];
	}
	return count;
}

static uint8_t newest_seen(const struct world *world, const struct process *process)
{
	uint8_t newest = world->newest;

	if (search.fault == FAULT_UNCONFIRMED_HIDDEN && process->member != 0 && process->joined)
		while (newest > 0 && !world->attempts[newest].confirmed && newest > process->after)
			newest--;
	return newest;
}

static bool all_ready(const struct world *world, uint8_t number)
{
	return world->attempts[number].ready == (1u << world->members) - 1u;
}

static uint8_t first_seen(const struct attempt_state *attempt)
{
	return search.fault == FAULT_GO_BY_MARK && attempt->go ? GANG_FIRST_GO : attempt->first;
}

static void fill_self(const struct world *world, unsigned index, struct gang_self *self)
{
	const struct process *process = &world->processes[index];

	*self = (struct gang_self){
		.own = join_of(world, index),
		.joined = process->joined,
		.after = process->after,
		.restored = process->restored,
		.rejoined = process->rejoined,
	};
}

/* --- moves --- */

static void fail_with(const char *violation)
{
	if (!search.violation)
		search.violation = violation;
}

/* Another process of this member, or start, that counts more, was there before this one came. */
static void check_end(const struct world *world, unsigned index,
		      const struct start_decision *decision, const struct gang_claim *claim)
{
	const struct process *process = &world->processes[index];
	const struct gang_join *by =
		decision->end == START_END_ROSTER ? &decision->roster.by : &claim->own;

	for (unsigned i = 0; i < world->count; i++) {
		char nonce[33];

		name_of(i, nonce);
		if (strcmp(nonce, by->nonce) == 0 && (process->older & (1u << i)) &&
		    process->launch == world->processes[i].launch)
			fail_with("the newer one is called stale");
	}
}

static void begin_action(struct world *world, unsigned index, const struct gang_seen *seen,
			 const struct start_decision *decision)
{
	struct process *process = &world->processes[index];
	struct gang_join own = join_of(world, index), chosen[MEMBERS_MOST];

	process->phase = PHASE_ACTING;
	process->step = (uint8_t)decision->step;
	if (decision->step == START_STEP_JOIN) {
		if (!process->joined || search.fault == FAULT_BORN_AT_LAST_JOIN)
			gang_start_birth(seen, &own);
		process->births[0] = (uint8_t)own.first_after;
		process->births[1] = (uint8_t)own.turn;
	}
	if (decision->step != START_STEP_CLAIM)
		return;
	gang_roster_choose(seen->joins, seen->join_count, &own, chosen);
	for (unsigned i = 0; i < world->members; i++)
		for (unsigned j = 0; j < world->count; j++) {
			char nonce[33];

			name_of(j, nonce);
			if (strcmp(chosen[i].nonce, nonce) == 0)
				process->chosen[i] = (uint8_t)(j + 1);
		}
}

static void look_below(struct world *world, unsigned index, bool patient)
{
	struct process *process = &world->processes[index];
	struct gang_join joins[PROCESSES_MOST];
	struct gang_claim claim = claim_of(world, process->newest, process->member);
	struct gang_seen seen = {
		.claim = &claim,
		.joins = joins,
		.join_count = joins_below(world, process->newest, joins),
		.first = (enum gang_first_event)first_seen(&world->attempts[process->newest]),
		.all_ready = all_ready(world, process->newest),
		.patient = patient,
	};
	struct gang_self self;
	struct start_decision decision;

	claim.confirmed = process->saw_confirmed;
	fill_self(world, index, &self);
	decision = gang_start_decide(&self, &seen);
	process->has_newest = false;
	switch (decision.step) {
	case START_STEP_WAIT_FOR_MEMBERS:
	case START_STEP_WAIT_FOR_CLAIM:
	case START_STEP_WAIT_FOR_READY:
		break;
	case START_STEP_END:
		check_end(world, index, &decision, &claim);
		process->phase = PHASE_ENDED;
		break;
	case START_STEP_JOIN:
	case START_STEP_CLAIM:
	case START_STEP_RESTORE:
	case START_STEP_GO:
	case START_STEP_REJOIN:
	case START_STEP_START:
	default:
		begin_action(world, index, &seen, &decision);
		break;
	}
	if (process->phase != PHASE_ACTING)
		process->newest = 0;
	process->saw_confirmed = false;
}

static void put_claim(struct world *world, struct process *process)
{
	uint8_t number = (uint8_t)(world->newest + 1);
	struct attempt_state *attempt = &world->attempts[number];

	if (search.fault != FAULT_CLAIM_ANY_NUMBER && world->newest != process->after) {
		process->phase = PHASE_LOOKING;
		return;
	}
	if (world->newest > 0 && !world->attempts[world->newest].over)
		fail_with("an attempt is claimed before the one before it is over");
	world->newest = process->newest = number;
	memcpy(attempt->names, process->chosen, sizeof(attempt->names));
	process->phase = PHASE_CLAIMED;
}

static void append_first(struct attempt_state *attempt, enum gang_first_event event)
{
	if (attempt->first == GANG_FIRST_NONE)
		attempt->first = (uint8_t)event;
}

static void start_process(struct world *world, unsigned index)
{
	struct process *process = &world->processes[index];
	const struct attempt_state *attempt = &world->attempts[process->newest];

	if (attempt->names[process->member] != index + 1)
		fail_with("it starts in an attempt of others");
	if (attempt->first != GANG_FIRST_GO)
		fail_with("it starts in an attempt that is over");
	process->phase = PHASE_STARTED;
	process->after = process->newest;
}

static void act(struct world *world, unsigned index)
{
	struct process *process = &world->processes[index];
	struct attempt_state *attempt = &world->attempts[process->newest];

	process->phase = PHASE_LOOKING;
	switch (process->step) {
	case START_STEP_JOIN:
		process->first_after = attempt->firsts[index] = process->births[0];
		process->turn = attempt->turns[index] = process->births[1];
		process->joined = true;
		process->after = process->newest;
		attempt->joins |= (uint16_t)(1u << index);
		break;
	case START_STEP_CLAIM:
		put_claim(world, process);
		break;
	case START_STEP_RESTORE:
		process->restored = process->newest;
		attempt->ready |= (uint8_t)(1u << process->member);
		break;
	case START_STEP_GO:
		append_first(attempt, GANG_FIRST_GO);
		attempt->go = true;
		break;
	case START_STEP_REJOIN:
		append_first(attempt, GANG_FIRST_REJOIN);
		attempt->over = true;
		process->rejoined = process->newest;
		break;
	default:
		start_process(world, index);
		break;
	}
	memset(process->births, 0, sizeof(process->births));
	if (process->phase == PHASE_CLAIMED || process->phase == PHASE_STARTED)
		return;
	process->step = 0;
	process->newest = 0;
	memset(process->chosen, 0, sizeof(process->chosen));
}

/* A snapshot has come between: it claims once more, behind its own. */
static bool slip(struct world *world, unsigned index)
{
	struct process *process = &world->processes[index];

	if (world->slips == 0 || world->newest != process->newest)
		return false;
	world->slips--;
	process->newest = ++world->newest;
	memcpy(world->attempts[world->newest].names, process->chosen, sizeof(process->chosen));
	return true;
}

static void confirm(struct world *world, unsigned index)
{
	struct process *process = &world->processes[index];

	world->attempts[process->newest].confirmed = true;
	process->phase = PHASE_LOOKING;
	process->step = process->newest = 0;
	memset(process->chosen, 0, sizeof(process->chosen));
}

/* It finds no space: it says so, and ends. Another event may have been first. */
static bool refuse(struct world *world, unsigned index)
{
	struct process *process = &world->processes[index];
	struct attempt_state *attempt = &world->attempts[process->newest];

	if (world->refusals == 0 || process->phase != PHASE_ACTING ||
	    process->step != START_STEP_RESTORE)
		return false;
	world->refusals--;
	append_first(attempt, GANG_FIRST_REFUSED);
	attempt->over = true;
	process->phase = PHASE_ENDED;
	return true;
}

static bool can_move(const struct process *process)
{
	return process->phase != PHASE_NONE && process->phase != PHASE_ENDED &&
	       process->phase != PHASE_STARTED;
}

static void move_process(struct world *world, unsigned index, bool patient)
{
	struct process *process = &world->processes[index];

	if (process->phase == PHASE_CLAIMED) {
		confirm(world, index);
	} else if (process->phase == PHASE_ACTING) {
		act(world, index);
	} else if (!process->has_newest) {
		process->has_newest = true;
		process->newest = newest_seen(world, process);
		process->saw_confirmed = world->attempts[process->newest].confirmed;
	} else {
		look_below(world, index, patient);
	}
}

/* A process comes as `member`, whatever became of those before it. */
static bool start_anew(struct world *world, uint8_t member, uint8_t launch)
{
	struct process *process;

	if (world->count == PROCESSES_MOST)
		return false;
	process = &world->processes[world->count++];
	*process = (struct process){.phase = PHASE_LOOKING, .member = member, .launch = launch};
	for (unsigned i = 0; i + 1 < world->count; i++)
		if (world->processes[i].member == member &&
		    (search.clock || world->processes[i].joined))
			process->older |= (uint16_t)(1u << i);
	return true;
}

/* --- nobody dies any more --- */

/* The process that the launcher has started last as each member. */
static void find_last(const struct world *world, unsigned *last)
{
	for (unsigned i = 0; i < world->count; i++)
		last[world->processes[i].member] = i;
}

static bool has_started(const struct world *world)
{
	unsigned last[MEMBERS_MOST];
	uint8_t attempt = world->newest;

	find_last(world, last);
	for (unsigned i = 0; i < world->members; i++) {
		const struct process *process = &world->processes[last[i]];

		if (process->phase != PHASE_STARTED || process->after != attempt)
			return false;
	}
	return !world->attempts[attempt].over;
}

/* The launcher starts again whoever has ended; a job ends when its attempt is over. If the other of
 * two that came at once counts, that is the one. */
static bool launch_again(struct world *world, unsigned member, unsigned index)
{
	struct process *process = &world->processes[index];

	if (process->phase == PHASE_STARTED &&
	    (world->attempts[process->after].over || process->after < world->newest))
		process->phase = PHASE_ENDED;
	return process->phase != PHASE_ENDED || start_anew(world, (uint8_t)member, process->launch);
}

/* `all`: those that stood still go on as well; else they are dead. */
static void check_liveness(const struct world *from, bool all)
{
	static struct world world;

	world = *from;
	for (int i = 0; i < MOVES_MOST && !has_started(&world) && !search.violation; i++) {
		unsigned last[MEMBERS_MOST];

		for (unsigned j = 0; all && j < world.count; j++)
			if (can_move(&world.processes[j]))
				move_process(&world, j, true);
		find_last(&world, last);
		for (unsigned j = 0; j < world.members; j++) {
			if (!launch_again(&world, j, last[j]) ||
			    world.newest + 2 >= ATTEMPTS_MOST) {
				fail_with("they start and end for ever");
				return;
			}
			if (!all && can_move(&world.processes[last[j]]))
				move_process(&world, last[j], true);
		}
	}
	if (!has_started(&world))
		fail_with(all ? "not all start once nobody stands still"
			      : "not all that live start once nobody dies");
}

/* --- the search --- */

static uint64_t hash_world(const struct world *world)
{
	uint64_t words[(sizeof(*world) + 7) / 8] = {0}, hash = 1;

	memcpy(words, world, sizeof(*world));
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 29;
	}
	return hash | 1;
}

static bool is_known(uint64_t hash)
{
	for (size_t at = (hash >> 8) % TABLE_SIZE;; at = (at + 1) % TABLE_SIZE) {
		if (search.table[at] == hash)
			return true;
		if (search.table[at] == 0) {
			search.table[at] = hash;
			return false;
		}
	}
}

static void explore(const struct world *from);

static void try_move(const struct world *from, unsigned index, bool patient)
{
	struct world next = *from;

	move_process(&next, index, patient);
	explore(&next);
}

static void explore(const struct world *from)
{
	uint64_t hash = hash_world(from);

	if (search.violation || from->newest > SEARCHED_MOST || is_known(hash))
		return;
	if (++search.states > TABLE_SIZE / 2)
		fail_with("the search is too large for its table");
	if ((hash >> 40) % search.ends_every == 0) {
		check_liveness(from, false);
		check_liveness(from, true);
	}
	for (unsigned i = 0; i < from->count && !search.violation; i++) {
		struct world next = *from;

		if (!can_move(&from->processes[i]))
			continue;
		try_move(from, i, false);
		if (from->processes[i].phase == PHASE_LOOKING && from->processes[i].has_newest)
			try_move(from, i, true);
		if (from->processes[i].phase == PHASE_CLAIMED && slip(&next, i))
			explore(&next);
		if (refuse(&next, i))
			explore(&next);
	}
	for (uint8_t i = 0; i < from->members && !search.violation; i++) {
		struct world next = *from;

		if (from->count < from->members + search.anew && start_anew(&next, i, 0))
			explore(&next);
	}
}

static const char *run_search(enum fault fault, bool clock, uint8_t members, unsigned anew,
			      uint8_t slips, uint8_t refusals, unsigned ends_every)
{
	struct world world = {.members = members, .slips = slips, .refusals = refusals};

	search = (struct search){
		.fault = fault,
		.clock = clock,
		.anew = anew,
		.ends_every = ends_every,
		.table = calloc(TABLE_SIZE, sizeof(*search.table)),
	};
	assert_non_null(search.table);
	for (uint8_t i = 0; i < members; i++)
		start_anew(&world, i, 0);
	explore(&world);
	free(search.table);
	print_message("%u members, %u come anew: %zu states%s%s\n", members, anew, search.states,
		      search.violation ? ": " : "", search.violation ? search.violation : "");
	return search.violation;
}

static void test_two_members(void **state)
{
	unsigned anew = effort_count("who come anew", 1, 0);

	(void)state;
	assert_null(run_search(FAULT_NONE, true, 2, 1, 0, 0, effort_count("between ends", 1, 8)));
	assert_null(run_search(FAULT_NONE, false, 2, anew, 0, 0, 8));
	assert_null(run_search(FAULT_NONE, true, 2, anew, 1, 0, 64));
	assert_null(run_search(FAULT_NONE, true, 2, anew, 0, 1, 8));
}

static void test_three_members(void **state)
{
	(void)state;
	assert_null(run_search(FAULT_NONE, true, 3, effort_count("who come anew", 1, 0), 0, 0, 64));
}

/* What was wrong once is found. */
static void test_finds_faults(void **state)
{
	(void)state;
	assert_non_null(run_search(FAULT_UNCONFIRMED_HIDDEN, true, 2, 1, 0, 0, 1));
	assert_non_null(run_search(FAULT_CLAIM_ANY_NUMBER, true, 2, 2, 0, 0, 1));
	assert_non_null(run_search(FAULT_GO_BY_MARK, true, 2, 1, 0, 0, 1));
	assert_non_null(run_search(FAULT_BORN_AT_LAST_JOIN, false, 2, 2, 0, 0, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_members),
		cmocka_unit_test(test_three_members),
		cmocka_unit_test(test_finds_faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
