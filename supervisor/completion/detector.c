#include "detector.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "content_verdict.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

void sealing_init(struct sealing *sealing, int64_t quiet_ms)
{
	*sealing = (struct sealing){.told = SEALING_NOTHING};
	burst_init(&sealing->burst, quiet_ms);
}

void sealing_release(struct sealing *sealing)
{
	for (size_t i = 0; i < sealing->ignored_count; i++)
		free(sealing->ignored[i]);
	free(sealing->ignored);
	free(sealing->moved_path);
	burst_release(&sealing->burst);
}

void sealing_ignore(struct sealing *sealing, const char *pattern)
{
	sealing->ignored = memory_grow(
		sealing->ignored, sealing->ignored_count + 1, sizeof(sealing->ignored[0]));
	sealing->ignored[sealing->ignored_count++] = text_copy(pattern);
}

bool sealing_ignores(const struct sealing *sealing, const char *path)
{
	const char *slash = strrchr(path, '/');

	for (size_t i = 0; i < sealing->ignored_count; i++) {
		if (fnmatch(sealing->ignored[i], path, 0) == 0 ||
			(slash && fnmatch(sealing->ignored[i], slash + 1, 0) == 0))
			return true;
	}
	return false;
}

/* What was renamed away and has not come back below the directory is no longer part of it. What has that name by now may be
 * another file, so that descriptors stay until they are closed. */
static void let_moved_go(struct sealing *sealing)
{
	if (sealing->moved_path)
		path_set_remove_below(&sealing->burst.paths, sealing->moved_path);
	free(sealing->moved_path);
	sealing->moved_path = NULL;
}

static void moved_to(struct sealing *sealing, const struct dir_event *event, int64_t now_ms)
{
	if (sealing->moved_path && sealing->moved_cookie == event->cookie) {
		path_set_rename(&sealing->burst.paths, sealing->moved_path, event->path);
		writers_rename_below(&sealing->burst.writers, sealing->moved_path, event->path);
		free(sealing->moved_path);
		sealing->moved_path = NULL;
	} else {
		path_set_remove_below(&sealing->burst.paths, event->path);
	}
	burst_touch(&sealing->burst, event->path, 0, now_ms);
}

static void kernel_closed(struct sealing *sealing, const char *path, int64_t now_ms)
{
	unsigned marks = path_set_marks(&sealing->burst.paths, path);

	burst_touch(&sealing->burst, path, 0, now_ms);
	path_set_unmark(&sealing->burst.paths, path, BURST_WRITTEN);
	if ((marks & (BURST_TORN | BURST_SEEN | BURST_REWRITTEN)) == (BURST_TORN | BURST_REWRITTEN))
		path_set_unmark(&sealing->burst.paths, path, BURST_TORN | BURST_REWRITTEN);
	/* By a raw system call, perhaps; or another descriptor of two. */
	if (writers_have_open(&sealing->burst.writers, path))
		sealing->in_doubt = true;
	writers_closed(&sealing->burst.writers, path);
}

/* By whoever has it open by the shim's word; or unseen, so that only the kernel's word ends it. */
static void kernel_modified(
	struct sealing *sealing, const char *path, unsigned marks, int64_t now_ms)
{
	bool seen = (marks & BURST_SEEN) && writers_have_open(&sealing->burst.writers, path);

	burst_touch(&sealing->burst, path,
		(seen ? 0 : BURST_WRITTEN) | (marks & BURST_TORN ? BURST_REWRITTEN : 0), now_ms);
}

void sealing_kernel(struct sealing *sealing, const struct dir_event *event, int64_t now_ms)
{
	unsigned marks;

	if (event->change != DIR_RESCAN && sealing_ignores(sealing, event->path))
		return;
	burst_observe(&sealing->burst, now_ms);
	if (sealing->moved_path && event->change != DIR_MOVED_TO &&
		(event->change == DIR_MOVED_FROM ||
			path_set_is_below(event->path, sealing->moved_path)))
		let_moved_go(sealing);
	marks = path_set_marks(&sealing->burst.paths, event->path);
	switch (event->change) {
	case DIR_CREATED:
		/* Perhaps open, with all that it will have still in a buffer; or a link. */
		burst_touch(&sealing->burst, event->path, marks & BURST_SEEN ? 0 : BURST_WRITTEN,
			now_ms);
		break;
	case DIR_MODIFIED:
		kernel_modified(sealing, event->path, marks, now_ms);
		break;
	case DIR_CHANGED:
		/* By whom, and whether it is open, a look cannot see. And it is late: what is torn by now stays so. */
		burst_touch(
			&sealing->burst, event->path, sealing->unsure ? BURST_WRITTEN : 0, now_ms);
		break;
	case DIR_CLOSED_WRITE:
		kernel_closed(sealing, event->path, now_ms);
		break;
	case DIR_MOVED_FROM:
		burst_change(&sealing->burst, now_ms);
		sealing->moved_cookie = event->cookie;
		sealing->moved_path = text_copy(event->path);
		break;
	case DIR_MOVED_TO:
		moved_to(sealing, event, now_ms);
		break;
	case DIR_DELETED:
		burst_change(&sealing->burst, now_ms);
		path_set_remove_below(&sealing->burst.paths, event->path);
		break;
	case DIR_DIRECTORY_CREATED:
		burst_change(&sealing->burst, now_ms);
		break;
	case DIR_RESCAN:
		/* The close of what was being written may be among what was lost, or a write to what was closed: that nobody writes
		 * any more has to be found out by looking. */
		burst_write(&sealing->burst, now_ms);
		path_set_change_all(&sealing->burst.paths, BURST_DIRTY, 0, BURST_WRITTEN);
		sealing->unsure = true;
		sealing->in_doubt = true;
		break;
	}
}

