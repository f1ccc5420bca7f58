#include "lost_files.h"

#include <string.h>

static bool have_same_content(const struct entry *a, const struct entry *b)
{
	if (a->size != b->size)
		return false;
	for (size_t i = 0; i < chunk_count(a->size); i++)
		if (a->chunks[i].codec == CHUNK_ZERO || b->chunks[i].codec == CHUNK_ZERO
			    ? a->chunks[i].codec != b->chunks[i].codec
			    : memcmp(a->chunks[i].digest, b->chunks[i].digest, DIGEST_SIZE) != 0)
			return false;
	return true;
}

/* What a hard link leads to; else the entry itself. */
static const struct entry *content_of(const struct manifest *manifest, const struct entry *entry)
{
	const struct entry *file =
		entry->type == ENTRY_HARDLINK ? manifest_find(manifest, entry->target) : entry;

	return file && file->type == ENTRY_FILE ? file : NULL;
}

static bool is_lost(const struct manifest *manifest, const bool *lost, const struct entry *entry)
{
	return lost[entry - manifest->entries];
}

/* The manifests are in the order of their ids. The same content counts more than a newer one. */
static void report_lost_file(const struct manifest *manifests, bool *const *lost, size_t count,
			     size_t of, size_t position, const struct verify_request *request)
{
	const struct manifest *manifest = &manifests[of];
	const struct entry *entry = &manifest->entries[position];
	const struct entry *content = content_of(manifest, entry);
	struct snapshot_id other = {0};
	bool same = false;

	for (size_t i = count; i > 0 && !same; i--) {
		const struct manifest *there = &manifests[i - 1];
		const struct entry *found = i - 1 == of ? NULL : manifest_find(there, entry->path);

		found = found ? content_of(there, found) : NULL;
		if (!found || is_lost(there, lost[i - 1], found))
			continue;
		same = content && have_same_content(found, content);
		if (same || snapshot_id_is_none(other))
			other = there->id;
	}
	request->lost(request->arg, manifest->id, entry->path, other, same);
}

void lost_files_report(const struct manifest *manifests, bool *const *lost, size_t count,
		       const struct verify_request *request)
{
	for (size_t i = 0; request->lost && i < count; i++)
		for (size_t j = 0; j < manifests[i].entry_count; j++) {
			const struct manifest *manifest = &manifests[i];
			const struct entry *content = content_of(manifest, &manifest->entries[j]);

			if (content && is_lost(manifest, lost[i], content))
				report_lost_file(manifests, lost, count, i, j, request);
		}
}
