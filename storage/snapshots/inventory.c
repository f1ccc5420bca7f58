#include "inventory.h"

#include "base/json.h"
#include "base/workers.h"
#include "pin_place.h"
#include "snapshots.h"
#include "storage/format/format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define THREADS_MOST 16

/* What is remembered of packs takes some 20 MB at most. */
#define KNOWN_PACKS_MOST ((size_t)256 << 10)

/* Beside a job that saves and forgets ten times a second. */
#define LISTINGS_MOST 8

struct scan {
	struct storage *storage;
	struct inventory *inventory;
	struct cancel *cancel;
	struct known_snapshot *known; /* what is known by now: one for each snapshot */
};

/* --- one snapshot --- */

static void fill_snapshot_info(const struct manifest *manifest, struct snapshot_info *info)
{
	text_set(info->created, sizeof(info->created), manifest->created);
	text_set(info->host, sizeof(info->host), manifest->host);
	text_set(info->reason, sizeof(info->reason), manifest->reason);
	text_set(info->tag, sizeof(info->tag), json_text_or(manifest->about, "tag", ""));
	info->step = manifest->step;
	info->parent = manifest->parent;
	info->files = manifest->files;
	info->bytes = manifest->bytes;
	info->bytes_stored = manifest->bytes_stored;
	info->members = (uint32_t)manifest->part_count;
	for (size_t i = 0; i < manifest->part_count; i++)
		info->members_without += manifest->parts[i].without_checkpoint;
}

static void find_named_packs(struct storage *storage, const struct manifest *manifest,
			     const struct store_listing *packs, struct inventory_packs *names)
{
	names->packs = memory_new(manifest->pack_count * sizeof(*names->packs));
	for (size_t i = 0; i < manifest->pack_count; i++) {
		auto_free char *key = transfer_pack_key(&storage->transfer, manifest->packs[i].key);
		const struct store_object *object = store_listing_find(packs, key);

		if (object)
			names->packs[names->count++] = (uint32_t)(object - packs->items);
	}
}

/* Newest first. */
static int compare_infos(const void *a, const void *b)
{
	const struct snapshot_info *first = a, *second = b;

	return snapshot_id_compare(second->id, first->id);
}

static void known_snapshot_release(struct known_snapshot *known)
{
	for (size_t i = 0; i < known->pack_count; i++)
		free(known->packs[i].key);
	free(known->packs);
	*known = (struct known_snapshot){.info.id = known->info.id};
}

/* Moves what an earlier inventory has read. Each is wanted by one thread alone. */
static bool recall_snapshot(const struct storage *storage, struct snapshot_id id,
			    const struct manifest_object *object, struct known_snapshot *known)
{
	const struct known_snapshot wanted = {.info.id = id};
	struct known_snapshot *old =
		storage->known_count ? bsearch(&wanted, storage->known, storage->known_count,
					       sizeof(wanted), compare_infos)
				     : NULL;

	if (!old || object->put_ms <= 0 || old->object.put_ms != object->put_ms ||
	    old->object.size != object->size)
		return false;
	*known = *old;
	/* The other threads' searches read its id: that is not written again. */
	old->object = (struct manifest_object){0};
	old->packs = NULL;
	old->pack_count = 0;
	return true;
}

static int read_snapshot(struct scan *scan, const struct manifest_object *object,
			 struct known_snapshot *known, struct err *err)
{
	auto_(manifest_release) struct manifest manifest = {0};

	if (job_record_get_manifest_head(scan->storage, known->info.id, &manifest, scan->cancel,
					 err) < 0)
		return -1;
	fill_snapshot_info(&manifest, &known->info);
	known->object = *object;
	known->pack_count = manifest.pack_count;
	known->packs = steal(&manifest.packs);
	manifest.pack_count = 0;
	return 0;
}

/* `recall`: what was read before is good enough. */
static int load_snapshot(struct scan *scan, size_t at, bool recall, struct err *err)
{
	const struct job_listing *listing = &scan->inventory->listing;
	const struct manifest_object *object =
		&listing->manifests[scan->inventory->list.count - 1 - at];
	struct snapshot_info *info = &scan->inventory->list.items[at];
	struct inventory_packs *names = &scan->inventory->names[at];
	struct known_snapshot *known = &scan->known[at];
	enum snapshot_state state = info->state;
	struct manifest named = {0};

	names->cached = recall && recall_snapshot(scan->storage, info->id, object, known);
	if (!names->cached && read_snapshot(scan, object, known, err) < 0) {
		names->unknown = true;
		return -1;
	}
	*info = known->info;
	info->state = state;
	named.packs = known->packs;
	named.pack_count = known->pack_count;
	find_named_packs(scan->storage, &named, &listing->packs, names);
	return pack_listing_check(scan->storage, &named, &listing->packs, err);
}

