/* The ends of writers and of the job, and which checkpoints they tear; writers that the shim does
 * not report, and its reports that may be lost. See detector.h. */
#include "base/cleanup.h"
#include "base/text.h"
#include "detector_parts.h"

#include <stdlib.h>

static enum writer_end effective_writer_end(const struct detector *detector,
					    const struct writer *writer, enum writer_end end)
{
	if (end == WRITER_END_UNKNOWN && writer->failed)
		end = WRITER_END_FAILED;
	/* After a request to save, a job may end with any code; it says nothing about the files. */
	if (end == WRITER_END_FAILED && detector->request_ms != DETECTOR_NEVER)
		end = WRITER_END_EXITED;
	return end;
}

static void note_closed(const struct detector *detector, struct checkpoint *checkpoint)
{
	checkpoint->closed_at_death =
		checkpoint->death != DEATH_TEARS && !checkpoint_any(checkpoint, FILE_TEMPORARY) &&
		detector_may_be_whole_set(detector, checkpoint);
}

static void note_death(struct detector *detector, struct checkpoint *checkpoint, int64_t now_ms)
{
	if (checkpoint->state != CHECKPOINT_UNDER_WAY || checkpoint->settled)
		return;
	/* What is added, and closed, stands for itself. */
	if (checkpoint->added_to && checkpoint_all(checkpoint, FILE_WITNESSED))
		return;
	note_closed(detector, checkpoint);
	if (checkpoint->death != DEATH_TEARS && detector_may_be_whole(detector, checkpoint)) {
		checkpoint->death = DEATH_AFTER_CLOSE;
		return;
	}
	checkpoint->death = DEATH_TEARS;
	checkpoint->last_ms = now_ms;
	checkpoint->stalled_ms = detector->stalled_ms;
	/* Of a numbered one, all; of the fixed names, what was written in this save. Nobody will
	 * give it its final name. */
	each_file (file, checkpoint)
		if (*checkpoint->key || (file->marks & FILE_FRESH))
			file->marks =
				(file->marks &
				 ~(unsigned)(FILE_CREATED | FILE_REWRITTEN | FILE_TEMPORARY)) |
				FILE_TORN;
	detector->generation++;
}

static void tear_slow(struct detector *detector, struct tracked_file *file)
{
	file->marks = (file->marks & ~(unsigned)(FILE_SLOW | FILE_CREATED)) | FILE_TORN;
	detector->generation++;
}

bool detector_close_all(struct detector *detector, int pid, bool complete, int64_t now_ms)
{
	char *path;
	bool any = false;

	while ((path = writer_table_close_next(&detector->writers, pid))) {
		struct tracked_file *file = checkpoint_table_find(&detector->table, path);

		free(path);
		if (!file || (file->marks & FILE_RUNNING))
			continue;
		any = true;
		if (complete) {
			detector_end_slow(detector, file->path, pid, now_ms);
			detector_file_closed(detector, file, true, now_ms);
		} else if (file->marks & FILE_SLOW) {
			tear_slow(detector, file);
		} else {
			note_death(detector, file->checkpoint, now_ms);
		}
	}
	return any;
}

/* The report of the close was lost, or the process closed it without the library. */
static void drop_closed(struct detector *detector, struct writer_descriptor *open, int64_t now_ms)
{
	auto_free char *path = text_copy(open->path);

	writer_table_close(&detector->writers, open);
	detector_end_slow(detector, path, 0, now_ms);
	if (checkpoint_table_find(&detector->table, path))
		detector_touch(detector, path, 0, 0, now_ms);
}

/* A process that ended well has closed the files whose closes were lost. `pid` 0: any process. */
static void drop_unsure(struct detector *detector, int pid, int64_t now_ms)
{
	for (size_t i = 0; i < detector->writers.open_count;) {
		struct writer_descriptor *open = &detector->writers.opens[i];

		if (open->unsure && (pid == 0 || open->pid == pid))
			drop_closed(detector, open, now_ms);
		else
			i++;
	}
}

/* A process without the shim is found by a search now and then: it may have written to whatever
 * nobody else is known to have closed. */
static bool may_have_written(const struct checkpoint *checkpoint, const struct writer *writer,
			     int pid)
{
	if (checkpoint_has_writer(checkpoint, pid))
		return true;
	return writer->pid == pid && !writer->speaks && checkpoint_any(checkpoint, FILE_FRESH) &&
	       !checkpoint_all(checkpoint, FILE_WITNESSED);
}

void detector_process_ended(struct detector *detector, int pid, enum writer_end end, int64_t now_ms)
{
	const struct writer *found = writer_table_find(&detector->writers, pid);
	struct writer writer;
	bool badly;

	/* It wrote to nothing that is under way; or this end was told already, by another source
	 * that knew more: then nobody can say any longer that it had announced its exit. */
	if (!found)
		return;
	writer = *found;
	end = effective_writer_end(detector, &writer, end);
	detector_settle(detector, pid, now_ms);
	if (end == WRITER_END_EXITED)
		drop_unsure(detector, pid, now_ms);
	detector_close_all(detector, pid, false, now_ms);
	writer_table_forget(&detector->writers, pid);
	/* The signal may have come while exit() was flushing; it may have died between two files
	 * of a checkpoint; or it says itself that it failed. */
	badly = (writer.open_at_exit && end == WRITER_END_KILLED) ||
		(!writer.exiting && end != WRITER_END_EXITED) || end == WRITER_END_FAILED;
	each_under_way (checkpoint, &detector->table)
		if (badly && may_have_written(checkpoint, &writer, pid))
			note_death(detector, checkpoint, now_ms);
}

