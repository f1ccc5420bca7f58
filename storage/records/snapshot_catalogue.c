#include "snapshot_catalogue.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- packs --- */

static void add_to_runs(struct catalogue_entry *entry, uint32_t number)
{
	struct catalogue_run *last = entry->run_count ? &entry->runs[entry->run_count - 1] : NULL;

	if (last && last->first + last->count == number) {
		last->count++;
		return;
	}
	entry->runs = memory_grow(entry->runs, entry->run_count + 1, sizeof(*entry->runs));
	entry->runs[entry->run_count++] = (struct catalogue_run){number, 1};
}

static struct manifest_pack manifest_pack_of(const struct snapshot_catalogue *catalogue,
					     uint32_t number)
{
	const struct pack_table_item *item = catalogue->packs.items[number];

	return (struct manifest_pack){item->key, item->bytes};
}

struct manifest_pack *snapshot_catalogue_packs(const struct snapshot_catalogue *catalogue,
					       const struct catalogue_entry *entry, size_t *count)
{
	struct manifest_pack *packs;
	size_t total = 0;

	for (size_t i = 0; i < entry->run_count; i++)
		total += entry->runs[i].count;
	packs = memory_new(total * sizeof(*packs));
	*count = 0;
	for (size_t i = 0; i < entry->run_count; i++)
		for (uint32_t j = 0; j < entry->runs[i].count; j++)
			packs[(*count)++] = manifest_pack_of(catalogue, entry->runs[i].first + j);
	return packs;
}

/* --- entries --- */

static void entry_free(struct catalogue_entry *entry)
{
	free(entry->runs);
	free(entry);
}

