/* PRIVATE. What a source is; watcher.h has what its thread may report. Each has one file, and one
 * row in source_table.c. */
#ifndef CLOUD_PROVIDER_H
#define CLOUD_PROVIDER_H

#include "detect.h"

#include "base/cancel.h"

#include <stdbool.h>
#include <stdint.h>

struct watcher;

struct provider {
	const char *name;
	/* Runs on the source's own thread and may block, until watcher_cancel() is raised. */
	void (*run)(struct watcher *watcher);
	/* Whether this cloud's metadata service replies at `endpoint`, judged by headers and
	 * content, not by being reachable. NULL: there is no probe. */
	bool (*probe)(const char *endpoint, struct cancel *cancel);
	/* Checks the text after the colon ("": none). ERR_INVALID says what to write. NULL: no text
	 * is allowed. */
	int (*check)(const char *argument, struct err *err);
	/* Implements cloud_watch_approve(). NULL: this cloud has no approval. */
	int (*approve)(const struct environment *environment, const char *identity,
		       struct cancel *cancel, struct err *err);
};

extern const struct provider provider_aws, provider_gcp, provider_azure, provider_alibaba,
	provider_tencent, provider_slurm, provider_deadline, provider_file;

#endif
