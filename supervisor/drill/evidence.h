/*
 * Collects what is known of a machine from outside it: its output, the files that its job opened,
 * and the store. verdict.h judges it. Blocks.
 */
#ifndef EVIDENCE_H
#define EVIDENCE_H

#include "base/cleanup.h"
#include "drill/round_verdict.h"
#include "instance.h"
#include "sandbox.h"

/* What the next machine is compared with. */
struct evidence {
	struct job_log counts;
	struct printed_lines lines;
	struct restored_files files; /* what the next machine gets */
	/* Of a member of a gang; they stay. */
	uint32_t members, member;
	enum gang_parts_choice parts;
	bool has_part; /* it has saved files of its own in the newest snapshot */
};

/*
 * Call it once for each machine when it is gone. `before`: what the machine before it has left to
 * it, NULL for the first. `facts`: its own, NULL for the last one, of which nothing is left.
 * `over`: it was not preempted, so that its exit code is its job's own.
 */
void evidence_collect(struct evidence *evidence, const struct sandbox *sandbox,
		      const struct scenario_options *options, struct instance *instance, bool over,
		      struct round_facts *before, struct round_facts *facts);

void evidence_release(struct evidence *evidence);

#endif
