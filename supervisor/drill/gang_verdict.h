/*
 * PURE. Did a preemption of one machine cost a gang work? Each member is judged as a machine of its
 * own (verdict.h); only together do they pass: all ended with one snapshot durable, and all are
 * seen to have gone on from it.
 */
#ifndef GANG_VERDICT_H
#define GANG_VERDICT_H

#include "drill/round_verdict.h"

struct gang_preemption {
	uint32_t members;
	uint32_t lost;            /* whose machine was taken away */
	struct round_facts *each; /* `members` of them */
	/* It has saved files of its own in the newest snapshot; of `members`. */
	bool *has_part;

	/* The verdict. */
	struct round_verdict *verdicts;
	enum drill_result result;
	char reason[960]; /* of the first member that has not passed; "": all have */
};

/* What one member knows to be durable is so for all, also for those that had nothing to save. Call
 * it when all machines are gone, before the store is read. */
void gang_verdict_share_commit(struct round_facts *each, uint32_t members);

/* The members do not save at the same steps, and so nothing that is new is durable: whatever they
 * do in another start, this one has failed. Call it after that. */
bool gang_verdict_is_lost(const struct gang_preemption *round);

void gang_verdict_round(struct gang_preemption *round);

#endif
