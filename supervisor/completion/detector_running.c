/* Which files are running ones, by name or by how they are written. See detector.h. */
#include "detector_parts.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <string.h>

/* A file that is open for so long is a running one, if others were begun meanwhile; or for six
 * times as long if it has content and nothing else is written: it may be a first save under a name
 * that says nothing. What looks like a slow save is one until it was open for twice as long, and so
 * many others were begun. */
#define OPEN_QUIET_TIMES 10
#define SLOW_SAVES 2
/* A file is a running one too if it was opened with content and closed longer so often in a row. */
#define RUNNING_GROWN 2

/* A curve is nothing to resume from. A database is, and so is what was committed to a repository.
 */
static bool may_be_work(const struct detector *detector, const char *path)
{
	return file_patterns_kind(detector->patterns, path) != FILE_KIND_RUNNING ||
	       file_patterns_is_repository(path);
}

void detector_note_running(struct detector *detector, const char *path)
{
	detector->running_generation++;
	detector->repository_generation += file_patterns_is_repository(path);
	detector->running_work |= may_be_work(detector, path);
	detector->running_log |= text_ends(path, ".log");
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

/* Returns whether the file may be a save that is written slowly: by its name, or by earlier writes.
 */
static bool may_be_slow_save(const struct tracked_file *file)
{
	return (file->marks & (FILE_REWRITES | FILE_TEMPORARY)) ||
	       file_format_is_checkpoint_name(file->path);
}

void detector_note_writing(struct detector *detector, const struct tracked_file *begun,
			   int64_t now_ms)
{
	if (companion_file_is(begun->path))
		return;
	detector->saves += now_ms - detector->begun_ms >= detector->quiet_ms &&
			   begun->checkpoint->begun_ms != now_ms;
	detector->begun_ms = now_ms;
	for (size_t i = 0; i < detector->writers.open_count; i++) {
		struct tracked_file *file =
			checkpoint_table_find(&detector->table, detector->writers.opens[i].path);

		if (file && file != begun && !*file->checkpoint->key &&
		    (file->marks & FILE_FRESH) && !may_be_slow_save(file) &&
		    now_ms - file->begun_ms >= detector->quiet_ms)
			detector_make_running(detector, file);
	}
}

void detector_begin_again(struct detector *detector, struct tracked_file *file, int64_t now_ms)
{
	file->begun_ms = now_ms;
	detector_note_writing(detector, file, now_ms);
}

static void judge_open_file(struct detector *detector, struct tracked_file *file, int64_t now_ms)
{
	bool slow = may_be_slow_save(file);
	int64_t open_ms = now_ms - file->begun_ms, least_ms = OPEN_QUIET_TIMES * detector->quiet_ms;
	uint64_t saves = detector->saves - file->saves_at_open;
	bool lasts =
		slow ? saves >= SLOW_SAVES && open_ms >= 2 * least_ms
		: saves > 0
			? open_ms >= least_ms
			: open_ms >= 6 * least_ms && detector_look(detector, file->path).size > 0;

	if (detector_is_of_database(detector, file->path) ||
	    (lasts && !(slow && (file->marks & FILE_CREATED))))
		detector_make_running(detector, file);
	else if (lasts && !(file->marks & FILE_SLOW))
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
