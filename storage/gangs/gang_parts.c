#include "gang_parts.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"

#include <string.h>

bool gang_part_parse_member(const char *name, uint32_t *member)
{
	size_t digits = strspn(name, "0123456789");
	auto_free char *number = text_copy_n(name, digits);
	uint64_t value;

	if (digits == 0 || !text_equal(name + digits, ".json") ||
	    !text_to_u64(number, UINT32_MAX, &value))
		return false;
	*member = (uint32_t)value;
	return true;
}

void gang_part_release(struct gang_part *part)
{
	manifest_release(&part->manifest);
}

bool gang_part_is_empty(const struct gang_part *part)
{
	return part->manifest.piece_count == 0;
}

bool gang_part_has_checkpoint(const struct gang_part *part)
{
	return !gang_part_is_empty(part) && !part->manifest.without_checkpoint;
}

struct gang_part gang_part_of_gone(void)
{
	return (struct gang_part){
		.manifest = {.step = -1, .without_checkpoint = true, .gone = true},
	};
}

json_t *gang_part_encode(const struct gang_part *part, uint32_t member, struct err *err)
{
	const struct manifest *manifest = &part->manifest;
	json_t *body;

	if (manifest->piece_count == 0 && manifest->entry_count > 0) {
		err_set(err, ERR_FAILED, "the list of files of member %u does not fit into pieces",
			member);
		return NULL;
	}
	body = manifest_encode(manifest, err);
	if (!body)
		return NULL;
	json_object_set_new(body, "member", json_integer(member));
	json_object_set_new(body, "saw", json_integer(part->saw));
	json_object_set_new(body, "checkpoint",
			    json_boolean(manifest->piece_count > 0 &&
					 !manifest->without_checkpoint));
	json_object_set_new(body, "final", json_boolean(manifest->final));
	if (manifest->asked > 0)
		json_object_set_new(body, "asked", json_integer(manifest->asked));
	if (manifest->kept)
		json_object_set_new(body, "keeper", json_integer(manifest->keeper));
	if (part->gone > 0)
		json_object_set_new(body, "gone", json_integer(part->gone));
	return body;
}

int gang_part_decode(json_t *body, const char *job, struct snapshot_id id, uint32_t member,
		     struct gang_part *part, struct err *err)
{
	uint64_t of, saw, keeper = 0, asked = 0, gone = 0;

	*part = (struct gang_part){0};
	if (json_get_u64(body, "member", UINT32_MAX, &of, err) < 0 ||
	    json_get_u64(body, "saw", UINT32_MAX, &saw, err) < 0 ||
	    (json_object_get(body, "keeper") &&
	     json_get_u64(body, "keeper", UINT32_MAX, &keeper, err) < 0) ||
	    (json_object_get(body, "asked") &&
	     json_get_u64(body, "asked", UINT32_MAX, &asked, err) < 0) ||
	    (json_object_get(body, "gone") &&
	     json_get_u64(body, "gone", UINT32_MAX, &gone, err) < 0) ||
	    manifest_decode(body, job, id, &part->manifest, err) < 0)
		return -1;
	part->saw = (uint32_t)saw;
	part->gone = (uint32_t)gone;
	part->manifest.without_checkpoint =
		gang_part_is_empty(part) || !json_true_or(body, "checkpoint", true);
	part->manifest.final = json_true_or(body, "final", false);
	part->manifest.kept = json_object_get(body, "keeper") != NULL;
	part->manifest.keeper = (uint32_t)keeper;
	part->manifest.asked = (uint32_t)asked;
	if (of == member && (part->manifest.piece_count > 0 || part->manifest.entry_count == 0) &&
	    part->manifest.part_count == 0)
		return 0;
	gang_part_release(part);
	return err_set(err, ERR_CORRUPT, "it is not the part of one member");
}

bool gang_part_same_content(const struct gang_part *a, const struct gang_part *b)
{
	const struct manifest *first = &a->manifest, *second = &b->manifest;

	if (first->step != second->step ||
	    first->without_checkpoint != second->without_checkpoint ||
	    first->final != second->final || first->kept != second->kept ||
	    first->keeper != second->keeper || a->gone != b->gone ||
	    first->directory_mode != second->directory_mode ||
	    first->piece_count != second->piece_count)
		return false;
	for (size_t i = 0; i < first->piece_count; i++)
		if (memcmp(first->pieces[i].chunk.digest, second->pieces[i].chunk.digest,
			   DIGEST_SIZE) != 0)
			return false;
	return true;
}

