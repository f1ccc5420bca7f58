/* Asks a running supervisor for a checkpoint, and waits until it is durable. */
#ifndef CHECKPOINT_CLIENT_H
#define CHECKPOINT_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#define CHECKPOINT_TIMEOUT_MS (10 * 60 * 1000)

struct checkpoint_client {
	const char *session; /* the runtime directory of the supervisor (control.h) */
	int64_t timeout_ms;
	bool json;    /* one object per line for each thing that happens */
	bool no_wait; /* return once the job has been asked */
};

/* Prints what comes of it. Returns the exit code: 0 durable (or asked), EXIT_FAILURE not durable,
 * EXIT_UNAVAILABLE no supervisor is there. Blocks for timeout_ms at most; the checkpoint goes on.
 */
int checkpoint_client_run(const struct checkpoint_client *client);

#endif
