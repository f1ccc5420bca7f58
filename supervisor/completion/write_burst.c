/* The rules for a run of writes: when it is over, and which of its paths are torn. */
#include "write_burst.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "workspace/workspace.h"

#include <stdlib.h>
#include <string.h>

void write_burst_init(struct write_burst *burst, int64_t quiet_ms)
{
	*burst = (struct write_burst){
		.quiet_ms = quiet_ms,
		.request_ms = WRITE_BURST_NEVER,
		.first_write_ms = WRITE_BURST_NEVER,
		.unit = -1,
	};
}

void write_burst_release(struct write_burst *burst)
{
	writer_table_release(&burst->writers);
	path_set_release(&burst->paths);
}

void write_burst_before_event(struct write_burst *burst, int64_t now_ms)
{
	burst->settled = write_burst_is_over(burst, now_ms);
}

void write_burst_add_stall(struct write_burst *burst, int64_t ms)
{
	if (burst->active)
		burst->stalled_ms += ms;
}

void write_burst_write(struct write_burst *burst, int64_t now_ms)
{
	if (burst->settled)
		write_burst_end(burst);
	burst->active = true;
	burst->last_ms = now_ms;
	burst->stalled_ms = 0;
	burst->generation++;
	if (burst->first_write_ms == WRITE_BURST_NEVER && burst->request_ms != WRITE_BURST_NEVER)
		burst->first_write_ms = now_ms;
}

/* Number of the checkpoint directory that contains the path, or of the path itself; -1: none. A
 * name that is only a number has none, because it may be a rank's or a part's. */
static int64_t checkpoint_number_of_path(const char *path)
{
	auto_free char *unit = text_copy_n(path, checkpoint_directory_length(path));
	const char *named = *unit ? unit : path;
	const char *slash = strrchr(named, '/');
	const char *name = slash ? slash + 1 : named;

	return checkpoint_number_of_name(name, strlen(name));
}

/* Is there exactly one writer? Only the shim shows that: without it there may have been others that
 * were not found in time. */
static bool has_one_writer(const struct write_burst *burst)
{
	return burst->writers.process_count == 1 && burst->writers.processes[0].speaks;
}

struct other_path_search {
	const char *from;
	bool any;
};

static void find_other_path(void *argument, const char *path)
{
	struct other_path_search *apart = argument;

	apart->any |= !text_equal(path, apart->from);
}

/* Is a file other than `path` open? `path` itself may be: it was renamed while it was open, or the
 * report of its close is still queued. */
static bool is_another_being_written(const struct write_burst *burst, const char *path)
{
	struct other_path_search apart = {.from = path};

	for (size_t i = 0; i < burst->writers.open_count; i++)
		find_other_path(&apart, burst->writers.opens[i].path);
	path_set_each(&burst->paths, WRITE_BURST_WRITTEN, find_other_path, &apart);
	return apart.any;
}

static void note_checkpoint_number(struct write_burst *burst, const char *path)
{
	int64_t unit = checkpoint_number_of_path(path);

	if (unit > burst->unit && burst->unit >= 0 && has_one_writer(burst) &&
	    !is_another_being_written(burst, path))
		path_set_change_all(&burst->paths, WRITE_BURST_DIRTY, 0, WRITE_BURST_PREVIOUS);
	/* A write to a lower number: a writer has not finished the checkpoint before. */
	if (unit >= 0 && unit < burst->unit)
		path_set_change_all(&burst->paths, WRITE_BURST_PREVIOUS, WRITE_BURST_PREVIOUS, 0);
	if (unit > burst->unit)
		burst->unit = unit;
}

void write_burst_touch(struct write_burst *burst, const char *path, unsigned marks, int64_t now_ms)
{
	write_burst_write(burst, now_ms);
	if (!*path)
		return;
	note_checkpoint_number(burst, path);
	path_set_unmark(&burst->paths, path, WRITE_BURST_PREVIOUS);
	path_set_mark(&burst->paths, path, WRITE_BURST_DIRTY | WRITE_BURST_UNCHECKED | marks);
}

void write_burst_change(struct write_burst *burst, int64_t now_ms)
{
	if (burst->active && !burst->settled)
		write_burst_write(burst, now_ms);
	else
		burst->generation++;
}

void write_burst_close_path(struct write_burst *burst, const char *path, bool complete)
{
	if (!complete)
		path_set_mark(&burst->paths, path, WRITE_BURST_TORN);
	else if ((path_set_marks(&burst->paths, path) & WRITE_BURST_CREATED) &&
		 !writer_table_has_open(&burst->writers, path))
		path_set_unmark(&burst->paths, path, WRITE_BURST_TORN);
}

