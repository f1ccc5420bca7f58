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

bool gang_part_has_checkpoint(const struct manifest *part)
{
	return part->piece_count > 0 && !part->without_checkpoint;
}

struct manifest gang_part_of_gone(void)
{
	return (struct manifest){.step = -1, .without_checkpoint = true, .gone = true};
}

json_t *gang_part_encode(const struct manifest *part, uint32_t member, struct err *err)
{
	json_t *body;

	if (part->piece_count == 0 && part->entry_count > 0) {
		err_set(err, ERR_FAILED, "the list of files of member %u does not fit into pieces",
			member);
		return NULL;
	}
	body = manifest_encode(part, err);
	if (!body)
		return NULL;
	json_object_set_new(body, "member", json_integer(member));
	json_object_set_new(body, "checkpoint", json_boolean(gang_part_has_checkpoint(part)));
	json_object_set_new(body, "final", json_boolean(part->final));
	if (part->kept)
		json_object_set_new(body, "keeper", json_integer(part->keeper));
	return body;
}

int gang_part_decode(json_t *body, const char *job, struct snapshot_id id, uint32_t member,
		     struct manifest *part, struct err *err)
{
	uint64_t of, keeper = 0;

	*part = (struct manifest){0};
	if (json_get_u64(body, "member", UINT32_MAX, &of, err) < 0 ||
	    (json_object_get(body, "keeper") &&
	     json_get_u64(body, "keeper", UINT32_MAX, &keeper, err) < 0) ||
	    manifest_decode(body, job, id, part, err) < 0)
		return -1;
	part->without_checkpoint =
		part->piece_count == 0 || !json_true_or(body, "checkpoint", true);
	part->final = json_true_or(body, "final", false);
	part->kept = json_object_get(body, "keeper") != NULL;
	part->keeper = (uint32_t)keeper;
	if (of == member && (part->piece_count > 0 || part->entry_count == 0) &&
	    part->part_count == 0)
		return 0;
	manifest_release(part);
	return err_set(err, ERR_CORRUPT, "it is not the part of one member");
}

bool gang_part_same_content(const struct manifest *a, const struct manifest *b)
{
	if (a->step != b->step || a->without_checkpoint != b->without_checkpoint ||
	    a->final != b->final || a->kept != b->kept || a->keeper != b->keeper ||
	    a->directory_mode != b->directory_mode || a->piece_count != b->piece_count)
		return false;
	for (size_t i = 0; i < a->piece_count; i++)
		if (memcmp(a->pieces[i].chunk.digest, b->pieces[i].chunk.digest, DIGEST_SIZE) != 0)
			return false;
	return true;
}

/* In a final round there may be parts of several steps, and none with a checkpoint. */
static bool leads(const struct manifest *part, const struct manifest *than)
{
	if (part->piece_count == 0 || (!part->final && !gang_part_has_checkpoint(part)))
		return false;
	if (!than || !part->final)
		return !than;
	if (gang_part_has_checkpoint(part) != gang_part_has_checkpoint(than))
		return gang_part_has_checkpoint(part);
	return part->step > than->step;
}

const struct manifest *gang_parts_leader(const struct manifest *parts, size_t count)
{
	const struct manifest *leader = NULL;

	for (size_t i = 0; i < count; i++)
		if (leads(&parts[i], leader))
			leader = &parts[i];
	return leader;
}

static int refuse_steps(const struct manifest *parts, size_t first, size_t second, struct err *err)
{
	return err_set(err, ERR_UNFIT,
		       "the parts are of different checkpoints: member %zu is at step %lld, and "
		       "member %zu at step %lld",
		       first, (long long)parts[first].step, second, (long long)parts[second].step);
}

/* Whose files are in the part of another: that one has read them when they were complete. */
static int refuse_kept(const struct manifest *parts, size_t count, size_t at, struct err *err)
{
	const struct manifest *own = &parts[at];
	const struct manifest *keeper = own->keeper < count ? &parts[own->keeper] : NULL;

	if (!keeper || keeper->kept || keeper->gone || parts[at].piece_count > 0)
		return err_set(err, ERR_UNFIT, "the part of member %zu makes no sense", at);
	if (own->step < 0 || own->final)
		return 0;
	if (!gang_part_has_checkpoint(keeper))
		return err_set(err, ERR_UNFIT,
			       "member %zu has written files of step %lld into the directory that "
			       "member %u saves, and that one knows of no checkpoint",
			       at, (long long)own->step, own->keeper);
	return own->step == keeper->step ? 0 : refuse_steps(parts, at, own->keeper, err);
}

/* All that have not gone know it for the same: opened in the end or not. */
static int refuse_other_rounds(const struct manifest *parts, size_t count, struct err *err)
{
	size_t first = 0;

	while (first < count && parts[first].gone)
		first++;
	for (size_t i = first; i < count; i++)
		if (!parts[i].gone && parts[i].final != parts[first].final)
			return err_set(err, ERR_UNFIT,
				       "for members %zu and %zu it is not the same round", first,
				       i);
	return 0;
}

int gang_parts_agree(const struct manifest *parts, size_t count, struct err *err)
{
	const struct manifest *leader = gang_parts_leader(parts, count);
	size_t first;

	if (refuse_other_rounds(parts, count, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		if (parts[i].kept && refuse_kept(parts, count, i, err) < 0)
			return -1;
	if (!leader)
		return err_set(err, ERR_UNFIT,
			       "the parts of all members are empty, or have no checkpoint");
	first = (size_t)(leader - parts);
	/* What the jobs have left when all had ended is of one moment. */
	for (size_t i = first + 1; i < count && !leader->final; i++) {
		if (!gang_part_has_checkpoint(&parts[i]))
			continue;
		/* Without a step nothing says that they are of one. */
		if (leader->step < 0 && parts[i].step < 0)
			return err_set(err, ERR_UNFIT,
				       "the checkpoints of members %zu and %zu have no step, by "
				       "which they could be known for one",
				       first, i);
		if (parts[i].step != leader->step)
			return refuse_steps(parts, first, i, err);
	}
	return 0;
}