static int inspect_snapshot(struct scan *scan, size_t at, bool recall, struct err *err)
{
	struct snapshot_info *info = &scan->inventory->list.items[at];
	struct err own = {0};

	info->step = -1;
	if (load_snapshot(scan, at, recall, &own) == 0)
		return 0;
	/* Damage is a result that is listed; a store that cannot be read is an error. */
	if (own.kind != ERR_CORRUPT && own.kind != ERR_NOT_FOUND && own.kind != ERR_VERSION)
		return err_pass(err, &own);
	info->newer = own.kind == ERR_VERSION;
	info->state = SNAPSHOT_DAMAGED;
	text_set(info->damage, sizeof(info->damage), own.text);
	return 0;
}

int inventory_read_packs(struct storage *storage, struct snapshot_id id,
			 const struct store_listing *packs, struct inventory_packs *names,
			 struct cancel *cancel, struct err *err)
{
	auto_(manifest_release) struct manifest manifest = {0};
	struct err own = {0};

	if (job_record_get_manifest_head(storage, id, &manifest, cancel, &own) == 0) {
		find_named_packs(storage, &manifest, packs, names);
		return 0;
	}
	names->unknown = own.kind == ERR_CORRUPT;
	/* Removed since it was listed: it names nothing. */
	if (names->unknown || own.kind == ERR_NOT_FOUND)
		return 0;
	return err_pass(err, &own);
}

/* --- all of them --- */

static int inspect_recalled(void *arg, size_t at, struct err *err)
{
	return inspect_snapshot(arg, at, true, err);
}

/* Older snapshots may go because of the newest good one: that it is good is not taken from memory.
 */
static int inspect_newest(struct scan *scan, struct err *err)
{
	struct inventory *inventory = scan->inventory;

	for (size_t i = 0; i < inventory->list.count; i++) {
		struct snapshot_info *info = &inventory->list.items[i];

		if (info->state != SNAPSHOT_GOOD)
			continue;
		if (!inventory->names[i].cached)
			return 0;
		inventory_packs_release(&inventory->names[i]);
		known_snapshot_release(&scan->known[i]);
		if (inspect_snapshot(scan, i, false, err) < 0)
			return -1;
		if (info->state == SNAPSHOT_GOOD)
			return 0;
	}
	return 0;
}

void inventory_forget_known(struct storage *storage)
{
	for (size_t i = 0; i < storage->known_count; i++)
		known_snapshot_release(&storage->known[i]);
	free(steal(&storage->known));
	storage->known_count = 0;
}

/* A manifest never changes, so a job that saves and forgets for weeks reads each once. */
static void remember(struct scan *scan)
{
	size_t packs = 0;

	inventory_forget_known(scan->storage);
	scan->storage->known = scan->known;
	scan->storage->known_count = scan->inventory->list.count;
	for (size_t i = 0; i < scan->storage->known_count; i++) {
		packs += scan->known[i].pack_count;
		if (packs > KNOWN_PACKS_MOST)
			known_snapshot_release(&scan->known[i]);
	}
}

static int inspect_snapshots(struct storage *storage, struct inventory *inventory,
			     struct cancel *cancel, struct err *err)
{
	struct scan scan = {.storage = storage, .inventory = inventory, .cancel = cancel};
	int result;

	scan.known = memory_new(inventory->list.count * sizeof(*scan.known));
	for (size_t i = 0; i < inventory->list.count; i++)
		scan.known[i].info.id = inventory->list.items[i].id;
	result = parallel_each(inventory->list.count, THREADS_MOST, inspect_recalled, &scan, err);
	if (result == 0)
		result = inspect_newest(&scan, err);
	remember(&scan);
	return result;
}

struct snapshot_info *inventory_find(const struct inventory *inventory, struct snapshot_id id)
{
	const struct snapshot_info wanted = {.id = id};

	return inventory->list.count ? bsearch(&wanted, inventory->list.items,
					       inventory->list.count, sizeof(wanted), compare_infos)
				     : NULL;
}

struct pin_marking {
	struct storage *storage;
	struct inventory *inventory;
	struct snapshot_id *pins;
	struct cancel *cancel;
};

/* What cannot be read now may be a pin, and counts as one. */
static int mark_pin(void *arg, size_t at, struct err *err)
{
	struct pin_marking *marking = arg;
	struct snapshot_info *info = inventory_find(marking->inventory, marking->pins[at]);
	enum pin_record pin;

	(void)err;
	if (!info)
		return 0;
	(void)pin_read(marking->storage, marking->pins[at], &pin, marking->cancel, NULL);
	info->pinned = pin == PIN_PINNED;
	return 0;
}

static int mark_pins(struct storage *storage, struct inventory *inventory, struct cancel *cancel,
		     struct err *err)
{
	auto_free struct snapshot_id *pins = NULL;
	struct pin_marking marking = {.storage = storage, .inventory = inventory, .cancel = cancel};
	size_t count;

