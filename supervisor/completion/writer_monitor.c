#include "writer_monitor.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "workspace/workspace.h"
#include "untracked_writers.h"

#include <stdlib.h>

struct writer_witness {
	struct writer_witness_options options;
	struct unseen *unseen;
	struct recent_writers recent;
	uint64_t held_generation; /* a file was held at that one by nobody who has spoken */
};

static void drain(struct writer_witness *witness)
{
	witness->options.drain(witness->options.arg);
}

void writer_witness_ended(struct writer_witness *witness, pid_t pid, enum sealing_end end)
{
	drain(witness);
	sealing_process_ended(witness->options.sealing, pid, end, clock_monotonic_ms());
	recent_writers_forget(&witness->recent, pid);
	witness->options.told(witness->options.arg);
}

static void ended(void *arg, pid_t pid, enum sealing_end end)
{
	writer_witness_ended(arg, pid, end);
}

static void sighted(void *arg, pid_t pid)
{
	struct writer_witness *witness = arg;

	sealing_sighted(witness->options.sealing, pid);
}

struct writer_witness *writer_witness_new(const struct writer_witness_options *options)
{
	struct writer_witness *witness = memory_new(sizeof(*witness));

	witness->options = *options;
	witness->unseen = unseen_new(&(struct unseen_options){.loop = options->loop,
		.directory = options->directory,
		.sighted = sighted,
		.ended = ended,
		.arg = witness});
	return witness;
}

void writer_witness_free(struct writer_witness *witness)
{
	if (!witness)
		return;
	unseen_free(witness->unseen);
	free(witness);
}

void writer_witness_heard(struct writer_witness *witness, pid_t pid)
{
	if (recent_writers_note(&witness->recent, pid, clock_monotonic_ms()))
		unseen_watch(witness->unseen, pid);
}

void writer_witness_hurry(struct writer_witness *witness)
{
	unseen_hurry(witness->unseen);
}

void writer_witness_closed(struct writer_witness *witness)
{
	unseen_closed(witness->unseen);
}

/* All that was written unseen is still, by the kernel's word: does somebody hold it all the same? */
static void look_for_holders(struct writer_witness *witness, int64_t now_ms)
{
	struct sealing *sealing = witness->options.sealing;
	uint64_t generation = sealing_generation(sealing);
	struct path_list list = {.paths = memory_new(sizeof(char *))};

	sealing_each_unseen(sealing, path_list_add, &list);
	if (!unseen_may_be_open(witness->unseen, list.paths)) {
		/* The kernel tells of a close before it lets go of the file: whoever ended just now has said so by now, and how he ended
		 * is still to come. */
		drain(witness);
		if (sealing_generation(sealing) == generation)
			sealing_nobody_writes(sealing);
	} else if (witness->held_generation != generation) {
		/* By somebody who has to be known before he ends. */
		witness->held_generation = generation;
		unseen_hurry(witness->unseen);
		unseen_look(witness->unseen, now_ms);
	}
	path_list_free(list.paths);
}

void writer_witness_look(struct writer_witness *witness)
{
	int64_t now = clock_monotonic_ms();

	if (!sealing_is_unseen(witness->options.sealing))
		return;
	unseen_look(witness->unseen, now);
	if (sealing_waits_for_unseen(witness->options.sealing, now))
		look_for_holders(witness, now);
}

void writer_witness_look_for_dead(struct writer_witness *witness)
{
	for (pid_t pid; (pid = recent_writers_take_gone(&witness->recent)) > 0;) {
		drain(witness); /* its last reports were queued before it ended */
		sealing_process_ended(
			witness->options.sealing, pid, SEALING_GONE, clock_monotonic_ms());
	}
}

const struct recent_writers *writer_witness_recent(const struct writer_witness *witness)
{
	return &witness->recent;
}
