/* Which files are running ones, by name or by how they are written. See detector.h. */
#include "detector_parts.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <string.h>

/* A file is a running one if it stays open while so many saves are begun, and for so long: longer
 * if it has a checkpoint's name, because a slow save is like that too. */
#define RUNNING_SAVES 5
#define RUNNING_OPEN_MS 10000
#define RUNNING_SLOW_OPEN_MS 20000
/* What is open for appending, under any name but a checkpoint's, is a log by the first save that is
 * begun meanwhile. Another file that was never closed may be one: it no longer holds up the fixed
 * names, and with them the pointer to the newest checkpoint. */
#define LOG_SAVES 1
#define LOG_APPENDED_OPEN_MS 2000
/* ... or if it was opened with content and closed longer so often in a row. */
#define RUNNING_GROWN 2

/* A curve is nothing to resume from. A database is, and so is a journal that is read at the start,
 * as Optuna's journal.log. */
static bool may_be_work(const struct detector *detector, const char *path)
{
	return file_patterns_kind(detector->patterns, path) != FILE_KIND_RUNNING ||
	       text_ends(path, ".log");
}

void detector_note_running(struct detector *detector, const char *path)
{
	detector->running_generation++;
	detector->running_work |= may_be_work(detector, path);
	text_set(detector->running_path, sizeof(detector->running_path), path);
}

bool detector_passes_over(struct detector *detector, const char *path)
{
	enum file_kind kind = file_patterns_kind(detector->patterns, path);

	if (kind == FILE_KIND_RUNNING)
		detector_note_running(detector, path);
	return kind != FILE_KIND_ORDINARY;
}

void detector_make_running(struct detector *detector, struct tracked_file *file)
{
	struct checkpoint *checkpoint = file->checkpoint;

	file->marks = FILE_RUNNING | (file->marks & FILE_CREATED);
	detector_note_running(detector, file->path);
	detector->generation++;
	if (checkpoint->state == CHECKPOINT_UNDER_WAY && !checkpoint_any(checkpoint, FILE_FRESH))
		checkpoint_set_state(&detector->table, checkpoint, CHECKPOINT_EMPTY);
}

bool detector_is_of_database(const struct detector *detector, const char *path)
{
	static const char *const endings[] = {"-wal", "-shm", "-journal"};

	if (!detector->questions.is_database)
		return false;
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
		if (text_ends(path, endings[i])) {
			auto_free char *base = text_copy_n(path, strlen(path) - strlen(endings[i]));

			return detector->questions.is_database(detector->questions.arg, base);
		}
	return detector->questions.is_database(detector->questions.arg, path);
}

void detector_note_growth(struct detector *detector, struct tracked_file *file, uint64_t before)
{
	bool grown = !(file->marks & FILE_CREATED) && before > 0 && file->size > before;

	file->grown = grown ? file->grown + 1 : 0;
	if (file->grown >= RUNNING_GROWN && !file_format_is_checkpoint_name(file->path))
		detector_make_running(detector, file);
}

bool detector_shrunk(const struct detector *detector, const struct tracked_file *file)
{
	return file->size > 0 && detector_look(detector, file->path).size < file->size;
}

void detector_note_whole(const struct detector *detector, struct tracked_file *file)
{
	if (!file || writer_table_has_open(&detector->writers, file->path))
		return;
	if (file->marks & FILE_CREATED)
		file->marks |= FILE_REWRITES;
	if (file->marks & FILE_RUNNING)
		file->size = detector_look(detector, file->path).size;
}

void detector_begin_anew(struct detector *detector, struct tracked_file *file)
{
	if (!file || !(file->marks & FILE_RUNNING) ||
	    writer_table_has_open(&detector->writers, file->path) ||
	    detector_is_of_database(detector, file->path))
		return;
	file->marks &= FILE_REWRITES;
	file->grown = 0;
}

/* --- slow saves --- */

static void make_slow(struct detector *detector, struct tracked_file *file)
{
	struct checkpoint *fixed = file->checkpoint;

	file->marks = (file->marks & ~(unsigned)(FILE_FRESH | FILE_UNCLOSED)) | FILE_SLOW;
	detector->generation++;
	if (!checkpoint_any(fixed, FILE_FRESH))
		checkpoint_set_state(&detector->table, fixed, CHECKPOINT_EMPTY);
}

void detector_end_slow(struct detector *detector, const char *path, int pid, int64_t now_ms)
{
	struct tracked_file *file = checkpoint_table_find(&detector->table, path);
	int64_t begun_ms = file ? file->begun_ms : 0;
	unsigned kept;

	if (!file || !(file->marks & FILE_SLOW) || writer_table_has_open(&detector->writers, path))
		return;
	kept = file->marks & FILE_CREATED;
	file->marks &= ~(unsigned)FILE_SLOW;
	file = detector_touch(detector, path, 0, pid, now_ms);
	if (!file)
		return;
	file->marks |= kept;
	file->begun_ms = begun_ms;
}

/* What was opened empty and is a checkpoint's by its name, or by how it was written before, will be
 * whole when it is closed. */
static bool is_slow_save(const struct tracked_file *file)
{
	return (file->marks & FILE_CREATED) &&
	       ((file->marks & FILE_REWRITES) || file_format_is_checkpoint_name(file->path));
}

/* Has it been open for so long, and while so many saves were begun, that it is none of them? */
static bool outlives(const struct detector *detector, const struct tracked_file *file,
		     int64_t least_ms, uint64_t saves, int64_t now_ms)
{
	return now_ms - file->begun_ms >= least_ms &&
	       detector->saves - file->saves_at_open >= saves;
}

static void judge_open_file(struct detector *detector, struct tracked_file *file, int64_t now_ms)
{
	bool named = file_format_is_checkpoint_name(file->path);
	bool may_be_log = !named && !(file->marks & FILE_REWRITES) &&
			  writer_table_has_open(&detector->writers, file->path);
	int64_t least_ms = named ? RUNNING_SLOW_OPEN_MS : RUNNING_OPEN_MS;
	bool lasts = outlives(detector, file, least_ms, RUNNING_SAVES, now_ms);

	if (detector_is_of_database(detector, file->path) || (lasts && !is_slow_save(file)) ||
	    (may_be_log && (file->marks & FILE_APPENDED) &&
	     outlives(detector, file, LOG_APPENDED_OPEN_MS, LOG_SAVES, now_ms)))
		detector_make_running(detector, file);
	else if (!(file->marks & FILE_SLOW) &&
		 (lasts || (may_be_log && outlives(detector, file, least_ms, LOG_SAVES, now_ms))))
		make_slow(detector, file);
}

void detector_find_running(struct detector *detector, struct checkpoint *fixed, int64_t now_ms)
{
	for (struct tracked_file *file = fixed->files, *next; file; file = next) {
		next = file->sibling;
		if ((file->marks & (FILE_FRESH | FILE_SLOW)) &&
		    detector_file_is_open(detector, file))
			judge_open_file(detector, file, now_ms);
	}
}
