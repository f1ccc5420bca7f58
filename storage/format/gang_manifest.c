#include "gang_manifest.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the directory of a member --- */

static char *member_directory(uint32_t member)
{
	return text_format("member-%05u", member);
}

static void prefix_text(const char *directory, char **text)
{
	char *longer = text_format("%s/%s", directory, *text);

	free(*text);
	*text = longer;
}

void gang_manifest_prefix(struct manifest *manifest, uint32_t member)
{
	auto_free char *directory = member_directory(member);
	size_t count = manifest->entry_count;

	for (size_t i = 0; i < count; i++) {
		struct entry *entry = &manifest->entries[i];

		prefix_text(directory, &entry->path);
		if (entry->type == ENTRY_HARDLINK)
			prefix_text(directory, &entry->target);
	}
	manifest->entries = memory_grow(manifest->entries, count + 1, sizeof(*manifest->entries));
	memmove(&manifest->entries[1], manifest->entries, count * sizeof(*manifest->entries));
	/* Without a time of its own, so that the same files give the same list. */
	manifest->entries[0] = (struct entry){
		.path = steal(&directory),
		.type = ENTRY_DIRECTORY,
		.mode = manifest->directory_mode,
	};
	manifest->entry_count++;
}

static int strip_text(const char *directory, char **text, struct err *err)
{
	size_t length = strlen(directory);
	char *shorter;

	if (!text_starts(*text, directory) || (*text)[length] != '/')
		return err_set(err, ERR_CORRUPT, "\"%s\" is not below %s", *text, directory);
	shorter = text_copy(*text + length + 1);
	free(*text);
	*text = shorter;
	return 0;
}

int gang_manifest_strip(struct manifest *manifest, uint32_t member, struct err *err)
{
	bool kept = member < manifest->part_count && manifest->parts[member].kept;
	auto_free char *directory =
		member_directory(kept ? manifest->parts[member].keeper : member);

	/* An empty part has not even that. */
	if (manifest->entry_count == 0 && manifest->files == 0)
		return 0;
	if (manifest->entry_count == 0 || !text_equal(manifest->entries[0].path, directory) ||
	    manifest->entries[0].type != ENTRY_DIRECTORY)
		return err_set(err, ERR_CORRUPT, "the part of member %u has no %s", member,
			       directory);
	entry_release(&manifest->entries[0]);
	manifest->entry_count--;
	memmove(manifest->entries, &manifest->entries[1],
		manifest->entry_count * sizeof(*manifest->entries));
	manifest->entries[manifest->entry_count] = (struct entry){0};
	for (size_t i = 0; i < manifest->entry_count; i++) {
		struct entry *entry = &manifest->entries[i];

		if (strip_text(directory, &entry->path, err) < 0 ||
		    (entry->type == ENTRY_HARDLINK &&
		     strip_text(directory, &entry->target, err) < 0))
			return -1;
	}
	return 0;
}

bool gang_manifest_is_of(const struct manifest_part *parts, size_t count, uint32_t members)
{
	bool gone = false;

	for (size_t i = 0; i < count; i++)
		gone |= parts[i].gone;
	return count == members && !gone;
}

uint32_t gang_manifest_present(const struct manifest *manifest)
{
	uint32_t present = 0;

	for (size_t i = 0; i < manifest->part_count; i++)
		present += !manifest->parts[i].gone;
	return present;
}

/* --- joining --- */

static int compare_packs(const void *a, const void *b)
{
	return strcmp(((const struct manifest_pack *)a)->key,
		      ((const struct manifest_pack *)b)->key);
}

/* Sorted by key, each once. */
static void join_packs(const struct manifest *parts, size_t count, struct manifest *gang)
{
	size_t total = 0, kept = 0;

	for (size_t i = 0; i < count; i++)
		total += parts[i].pack_count;
	gang->packs = memory_new((total + 1) * sizeof(*gang->packs));
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < parts[i].pack_count; j++)
			gang->packs[gang->pack_count++] =
				(struct manifest_pack){text_copy(parts[i].packs[j].key),
						       parts[i].packs[j].bytes};
	if (total > 0)
		qsort(gang->packs, total, sizeof(*gang->packs), compare_packs);
	for (size_t i = 0; i < total; i++) {
		if (kept > 0 && text_equal(gang->packs[i].key, gang->packs[kept - 1].key))
			free(gang->packs[i].key);
		else
			gang->packs[kept++] = gang->packs[i];
	}
	gang->pack_count = kept;
}

static uint32_t find_pack(const struct manifest *gang, const char *key)
{
	struct manifest_pack wanted = {.key = (char *)key};
	const struct manifest_pack *found = bsearch(&wanted, gang->packs, gang->pack_count,
						    sizeof(*gang->packs), compare_packs);

	return (uint32_t)(found - gang->packs);
}

