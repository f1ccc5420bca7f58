/* The detector's lists, and the evidence of writers without the shim. See detector.h. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"
#include "detector_parts.h"

#include <string.h>

static void act_on_marked(const struct checkpoint *checkpoint, unsigned marks, path_set_fn *act,
			  void *argument)
{
	each_file (file, checkpoint)
		if (file->marks & marks)
			act(argument, file->path);
}

void detector_each_marked(const struct detector *detector, unsigned marks, path_set_fn *act,
			  void *argument)
{
	each_checkpoint (checkpoint, &detector->table)
		act_on_marked(checkpoint, marks, act, argument);
}

/* All of a numbered checkpoint: its directory with `end` behind it, and each of its files that does
 * not lie there, as under a temporary name. */
static void act_on_whole(const struct checkpoint *checkpoint, const char *end, path_set_fn *act,
			 void *argument)
{
	auto_free char *directory = text_copy(checkpoint->key);

	if (checkpoint->in_directory) {
		auto_free char *listed = NULL;

		directory[strlen(directory) - 1] = '\0';
		listed = text_format("%s%s", directory, end);
		act(argument, listed);
	}
	each_file (file, checkpoint)
		if (!checkpoint->in_directory || !path_set_is_below(file->path, directory))
			act(argument, file->path);
}

#define NOT_WHOLE (FILE_FRESH | FILE_DAMAGED | FILE_SLOW)

/* Of a save that was never known to be complete, and another file of it is being written. */
static bool is_overtaken(const struct detector *detector, const struct tracked_file *file)
{
	if ((file->marks & (NOT_WHOLE | FILE_RUNNING)) || !(file->marks & FILE_WRITTEN))
		return false;
	each_file (other, file->checkpoint)
		if ((other->marks & NOT_WHOLE) && !(other->marks & FILE_RUNNING) &&
		    (detector_are_together(detector, other, file) ||
		     detector_are_together(detector, file, other)))
			return true;
	return false;
}

static void act_on_excluded_names(const struct detector *detector, const struct checkpoint *fixed,
				  path_set_fn *act, void *argument)
{
	each_file (file, fixed)
		if ((file->marks & NOT_WHOLE) || is_overtaken(detector, file))
			act(argument, file->path);
}

/* What it stands without. */
static void act_on_added(const struct checkpoint *checkpoint, path_set_fn *act, void *argument)
{
	each_file (file, checkpoint)
		if (checkpoint_stands_without(checkpoint, file))
			act(argument, file->path);
}

void detector_each_excluded(const struct detector *detector, path_set_fn *act, void *argument)
{
	each_checkpoint (checkpoint, &detector->table) {
		if (!*checkpoint->key)
			act_on_excluded_names(detector, checkpoint, act, argument);
		else if (checkpoint_stands(checkpoint))
			act_on_added(checkpoint, act, argument);
		else
			act_on_whole(checkpoint, "", act, argument);
	}
}

/* What is added to a complete one changes nothing of that. */
static uint64_t changed_at(const struct checkpoint *checkpoint)
{
	return checkpoint->base > 0 && checkpoint_stands(checkpoint)
		       ? checkpoint->base
		       : checkpoint->changed;
}

void detector_each_changed(const struct detector *detector, uint64_t generation, path_set_fn *act,
			   void *argument)
{
	each_checkpoint (checkpoint, &detector->table) {
		if (checkpoint->changed <= generation)
			continue;
		if (changed_at(checkpoint) <= generation)
			act_on_marked(checkpoint, FILE_ADDED, act, argument);
		else if (*checkpoint->key)
			act_on_whole(checkpoint, "", act, argument);
		else
			act_on_marked(checkpoint, FILE_FRESH, act, argument);
	}
}

bool detector_has_changed(const struct detector *detector, const char *key, uint64_t generation)
{
	const struct checkpoint *checkpoint = checkpoint_table_find_key(&detector->table, key);

	/* A numbered one that is not there was deleted. */
	return checkpoint ? changed_at(checkpoint) > generation : *key != '\0';
}

/* Its files with the mark in front which says so (workspace/under_way.h). */
static void act_on_closed(const struct checkpoint *checkpoint, path_set_fn *act, void *argument)
{
	each_file (file, checkpoint) {
		auto_free char *closed = NULL;

		if (!(file->marks & FILE_FRESH))
			continue;
		closed = text_format(UNDER_WAY_CLOSED "%s", file->path);
		act(argument, closed);
	}
}

