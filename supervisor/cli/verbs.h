/* The verbs: one cmd_<verb>.c each, with its table of options and what it does. argv[0] is the
 * verb; the result is the exit code (base/err.h). */
#ifndef VERBS_H
#define VERBS_H

#include "options/options.h"

#include <stdbool.h>
#include <stdint.h>

typedef int verb_fn(int argc, char **argv);
verb_fn cmd_run, cmd_list, cmd_show, cmd_restore, cmd_verify, cmd_export, cmd_forget, cmd_pin,
	cmd_unpin, cmd_save, cmd_status, cmd_probe, cmd_checkpoint, cmd_doctor, cmd_report,
	cmd_explain, cmd_watch, cmd_mock, cmd_drill, cmd_completion;

/* Beside verb_run of options.h. */
extern const struct verb verb_list, verb_show, verb_restore, verb_verify, verb_export, verb_forget,
	verb_pin, verb_unpin, verb_save, verb_status, verb_probe, verb_checkpoint, verb_doctor,
	verb_report, verb_explain, verb_watch, verb_mock, verb_drill, verb_completion;

/* Asks a running supervisor for a checkpoint, and waits until it is durable. */
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
