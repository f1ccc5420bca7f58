/*
 * PURE. How many machines the job has, and which one this is: from --gang and --member, else from
 * what the launcher has put into the environment, or from the launcher's own arguments in the
 * command. A gang that is wrong about its members would wait for ever, or mix parts: so sources
 * that contradict each other are an error of whoever has asked for one, and no gang if nobody has.
 */
#ifndef GANG_IDENTITY_H
#define GANG_IDENTITY_H

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct gang_identity {
	/* 1: one machine, and nothing is different from a job without a gang. */
	uint32_t members;
	/* From 0. */
	uint32_t member;
	/* Nobody has asked for it: the launcher says so. */
	bool by_default;
	/* For people: why this is no gang, though something says that there are several machines,
	 * and what it is then; "": nothing does. */
	char apart[256];
	const char *instead;
	/* For people: "SLURM_STEP_NUM_NODES and SLURM_NODEID"; "": nothing says that there are
	 * several. */
	char origin[128];
	/* What the launcher calls this start of all members, the same for all and no other; "": it
	 * has no name for it. Also after an error, if it has several machines. */
	char launch[160];
	/* It starts all of them again, or none. */
	bool whole;
	/* When this process was started, by clock_boot_ms(); the caller fills it. */
	int64_t began_ms;
};

typedef const char *(*gang_getenv_fn)(void *arg, const char *name);

/*
 * `gang` is the value of --gang ("off", "auto" or a number), `member` that of --member (NULL: found
 * out). `argv` is the job's command and ends with NULL. Given both, no other source is looked at.
 * ERR_INVALID: one of the two is no such value. ERR_UNFIT: sources contradict each other, or
 * something is missing; the sentence says what and where.
 *
 * With neither (NULL, NULL) several machines are a gang if the launcher says for certain how many,
 * and which one this is: ranks that are all on one machine, or may be, are none (gang_sources.h).
 * Nor is a run inside the job of another one (base/inside.h), nor a command that starts the job on
 * all machines (gang_launcher.h). There is no error then: identity->apart says why there is no
 * gang.
 */
int gang_identity_find(const char *gang, const char *member, gang_getenv_fn get, void *arg,
		       const char *const *argv, struct gang_identity *identity, struct err *err);

/* In the words of a command: what tells the members apart (the value of --node-rank) becomes "*",
 * so that the command of all is the same. */
void gang_identity_blank(json_t *command);

#endif
