/*
 * The configuration of one run, from the command line, the environment and the profile. The command
 * line fills it (options/run_options.c); the job only reads it. The strings are borrowed from
 * argv and the environment; the patterns are owned.
 */
#ifndef JOB_CONFIG_H
#define JOB_CONFIG_H

#include "base/cleanup.h"
#include "process/process.h"
#include "request/request.h"
#include "storage/storage.h"
#include "telemetry/telemetry.h"
#include "workspace/workspace.h"

#include <stdbool.h>
#include <stdint.h>

#define KEEP_TAGS_MOST 16

/* Which snapshots stay: the --keep-* options of `run` and of `forget`. */
struct retention_rules {
	int64_t keep_last; /* 0: all snapshots stay, whatever the other rules; -1: not given */
	struct forget_policy policy;      /* the other rules, filled up by retention_policy() */
	const char *tags[KEEP_TAGS_MOST]; /* borrowed */
	size_t tag_count;
};

/* PURE. Whether any rule is given, and not the one that all snapshots stay. */
bool retention_is_given(const struct retention_rules *rules);
/* PURE. The policy with the tags in it, which it borrows from `rules`. If no rule is given: the
 * newest 10, and the last of each day. Not for rules by which all snapshots stay. */
struct forget_policy retention_policy(const struct retention_rules *rules);

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
	const char *job;            /* NULL: found out (job_name.c) */
	const char *notice;         /* list of notice sources, as cloud.h takes it */
	const char *deadline;       /* a known end, as cloud.h takes it; NULL: none */
	int64_t deadline_notice_ms; /* the notice comes so long before it; 0: the default */
	int64_t grace_ms;           /* from a SIGTERM to the end of this machine */
	enum request_method ask;
	bool signal_chosen, command_chosen; /* on the command line: not both */
	int checkpoint_signal;
	const char *checkpoint_command;
	bool ask_chosen; /* by the user; else the profile decides */
	/* set by the profile: a request makes the job save and exit, so only a stop uses it */
	bool ask_ends_job;
	/* set by the profile: the job is given an environment like Slurm's (lightning_slurm.c) */
	bool ask_like_slurm;
	bool checks_contents;          /* of what is written, as any profile but "none" wants */
	const char *profile;           /* "auto", "none" or a profile's name */
	struct file_patterns patterns; /* which files are no part of a checkpoint */
	int64_t quiet_ms;
	/* at most one snapshot in this time, except at a notice and at the end; 0: no limit */
	int64_t snapshot_interval_ms;
	int64_t every_ms; /* 0: no requests at intervals, or as often as it pays (every_auto) */
	int64_t mtbf_ms;  /* mean time between preemptions, given by the user; 0: not given */
	int64_t flush_ms; /* after the job's end, a store that takes nothing is given up after this
			   */
	struct storage_transfer transfer;
	const char *gang;   /* "auto", "off" or how many machines; NULL: off (gang_identity.h) */
	const char *member; /* which of them this is; NULL: found out */
	int64_t join_ms;    /* for the members of a gang to come, and to restore */
	enum gang_parts_choice parts; /* of which members one restores the files */
	bool goes_on_without;         /* a gang, after a member was preempted */
	enum restore_policy restore;
	struct snapshot_id restore_id;
	enum shim_use shim;
	bool quiet, verbose; /* quiet counts */
	bool every_auto;
	bool polls; /* the checkpoint directory, even where inotify sees everything */
	/* a SIGTERM from outside is held back from the processes until the checkpoint is saved */
	bool sigterm_hold;
	bool run_identity; /* sets W&B's variables, if they are unset */
	bool take_over;    /* the job from a run that lives on this machine */
	bool requeue;      /* requeues a preempted job of Slurm's */
	bool strict;
	bool dry_run;
	bool acknowledge;         /* lets the cloud proceed once all is durable (Azure) */
	uint32_t max_no_progress; /* attempts in a row without a durable snapshot; 0: no limit */
	const char *events;
	const char *metrics;         /* address to serve metrics on; NULL: they are not served */
	const char *metrics_file;    /* NULL: none */
	const char *notify;          /* URL of a webhook; NULL: none */
	const char *log;             /* the job's log, whose tail is kept if it fails; NULL: none */
	json_t *labels;              /* --label; owned */
	const char *termination_log; /* "": none; NULL: Kubernetes' file, if it is there */
	const struct exit_policy *exit_policy; /* NULL: the codes are not mapped */
	struct retention_rules retention;      /* applied after each commit */
	const char *tag;                       /* for every snapshot of this run; NULL: none */
	struct signal_rules signal_rules;      /* for the signals that the supervisor receives */
	char **command; /* argv of the job, NULL-terminated; borrowed from argv */
};

void job_config_release(struct job_config *config);
AUTO(struct job_config, job_config_release);

#endif
