#include "write_burst.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "workspace/workspace.h"

#include <stdlib.h>
#include <string.h>

void burst_init(struct burst *burst, int64_t quiet_ms)
{
	*burst = (struct burst){.quiet_ms = quiet_ms,
		.request_ms = BURST_NEVER,
		.first_write_ms = BURST_NEVER,
		.unit = -1};
}

void burst_release(struct burst *burst)
{
	writers_release(&burst->writers);
	path_set_release(&burst->paths);
}

void burst_observe(struct burst *burst, int64_t now_ms)
{
	burst->settled = burst_is_over(burst, now_ms);
}

void burst_stood_still(struct burst *burst, int64_t ms)
{
	if (burst->active)
		burst->stalled_ms += ms;
}

void burst_write(struct burst *burst, int64_t now_ms)
{
	if (burst->settled)
		burst_end(burst);
	burst->active = true;
	burst->last_ms = now_ms;
	burst->stalled_ms = 0;
	burst->generation++;
	if (burst->first_write_ms == BURST_NEVER && burst->request_ms != BURST_NEVER)
		burst->first_write_ms = now_ms;
}

/* Of the numbered checkpoint that the path is, or lies in; -1. A number alone may be a rank's, or a part's. */
static int64_t unit_of(const char *path)
{
	auto_free char *unit = text_copy_n(path, numbered_unit(path));
	const char *named = *unit ? unit : path;
	const char *slash = strrchr(named, '/');
	const char *name = slash ? slash + 1 : named;

	return numbered_name(name, strlen(name));
}

/* Among those that do not speak there may have been others, that nobody saw in time. */
static bool one_writes(const struct burst *burst)
{
	return burst->writers.process_count == 1 && burst->writers.processes[0].speaks;
}

struct apart {
	const char *from;
	bool any;
};

static void look_apart(void *argument, const char *path)
{
	struct apart *apart = argument;

	apart->any |= !text_equal(path, apart->from);
}

/* The path itself may be: renamed while it was open, or before the report of its close was read. */
static bool is_another_being_written(const struct burst *burst, const char *path)
{
	struct apart apart = {.from = path};

	for (size_t i = 0; i < burst->writers.open_count; i++)
		look_apart(&apart, burst->writers.opens[i].path);
	path_set_each(&burst->paths, BURST_WRITTEN, look_apart, &apart);
	return apart.any;
}

static void note_unit(struct burst *burst, const char *path)
{
	int64_t unit = unit_of(path);

	if (unit > burst->unit && burst->unit >= 0 && one_writes(burst) &&
		!is_another_being_written(burst, path))
		path_set_change_all(&burst->paths, BURST_DIRTY, 0, BURST_EARLIER);
	/* Somebody is not done with the one before. */
	if (unit >= 0 && unit < burst->unit)
		path_set_change_all(&burst->paths, BURST_EARLIER, BURST_EARLIER, 0);
	if (unit > burst->unit)
		burst->unit = unit;
}

void burst_touch(struct burst *burst, const char *path, unsigned marks, int64_t now_ms)
{
	burst_write(burst, now_ms);
	if (!*path)
		return;
	note_unit(burst, path);
	path_set_unmark(&burst->paths, path, BURST_EARLIER);
	path_set_mark(&burst->paths, path, BURST_DIRTY | BURST_UNJUDGED | marks);
}

void burst_change(struct burst *burst, int64_t now_ms)
{
	if (burst->active && !burst->settled)
		burst_write(burst, now_ms);
	else
		burst->generation++;
}

void burst_closed(struct burst *burst, const char *path, bool complete)
{
	if (!complete)
		path_set_mark(&burst->paths, path, BURST_TORN);
	else if ((path_set_marks(&burst->paths, path) & BURST_FRESH) &&
		 !writers_have_open(&burst->writers, path))
		path_set_unmark(&burst->paths, path, BURST_TORN);
}

