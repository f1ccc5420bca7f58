#include "gang_rounds.h"

#include <string.h>

/* So many say that a process lives on after a checkpoint. */
#define WRITTEN_LEAST 2

static struct gang_writer *find_writer(struct gang_runs *runs, int pid)
{
	for (size_t i = 0; i < runs->count; i++)
		if (runs->writers[i].pid == pid)
			return &runs->writers[i];
	return NULL;
}

bool gang_runs_knows(const struct gang_runs *runs, int pid)
{
	for (size_t i = 0; i < runs->count; i++)
		if (runs->writers[i].pid == pid)
			return true;
	return false;
}

static bool was_rank(const struct gang_writer *writer)
{
	return writer->dead && writer->written >= WRITTEN_LEAST;
}

/* Of those that are gone, who wrote one says nothing. */
static void forget_dead(struct gang_runs *runs, unsigned most_written)
{
	size_t kept = 0;

	for (size_t i = 0; i < runs->count; i++)
		if (!runs->writers[i].dead || runs->writers[i].written > most_written)
			runs->writers[kept++] = runs->writers[i];
	runs->count = kept;
}

void gang_runs_note_dead(struct gang_runs *runs, int pid)
{
	struct gang_writer *writer = find_writer(runs, pid);

	if (!writer)
		return;
	writer->dead = true;
	writer->pid = 0;
}

static void add_writer(struct gang_runs *runs, int pid)
{
	if (runs->count == GANG_WRITERS_MOST)
		forget_dead(runs, WRITTEN_LEAST - 1);
	if (runs->count == GANG_WRITERS_MOST)
		memmove(runs->writers, runs->writers + 1, --runs->count * sizeof(runs->writers[0]));
	runs->writers[runs->count++] = (struct gang_writer){.pid = pid, .step = -1, .writes = true};
}

bool gang_runs_note_write(struct gang_runs *runs, int pid)
{
	struct gang_writer *writer = find_writer(runs, pid);
	bool anew = false;

	if (writer) {
		writer->writes = true;
		return false;
	}
	for (size_t i = 0; i < runs->count; i++)
		anew |= was_rank(&runs->writers[i]);
	if (anew)
		forget_dead(runs, UINT32_MAX);
	add_writer(runs, pid);
	return anew;
}

void gang_runs_note_complete(struct gang_runs *runs, int64_t step)
{
	bool known = false;

	for (size_t i = 0; i < runs->count; i++)
		known |= runs->writers[i].writes;
	/* Something was said of the one before. */
	if (!known)
		return;
	for (size_t i = 0; i < runs->count; i++) {
		struct gang_writer *writer = &runs->writers[i];

		writer->newest = writer->writes;
		if (writer->writes && (writer->written == 0 || step != writer->step)) {
			writer->written++;
			writer->step = step;
		}
		writer->writes = false;
	}
}

bool gang_runs_holds(const struct gang_runs *runs)
{
	for (size_t i = 0; i < runs->count; i++)
		if (runs->writers[i].newest && was_rank(&runs->writers[i]))
			return true;
	return false;
}
