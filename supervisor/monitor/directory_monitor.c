#include "directory_monitor.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "workspace/workspace.h"
#include "directory_poller.h"

#include <stdio.h>
#include <stdlib.h>

struct directory_witness {
	struct directory_witness_options options;
	struct dir_watch *watch; /* NULL: not there yet, or it cannot be watched */
	struct poller *poller;   /* NULL: the kernel tells of everything */
	char blindness[400];
};

static void found(void *arg, const char *path)
{
	struct directory_witness *witness = arg;

	witness->options.said(
		witness->options.arg, &(struct dir_event){.change = DIR_CHANGED, .path = path});
}

static void looked(void *arg)
{
	struct directory_witness *witness = arg;

	witness->options.looked(witness->options.arg);
}

static void start_looking(struct directory_witness *witness, bool all)
{
	if (!witness->poller)
		witness->poller = poller_new(&(struct poller_options){.loop = witness->options.loop,
			.directory = witness->options.directory,
			.quiet_ms = witness->options.quiet_ms,
			.all = all,
			.changed = found,
			.looked = looked,
			.arg = witness});
}

static void say_all(struct directory_witness *witness)
{
	auto_(snapshot_files_release) struct snapshot_files files = {0};

	if (directory_files(witness->options.directory, &files, NULL) < 0)
		return;
	for (size_t i = 0; i < files.count; i++)
		found(witness, files.items[i].path);
}

static double look_seconds(const struct directory_witness *witness)
{
	return (double)look_interval_ms(witness->options.quiet_ms, 0) / 1000;
}

struct directory_witness *directory_witness_new(const struct directory_witness_options *options)
{
	struct directory_witness *witness = memory_new(sizeof(*witness));

	witness->options = *options;
	return witness;
}

void directory_witness_free(struct directory_witness *witness)
{
	if (!witness)
		return;
	if (witness->watch)
		dir_watch_close(witness->watch);
	poller_free(witness->poller);
	free(witness);
}

void directory_witness_open(struct directory_witness *witness, bool job_runs)
{
	const char *directory = witness->options.directory;
	const char *network;
	struct err err;

	if (directory_witness_is_open(witness) || !file_is_directory(directory))
		return;
	network = network_fs_of(directory);
	if (dir_watch_open(witness->options.loop, directory, witness->options.said,
		    witness->options.arg, &witness->watch, &err) < 0)
		snprintf(witness->blindness, sizeof(witness->blindness),
			"%.200s is looked through every %.1f s: %.150s", directory,
			look_seconds(witness), err.text);
	else if (network)
		snprintf(witness->blindness, sizeof(witness->blindness),
			"%.200s is on %s, where the kernel does not tell what other machines "
			"write: it is looked through every %.1f s",
			directory, network, look_seconds(witness));
	if (!witness->watch || network || witness->options.polls)
		start_looking(witness, job_runs);
	else if (job_runs)
		say_all(witness);
}

bool directory_witness_is_open(const struct directory_witness *witness)
{
	return witness->watch || witness->poller;
}

const char *directory_witness_blindness(const struct directory_witness *witness)
{
	return witness->blindness;
}

void directory_witness_drain(struct directory_witness *witness)
{
	if (witness->watch)
		dir_watch_drain(witness->watch);
}

void directory_witness_catch_up(struct directory_witness *witness)
{
	if (witness->poller)
		return;
	if (!witness->watch || dir_watch_is_complete(witness->watch)) {
		say_all(witness);
		return;
	}
	log_warn("not all directories below %s can be watched (limit: "
		 "fs.inotify.max_user_watches): it is looked through every %.1f s",
		witness->options.directory, look_seconds(witness));
	start_looking(witness, true);
}

bool directory_witness_covers(struct directory_witness *witness, int64_t since_ms)
{
	return !witness->poller || poller_has_looked_since(witness->poller, since_ms);
}

void directory_witness_look_now(struct directory_witness *witness)
{
	if (witness->poller)
		poller_look_now(witness->poller);
}