static enum sealing_end how_it_ended(
	const struct sealing *sealing, const struct writer *writer, enum sealing_end end)
{
	if (end == SEALING_GONE && writer->failed)
		end = SEALING_FAILED;
	/* How a process ends that was asked to save says nothing about what it saved. */
	if (end == SEALING_FAILED && sealing->burst.request_ms != SEALING_NEVER)
		end = SEALING_EXITED;
	return end;
}

void sealing_process_ended(struct sealing *sealing, int pid, enum sealing_end end, int64_t now_ms)
{
	struct burst *burst = &sealing->burst;
	const struct writer *found = writers_find(&burst->writers, pid);
	struct writer writer = found ? *found : (struct writer){0};
	bool open, cut_off, unsaid, failed;

	end = how_it_ended(sealing, &writer, end);
	burst_observe(burst, now_ms);
	open = burst_close_all(burst, pid, false);
	writers_forget(&burst->writers, pid);
	/* Perhaps while exit() flushed. */
	cut_off = writer.open_at_exit && end == SEALING_KILLED;
	/* Between two files of a checkpoint, perhaps. */
	unsaid = found && !writer.exiting && end != SEALING_EXITED && burst->active;
	failed = found && end == SEALING_FAILED && burst->active;
	if (!burst->settled && (open || cut_off || unsaid || failed))
		burst_tear(burst, now_ms);
}

void sealing_stood_still(struct sealing *sealing, int64_t ms)
{
	burst_stood_still(&sealing->burst, ms);
}

int64_t sealing_last_ms(const struct sealing *sealing)
{
	return sealing->burst.last_ms;
}

void sealing_job_ended(struct sealing *sealing, bool clean, int64_t now_ms)
{
	bool open = sealing->burst.writers.open_count > 0;

	burst_observe(&sealing->burst, now_ms);
	if (!sealing->burst.active || sealing->burst.settled)
		return;
	while (sealing->burst.writers.open_count > 0)
		writers_close(&sealing->burst.writers, &sealing->burst.writers.opens[0]);
	if (open || !clean)
		burst_tear(&sealing->burst, now_ms);
	sealing->burst.over = true;
}

static enum sealing_verdict tell(struct sealing *sealing, enum sealing_verdict verdict)
{
	sealing->told = verdict;
	sealing->told_generation = sealing->burst.generation;
	return verdict;
}

enum sealing_verdict sealing_poll(struct sealing *sealing, int64_t now_ms, int64_t *at_ms)
{
	const struct burst *burst = &sealing->burst;

	*at_ms = SEALING_NEVER;
	let_moved_go(sealing);
	if (!burst->active)
		return tell(sealing, SEALING_NOTHING);
	if (!burst_is_over(burst, now_ms)) {
		/* Then it can be found out that nobody writes. */
		if (burst->writers.open_count == 0 && now_ms < burst_over_at_ms(burst))
			*at_ms = burst_over_at_ms(burst);
		return tell(sealing, SEALING_BUSY);
	}
	if (!burst->torn || burst_spare_earlier(&sealing->burst))
		return tell(sealing, SEALING_SEALED);
	path_set_change_all(&sealing->burst.paths, BURST_DIRTY, 0, BURST_TORN);
	return tell(sealing, SEALING_TORN);
}

/* --- what the files themselves say --- */

void sealing_commit(struct sealing *sealing)
{
	burst_commit(&sealing->burst);
}

void sealing_saved(struct sealing *sealing, int pid, int64_t now_ms)
{
	burst_observe(&sealing->burst, now_ms);
	burst_saved(&sealing->burst, pid);
}

void sealing_each_unjudged(const struct sealing *sealing, path_set_fn *act, void *argument)
{
	path_set_each(&sealing->burst.paths, BURST_UNJUDGED, act, argument);
}

