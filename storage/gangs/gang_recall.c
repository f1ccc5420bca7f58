/* What the last snapshots hold of a member. */
#include "base/cleanup.h"
#include "storage/records/records.h"

static bool holds_checkpoint(const struct storage *storage, const struct manifest *manifest)
{
	uint32_t member = storage->gang.member;

	return !gang_manifest_is_of(manifest->parts, manifest->part_count, storage->gang.members) ||
	       !manifest->parts[member].without_checkpoint;
}

int storage_gang_recall(struct storage *storage, struct snapshot_id from, unsigned most,
			unsigned *without, struct cancel *cancel, struct err *err)
{
	*without = 0;
	while (!snapshot_id_is_none(from) && *without < most) {
		auto_(manifest_release) struct manifest manifest = {0};
		struct err own = {0};

		if (job_record_get_manifest_head(storage, from, &manifest, cancel, &own) < 0) {
			/* Of what was forgotten since, is damaged, or is of a newer version,
			 * nothing is known. */
			if (own.kind == ERR_NOT_FOUND || own.kind == ERR_CORRUPT ||
			    own.kind == ERR_VERSION)
				return 0;
			*err = own;
			return -1;
		}
		if (holds_checkpoint(storage, &manifest))
			return 0;
		++*without;
		from = manifest.parent;
	}
	return 0;
}