bool write_burst_close_all(struct write_burst *burst, int pid, bool complete)
{
	char *path;
	bool any = false;

	while ((path = writer_table_close_next(&burst->writers, pid))) {
		if (complete)
			write_burst_close_path(burst, path, true);
		free(path);
		any = true;
	}
	return any;
}

void write_burst_mark_torn(struct write_burst *burst, int64_t now_ms)
{
	write_burst_write(burst, now_ms);
	path_set_change_all(&burst->paths, WRITE_BURST_DIRTY,
			    WRITE_BURST_CREATED | WRITE_BURST_REWRITTEN, WRITE_BURST_TORN);
	burst->torn = true;
}

struct previous_search {
	const struct write_burst *burst;
	bool any_earlier, any_without_number;
};

static void find_previous(void *argument, const char *path)
{
	struct previous_search *search = argument;

	if (path_set_marks(&search->burst->paths, path) & WRITE_BURST_PREVIOUS)
		search->any_earlier = true;
	else if (checkpoint_number_of_path(path) < 0)
		search->any_without_number = true;
	/* A file without a number may belong to both checkpoints, or name the newer one. */
}

bool write_burst_accept_previous(struct write_burst *burst)
{
	struct previous_search search = {.burst = burst};

	path_set_each(&burst->paths, WRITE_BURST_DIRTY, find_previous, &search);
	if (!burst->torn || !search.any_earlier || search.any_without_number ||
	    burst->writers.process_count > 1)
		return false;
	path_set_change_all(&burst->paths, WRITE_BURST_PREVIOUS, WRITE_BURST_TORN, 0);
	burst->torn = false;
	burst->previous_accepted = true;
	/* The answer to a request was the newest checkpoint, and that is torn. */
	burst->first_write_ms = WRITE_BURST_NEVER;
	return true;
}

bool write_burst_is_being_written(const struct write_burst *burst)
{
	return burst->writers.open_count > 0 || path_set_any(&burst->paths, WRITE_BURST_WRITTEN);
}

void write_burst_note_completion_marker(struct write_burst *burst)
{
	if (burst->active)
		burst->marker_generation = burst->generation;
}

/* A writer that exits by itself counts as done, like one that called its checkpoint complete. */
static bool all_have_saved(const struct write_burst *burst)
{
	for (size_t i = 0; i < burst->writers.process_count; i++)
		if (!burst->writers.processes[i].saved && !burst->writers.processes[i].exiting)
			return false;
	return true;
}

void write_burst_note_saved(struct write_burst *burst, int pid)
{
	struct writer *writer = writer_table_find(&burst->writers, pid);

	if (writer)
		writer->saved = true;
	if (burst->active && all_have_saved(burst))
		burst->saved_generation = burst->generation;
}

void write_burst_postpone(struct write_burst *burst, int64_t until_ms)
{
	burst->postponed_generation = burst->generation;
	burst->postponed_until_ms = until_ms;
}

int64_t write_burst_over_at_ms(const struct write_burst *burst)
{
	/* With several writers, the marker of one says nothing about the files of the others. */
	bool committed =
		burst->marker_generation == burst->generation && burst->writers.process_count == 1;
	int64_t at_ms = burst->last_ms + burst->stalled_ms +
			(committed ? burst->quiet_ms / 4 : burst->quiet_ms);

	if (burst->saved_generation == burst->generation)
		at_ms = burst->last_ms;
	if (burst->postponed_generation == burst->generation && burst->postponed_until_ms > at_ms)
		at_ms = burst->postponed_until_ms;
	return at_ms;
}

bool write_burst_is_over(const struct write_burst *burst, int64_t now_ms)
{
	if (!burst->active || burst->over)
		return burst->active;
	return now_ms >= write_burst_over_at_ms(burst) && !write_burst_is_being_written(burst);
}

void write_burst_end(struct write_burst *burst)
{
	if (burst->torn)
		path_set_change_all(&burst->paths, WRITE_BURST_DIRTY, 0, WRITE_BURST_TORN);
	path_set_change_all(&burst->paths, ~0u,
			    ~(unsigned)(WRITE_BURST_TORN | WRITE_BURST_REJECTED |
					WRITE_BURST_UNCHECKED),
			    0);
	burst->active = burst->torn = burst->over = burst->settled = burst->previous_accepted =
		false;
	burst->unit = -1;
	writer_table_forget_all(&burst->writers);
}

bool write_burst_is_torn(const struct write_burst *burst, const char *path)
{
	auto_free char *prefix = text_copy(path);

	for (;;) {
		char *slash = strrchr(prefix, '/');

		if (path_set_marks(&burst->paths, prefix) &
		    (WRITE_BURST_TORN | WRITE_BURST_REJECTED))
			return true;
		if (!slash)
			return false;
		*slash = '\0';
	}
}