enum sealing_verdict sealing_judge(
	struct sealing *sealing, const struct refusals *refusals, int64_t now_ms, int64_t *at_ms)
{
	int64_t wait_ms = sealing->burst.over ? 0 : judgement_wait_ms(refusals);

	*at_ms = SEALING_NEVER;
	if (wait_ms > 0) {
		*at_ms = now_ms + wait_ms;
		burst_hold(&sealing->burst, *at_ms);
		return tell(sealing, SEALING_BUSY);
	}
	return tell(sealing,
		judgement_apply(&sealing->burst, refusals) ? SEALING_SEALED : SEALING_TORN);
}

bool sealing_is_held(const struct sealing *sealing)
{
	return sealing->burst.active && sealing->burst.held_generation == sealing->burst.generation;
}

void sealing_acknowledge(struct sealing *sealing)
{
	if ((sealing->told != SEALING_SEALED && sealing->told != SEALING_TORN) ||
		sealing->told_generation != sealing->burst.generation)
		return;
	burst_end(&sealing->burst);
	sealing->unsure = false;
	sealing->told = SEALING_NOTHING;
}

uint64_t sealing_generation(const struct sealing *sealing)
{
	return sealing->burst.generation;
}

bool sealing_is_spared(const struct sealing *sealing)
{
	return sealing->burst.spared;
}

bool sealing_is_torn(const struct sealing *sealing, const char *path)
{
	return burst_is_torn(&sealing->burst, path);
}

void sealing_each_torn(const struct sealing *sealing, path_set_fn *act, void *argument)
{
	path_set_each(&sealing->burst.paths, BURST_TORN | BURST_REFUSED, act, argument);
}

void sealing_each_open(const struct sealing *sealing, path_set_fn *act, void *argument)
{
	for (size_t i = 0; i < sealing->burst.writers.open_count; i++)
		act(argument, sealing->burst.writers.opens[i].path);
	path_set_each(&sealing->burst.paths, BURST_WRITTEN, act, argument);
}

struct closed_search {
	const struct sealing *sealing;
	path_set_fn *act;
	void *argument;
};

static void act_if_closed(void *argument, const char *path)
{
	const struct closed_search *search = argument;
	const struct burst *burst = &search->sealing->burst;

	if (!(path_set_marks(&burst->paths, path) & BURST_WRITTEN) &&
		!sealing_is_torn(search->sealing, path) &&
		!writers_have_open(&burst->writers, path))
		search->act(search->argument, path);
}

void sealing_each_closed(const struct sealing *sealing, path_set_fn *act, void *argument)
{
	struct closed_search search = {sealing, act, argument};

	if (sealing->burst.active && !sealing->burst.torn)
		path_set_each(&sealing->burst.paths, BURST_DIRTY, act_if_closed, &search);
}

void sealing_requested(struct sealing *sealing, int64_t now_ms)
{
	sealing->burst.request_ms = now_ms;
	sealing->burst.first_write_ms = SEALING_NEVER;
}

int64_t sealing_first_open_ms(const struct sealing *sealing)
{
	return sealing->burst.first_write_ms;
}

/* True when its last reports have been handed in for sure: it was gone the last time already. */
static bool confirm_gone(struct sealing *sealing, int pid)
{
	struct writer *writer = writers_add(&sealing->burst.writers, pid);
	bool confirmed = writer->gone;

	writer->gone = true;
	return confirmed;
}

void sealing_verify(struct sealing *sealing, sealing_held_fn *held, void *argument, int64_t now_ms)
{
	struct writers *writers = &sealing->burst.writers;

	burst_observe(&sealing->burst, now_ms);
	sealing->in_doubt = false;
	for (size_t i = 0; i < writers->open_count;) {
		struct writer_open *open = &writers->opens[i];
		int pid = open->pid;
		const struct writer *writer = writers_find(writers, pid);
		enum shim_link_held answer;

		/* What the kernel has closed and the shim has not was closed by the end of the process. */
		if (writer && writer->elsewhere)
			answer = open->closed ? SHIM_LINK_GONE : SHIM_LINK_HELD;
		else
			answer = held(argument, pid, open->descriptor);

		if (answer == SHIM_LINK_RELEASED) {
			writers_close(writers, open);
			burst_write(&sealing->burst, now_ms);
		} else if (answer == SHIM_LINK_GONE && confirm_gone(sealing, pid)) {
			/* Closes this one at least. */
			sealing_process_ended(sealing, pid, SEALING_GONE, now_ms);
		} else {
			sealing->in_doubt |= answer == SHIM_LINK_GONE;
			i++;
		}
	}
}

bool sealing_in_doubt(const struct sealing *sealing)
{
	return sealing->in_doubt && sealing->burst.writers.open_count > 0;
}
