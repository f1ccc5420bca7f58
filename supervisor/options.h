/*
 * The command line and the environment of `reprieve run` -> struct run_options. Every option is one row of a table in option_rows.c:
 * its name, its environment variable, what it may hold and its line of help.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "base/err.h"
#include "retention_options.h"
#include "storage/storage.h"
#include "transfer_options.h"

#include <stdbool.h>
#include <stdint.h>

enum ask_method {
	ASK_AUTO, /* forward SIGTERM where the job handles it */
	ASK_NONE, /* the job's own checkpoints are what there is */
	ASK_SIGNAL,
	ASK_COMMAND,
	ASK_FLAG, /* shim/reprieve.h; under AUTO, and where the profile decides, as well once a process polls */
};

enum shim_use {
	SHIM_USE_AUTO,
	SHIM_USE_ON,
	SHIM_USE_OFF
};

struct run_options {
	const char *store;          /* URL; NULL: the embedded one */
	const char *checkpoint_dir; /* as given, or the default */
	bool store_chosen;          /* by the user, not by default */
	bool directory_chosen;
	const char *job; /* NULL: found out */
	const char *notice;
	const char *deadline;       /* a known end, as cloud.h takes it; NULL: none */
	int64_t deadline_notice_ms; /* how long before it the notice is given; 0: the default */
	int64_t grace_ms;
	enum ask_method ask;
	bool signal_chosen, command_chosen; /* on the command line: not both */
	int checkpoint_signal;
	const char *checkpoint_command;
	bool ask_chosen; /* by the user; else the profile decides */
	bool ask_ends_job; /* by the profile: it saves and ends, so that it is asked only when it has to end anyway */
	bool ask_like_slurm; /* by the profile: the job's environment looks like Slurm's (slurm_road.h) */
	const char *profile; /* auto, none, or the name of one */
	int64_t quiet_ms;
	int64_t every_ms; /* 0: never by itself */
	int64_t flush_ms; /* patience after the job's end with a store that takes nothing */
	struct transfer_options transfer;
	enum restore_policy restore;
	struct snapshot_id restore_id;
	enum shim_use shim;
	bool shield; /* SIGTERM from outside is kept off the processes while the checkpoint is taken */
	bool strict;
	bool dry_run;
	bool acknowledge; /* tells the cloud when nothing is left to be saved (Azure) */
	const char *events;
	struct retention_options retention; /* applied after each commit */
	const char *tag;                    /* of every snapshot of this run; NULL: none */
	int verbosity;                      /* -1 quiet, 0, 1 verbose */
	char **command; /* argv of the job, NULL-terminated; borrowed from argv */
};

/* `argv[0]` is the verb. The strings are borrowed from argv and the environment. ERR_INVALID names the option, what is wrong and
 * what to write instead. With --help: prints it to stdout and sets *help. */
int options_parse_run(
	int argc, char **argv, struct run_options *options, bool *help, struct err *err);

/* file://${XDG_STATE_HOME:-~/.local/state}/reprieve; the caller frees. ERR_NOT_FOUND without HOME. */
char *options_default_store(struct err *err);

#endif