/* The position of the first entry that is not before `id`. */
static size_t entry_position(const struct snapshot_catalogue *catalogue, struct snapshot_id id)
{
	size_t low = 0, high = catalogue->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (snapshot_id_compare(catalogue->entries[middle]->info.id, id) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_entry_of(const struct snapshot_catalogue *catalogue, size_t at,
			struct snapshot_id id)
{
	return at < catalogue->count &&
	       snapshot_id_compare(catalogue->entries[at]->info.id, id) == 0;
}

struct catalogue_entry *snapshot_catalogue_find(const struct snapshot_catalogue *catalogue,
						struct snapshot_id id,
						const struct manifest_object *object)
{
	size_t at = entry_position(catalogue, id);

	return is_entry_of(catalogue, at, id) && object->put_ms > 0 &&
			       catalogue->entries[at]->object.put_ms == object->put_ms &&
			       catalogue->entries[at]->object.size == object->size
		       ? catalogue->entries[at]
		       : NULL;
}

void snapshot_catalogue_remove(struct snapshot_catalogue *catalogue, struct snapshot_id id)
{
	size_t at = entry_position(catalogue, id);

	if (!is_entry_of(catalogue, at, id))
		return;
	entry_free(catalogue->entries[at]);
	memmove(&catalogue->entries[at], &catalogue->entries[at + 1],
		(--catalogue->count - at) * sizeof(struct catalogue_entry *));
}

static void insert_entry(struct snapshot_catalogue *catalogue, struct catalogue_entry *entry)
{
	size_t at;

	snapshot_catalogue_remove(catalogue, entry->info.id);
	at = entry_position(catalogue, entry->info.id);
	catalogue->entries = memory_grow(catalogue->entries, catalogue->count + 1,
					 sizeof(struct catalogue_entry *));
	memmove(&catalogue->entries[at + 1], &catalogue->entries[at],
		(catalogue->count++ - at) * sizeof(struct catalogue_entry *));
	catalogue->entries[at] = entry;
}

void snapshot_catalogue_add(struct snapshot_catalogue *catalogue, const struct snapshot_info *info,
			    const struct manifest_object *object, const struct manifest_pack *packs,
			    size_t pack_count)
{
	struct catalogue_entry *entry;

	if (object->put_ms <= 0)
		return;
	entry = memory_new(sizeof(*entry));
	entry->info = *info;
	entry->object = *object;
	for (size_t i = 0; i < pack_count; i++)
		add_to_runs(entry,
			    pack_table_number(&catalogue->packs, packs[i].key, packs[i].bytes));
	insert_entry(catalogue, entry);
}

void snapshot_catalogue_keep(struct snapshot_catalogue *catalogue, const struct snapshot_id *ids,
			     size_t count)
{
	struct snapshot_catalogue kept = {0};
	size_t next = 0;

	for (size_t i = 0; i < catalogue->count; i++) {
		struct catalogue_entry *entry = catalogue->entries[i];
		auto_free struct manifest_pack *packs = NULL;
		size_t pack_count;

		while (next < count && snapshot_id_compare(ids[next], entry->info.id) < 0)
			next++;
		if (next == count || snapshot_id_compare(ids[next], entry->info.id) != 0)
			continue;
		packs = snapshot_catalogue_packs(catalogue, entry, &pack_count);
		snapshot_catalogue_add(&kept, &entry->info, &entry->object, packs, pack_count);
		if (kept.count > 0)
			kept.entries[kept.count - 1]->stored = entry->stored;
	}
	snapshot_catalogue_release(catalogue);
	*catalogue = kept;
}

/* --- as JSON --- */

/* "packs/000001/000002-<nonce>-0003.pack" -> "packs/000001/000002-<nonce>" and 3. False: the key
 * has another form. */
static bool split_key(const char *key, char **stem, uint32_t *number)
{
	const char *dash = strrchr(key, '-');
	auto_free char *again = NULL;
	unsigned found;

	if (!dash || sscanf(dash + 1, "%9u", &found) != 1)
		return false;
	*stem = text_copy_n(key, (size_t)(dash - key));
	*number = found;
	again = text_format("%s-%04u.pack", *stem, found);
	if (text_equal(again, key))
		return true;
	free(steal(stem));
	return false;
}

/* Packs of one save stand together: [stem, number of the first, [sizes]]; others [key, null,
 * [size]]. */
static json_t *encode_packs(const struct snapshot_catalogue *catalogue)
{
	json_t *groups = json_array(), *sizes = NULL;
	auto_free char *before = NULL;
	uint32_t next = 0;

	for (size_t i = 0; i < catalogue->packs.count; i++) {
		const struct pack_table_item *pack = catalogue->packs.items[i];
		auto_free char *stem = NULL;
		uint32_t number = 0;
		bool regular = split_key(pack->key, &stem, &number);

		if (!regular || !sizes || number != next || !text_equal(stem, before)) {
			sizes = json_array();
			json_array_append_new(groups,
					      json_pack("[s, o, o]", regular ? stem : pack->key,
							regular ? json_integer(number)
								: json_null(),
							sizes));
		}
		json_array_append_new(sizes, json_integer((json_int_t)pack->bytes));
		free(before);
		before = steal(&stem);
		next = number + 1;
		if (!regular)
			sizes = NULL;
	}
	return groups;
}

static json_t *encode_entry(const struct catalogue_entry *entry)
{
	const struct snapshot_info *info = &entry->info;
	char id[SNAPSHOT_ID_TEXT], parent[SNAPSHOT_ID_TEXT];
	json_t *runs = json_array(), *body;

	for (size_t i = 0; i < entry->run_count; i++)
		json_array_append_new(runs, json_pack("[I, I]", (json_int_t)entry->runs[i].first,
						      (json_int_t)entry->runs[i].count));
	body = json_pack("{s:s, s:I, s:I, s:s, s:s, s:s, s:s, s:I, s:s?, s:I, s:I, s:I, s:o}", "id",
			 snapshot_id_format(info->id, id), "size", (json_int_t)entry->object.size,
			 "put_ms", (json_int_t)entry->object.put_ms, "created", info->created,
			 "host", info->host, "reason", info->reason, "tag", info->tag, "step",
			 (json_int_t)info->step, "parent",
			 snapshot_id_is_none(info->parent)
				 ? NULL
				 : snapshot_id_format(info->parent, parent),
			 "files", (json_int_t)info->files, "bytes", (json_int_t)info->bytes,
			 "bytes_stored", (json_int_t)info->bytes_stored, "packs", runs);
	if (info->members > 0)
		json_object_set_new(body, "members",
				    json_pack("[I, I]", (json_int_t)info->members,
					      (json_int_t)info->members_without));
	return body;
}

json_t *snapshot_catalogue_encode(const struct snapshot_catalogue *catalogue)
{
	auto_json json_t *entries = json_array();

	for (size_t i = 0; i < catalogue->count; i++)
		if (json_array_append_new(entries, encode_entry(catalogue->entries[i])) < 0)
			return NULL;
	return json_pack("{s:o, s:O}", "packs", encode_packs(catalogue), "snapshots", entries);
}

/* False: a pack is named twice, or makes no sense; then the positions would be wrong. */
static bool decode_group(json_t *group, struct snapshot_catalogue *catalogue)
{
	json_t *sizes = json_array_get(group, 2), *first = json_array_get(group, 1);
	const char *text = json_string_value(json_array_get(group, 0));

	for (size_t i = 0; i < json_array_size(sizes); i++) {
		json_int_t bytes = json_integer_value(json_array_get(sizes, i));
		auto_free char *key = NULL;
		size_t number = catalogue->packs.count;

		if (!text || bytes <= 0)
			return false;
		key = json_is_integer(first)
			      ? text_format("%s-%04u.pack", text,
					    (unsigned)json_integer_value(first) + (unsigned)i)
			      : text_copy(text);
		if (pack_table_number(&catalogue->packs, key, (uint64_t)bytes) != number)
			return false;
	}
	return text != NULL;
}

static bool decode_runs(json_t *runs, size_t pack_count, struct catalogue_entry *entry)
{
	entry->runs = memory_new(json_array_size(runs) * sizeof(*entry->runs));
	for (size_t i = 0; i < json_array_size(runs); i++) {
		json_t *run = json_array_get(runs, i);
		json_int_t first = json_integer_value(json_array_get(run, 0));
		json_int_t count = json_integer_value(json_array_get(run, 1));

		if (first < 0 || count <= 0 || count > (json_int_t)pack_count ||
		    first > (json_int_t)pack_count - count)
			return false;
		entry->runs[entry->run_count++] =
			(struct catalogue_run){(uint32_t)first, (uint32_t)count};
	}
	return json_is_array(runs);
}

static bool decode_entry(json_t *body, struct snapshot_catalogue *catalogue)
{
	struct catalogue_entry *entry = memory_new(sizeof(*entry));
	struct snapshot_info *info = &entry->info;

	text_set(info->created, sizeof(info->created), json_text_or(body, "created", ""));
	text_set(info->host, sizeof(info->host), json_text_or(body, "host", ""));
	text_set(info->reason, sizeof(info->reason), json_text_or(body, "reason", ""));
	text_set(info->tag, sizeof(info->tag), json_text_or(body, "tag", ""));
	info->step = json_number_or(body, "step", -1);
	info->files = (uint32_t)json_number_or(body, "files", 0);
	info->bytes = (uint64_t)json_number_or(body, "bytes", 0);
	info->bytes_stored = (uint64_t)json_number_or(body, "bytes_stored", 0);
	info->members =
		(uint32_t)json_integer_value(json_array_get(json_object_get(body, "members"), 0));
	info->members_without =
		(uint32_t)json_integer_value(json_array_get(json_object_get(body, "members"), 1));
	(void)snapshot_id_parse(json_text_or(body, "parent", ""), &info->parent);
	entry->object.size = (uint64_t)json_number_or(body, "size", 0);
	entry->object.put_ms = json_number_or(body, "put_ms", 0);
	entry->stored = true;
	if (snapshot_id_parse(json_text_or(body, "id", ""), &info->id) &&
	    decode_runs(json_object_get(body, "packs"), catalogue->packs.count, entry)) {
		insert_entry(catalogue, entry);
		return true;
	}
	entry_free(entry);
	return false;
}

int snapshot_catalogue_decode(json_t *body, struct snapshot_catalogue *catalogue, struct err *err)
{
	json_t *groups, *entries;
	bool good = true;

	if (json_get_array(body, "packs", &groups, err) < 0 ||
	    json_get_array(body, "snapshots", &entries, err) < 0)
		return -1;
	for (size_t i = 0; good && i < json_array_size(groups); i++)
		good = decode_group(json_array_get(groups, i), catalogue);
	for (size_t i = 0; good && i < json_array_size(entries); i++)
		good = decode_entry(json_array_get(entries, i), catalogue);
	if (good)
		return 0;
	snapshot_catalogue_release(catalogue);
	return err_set(err, ERR_CORRUPT, "the catalogue makes no sense");
}

void snapshot_catalogue_release(struct snapshot_catalogue *catalogue)
{
	pack_table_release(&catalogue->packs);
	for (size_t i = 0; i < catalogue->count; i++)
		entry_free(catalogue->entries[i]);
	free(catalogue->entries);
	*catalogue = (struct snapshot_catalogue){0};
}
