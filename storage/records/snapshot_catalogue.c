#include "snapshot_catalogue.h"

#include "base/cleanup.h"

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
	}
	snapshot_catalogue_release(catalogue);
	*catalogue = kept;
}

void snapshot_catalogue_release(struct snapshot_catalogue *catalogue)
{
	pack_table_release(&catalogue->packs);
	for (size_t i = 0; i < catalogue->count; i++)
		entry_free(catalogue->entries[i]);
	free(catalogue->entries);
	*catalogue = (struct snapshot_catalogue){0};
}