/* Of what was added to it, what its writer has not closed: that one alone. */
static void act_on_unclosed(const struct checkpoint *checkpoint, path_set_fn *act, void *argument)
{
	each_file (file, checkpoint) {
		auto_free char *alone = NULL;

		if (!checkpoint_stands_without(checkpoint, file) ||
		    (file->marks & (FILE_WITNESSED | FILE_DAMAGED)) == FILE_WITNESSED)
			continue;
		alone = text_format(UNDER_WAY_ALONE "%s", file->path);
		act(argument, alone);
	}
}

/* Of several files the next one may be still to come. */
static bool is_closed(const struct detector *detector, const struct checkpoint *checkpoint)
{
	return checkpoint->state == CHECKPOINT_UNDER_WAY && checkpoint->death != DEATH_TEARS &&
	       !checkpoint_any(checkpoint, FILE_TEMPORARY | FILE_DAMAGED | FILE_SLOW) &&
	       detector_may_be_whole(detector, checkpoint);
}

void detector_each_under_way(const struct detector *detector, path_set_fn *act, void *argument)
{
	each_checkpoint (checkpoint, &detector->table) {
		bool touched = checkpoint->state == CHECKPOINT_UNDER_WAY ||
			       checkpoint->state == CHECKPOINT_TORN;

		if (is_closed(detector, checkpoint))
			act_on_closed(checkpoint, act, argument);
		else if (!*checkpoint->key)
			act_on_excluded_names(detector, checkpoint, act, argument);
		else if (checkpoint_stands(checkpoint))
			act_on_unclosed(checkpoint, act, argument);
		else if (touched)
			act_on_whole(checkpoint, "/", act, argument);
	}
}

bool detector_is_running(const struct detector *detector, const char *path)
{
	const struct tracked_file *file = checkpoint_table_find(&detector->table, path);

	return (file && (file->marks & FILE_RUNNING)) ||
	       file_patterns_kind(detector->patterns, path) == FILE_KIND_RUNNING;
}

void detector_each_open(const struct detector *detector, path_set_fn *act, void *argument)
{
	for (size_t i = 0; i < detector->writers.open_count; i++)
		if (!detector_is_running(detector, detector->writers.opens[i].path))
			act(argument, detector->writers.opens[i].path);
	detector_each_marked(detector, FILE_UNCLOSED, act, argument);
}

void detector_each_closed(const struct detector *detector, path_set_fn *act, void *argument)
{
	each_under_way (checkpoint, &detector->table) {
		if (checkpoint->death == DEATH_TEARS)
			continue;
		each_file (file, checkpoint)
			if ((file->marks & FILE_FRESH) && !(file->marks & FILE_DAMAGED) &&
			    !detector_file_is_open(detector, file))
				act(argument, file->path);
	}
}

char **detector_list(const struct detector *detector, detector_each_fn *each)
{
	struct path_list list = {.paths = memory_new(sizeof(char *))};

	each(detector, path_list_add, &list);
	return list.paths;
}

char **detector_list_marked(const struct detector *detector, unsigned marks)
{
	struct path_list list = {.paths = memory_new(sizeof(char *))};

	detector_each_marked(detector, marks, path_list_add, &list);
	return list.paths;
}

bool detector_is_of_companions(const struct checkpoint *checkpoint)
{
	each_file (file, checkpoint)
		if ((file->marks & FILE_FRESH) && !(file->marks & FILE_RUNNING) &&
		    !companion_file_is(file->path))
			return false;
	return true;
}

bool detector_has_only_settings(const struct checkpoint *fixed)
{
	each_file (file, fixed)
		if (!(file->marks & FILE_RUNNING) && !companion_file_is_setting(file->path))
			return false;
	return true;
}

bool detector_has_begun_checkpoint(const struct detector *detector)
{
	/* A temporary name says nothing yet of what the file will be. */
	each_checkpoint (checkpoint, &detector->table)
		if (!detector_is_of_companions(checkpoint))
			return true;
	return detector->wrote_checkpoint;
}

bool detector_lacks_step_after(const struct detector *detector, int64_t number)
{
	each_checkpoint (checkpoint, &detector->table)
		if (*checkpoint->key && checkpoint->number > number &&
		    checkpoint->state == CHECKPOINT_TORN)
			return true;
	return false;
}

