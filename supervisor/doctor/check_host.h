/* PURE. What this machine means for a job that wants to be warned, asked and ended well: one line
 * per source of notices, and for the shim, the init, and the time from SIGTERM to SIGKILL. */
#ifndef CHECK_HOST_H
#define CHECK_HOST_H

#include "check_store.h"
#include "cloud/cloud.h"

#include <sys/types.h>

struct host_facts {
	const char *notice;       /* --notice as given; NULL: auto */
	const char *notice_error; /* NULL: it could be watched */
	const struct source_state *sources;
	size_t source_count;
	const char *shim;            /* its path; NULL: not found */
	const char *shim_error;      /* NULL: a program starts with it */
	const char *init;            /* the name of process 1 here; NULL: not known */
	const char *subreaper_error; /* NULL: orphans come to us */
	bool kubernetes;
	int64_t grace_ms;    /* --grace */
	int64_t watches;     /* fs.inotify.max_user_watches; -1: not known */
	int64_t transfer_ms; /* that a whole checkpoint needs, measured; -1: not known */
};

/* How long, from its start, to wait for a word of this source; 0: it can be judged
 * by what it has said. */
int64_t check_host_source_wait_ms(const struct source_state *source);

void check_host(const struct host_facts *facts, struct check_list *check_list);

#endif