/* Nobody saw their closes. */
static void tear_slow_ones(struct detector *detector)
{
	each_checkpoint (checkpoint, &detector->table)
		each_file (file, checkpoint)
			if (file->marks & FILE_SLOW)
				tear_slow(detector, file);
}

void detector_job_ended(struct detector *detector, enum job_end end, int64_t now_ms)
{
	detector_settle(detector, 0, now_ms);
	if (end == JOB_END_CLEAN)
		drop_unsure(detector, 0, now_ms);
	while (detector->writers.open_count > 0) {
		struct writer_descriptor *open = &detector->writers.opens[0];
		struct tracked_file *file = checkpoint_table_find(&detector->table, open->path);

		if (file && !(file->marks & (FILE_RUNNING | FILE_SLOW)))
			note_death(detector, file->checkpoint, now_ms);
		writer_table_close(&detector->writers, open);
	}
	tear_slow_ones(detector);
	detector->job_end = end;
	detector->ended = detector->generation;
	detector->ended_ms = now_ms;
	each_under_way (checkpoint, &detector->table) {
		struct judgement judgement;

		if (checkpoint->death == DEATH_TEARS)
			continue;
		/* Nobody is left who could have a file open that only the kernel has reported. */
		if (end == JOB_END_CLEAN)
			checkpoint_change(checkpoint, FILE_UNCLOSED, FILE_UNCLOSED, 0);
		judgement = detector_judge(detector, checkpoint, now_ms);
		if (judgement.verdict != VERDICT_TORN)
			continue;
		note_closed(detector, checkpoint);
		if (detector_may_be_whole(detector, checkpoint))
			checkpoint->death = DEATH_AFTER_CLOSE;
	}
}

/* --- writers without the shim --- */

bool detector_has_untracked(const struct detector *detector)
{
	const struct writer_table *writers = &detector->writers;

	/* A process of another PID namespace reports its writes, but under a PID that means nothing
	 * here: it has to be searched for as well. */
	for (size_t i = 0; writers->open_count > 0 && i < writers->process_count; i++)
		if (writers->processes[i].elsewhere)
			return true;
	each_under_way (checkpoint, &detector->table)
		if (checkpoint_any(checkpoint, FILE_UNCLOSED))
			return true;
	return false;
}

/* Does a search tell whose it is? Only of one that the shim does not report. */
static bool is_untracked(const struct checkpoint *checkpoint)
{
	each_file (file, checkpoint)
		if ((file->marks & FILE_FRESH) && !(file->marks & FILE_WITNESSED))
			return true;
	return false;
}

void detector_writer_seen(struct detector *detector, int pid)
{
	struct writer *writer;
	bool any = false;

	each_under_way (checkpoint, &detector->table) {
		if (checkpoint->settled || !is_untracked(checkpoint))
			continue;
		checkpoint_add_writer(checkpoint, pid);
		any = true;
	}
	writer = any ? writer_table_add(&detector->writers, pid)
		     : writer_table_find(&detector->writers, pid);
	if (writer)
		writer->closed = false;
}

bool detector_waits_for_untracked(const struct detector *detector, int64_t now_ms)
{
	/* Only the kernel has reported its writes, and it is quiet; but has somebody still a file
	 * of it open? */
	each_under_way (checkpoint, &detector->table)
		if (checkpoint_any(checkpoint, FILE_UNCLOSED) &&
		    detector_still_ms(detector, checkpoint, checkpoint->last_ms, now_ms) >=
			    detector->quiet_ms &&
		    !detector_is_held(detector, checkpoint))
			return true;
	return false;
}

void detector_all_closed(struct detector *detector, const char *path)
{
	struct tracked_file *file = checkpoint_table_find(&detector->table, path);

	if (file)
		file->marks &= ~(unsigned)FILE_UNCLOSED;
}

/* --- reports that may be lost --- */

/* True from the second verification on: its last reports have certainly been handed in by then.
 * Within one, it may have ended after those that were handed in. */
static bool confirm_gone(struct detector *detector, int pid)
{
	struct writer *writer = writer_table_add(&detector->writers, pid);

	if (writer->gone == 0)
		writer->gone = detector->verifications;
	return writer->gone < detector->verifications;
}

void detector_verify(struct detector *detector, detector_query_fd_fn *held, void *argument,
		     int64_t now_ms)
{
	struct writer_table *writers = &detector->writers;

	detector_settle(detector, 0, now_ms);
	detector->needs_verify = false;
	detector->verifications++;
	for (size_t i = 0; i < writers->open_count;) {
		struct writer_descriptor *open = &writers->opens[i];
		int pid = open->pid;
		const struct writer *writer = writer_table_find(writers, pid);
		enum open_files_descriptor answer;

		/* /proc of another PID namespace cannot be read. A file that the kernel reports as
		 * closed and the shim does not was closed by the end of the process. */
		if (writer && writer->elsewhere)
			answer = open->closed ? OPEN_FILES_DESCRIPTOR_GONE
					      : OPEN_FILES_DESCRIPTOR_OPEN;
		else
			answer = held(argument, pid, open->descriptor);

		if (answer == OPEN_FILES_DESCRIPTOR_CLOSED) {
			drop_closed(detector, open, now_ms);
		} else if (answer == OPEN_FILES_DESCRIPTOR_GONE && confirm_gone(detector, pid)) {
			/* It removes at least this descriptor, so that the loop advances. */
			detector_process_ended(detector, pid, WRITER_END_UNKNOWN, now_ms);
		} else {
			detector->needs_verify |= answer == OPEN_FILES_DESCRIPTOR_GONE;
			i++;
		}
	}
}

bool detector_needs_verify(const struct detector *detector)
{
	return detector->needs_verify && detector->writers.open_count > 0;
}
