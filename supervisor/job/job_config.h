/*
 * What one run was told: from the command line, the environment and the profile. The command line
 * fills it (cli/run_option_table.h); the job reads it. The strings are borrowed from argv and the
 * environment.
 */
#ifndef JOB_CONFIG_H
#define JOB_CONFIG_H

#include "process/process.h"
#include "request/request.h"
#include "storage/storage.h"
#include "telemetry/telemetry.h"

#include <stdbool.h>
#include <stdint.h>

#define KEEP_TAGS_MOST 16

/* Which snapshots stay: the --keep-* options of `run` and of `forget`. */
struct retention_rules {
	struct forget_policy policy;      /* keep_tags is filled by retention_policy() */
	const char *tags[KEEP_TAGS_MOST]; /* borrowed */
	size_t tag_count;
};

/* PURE. Borrows the tags from `rules`. */
struct forget_policy retention_policy(const struct retention_rules *rules);
/* PURE. Whether there is any rule. */
bool retention_is_set(const struct retention_rules *rules);

enum shim_use {
	SHIM_USE_AUTO,
	SHIM_USE_ON,
	SHIM_USE_OFF
};

struct job_config {
	const char *store;          /* URL; NULL: the embedded one */
	const char *checkpoint_dir; /* as given, or the default */
	bool store_chosen;          /* by the user, not by default */
	bool directory_chosen;
	const char *job; /* NULL: found out */
	const char *notice;
	const char *deadline;       /* a known end, as cloud.h takes it; NULL: none */
	int64_t deadline_notice_ms; /* how long before it the notice is given; 0: the default */
	int64_t grace_ms;
	enum request_method ask;
	bool signal_chosen, command_chosen; /* on the command line: not both */
	int checkpoint_signal;
	const char *checkpoint_command;
	bool ask_chosen; /* by the user; else the profile decides */
	/* by the profile: it saves and ends, so that it is asked only when it has to end anyway */
	bool ask_ends_job;
	/* by the profile: the job's environment looks like Slurm's (lightning_slurm.h) */
	bool ask_like_slurm;
	const char *profile; /* auto, none, or the name of one */
	int64_t quiet_ms;
	int64_t every_ms; /* 0: never by itself, or as often as it pays */
	int64_t mtbf_ms;  /* the user's word for checkpoint_interval.h; 0: none */
	int64_t flush_ms; /* patience after the job's end with a store that takes nothing */
	struct storage_transfer transfer;
	enum restore_policy restore;
	struct snapshot_id restore_id;
	enum shim_use shim;
	bool every_auto;
	bool polls; /* the checkpoint directory, wherever it is */
	/* SIGTERM from outside is kept off the processes while the checkpoint is taken */
	bool sigterm_hold;
	bool run_identity; /* for W&B, where its variables are unset */
	bool rerun;        /* also when an earlier attempt has finished it */
	bool requeue;      /* a preempted job of Slurm's is requeued */
	bool strict;
	bool dry_run;
	bool acknowledge;         /* tells the cloud when nothing is left to be saved (Azure) */
	uint32_t max_no_progress; /* attempts in a row without a durable snapshot; 0: no limit */
	const char *events;
	const char *metrics;      /* address to serve them on; NULL: not */
	const char *metrics_file; /* NULL: none */
	const char *notify;       /* URL of a webhook; NULL: none */
	const char *log;          /* where the job's log goes; NULL: it is not kept */
	const char *labels[LABELS_MOST];
	size_t label_count;
	const char *termination_log;           /* "": none; NULL: Kubernetes' own, where that is */
	const struct exit_policy *exit_policy; /* NULL: the codes as they are */
	struct retention_rules retention;      /* applied after each commit */
	const char *tag;                       /* of every snapshot of this run; NULL: none */
	int verbosity;                         /* -1 quiet, 0, 1 verbose */
	struct signal_rules signal_rules;      /* of the signals that are received */
	char **command; /* argv of the job, NULL-terminated; borrowed from argv */
};

#endif
