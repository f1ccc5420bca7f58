/* Lists, and questions about what the job has written; and what is known of its checkpoints, as the
 * manifests keep it for the next attempt, and the record of those at rest for the next start,
 * should this one be killed. See detector.h. */
#include "base/json.h"
#include "base/text.h"
#include "detector_parts.h"

#include <string.h>

void detector_each_marked(const struct detector *detector, unsigned marks, path_set_fn *act,
			  void *argument)
{
	each_checkpoint (checkpoint, &detector->table)
		each_file (file, checkpoint)
			if (file->marks & marks)
				act(argument, file->path);
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
		if (!(file->marks & FILE_RUNNING) && tracked_file_was_written(file) &&
		    !companion_file_is_setting(file->path))
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

int64_t detector_begun_step(const struct detector *detector)
{
	const struct checkpoint *newest = NULL;

	each_checkpoint (checkpoint, &detector->table)
		if (*checkpoint->key && checkpoint->state != CHECKPOINT_EMPTY &&
		    (!newest || checkpoint_is_after(checkpoint, newest)))
			newest = checkpoint;
	return newest ? checkpoint_step_of(newest) : -1;
}

bool detector_has_ordinary_files(const struct detector *detector)
{
	each_checkpoint (checkpoint, &detector->table)
		each_file (file, checkpoint)
			if (!(file->marks & FILE_RUNNING) && tracked_file_was_written(file))
				return true;
	return false;
}

/* Of numbers that may be parts of one, nobody knows whether another save was begun. */
static bool went_on_after_numbered(const struct checkpoint *checkpoint)
{
	const struct family *family = checkpoint->family;

	return checkpoint->save > family->over &&
	       (family->given_up > family->over ||
		(family->sure && family->begun_before > family->over));
}

void detector_each_unsaved(const struct detector *detector, path_set_fn *act, void *argument)
{
	each_checkpoint (checkpoint, &detector->table)
		each_file (file, checkpoint) {
			if (!(file->marks & FILE_DAMAGED) ||
			    checkpoint_name_is_temporary(file->path))
				continue;
			if (*checkpoint->key ? went_on_after_numbered(checkpoint)
					     : detector_went_on_after(detector, file))
				act(argument, file->path);
		}
}

const char *detector_why(const struct detector *detector, const char *path)
{
	const struct tracked_file *file = checkpoint_table_find(&detector->table, path);
	bool rejected = file && (file->marks & FILE_REJECTED);

	/* A fixed name may be rejected while the others are complete. */
	return verdict_reason_text(rejected ? REASON_DEFECT : REASON_DIED);
}

/* --- what is known --- */

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

/* As from a store, where anything may stand: a part has no parts of its own. */
static void load_siblings(struct detector *detector, struct family *family, const json_t *known)
{
	const char *name = json_string_value(json_object_get(known, "with"));
	struct family *leader =
		name && *name ? checkpoint_table_family(&detector->table, name) : NULL;

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
				: family->with   ? json_pack("{s:s}", "with", family->with->name)
						 : signature_to_json(&family->signature);

		json_t *partners = signature_to_json(&family->partners);

		if (partners && !known)
			known = json_object();
		if (partners)
			json_object_set_new(known, "partners", partners);
		if (known && family->sure)
			json_object_set_new(known, "sure", json_true());
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
	detector->saved |= json_object_size(json) > 0;
	json_object_foreach((json_t *)json, name, known)
	{
		struct family *family = checkpoint_table_family(&detector->table, name);

		family->parts |= json_is_true(json_object_get(known, "parts"));
		family->sure |= json_is_true(json_object_get(known, "sure"));
		family->stream |= json_is_true(json_object_get(known, "stream"));
		if (family->stream)
			family->sure = detector->table.keeps_apart = true;
		load_siblings(detector, family, known);
		signature_from_json(&family->signature, known);
		signature_from_json(&family->partners, json_object_get(known, "partners"));
	}
}

/* --- what is at rest --- */

/* If there are more files, the newest count. */
#define KEPT_MOST 1000

/* The newest first: what was written here, or what lay there before. One that is no UTF-8 is not
 * known then. */
static json_t *rest_json(const struct detector *detector, bool written)
{
	const unsigned out = FILE_FRESH | FILE_DAMAGED | FILE_SLOW | FILE_RUNNING;
	json_t *list = json_array();

	each_checkpoint (checkpoint, &detector->table) {
		if (*checkpoint->key && checkpoint->state != CHECKPOINT_COMPLETE)
			continue;
		each_file (file, checkpoint)
			if (!(file->marks & out) && tracked_file_was_written(file) == written &&
			    json_array_size(list) < KEPT_MOST)
				json_array_append_new(list, json_string(file->path));
	}
	return list;
}

json_t *detector_known_json(const struct detector *detector)
{
	json_t *known = json_object();
	json_t *signatures = detector_signatures_json(detector);

	/* The manifests do not say what was seen only once. */
	for (const struct family *family = detector->table.families; family;
	     family = family->next) {
		json_t *kind = json_object_get(signatures, family->name);

		if (family->signature.kinds[0].learned == 1)
			json_object_set_new(json_array_get(json_object_get(kind, "kinds"), 0),
					    "once", json_true());
	}
	if (signatures)
		json_object_set_new(known, "signatures", signatures);
	json_object_set_new(known, "rest", rest_json(detector, true));
	json_object_set_new(known, "existing", rest_json(detector, false));
	return known;
}

/* They teach nothing: the signatures are known. */
static void rest(struct detector *detector)
{
	while (detector->table.under_way) {
		struct checkpoint *checkpoint = detector->table.under_way;

		checkpoint->reduced = true;
		detector_decide(detector, checkpoint,
				(struct judgement){VERDICT_COMPLETE, REASON_QUIET, INT64_MAX});
	}
}

void detector_note_existing(struct detector *detector, const char *path)
{
	const struct checkpoint_table *table = &detector->table;
	const struct checkpoint *fixed = checkpoint_table_find_key(table, "");

	if (checkpoint_name_parse(path).number >= 0 || checkpoint_name_is_temporary(path) ||
	    profile_is_temporary_path(detector->profile, path) ||
	    file_patterns_kind(detector->patterns, path) != FILE_KIND_ORDINARY ||
	    checkpoint_table_find_apart(table, path) || detector_is_of_database(detector, path) ||
	    (fixed && fixed->file_count >= KEPT_MOST))
		return;
	(void)checkpoint_table_add(&detector->table, path);
}

void detector_load_known(struct detector *detector, const json_t *known)
{
	json_t *list = json_object_get(known, "rest");

	detector_load_signatures(detector, json_object_get(known, "signatures"));
	for (size_t i = KEPT_MOST; i > 0; i--) {
		const char *path = json_string_value(json_array_get(list, i - 1));

		if (path && *path && !detector_passes_over(detector, path))
			(void)detector_touch(detector, path, FILE_REPORTED | FILE_WITNESSED, 0, 1);
	}
	rest(detector);
	list = json_object_get(known, "existing");
	for (size_t i = 0; i < KEPT_MOST && i < json_array_size(list); i++) {
		const char *path = json_string_value(json_array_get(list, i));

		if (path && *path)
			detector_note_existing(detector, path);
	}
}

uint64_t detector_first_position(const struct detector *detector, uint64_t none)
{
	uint64_t first = none;

	each_under_way (checkpoint, &detector->table)
		if (checkpoint->position < first)
			first = checkpoint->position;
	return first;
}