int64_t detector_begun_step(const struct detector *detector)
{
	const struct checkpoint *newest = NULL;

	each_checkpoint (checkpoint, &detector->table)
		if (*checkpoint->key && checkpoint->state != CHECKPOINT_EMPTY &&
		    (!newest || checkpoint->begun_ms > newest->begun_ms ||
		     (checkpoint->begun_ms == newest->begun_ms && checkpoint->save > newest->save)))
			newest = checkpoint;
	if (!newest)
		return -1;
	return newest->step >= 0 ? newest->step : newest->number;
}

bool detector_has_ordinary_files(const struct detector *detector)
{
	each_checkpoint (checkpoint, &detector->table)
		each_file (file, checkpoint)
			if (!(file->marks & FILE_RUNNING))
				return true;
	return false;
}

/* --- signatures --- */

/* Where the running files stand, among the kinds of checkpoints, none of which is called so. */
#define RUNNING_KEY "running"
/* More than this are learned again. */
#define RUNNING_KEPT_MOST 100

/* One that is no UTF-8 is learned again, too. The caller decrefs. */
static json_t *running_json(const struct detector *detector)
{
	json_t *list = json_array();
	char **paths = detector_list_marked(detector, FILE_RUNNING);

	for (char **path = paths; *path && json_array_size(list) < RUNNING_KEPT_MOST; path++)
		json_array_append_new(list, json_string(*path));
	path_list_free(paths);
	return list;
}

static struct family *load_sibling(struct detector *detector, const json_t *known, const char *key)
{
	const char *name = json_string_value(json_object_get(known, key));

	return name && *name ? checkpoint_table_family(&detector->table, name) : NULL;
}

/* As from a store, where anything may stand: a part has no parts of its own. */
static void load_siblings(struct detector *detector, struct family *family, const json_t *known)
{
	struct family *leader = load_sibling(detector, known, "with");

	family->not_with = load_sibling(detector, known, "not_with");
	if (!leader || leader == family || leader->with || family->leads)
		return;
	family->with = leader;
	leader->leads = leader->sure = true;
}

static void load_running(struct detector *detector, const json_t *paths)
{
	const json_t *path;
	size_t i;

	json_array_foreach((json_t *)paths, i, path)
	{
		const char *text = json_string_value(path);

		if (text && *text)
			path_set_mark(&detector->ran, text, 1);
	}
}

json_t *detector_signatures_json(const struct detector *detector)
{
	auto_json json_t *running = running_json(detector);
	json_t *kinds = json_object();

	for (const struct family *family = detector->table.families; family;
	     family = family->next) {
		json_t *known = family->parts    ? json_pack("{s:b}", "parts", true)
				: family->stream ? json_pack("{s:b}", "stream", true)
				: family->apart  ? json_pack("{s:b}", "apart", true)
				: family->with   ? json_pack("{s:s}", "with", family->with->name)
						 : signature_to_json(&family->signature);

		if (family->not_with && (known || (known = json_object())))
			json_object_set_new(known, "not_with", json_string(family->not_with->name));
		if (known)
			json_object_set_new(kinds, family->name, known);
	}
	if (json_array_size(running) > 0)
		json_object_set(kinds, RUNNING_KEY, running);
	if (json_object_size(kinds) > 0)
		return kinds;
	json_decref(kinds);
	return NULL;
}

void detector_load_signatures(struct detector *detector, const json_t *json)
{
	const char *name;
	json_t *known;

	load_running(detector, json_object_get(json, RUNNING_KEY));
	json_object_foreach((json_t *)json, name, known)
	{
		struct family *family = checkpoint_table_family(&detector->table, name);

		family->parts |= json_is_true(json_object_get(known, "parts"));
		if (json_is_true(json_object_get(known, "stream")))
			family->stream = family->sure = detector->table.keeps_apart = true;
		if (json_is_true(json_object_get(known, "apart")))
			family->apart = family->sure = detector->table.keeps_apart = true;
		load_siblings(detector, family, known);
		if (family->signature.learned == 0)
			signature_from_json(&family->signature, known);
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
		    checkpoint_still_ms(checkpoint, checkpoint->last_ms, now_ms) >=
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

/* True from the second time on: its last reports have certainly been handed in by then. */
static bool confirm_gone(struct detector *detector, int pid)
{
	struct writer *writer = writer_table_add(&detector->writers, pid);
	bool confirmed = writer->gone;

	writer->gone = true;
	return confirmed;
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

void detector_verify(struct detector *detector, detector_query_fd_fn *held, void *argument,
		     int64_t now_ms)
{
	struct writer_table *writers = &detector->writers;

	detector_settle(detector, 0, now_ms);
	detector->needs_verify = false;
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