static void join_pieces(const struct manifest *part, struct manifest *gang)
{
	for (size_t i = 0; i < part->piece_count; i++) {
		struct manifest_piece piece = part->pieces[i];

		piece.chunk.pack = find_pack(gang, part->packs[piece.chunk.pack].key);
		gang->pieces[gang->piece_count++] = piece;
	}
}

bool gang_manifest_lacks_checkpoint(const struct manifest *part)
{
	return part->kept ? part->step < 0 : part->piece_count == 0 || part->without_checkpoint;
}

static struct manifest_part describe_part(const struct manifest *part, uint32_t member)
{
	struct manifest_part description = {
		.member = member,
		.pieces = (uint32_t)part->piece_count,
		.files = part->files,
		.left_out = part->left_out,
		.directory_mode = part->directory_mode,
		.without_checkpoint = gang_manifest_lacks_checkpoint(part),
		.kept = part->kept,
		.gone = part->gone,
		.keeper = part->keeper,
		.bytes = part->bytes,
		.about = json_incref(part->about),
	};

	text_set(description.host, sizeof(description.host), part->host);
	text_set(description.nonce, sizeof(description.nonce), part->nonce);
	return description;
}

void gang_manifest_join(const struct manifest *parts, size_t count, struct manifest *gang)
{
	size_t pieces = 0;

	for (size_t i = 0; i < count; i++)
		pieces += parts[i].piece_count;
	join_packs(parts, count, gang);
	gang->pieces = memory_new(pieces * sizeof(*gang->pieces));
	gang->parts = memory_new(count * sizeof(*gang->parts));
	for (size_t i = 0; i < count; i++) {
		join_pieces(&parts[i], gang);
		gang->parts[gang->part_count++] = describe_part(&parts[i], (uint32_t)i);
		gang->files += parts[i].files;
		gang->bytes += parts[i].bytes;
		gang->bytes_stored += parts[i].bytes_stored;
		gang->left_out += parts[i].left_out;
	}
	gang->directory_mode = 0755;
}

/* --- the part of one member --- */

static int refuse_members(const struct manifest *manifest, uint32_t members, struct err *err)
{
	uint32_t present = gang_manifest_present(manifest);
	char here[40] = "this is one machine";

	if (members > 1)
		snprintf(here, sizeof(here), "this one has %u", members);
	if (present < manifest->part_count)
		return err_set(err, ERR_UNFIT,
			       "taken by %u of the %zu members of a gang (--on-preemption "
			       "continue), and %s: all files are needed",
			       present, manifest->part_count, here);
	if (manifest->part_count == 0)
		return err_set(err, ERR_UNFIT,
			       "it was taken by one machine, and this is a gang of %u: start it "
			       "with --gang off, or under another --job",
			       members);
	return err_set(err, ERR_UNFIT,
		       "taken by a gang of %zu members, and %s: start %zu machines with --gang "
		       "%zu, or use another --job",
		       manifest->part_count, here, manifest->part_count, manifest->part_count);
}

void gang_manifest_cut_part(struct manifest *manifest, uint32_t member)
{
	const struct manifest_part *part;
	size_t first = 0;

	for (uint32_t i = 0; i < member; i++)
		first += manifest->parts[i].pieces;
	part = &manifest->parts[member];
	manifest->piece_count = part->pieces;
	memmove(manifest->pieces, &manifest->pieces[first],
		part->pieces * sizeof(*manifest->pieces));
	manifest->files = part->files;
	manifest->bytes = part->bytes;
	manifest->left_out = part->left_out;
	manifest->directory_mode = part->directory_mode;
	json_decref(manifest->about);
	manifest->about = json_incref(part->about);
}

int gang_manifest_cut(struct manifest *manifest, uint32_t members, uint32_t member, struct err *err)
{
	if (members <= 1 && manifest->part_count == 0)
		return 0;
	if (!gang_manifest_is_of(manifest->parts, manifest->part_count, members) ||
	    member >= members)
		return refuse_members(manifest, members, err);
	gang_manifest_cut_part(manifest, manifest->parts[member].kept
						 ? manifest->parts[member].keeper
						 : member);
	return 0;
}

void gang_manifest_keep(struct manifest *manifest, const bool *takes)
{
	size_t from = 0, kept = 0;

	manifest->files = manifest->left_out = 0;
	manifest->bytes = 0;
	for (size_t i = 0; i < manifest->part_count; i++) {
		struct manifest_part *part = &manifest->parts[i];
		size_t pieces = part->pieces;

		if (takes[i]) {
			memmove(&manifest->pieces[kept], &manifest->pieces[from],
				pieces * sizeof(*manifest->pieces));
			kept += pieces;
			manifest->files += part->files;
			manifest->bytes += part->bytes;
			manifest->left_out += part->left_out;
		} else {
			part->pieces = part->files = part->left_out = 0;
			part->bytes = 0;
		}
		from += pieces;
	}
	manifest->piece_count = kept;
}
