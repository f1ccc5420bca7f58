/*
 * supervisor/doctor/: is this machine, this store and this scheduler ready for a preemption? Facts
 * are collected first, then judged by PURE functions: one row per check, with what to do about it.
 *
 *	check_store.c	judges a store's probe; the list of rows
 *	check_host.c	notice sources, shim, init, limits, grace
 *	check_scheduler.c  Slurm: may this job be requeued, and who gets its signal; other batch
 *			schedulers
 */
#ifndef DOCTOR_H
#define DOCTOR_H

#include "cloud/cloud.h"
#include "scheduler/scheduler.h"
#include "storage/storage.h"

#include <sys/types.h>

/* --- check_store.c, PURE --- */

enum check_level {
	CHECK_OK,
	CHECK_WARN,
	CHECK_FAIL
};

struct check_result {
	const char *check; /* "put", "clock", ... */
	enum check_level level;
	char text[640];
	char fix[320]; /* what to do; "": nothing */
};

#define CHECK_LIST_MOST 16

struct check_list {
	struct check_result rows[CHECK_LIST_MOST];
	size_t count;
	enum check_level worst;
};

/* `size`: of a checkpoint, in bytes; 0: not given. Replaces the list. */
void check_store(const struct store_probe *probe, const char *url, uint64_t size,
		 struct check_list *list);

/* Adds the row of a mounted directory. `network`: its file system (base/file.h). `answer`: of
 * a second mount; not tried: none was named. */
void check_mounts(const char *network, const struct probe_result *answer, struct check_list *list);

/* The row for no store at all: none was named, and there is no place for the default one. */
void check_no_store(struct check_list *list);

/* Milliseconds to upload `size` bytes at the measured speed; -1: not measured, or no size. */
int64_t check_store_transfer_ms(const struct store_probe *probe, uint64_t size);

/* What a check can find. $1 and $2 in the text stand for what is told with it. */
struct check_finding {
	const char *check;
	enum check_level level;
	const char *text, *fix;
};
/* Adds a row; ignored if the list is full. `check` is borrowed. NULL: nothing is told with it. */
void check_add(struct check_list *list, const struct check_finding *finding, const char *first,
	       const char *second);

const char *check_level_name(enum check_level level); /* "ok", "warn", "fail" */

/* --- check_host.c --- */

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

/* PURE. One row for each notice source, for the shim, for process 1, for the inotify limit, and for
 * the time from SIGTERM to SIGKILL. */
void check_host(const struct host_facts *facts, struct check_list *list);

/* Collects the other facts: notice, grace and transfer time are given. Runs each notice source
 * until it can be judged, and starts this program with the shim preloaded. Blocks for seconds. */
void inspect_host(const struct host_facts *given, struct check_list *list);

/* --- check_scheduler.c --- */

/* The output of scontrol's commands; NULL: not run, or it failed. */
struct slurm_outputs {
	/* result of `show config`; if it is not OK, nothing else is judged */
	enum slurm_query_result asked;
	const char *error_text; /* with SLURM_QUERY_FAILED: scontrol's error */
	const char *config;     /* show config */
	const char *job;        /* --oneliner show job ID, for the job that we are in */
	const char *script;     /* write batch_script ID - */
};

/* PURE. Facts from slurm.conf(5), sbatch(1) and scontrol(1), tested with 22.05. Replaces the list
 * by at most 2 rows. */
void check_slurm(const struct slurm_outputs *texts, struct check_list *list);

/* False: there is no Slurm here (no scontrol, and not in a job). If scontrol fails, the list says
 * so. */
bool inspect_slurm(struct check_list *list);

struct batch_facts {
	const struct batch_scheduler *scheduler;
	const char *job;    /* of Grid Engine: qstat -j; NULL: it does not say */
	const char *queue;  /* of Grid Engine: qconf -sq; NULL: it does not say */
	const char *policy; /* of exit codes, from the environment; "": none */
	int64_t grace_ms;   /* --grace */
};

/* PURE. Seen with Grid Engine 8.1.9. Replaces the list by at most 4 rows. */
void check_batch(const struct batch_facts *facts, struct check_list *list);

/* NULL: this is no job of theirs, or nothing is known of it. Else the scheduler's name, for people;
 * static. */
const char *inspect_batch(int64_t grace_ms, struct check_list *list);

#endif
