/*
 * PURE. What a launcher says of the machines of a job: in the environment, or by its own arguments
 * in the job's command. What to make of it is decided in gang_identity.h.
 */
#ifndef GANG_SOURCES_H
#define GANG_SOURCES_H

#include "gang_identity.h"

/* What one source says. */
struct gang_source {
	const char *members_from, *member_from; /* for people; NULL: it does not say */
	uint32_t members, member;
	/* What the launcher has started, whatever that is (machines, tasks, ranks of one machine),
	 * and which of them this is: two that are not one job must not have one name. 0: it does
	 * not say how many. */
	const char *started_from, *index_from;
	uint32_t started, index;
	/* The number may be one of ranks or tasks, so the member may be one of those as well. */
	bool may_be_tasks;
};

#define GANG_SOURCES_MOST 16

struct gang_sources {
	/* Nobody has asked for a gang: ranks that one machine has are one machine then, and what
	 * may count them, or tasks that have nothing to do with each other, does not say how many
	 * machines the job has, unless it is one. */
	bool cautious;
	struct gang_source items[GANG_SOURCES_MOST];
	size_t count;
	/* A number of members that is no number ("1:4"), and where; NULL: there is none. */
	const char *elastic, *elastic_from;
	/* With `cautious`: the first number that was not taken for certain, and where; NULL: there
	 * is none. */
	const char *doubtful, *doubtful_from;
};

struct gang_environment {
	gang_getenv_fn get;
	void *arg;
};

/* NULL also for an empty one. */
const char *gang_variable(const struct gang_environment *environment, const char *name);
bool gang_number(const char *text, uint32_t *number);

/* Whether the launcher has started several: it says so, or which one of them this is. */
bool gang_source_says_several(const struct gang_source *source);

/* `sources` is zeroed but for `cautious`. */
void gang_sources_list(struct gang_sources *sources, const struct gang_environment *environment,
		       const char *const *argv);

#endif
