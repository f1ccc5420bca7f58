#include "untracked_writers.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "monitor/monitor.h"
#include "process/process.h"

#include <stdlib.h>
#include <sys/wait.h>

/* Between two looks, and how many times as long as the last one took. */
#define LOOK_EVERY_MS 100
#define LOOK_SHARE 20

struct sighting {
	pid_t pid;
	bool speaks; /* the shim is in it: what it has closed it would have said */
	bool closed; /* by itself, and it has opened nothing since */
};

struct unseen {
	struct unseen_options options;
	struct process_ends *ends;
	struct sighting *sightings;
	size_t count;
	int64_t next_ms; /* not before */
	bool said;
};

static struct sighting *find(struct unseen *unseen, pid_t pid)
{
	for (size_t i = 0; i < unseen->count; i++)
		if (unseen->sightings[i].pid == pid)
			return &unseen->sightings[i];
	return NULL;
}

/* Nobody says how it ended. What a process has closed itself is taken for whole; what its end has closed is not. */
static enum sealing_end guess(struct unseen *unseen, const struct sighting *sighting)
{
	if (!sighting || sighting->speaks)
		return SEALING_GONE;
	if (sighting->closed)
		return SEALING_EXITED;
	if (!unseen->said)
		log_warn("process %d wrote to %s until it ended, and nobody saw how it ended: what "
			 "it "
			 "wrote does not count as complete; its program cannot be seen by the "
			 "preload library",
			(int)sighting->pid, unseen->options.directory);
	unseen->said = true;
	return SEALING_GONE;
}

static void ended(void *arg, pid_t pid, int wait_status)
{
	struct unseen *unseen = arg;
	struct sighting *sighting = find(unseen, pid);
	enum sealing_end end;

	if (wait_status == -1)
		end = guess(unseen, sighting);
	else if (WIFSIGNALED(wait_status))
		end = SEALING_KILLED;
	else
		end = WEXITSTATUS(wait_status) == 0 ? SEALING_EXITED : SEALING_FAILED;
	if (sighting)
		*sighting = unseen->sightings[--unseen->count];
	unseen->options.ended(unseen->options.arg, pid, end);
}

struct unseen *unseen_new(const struct unseen_options *options)
{
	struct unseen *unseen = memory_new(sizeof(*unseen));

	unseen->options = *options;
	unseen->ends = process_ends_new(options->loop, ended, unseen);
	return unseen;
}

void unseen_free(struct unseen *unseen)
{
	if (!unseen)
		return;
	process_ends_free(unseen->ends);
	free(unseen->sightings);
	free(unseen);
}

/* NULL when its end will not be told. */
static struct sighting *add(struct unseen *unseen, pid_t pid)
{
	struct sighting *sighting = find(unseen, pid);

	if (sighting)
		return sighting;
	if (!process_ends_watch(unseen->ends, pid))
		return NULL;
	unseen->sightings =
		memory_grow(unseen->sightings, unseen->count + 1, sizeof(unseen->sightings[0]));
	sighting = &unseen->sightings[unseen->count++];
	*sighting = (struct sighting){.pid = pid};
	return sighting;
}

void unseen_watch(struct unseen *unseen, pid_t pid)
{
	struct sighting *sighting = add(unseen, pid);

	if (sighting)
		sighting->speaks = true;
}

static void holder(void *arg, pid_t pid)
{
	struct unseen *unseen = arg;
	struct sighting *sighting = add(unseen, pid);

	if (!sighting)
		return;
	sighting->closed = false;
	unseen->options.sighted(unseen->options.arg, pid);
}

void unseen_look(struct unseen *unseen, int64_t now_ms)
{
	int64_t took_ms;

	if (now_ms < unseen->next_ms)
		return;
	holders_find(unseen->options.directory, holder, unseen);
	took_ms = clock_monotonic_ms() - now_ms;
	unseen->next_ms = now_ms + took_ms + LOOK_EVERY_MS;
	if (took_ms * LOOK_SHARE > LOOK_EVERY_MS)
		unseen->next_ms = now_ms + took_ms * LOOK_SHARE;
}

void unseen_hurry(struct unseen *unseen)
{
	unseen->next_ms = 0;
}

void unseen_closed(struct unseen *unseen)
{
	for (size_t i = 0; i < unseen->count; i++) {
		struct sighting *sighting = &unseen->sightings[i];

		if (!sighting->speaks && !sighting->closed)
			sighting->closed =
				!holders_holds(unseen->options.directory, sighting->pid) &&
				holders_is_up(sighting->pid);
	}
}

static void note_any(void *arg, pid_t pid)
{
	(void)pid;
	*(bool *)arg = true;
}

bool unseen_may_be_open(struct unseen *unseen, char *const *paths)
{
	bool unknown = false;
	bool any = false;

	for (; *paths; paths++) {
		auto_free char *path = text_format("%s/%s", unseen->options.directory, *paths);
		enum holders_word word = holders_of_file(path);

		if (word == HOLDERS_SOME)
			return true;
		unknown |= word == HOLDERS_UNKNOWN;
	}
	if (unknown)
		holders_find(unseen->options.directory, note_any, &any);
	return any;
}
