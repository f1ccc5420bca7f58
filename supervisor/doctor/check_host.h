/* PURE. Is this machine ready for a preemption? One row for each notice source, for the shim, for
 * process 1, for the inotify limit, and for the time from SIGTERM to SIGKILL. */
#ifndef CHECK_HOST_H
#define CHECK_HOST_H

#include "check_store.h"
#include "cloud/cloud.h"

#include <sys/types.h>

struct host_facts {
	const char *notice;       /* --notice as given; NULL: auto */
	const char *notice_error; /* why no source could be watched; NULL: all could */
	const struct source_state *sources;
	size_t source_count;
	const char *shim;            /* its path; NULL: not found */
	const char *shim_error;      /* why it does not load; NULL: a program starts with it */
	const char *init;            /* the name of process 1; NULL: unknown */
	const char *subreaper_error; /* NULL: we are a subreaper */
	bool kubernetes;
	int64_t grace_ms;    /* --grace */
	int64_t watches;     /* fs.inotify.max_user_watches; -1: unknown */
	int64_t transfer_ms; /* measured time to upload a whole checkpoint; -1: unknown */
};

/* How long to wait for this source, from its start; 0: it can be judged now. */
int64_t check_host_source_wait_ms(const struct source_state *source);

void check_host(const struct host_facts *facts, struct check_list *check_list);

#endif