/* In a final round there may be parts of several steps, and none with a checkpoint. */
static bool leads(const struct gang_part *part, const struct gang_part *than)
{
	if (gang_part_is_empty(part) || (!part->manifest.final && !gang_part_has_checkpoint(part)))
		return false;
	if (!than || !part->manifest.final)
		return !than;
	if (gang_part_has_checkpoint(part) != gang_part_has_checkpoint(than))
		return gang_part_has_checkpoint(part);
	return part->manifest.step > than->manifest.step;
}

const struct gang_part *gang_parts_leader(const struct gang_part *parts, size_t count)
{
	const struct gang_part *leader = NULL;

	for (size_t i = 0; i < count; i++)
		if (leads(&parts[i], leader))
			leader = &parts[i];
	return leader;
}

static int refuse_steps(const struct gang_part *parts, size_t first, size_t second, struct err *err)
{
	return err_set(err, ERR_UNFIT,
		       "the parts are of different checkpoints: member %zu is at step %lld, and "
		       "member %zu at step %lld",
		       first, (long long)parts[first].manifest.step, second,
		       (long long)parts[second].manifest.step);
}

/* Whose files are in the part of another: that one has read them when they were complete. */
static int refuse_kept(const struct gang_part *parts, size_t count, size_t at, struct err *err)
{
	const struct manifest *own = &parts[at].manifest;
	const struct gang_part *keeper = own->keeper < count ? &parts[own->keeper] : NULL;

	if (!keeper || keeper->manifest.kept || keeper->manifest.gone ||
	    !gang_part_is_empty(&parts[at]))
		return err_set(err, ERR_UNFIT, "the part of member %zu makes no sense", at);
	if (own->step < 0 || own->final)
		return 0;
	if (!gang_part_has_checkpoint(keeper))
		return err_set(err, ERR_UNFIT,
			       "member %zu has written files of step %lld into the directory that "
			       "member %u saves, and that one knows of no checkpoint",
			       at, (long long)own->step, own->keeper);
	return own->step == keeper->manifest.step ? 0 : refuse_steps(parts, at, own->keeper, err);
}

/* Whoever has ended when it was asked, and saves none, is known to save none of what answers that.
 * Of an older checkpoint it may have been about to write its files. */
static int refuse_unanswered(const struct gang_part *parts, size_t count, struct err *err)
{
	uint32_t answered = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t answers =
			gang_manifest_answers(gang_manifest_lacks_checkpoint(&parts[i].manifest),
					      parts[i].saw);

		if (answers > answered)
			answered = answers;
	}
	for (size_t i = 0; i < count; i++)
		if (parts[i].manifest.asked > answered)
			return err_set(err, ERR_UNFIT,
				       "the job of member %zu ended when it was asked to, and had "
				       "no part yet of this older checkpoint",
				       i);
	return 0;
}

/* All that have not gone know it for the same: opened in the end or not, and without whom. */
static int refuse_other_rounds(const struct gang_part *parts, size_t count, uint32_t gone,
			       struct err *err)
{
	size_t first = 0;

	while (first < count && parts[first].manifest.gone)
		first++;
	for (size_t i = first; i < count; i++) {
		if (parts[i].manifest.gone)
			continue;
		if (parts[i].manifest.final != parts[first].manifest.final)
			return err_set(err, ERR_UNFIT,
				       "for members %zu and %zu it is not the same round", first,
				       i);
		if (parts[i].gone != gone)
			return err_set(err, ERR_UNFIT,
				       "member %zu has given its part for a round of other "
				       "members",
				       i);
	}
	return 0;
}

int gang_parts_agree(const struct gang_part *parts, size_t count, uint32_t gone, struct err *err)
{
	const struct gang_part *leader = gang_parts_leader(parts, count);
	size_t first;

	if (refuse_other_rounds(parts, count, gone, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		if (parts[i].manifest.kept && refuse_kept(parts, count, i, err) < 0)
			return -1;
	if (!leader)
		return err_set(err, ERR_UNFIT,
			       "the parts of all members are empty, or have no checkpoint");
	if (refuse_unanswered(parts, count, err) < 0)
		return -1;
	first = (size_t)(leader - parts);
	/* What the jobs have left when all had ended is of one moment. */
	for (size_t i = first + 1; i < count && !leader->manifest.final; i++) {
		if (!gang_part_has_checkpoint(&parts[i]))
			continue;
		/* Without a step nothing says that they are of one. */
		if (leader->manifest.step < 0 && parts[i].manifest.step < 0)
			return err_set(err, ERR_UNFIT,
				       "the checkpoints of members %zu and %zu have no step, by "
				       "which they could be known for one",
				       first, i);
		if (parts[i].manifest.step != leader->manifest.step)
			return refuse_steps(parts, first, i, err);
	}
	return 0;
}
