#include "left_reports.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "detector_parts.h"

#include <string.h>

/* Nothing is quiet: only what needs no time is decided. */
#define NOW_MS (1000 * (int64_t)1000)

struct replay {
	const struct left_facts *facts;
	struct detector detector;
	/* the report that is being heard */
	size_t at;
	/* its generation when the list was written */
	uint64_t listed;
	/* what the detector says now */
	struct path_list said;
};

/* What is there now is of a later writing. */
static bool is_opened_later(const struct replay *replay, const char *path)
{
	for (size_t i = replay->at + 1; i < replay->facts->count; i++) {
		const struct left_report *report = &replay->facts->reports[i];

		if (report->message.event == SHIM_OPENED && text_equal(report->paths.path, path))
			return true;
	}
	return false;
}

/* Of the complete ones before; 0: it is not known. */
static uint64_t size_before(const struct detector *detector, const char *path)
{
	const struct tracked_file *file = checkpoint_table_find(&detector->table, path);
	uint64_t size = 0;

	for (const struct family *family = file ? detector->table.families : NULL; family;
	     family = family->next)
		for (size_t i = 0; i < family->signature.count; i++)
			if (family->signature.names[i].hash == file->name &&
			    family->signature.names[i].size > size)
				size = family->signature.names[i].size;
	return size;
}

static struct file_look look(void *arg, const char *path)
{
	const struct replay *replay = arg;
	struct file_look look = replay->facts->look(replay->facts->arg, path);

	if (look.exists && is_opened_later(replay, path)) {
		look.size = size_before(&replay->detector, path);
		look.written = (int64_t)replay->at + 1;
	}
	return look;
}

static bool is_database(void *arg, const char *path)
{
	const struct left_facts *facts = ((const struct replay *)arg)->facts;

	return facts->is_database && facts->is_database(facts->arg, path);
}

/* The kernel tells the same; it was not asked to keep it. */
static void hear_kernel(struct detector *detector, const struct shim_message *message)
{
	struct dir_event event = {.path = message->path};
	const struct checkpoint_table *table = &detector->table;

	if (message->event == SHIM_OPENED && (message->flags & SHIM_FLAG_EMPTY) &&
	    !checkpoint_table_find(table, message->path)) {
		event.change = DIR_CREATED;
	} else if (message->event == SHIM_UNLINKED) {
		event.change = DIR_DELETED;
	} else if (message->event == SHIM_RENAMED && *message->path && *message->path2 &&
		   !(message->flags & SHIM_FLAG_EXCHANGED)) {
		event.change = DIR_MOVED_TO;
		event.from = message->path;
		event.path = message->path2;
		event.directory = !checkpoint_table_find(table, message->path);
	} else {
		return;
	}
	detector_handle_kernel(detector, &event, NOW_MS);
}

/* The report of its last open before this one; -1: there is none. */
static int64_t opened_at(const struct replay *replay, const char *path)
{
	for (size_t i = replay->at; i-- > 0;) {
		const struct left_report *report = &replay->facts->reports[i];

		if (report->message.event == SHIM_OPENED && text_equal(report->paths.path, path))
			return (int64_t)i;
	}
	return -1;
}

/* Without times, the order tells which files are running ones: those that were open before another
 * one was begun, and still are when that one is closed. */
static void note_outlasted(struct replay *replay, const char *closed)
{
	const struct writer_table *writers = &replay->detector.writers;
	int64_t begun = opened_at(replay, closed);

	for (size_t i = 0; begun >= 0 && i < writers->open_count; i++) {
		struct tracked_file *file =
			checkpoint_table_find(&replay->detector.table, writers->opens[i].path);

		if (file && !*file->checkpoint->key && (file->marks & FILE_FRESH) &&
		    !(file->marks & (FILE_REWRITES | FILE_TEMPORARY)) &&
		    !file_format_is_checkpoint_name(file->path) &&
		    opened_at(replay, file->path) < begun)
			detector_make_running(&replay->detector, file);
	}
}

