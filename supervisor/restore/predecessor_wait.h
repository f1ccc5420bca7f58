/* Waits for the attempt before this one where that is being preempted and still
 * saves (handover.h). */
#ifndef PREDECESSOR_WAIT_H
#define PREDECESSOR_WAIT_H

#include "base/cancel.h"
#include "base/err.h"
#include "storage/storage.h"

#include <stdbool.h>
#include <stdint.h>

struct predecessor {
	uint32_t attempt; /* 0: nobody was waited for */
	char host[65];
	bool ended; /* it is through; else its time was over, or it has taken it back */
	int64_t waited_ms;
};

/*
 * To be called before the claim, which would keep the other one from publishing. Blocks; says for
 * whom and how long at most. -1 only where the store cannot be read before anybody is waited for,
 * and with ERR_CANCELLED.
 */
int predecessor_wait(struct storage *storage, struct predecessor *predecessor,
		     struct cancel *cancel, struct err *err);

#endif