	if (job_records_list_ids(storage, "pins", &pins, &count, cancel, err) < 0)
		return -1;
	marking.pins = pins;
	return parallel_each(count, THREADS_MOST, mark_pin, &marking, err);
}

/* An attempt that has ended no longer needs the snapshot it started from. The newest attempt is the
 * exception: what it has saved since may turn out to be bad. */
static void mark_started_from(struct inventory *inventory)
{
	const struct lineage *lineage = &inventory->listing.lineage;

	for (size_t i = 0; i < lineage->attempt_count; i++) {
		struct snapshot_info *info = inventory_find(inventory, lineage->attempts[i].start);

		if (info && (!lineage->attempts[i].ended || i == lineage->attempt_count - 1))
			info->started_from = true;
	}
}

static void mark_newest(struct inventory *inventory)
{
	/* Ids decrease along the chain, so the first good snapshot is the newest on it. */
	for (size_t i = 0; i < inventory->list.count; i++) {
		if (inventory->list.items[i].state != SNAPSHOT_GOOD)
			continue;
		inventory->list.items[i].newest = true;
		return;
	}
}

/* Sums for each snapshot the packs that no other snapshot names: removing it frees just those. */
static void count_pack_uses(struct inventory *inventory)
{
	const struct store_listing *packs = &inventory->listing.packs;
	auto_free uint32_t *namers = memory_new((packs->count + 1) * sizeof(*namers));

	for (size_t i = 0; i < inventory->list.count; i++)
		for (size_t j = 0; j < inventory->names[i].count; j++)
			namers[inventory->names[i].packs[j]]++;
	for (size_t i = 0; i < inventory->list.count; i++)
		for (size_t j = 0; j < inventory->names[i].count; j++)
			if (namers[inventory->names[i].packs[j]] == 1)
				inventory->list.items[i].bytes_alone +=
					packs->items[inventory->names[i].packs[j]].size;
}

/* What was listed and forgotten before it was read looks damaged. */
static bool has_forgotten(struct storage *storage, const struct inventory *inventory,
			  struct cancel *cancel)
{
	for (size_t i = 0; i < inventory->list.count; i++)
		if (inventory->list.items[i].state == SNAPSHOT_DAMAGED &&
		    !inventory->list.items[i].newer &&
		    job_record_is_forgotten(storage, inventory->list.items[i].id, cancel))
			return true;
	return false;
}

static int read_once(struct storage *storage, struct inventory *inventory, struct cancel *cancel,
		     struct err *err)
{
	auto_free enum snapshot_state *states = NULL;
	struct lineage *lineage;

	*inventory = (struct inventory){0};
	if (job_records_list(storage, &inventory->listing, cancel, err) < 0)
		return -1;
	lineage = &inventory->listing.lineage;
	inventory->list.count = lineage->snapshot_count;
	inventory->list.items =
		memory_new(lineage->snapshot_count * sizeof(*inventory->list.items));
	inventory->names = memory_new(lineage->snapshot_count * sizeof(*inventory->names));
	states = memory_new((lineage->snapshot_count + 1) * sizeof(*states));
	lineage_states(lineage, states);
	for (size_t i = 0; i < lineage->snapshot_count; i++) {
		size_t newest_first = lineage->snapshot_count - 1 - i;

		inventory->list.items[i].id = lineage->snapshots[newest_first];
		inventory->list.items[i].state = states[newest_first];
	}
	if (inspect_snapshots(storage, inventory, cancel, err) < 0 ||
	    mark_pins(storage, inventory, cancel, err) < 0) {
		inventory_release(inventory);
		return -1;
	}
	mark_started_from(inventory);
	mark_newest(inventory);
	count_pack_uses(inventory);
	return 0;
}

/* What came in its place is in the next listing. If that lacks something too, each time, it is
 * something else. */
int inventory_read(struct storage *storage, struct inventory *inventory, struct cancel *cancel,
		   struct err *err)
{
	for (int i = 0;; i++) {
		if (read_once(storage, inventory, cancel, err) < 0)
			return -1;
		if (i == LISTINGS_MOST || !has_forgotten(storage, inventory, cancel))
			return 0;
		inventory_release(inventory);
	}
}

void inventory_packs_release(struct inventory_packs *names)
{
	free(names->packs);
	*names = (struct inventory_packs){0};
}

void inventory_release(struct inventory *inventory)
{
	for (size_t i = 0; inventory->names && i < inventory->list.count; i++)
		inventory_packs_release(&inventory->names[i]);
	free(inventory->names);
	snapshot_list_release(&inventory->list);
	job_listing_release(&inventory->listing);
	*inventory = (struct inventory){0};
}