/* Is it about what is not known, since it began before all of these reports? */
static bool is_of_before(struct detector *detector, const struct shim_message *message)
{
	const struct tracked_file *file = checkpoint_table_find(&detector->table, message->path);

	if (message->event == SHIM_CLOSED)
		return !writer_table_find_open(&detector->writers, message->pid,
					       message->descriptor) &&
		       (!file || !(file->marks & FILE_FRESH));
	return (message->event == SHIM_RENAMED || message->event == SHIM_LINKED) &&
	       !checkpoint_table_any_below(&detector->table, message->path);
}

static void decide(struct detector *detector)
{
	struct judgement judgement;
	struct checkpoint *checkpoint;
	int64_t at_ms;

	while ((checkpoint = detector_next_decided(detector, NOW_MS, &judgement, &at_ms)))
		detector_decide(detector, checkpoint, judgement);
}

static void hear(struct replay *replay, const struct left_report *report)
{
	struct detector *detector = &replay->detector;
	struct shim_message message = report->message;

	message.path = report->paths.path;
	message.path2 = report->paths.path2;
	if (message.event == SHIM_SIGTERM_HELD || message.event == SHIM_SAVED_ELSEWHERE ||
	    text_starts(message.path, ".reprieve") || is_of_before(detector, &message))
		return;
	hear_kernel(detector, &message);
	detector_handle_shim(detector, &message, NOW_MS);
	if (message.event == SHIM_CLOSED && !companion_file_is(message.path))
		note_outlasted(replay, message.path);
	decide(detector);
}

static const char *bare(const char *listed)
{
	const char *front;

	return under_way_path(listed, &front);
}

/* NULL: no checkpoint that it knows. */
static const struct checkpoint *checkpoint_of(const struct detector *detector, const char *listed)
{
	const char *path = bare(listed);
	const struct tracked_file *file;

	if (text_ends(path, "/"))
		return checkpoint_table_find_key(&detector->table, path);
	file = checkpoint_table_find(&detector->table, path);
	return file ? file->checkpoint : NULL;
}

/* Was it written since it was listed, or is a later one begun, of which the list knew nothing? */
static bool is_news(const struct replay *replay, const struct checkpoint *checkpoint)
{
	return checkpoint && (checkpoint->changed > replay->listed || checkpoint->later > 0);
}

static void add_news(void *argument, const char *path)
{
	struct replay *replay = argument;

	if (is_news(replay, checkpoint_of(&replay->detector, path)))
		path_list_add(&replay->said, path);
}

/* What was listed, and is gone under that name, has another one or was replaced. */
static bool is_gone(const struct replay *replay, const char *listed)
{
	const char *path = bare(listed);

	return *path != '/' && !text_ends(path, "/") &&
	       !checkpoint_table_find(&replay->detector.table, path) &&
	       !detector_look(&replay->detector, path).exists;
}

char **left_reports_list(const struct left_facts *facts)
{
	struct replay replay = {.facts = facts, .said = {.paths = memory_new(sizeof(char *))}};
	struct detector *detector = &replay.detector;

	detector_init(detector, DETECTOR_QUIET_MS, facts->patterns);
	detector->questions = (struct detector_questions){look, is_database, &replay};
	detector_load_known(detector, facts->known);
	for (size_t i = 0; i < facts->count; i++) {
		if (i == facts->listed)
			replay.listed = detector->generation;
		replay.at = i;
		hear(&replay, &facts->reports[i]);
	}
	if (facts->listed >= facts->count)
		replay.listed = detector->generation;
	for (char *const *path = facts->list; path && *path; path++)
		if (!is_news(&replay, checkpoint_of(detector, *path)) && !is_gone(&replay, *path) &&
		    !detector_is_running(detector, bare(*path)))
			path_list_add(&replay.said, *path);
	detector_each_under_way(detector, add_news, &replay);
	detector_release(detector);
	return replay.said.paths;
}
