#include "member_view.h"

bool storage_is_member(const struct storage *storage)
{
	return storage->gang.members > 1;
}

static int cut_one(const struct storage *storage, struct manifest *manifest, struct err *err)
{
	uint32_t member = storage->gang.member;

	if (manifest->part_count == 0)
		return err_set(err, ERR_INVALID, "it was taken by one machine, not by a gang");
	if (member >= manifest->part_count)
		return err_set(err, ERR_INVALID,
			       "it is of a gang of %zu members, which are numbered from 0: there "
			       "is no member %u",
			       manifest->part_count, member);
	if (manifest->parts[member].gone)
		return err_set(err, ERR_INVALID,
			       "member %u had left the gang before: it has no part in it", member);
	if (manifest->parts[member].kept)
		member = manifest->parts[member].keeper;
	if (manifest->parts[member].files == 0)
		return err_set(err, ERR_FAILED, "member %u has no files in it", member);
	gang_manifest_cut_part(manifest, member);
	return 0;
}

int member_view_cut(struct storage *storage, struct manifest *manifest, struct err *err)
{
	if (storage->gang.looks_at_one)
		return cut_one(storage, manifest, err);
	return storage->gang.members == 0
		       ? 0
		       : gang_manifest_cut(manifest, storage->gang.members, storage->gang.member,
					   err);
}
