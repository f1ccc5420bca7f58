/*
 * PURE. How many machines the job has, and which one this is: from --gang and --member, else from
 * what the launcher has put into the environment, or from the launcher's own arguments in the
 * command. A gang that is wrong about its members would wait for ever, or mix parts. Two jobs of
 * one name would supersede each other. So:
 *
 *   - Sources that contradict each other, in how many machines there are or in which one this is,
 *     are an error, and of all members: another one may have found no contradiction, and wait.
 *   - A number that is missing or doubtful is an error of whoever has asked for a gang. If nobody
 *     has, the process is by itself; so it is if one source says that the job has this one machine.
 *   - Who is by itself, though a launcher has started several (machines, or tasks of one machine),
 *     has its index in the name of its job, whoever gave the name. Without an index nothing tells
 *     them apart, and that is an error. --gang off leaves the name as it is.
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
	/* For people: why this is no gang, though something says that there are several; "":
	 * nothing does. */
	char apart[256];
	/* Which one of them this is: "3", or "3-0" if two launchers count; "": the name of the job
	 * is as it is. Of a gang by default: what it would be if there were none. */
	char index[96];
	/* The variable that says so; NULL: several do, or none. Static. */
	const char *index_from;
	/* For people: "SLURM_STEP_NUM_NODES and SLURM_NODEID"; "": nothing says that there are
	 * several. */
	char origin[128];
	/* What the launcher calls this start of all members, the same for all and no other; "": it
	 * has no name for it. Also after an error, if it has several machines. */
	char launch[160];
	/* It starts all of them again, or none. */
	bool whole;
	/* --on-preemption continue: after a notice at one, the others go on without it; the caller
	 * fills it. */
	bool goes_on;
	/* When this process was started, by clock_boot_ms(); the caller fills it. */
	int64_t began_ms;
};

typedef const char *(*gang_getenv_fn)(void *arg, const char *name);

/*
 * `gang` is the value of --gang ("off", "auto" or a number), `member` that of --member (NULL: found
 * out). `argv` is the job's command and ends with NULL. Given both, no other source is looked at.
 * ERR_INVALID: one of the two is no such value. ERR_UNFIT: sources contradict each other, or
 * something is missing (by the rules above); the sentence says what and where.
 *
 * With neither (NULL, NULL) several machines are a gang if the launcher says for certain how many,
 * and which one this is: ranks that are all on one machine, or may be, are none (gang_identity.c).
 * Nor is a run inside the job of another one (base/inside.h), nor a command that starts the job on
 * all machines (gang_identity.c): on the first machine that one stands for all, and needs no index.
 * identity->apart says why there is no gang.
 */
int gang_identity_find(const char *gang, const char *member, gang_getenv_fn get, void *arg,
		       const char *const *argv, struct gang_identity *identity, struct err *err);

/* In the words of a command: what tells the members apart (the value of --node-rank) becomes "*",
 * so that the command of all is the same. */
void gang_identity_blank(json_t *command);

#endif
