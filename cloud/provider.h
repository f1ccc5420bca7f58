/* PRIVATE. What a source is; watcher.h has what its thread may tell. One file and one row in
 * source_table.c each. */
#ifndef CLOUD_PROVIDER_H
#define CLOUD_PROVIDER_H

#include "detect.h"

#include "base/cancel.h"

#include <stdbool.h>
#include <stdint.h>

struct watcher;

struct provider {
	const char *name;
	/* Straight blocking code on the source's own thread, until watcher_cancel() is raised. */
	void (*run)(struct watcher *watcher);
	/* Does this cloud's metadata service answer at `endpoint`? Told by its headers and shape,
	 * not by being reachable. NULL: never. */
	bool (*probe)(const char *endpoint, struct cancel *cancel);
	/* Is what stands behind the colon ("" for nothing) all right? ERR_INVALID says what to
	 * write. NULL: nothing may stand there. */
	int (*check)(const char *argument, struct err *err);
	/* cloud_watch_approve(), with what is known of the surroundings. NULL:
	 * there is no such thing. */
	int (*approve)(const struct environment *environment, const char *identity,
		       struct cancel *cancel, struct err *err);
};

extern const struct provider provider_aws, provider_gcp, provider_azure, provider_alibaba,
	provider_tencent, provider_slurm, provider_deadline, provider_file, provider_command;

#endif
