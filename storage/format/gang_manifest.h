/*
 * PURE. The manifest of a gang: one snapshot of N members. Each member's part is a manifest of its
 * own, whose entries are below a directory of the member ("member-00003/") and in pieces. The
 * gang's manifest has the pieces of all parts, one behind the other, so that it is a manifest like
 * any other for whoever looks at all of it: it can be listed, verified, exported and collected.
 */
#ifndef GANG_MANIFEST_H
#define GANG_MANIFEST_H

#include "manifest.h"

/* Puts all entries below the directory of the member, which becomes the first entry. */
void gang_manifest_prefix(struct manifest *manifest, uint32_t member);
/* Takes that back. ERR_CORRUPT: an entry is not below it. */
int gang_manifest_strip(struct manifest *manifest, uint32_t member, struct err *err);

/* Of a member's part, before it is one of `parts`: whether it has nothing of a checkpoint, nor have
 * the files of its own that are in the part of a keeper. */
bool gang_manifest_lacks_checkpoint(const struct manifest *part);

/* Of a gang of so many members, of which none had gone: each has a part in it. Where some had, it
 * is of another number of members, whoever asks. */
bool gang_manifest_is_of(const struct manifest_part *parts, size_t count, uint32_t members);
/* How many members have a part in it. */
uint32_t gang_manifest_present(const struct manifest *manifest);

/*
 * Joins the parts, one per member and in their order, to `gang`, which has only its header (id,
 * parent, job, nonce, ...). Their entries must be in pieces, which need not be loaded; an empty
 * part has neither, nor has that of a member that had gone. The parts stay the caller's.
 */
void gang_manifest_join(const struct manifest *parts, size_t count, struct manifest *gang);

/* Leaves of the manifest, whose entries are not loaded yet, the part of one member, with all packs.
 * ERR_UNFIT: it is not of a gang of so many members; the sentence says how many it is. */
int gang_manifest_cut(struct manifest *manifest, uint32_t members, uint32_t member,
		      struct err *err);

/* The same of a member that has a part in it with its own files, of whatever gang. */
void gang_manifest_cut_part(struct manifest *manifest, uint32_t member);

/* Leaves of a gang's manifest, whose entries are not loaded yet, the parts that are marked; `takes`
 * has one for each. The others are empty then. */
void gang_manifest_keep(struct manifest *manifest, const bool *takes);

/* Names that several members have with different content. */
struct gang_clashes {
	uint32_t count;
	/* The first by name: whose file it is now, and whose is left out. */
	char path[512];
	uint32_t kept, left;
};

#endif