bool burst_close_all(struct burst *burst, int pid, bool complete)
{
	char *path;
	bool any = false;

	while ((path = writers_close_next(&burst->writers, pid))) {
		if (complete)
			burst_closed(burst, path, true);
		free(path);
		any = true;
	}
	return any;
}

void burst_tear(struct burst *burst, int64_t now_ms)
{
	burst_write(burst, now_ms);
	path_set_change_all(&burst->paths, BURST_DIRTY, BURST_FRESH | BURST_REWRITTEN, BURST_TORN);
	burst->torn = true;
}

struct later {
	const struct burst *burst;
	bool any_earlier, any_without_number;
};

static void look_for_later(void *argument, const char *path)
{
	struct later *later = argument;

	if (path_set_marks(&later->burst->paths, path) & BURST_EARLIER)
		later->any_earlier = true;
	else if (unit_of(path) < 0)
		later->any_without_number = true; /* of both, perhaps, or it names the newer one */
}

bool burst_spare_earlier(struct burst *burst)
{
	struct later later = {.burst = burst};

	path_set_each(&burst->paths, BURST_DIRTY, look_for_later, &later);
	if (!burst->torn || !later.any_earlier || later.any_without_number ||
		burst->writers.process_count > 1)
		return false;
	path_set_change_all(&burst->paths, BURST_EARLIER, BURST_TORN, 0);
	burst->torn = false;
	burst->spared = true;
	burst->first_write_ms = BURST_NEVER;
	return true;
}

bool burst_is_being_written(const struct burst *burst)
{
	return burst->writers.open_count > 0 || path_set_any(&burst->paths, BURST_WRITTEN);
}

void burst_commit(struct burst *burst)
{
	if (burst->active)
		burst->commit_generation = burst->generation;
}

/* Whoever has ended of its own accord has said so in its way. */
static bool all_have_saved(const struct burst *burst)
{
	for (size_t i = 0; i < burst->writers.process_count; i++)
		if (!burst->writers.processes[i].saved && !burst->writers.processes[i].exiting)
			return false;
	return true;
}

void burst_saved(struct burst *burst, int pid)
{
	struct writer *writer = writers_find(&burst->writers, pid);

	if (writer)
		writer->saved = true;
	if (burst->active && all_have_saved(burst))
		burst->saved_generation = burst->generation;
}

void burst_hold(struct burst *burst, int64_t until_ms)
{
	burst->held_generation = burst->generation;
	burst->held_until_ms = until_ms;
}

int64_t burst_over_at_ms(const struct burst *burst)
{
	bool committed =
		burst->commit_generation == burst->generation && burst->writers.process_count == 1;
	int64_t at_ms = burst->last_ms + burst->stalled_ms +
			(committed ? burst->quiet_ms / 4 : burst->quiet_ms);

	if (burst->saved_generation == burst->generation)
		at_ms = burst->last_ms;
	if (burst->held_generation == burst->generation && burst->held_until_ms > at_ms)
		at_ms = burst->held_until_ms;
	return at_ms;
}

bool burst_is_over(const struct burst *burst, int64_t now_ms)
{
	if (!burst->active || burst->over)
		return burst->active;
	return now_ms >= burst_over_at_ms(burst) && !burst_is_being_written(burst);
}

void burst_end(struct burst *burst)
{
	if (burst->torn)
		path_set_change_all(&burst->paths, BURST_DIRTY, 0, BURST_TORN);
	path_set_change_all(
		&burst->paths, ~0u, ~(unsigned)(BURST_TORN | BURST_REFUSED | BURST_UNJUDGED), 0);
	burst->active = burst->torn = burst->over = burst->settled = burst->spared = false;
	burst->unit = -1;
	writers_forget_all(&burst->writers);
}

bool burst_is_torn(const struct burst *burst, const char *path)
{
	auto_free char *prefix = text_copy(path);

	for (;;) {
		char *slash = strrchr(prefix, '/');

		if (path_set_marks(&burst->paths, prefix) & (BURST_TORN | BURST_REFUSED))
			return true;
		if (!slash)
			return false;
		*slash = '\0';
	}
}
