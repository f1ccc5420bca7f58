/*
 * Collects what is known of a machine from outside it: its output, the files that its job opened,
 * and the store. verdict.h judges it. Blocks.
 */
#ifndef EVIDENCE_H
#define EVIDENCE_H

#include "base/cleanup.h"
#include "drill/verdict.h"
#include "instance.h"
#include "sandbox.h"

/* What the next machine is compared with. */
struct evidence {
	struct job_log counts;
	struct restored_files files; /* what the next machine gets */
};

/* The machine is gone: what it did, and what is left of it. */
void evidence_of_round(struct evidence *evidence, const struct sandbox *sandbox,
		       struct instance *instance, struct round_facts *facts);

/* `next` is gone, too. `before`: the facts of the machine before it. `over`: it was not preempted,
 * so that its exit code is its job's own. */
void evidence_of_next(struct evidence *evidence, const struct instance *next, bool over,
		      struct round_facts *before);

void evidence_release(struct evidence *evidence);

#endif
