/* What must hold of every entry that a manifest or the pieces of a list gave. */
#ifndef FUZZ_ENTRIES_H
#define FUZZ_ENTRIES_H

#include "fuzz.h"

#include "base/cleanup.h"
#include "storage/format/manifest.h"

/* Told without safe_path.c: no way up, no way to the root. */
static inline bool stays_inside(const char *path)
{
	auto_free char *framed = text_format("/%s/", path);

	return !strstr(framed, "//") && !strstr(framed, "/../") && !strstr(framed, "/./");
}

static inline void check_chunks(const struct manifest *manifest, const struct entry *entry)
{
	for (size_t i = 0; i < chunk_count(entry->size); i++) {
		const struct chunk *chunk = &entry->chunks[i];

		if (chunk->codec == CHUNK_ZERO)
			continue;
		CHECK(chunk->codec == CHUNK_RAW || chunk->codec == CHUNK_LZ4 ||
		      chunk->codec == CHUNK_BF16 || chunk->codec == CHUNK_FP32);
		CHECK(chunk->pack < manifest->pack_count);
		CHECK(chunk->stored > 0 && chunk->stored <= chunk_length(entry->size, i));
		CHECK((uint64_t)chunk->offset + chunk->stored <=
		      manifest->packs[chunk->pack].bytes);
	}
}

static inline void check_entry(const struct manifest *manifest, const struct entry *entry)
{
	CHECK(stays_inside(entry->path));
	CHECK(manifest_find(manifest, entry->path) == entry);
	CHECK(!(entry->mode & ~07777U) && entry->mtime_ns < 1000000000);
	if (entry->type == ENTRY_SYMLINK)
		CHECK(entry->target[0] && entry->target[0] != '/');
	if (entry->type == ENTRY_HARDLINK)
		CHECK(stays_inside(entry->target) &&
		      manifest_find(manifest, entry->target)->type == ENTRY_FILE);
	if (entry->type == ENTRY_FILE)
		check_chunks(manifest, entry);
	for (size_t i = 0; i < entry->xattr_count; i++)
		CHECK(text_starts(entry->xattrs[i].name, "user."));
}

#endif
