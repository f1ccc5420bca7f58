/* What is known of checkpoints at rest, for the next start, should this one be killed. See
 * detector.h. */
#include "base/json.h"
#include "detector_parts.h"

/* Of more files than these, the newest. */
#define KEPT_MOST 1000

/* What a manifest does not say of a kind: does its number count checkpoints; was its signature seen
 * only once? */
static bool is_sure(const struct family *family)
{
	return family->sure;
}

static bool was_seen_once(const struct family *family)
{
	return family->signature.learned == 1;
}

static json_t *names_json(const struct detector *detector, bool (*has)(const struct family *))
{
	json_t *list = json_array();

	for (const struct family *family = detector->table.families; family; family = family->next)
		if (has(family))
			json_array_append_new(list, json_string(family->name));
	return list;
}

static void make_sure(struct family *family)
{
	family->sure = true;
}

static void make_seen_once(struct family *family)
{
	struct signature *signature = &family->signature;

	if (signature->learned == 0)
		return;
	signature->learned = 1;
	for (size_t i = 0; i < signature->count; i++)
		signature->names[i].seen = signature->names[i].newest = 1;
}

static void load_names(struct detector *detector, json_t *list, void (*make)(struct family *))
{
	const json_t *name;
	size_t i;

	json_array_foreach(list, i, name)
	{
		const char *text = json_string_value(name);

		if (text && *text)
			make(checkpoint_table_family(&detector->table, text));
	}
}

/* The newest first. One that is no UTF-8 is not known then. */
static json_t *rest_json(const struct detector *detector)
{
	const unsigned out = FILE_FRESH | FILE_DAMAGED | FILE_SLOW | FILE_RUNNING;
	json_t *list = json_array();

	each_checkpoint (checkpoint, &detector->table) {
		if (*checkpoint->key && checkpoint->state != CHECKPOINT_COMPLETE)
			continue;
		each_file (file, checkpoint)
			if (!(file->marks & out) && json_array_size(list) < KEPT_MOST)
				json_array_append_new(list, json_string(file->path));
	}
	return list;
}

json_t *detector_known_json(const struct detector *detector)
{
	json_t *known = json_object();
	json_t *signatures = detector_signatures_json(detector);

	if (signatures)
		json_object_set_new(known, "signatures", signatures);
	json_object_set_new(known, "sure", names_json(detector, is_sure));
	json_object_set_new(known, "once", names_json(detector, was_seen_once));
	json_object_set_new(known, "rest", rest_json(detector));
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

void detector_load_known(struct detector *detector, const json_t *known)
{
	json_t *list = json_object_get(known, "rest");

	detector_load_signatures(detector, json_object_get(known, "signatures"));
	load_names(detector, json_object_get(known, "sure"), make_sure);
	load_names(detector, json_object_get(known, "once"), make_seen_once);
	for (size_t i = KEPT_MOST; i > 0; i--) {
		const char *path = json_string_value(json_array_get(list, i - 1));

		if (path && *path && !detector_passes_over(detector, path))
			(void)detector_touch(detector, path, FILE_REPORTED | FILE_WITNESSED, 0, 1);
	}
	rest(detector);
}

uint64_t detector_first_position(const struct detector *detector, uint64_t none)
{
	uint64_t first = none;

	each_under_way (checkpoint, &detector->table)
		if (checkpoint->position < first)
			first = checkpoint->position;
	return first;
}
