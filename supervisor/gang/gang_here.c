#include "gang_rounds.h"

#include <string.h>

struct gang_here gang_here_new(uint32_t member)
{
	return (struct gang_here){.member = member,
				  .step = -1,
				  .before = -1,
				  .begun_step = -1,
				  .shared_step = -1};
}

int gang_here_find_step(const struct gang_here *here, int64_t step)
{
	for (unsigned i = 0; i < here->steps.count; i++)
		if (here->steps.at[i] == step)
			return (int)i;
	return -1;
}

void gang_here_forget_step(struct gang_here *here, int64_t step)
{
	int at = gang_here_find_step(here, step);

	if (at < 0)
		return;
	here->keeps_short = here->now_ms - here->steps_ms[at] < GANG_KEEPS_LEAST_MS;
	here->steps.count--;
	for (unsigned i = (unsigned)at; i < here->steps.count; i++) {
		here->steps.at[i] = here->steps.at[i + 1];
		here->steps_ms[i] = here->steps_ms[i + 1];
	}
}

static void add_step(struct gang_here *here, int64_t step)
{
	if (step < 0)
		return;
	if (here->keeps_short)
		here->steps.count = 0;
	if (here->steps.count < GANG_STEPS_MOST)
		here->steps.count++;
	for (unsigned i = here->steps.count - 1; i > 0; i--) {
		here->steps.at[i] = here->steps.at[i - 1];
		here->steps_ms[i] = here->steps_ms[i - 1];
	}
	here->steps.at[0] = step;
	here->steps_ms[0] = here->now_ms;
}

/* Over all checkpoints so far, and never over less than a reading of the log: two may be found to
 * be complete at the same moment, which says nothing of how fast the job is. */
static void note_pace(struct gang_here *here, int64_t step)
{
	int64_t took_ms = here->now_ms - here->first_ms;

	if (here->step < 0 || step < here->first_step) {
		here->first_step = step;
		here->first_ms = here->now_ms;
		return;
	}
	if (took_ms < GANG_READ_MS)
		took_ms = GANG_READ_MS;
	here->pace = (double)(step - here->first_step) * 1000 / (double)took_ms;
}

/* Ranks that are slow may begin late what one that has gone had begun before; also if the job has
 * begun anew: whether that was before or after the gone one had come there, nobody can know. */
static bool is_of_gone(const struct gang_view *view, int64_t step)
{
	for (uint32_t i = 0; i < view->members && step >= 0; i++)
		if (view->gone_at[i].saves && view->gone_at[i].step == step)
			return true;
	return false;
}

void gang_here_note_complete(struct gang_here *here, const struct gang_view *view,
			     uint64_t generation, int64_t step, int64_t begun_ms)
{
	bool more = step >= 0 && step == here->step;
	bool before = here->gone_seen_ms > 0 && begun_ms <= here->gone_seen_ms;
	bool lacks = more ? !gang_here_can_give(here) : before || is_of_gone(view, step);

	here->begun = true;
	here->learned = false;
	here->empties = 0;
	if (here->generation == 0)
		here->wanted_ms = here->now_ms;
	here->generation = generation;
	if (lacks)
		here->stale = generation;
	/* Something was added to it, or it was saved once more. */
	if (step == here->step)
		return;
	note_pace(here, step);
	if (step < here->step) {
		here->fallen = view->round.number;
		here->anew = true;
		here->steps.count = 0;
	}
	if (!lacks)
		add_step(here, step);
	here->before = here->step;
	here->step = step;
}

void gang_here_note_gone(struct gang_here *here)
{
	here->gone_read_ms = here->now_ms;
	here->gone_seen_ms = INT64_MAX;
	here->stale = here->generation;
	here->steps.count = 0;
	/* What the attempt has started from, too. */
	here->begun |= here->holds_start;
}

void gang_here_note_part(struct gang_here *here, uint32_t round, uint64_t generation, int64_t step,
			 bool beside)
{
	here->given = round;
	here->given_generation = generation;
	here->given_step = step;
	here->beside = beside;
	here->lies = false;
}

void gang_here_note_shared(struct gang_here *here, uint32_t round)
{
	if (here->given == round && !here->beside && here->given_step > here->shared_step)
		here->shared_step = here->given_step;
}

void gang_here_note_fate(struct gang_here *here, struct gang_view *view, uint32_t round,
			 enum gang_part_fate fate)
{
	switch (fate) {
	case GANG_FATE_LIES:
	case GANG_FATE_OVER:
		return;
	case GANG_FATE_COMMITTED:
		gang_view_committed(view, round);
		gang_here_note_shared(here, round);
		here->lies = false;
		if (here->given == round && here->given_generation > 0)
			here->durable = here->given_generation;
		return;
	case GANG_FATE_VOID:
	case GANG_FATE_UNFIT:
		here->unable = round;
		here->unable_reason =
			fate == GANG_FATE_VOID ? "its save has failed"
					       : "the parts of all do not make one snapshot";
		if (here->given == round)
			here->given = 0;
	}
}

uint32_t gang_here_in_doubt(const struct gang_view *view, const struct gang_here *here)
{
	bool over = view->round.number == here->given && view->round.state == GANG_ROUND_OVER;
	bool known = here->durable > 0 && here->durable == here->given_generation;

	return over || known ? 0 : here->given;
}

void gang_here_note_anew(struct gang_here *here, const struct gang_view *view)
{
	here->fallen = view->round.number;
	here->stale = here->generation;
	here->steps.count = 0;
	here->step = here->before = -1;
	here->anew = true;
}

void gang_here_note_read(struct gang_here *here, const struct gang_view *view)
{
	if (here->anew)
		here->fallen = view->round.number;
	here->anew = false;
}

/* --- gang_runs --- */

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
