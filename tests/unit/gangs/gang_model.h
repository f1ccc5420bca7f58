/*
 * A model of the members of a gang over one store: the real code of storage/, over objects in
 * memory. Each machine is a script on a thread of its own, of which one runs at a time. Before each
 * operation on the store it is decided: does it work, does another machine run first, does it fail,
 * is its answer lost, does the machine die here? All histories in which one such thing happens are
 * tried, and by chance some in which many do.
 *
 *	gang_model_world.c	the store, whose turn it is, and which decision is taken
 *	test_gang_model.c	what the machines do, what must be true, and the rules that are
 *missed
 */
#ifndef GANG_MODEL_H
#define GANG_MODEL_H

#include "memory_store.h"
#include "storage/storage.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MODEL_MACHINES_MOST 3
/* The event by which member 1 has gone, where it goes: between the rounds 1 and 2. */
#define MODEL_GONE 6

enum model_rule {
	MODEL_RULE_NONE,
	/* Switched off one at a time. */
	MODEL_RULE_PARTS_AGREE,
	MODEL_RULE_NEWEST_ATTEMPT,
	MODEL_RULE_NEWER_PACKS,
	MODEL_RULE_FINISH,
	MODEL_RULES
};

struct model_machine {
	unsigned index;
	pthread_t thread;
	pthread_cond_t turn;
	bool done, dead, waiting;
	unsigned nonces;
};

struct model {
	struct memory_objects objects;
	struct model_machine machines[MODEL_MACHINES_MOST];
	unsigned machine_count;
	struct model_machine *now; /* NULL: the test itself, without decisions */
	pthread_mutex_t mutex;
	pthread_cond_t over;
	enum model_rule off;
	int64_t clock_ms;
	/* Things that have happened, and so many at most. */
	unsigned events, events_most, deaths, nonces;
	void (*script)(struct model_machine *machine);
	char wrong[300]; /* "": nothing */
};
extern struct model model;

void model_wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* One after another: all histories with at most so many events, or `count` by chance. `before` puts
 * the store as it is at the start of each, `audit` looks at its end. Ends at the first that is
 * wrong; returns how many there were. */
unsigned model_search(unsigned events_most, unsigned count, void (*before)(void),
		      void (*audit)(void));

/* Prints the operations of a history while it runs. */
extern bool model_verbose;

#endif
