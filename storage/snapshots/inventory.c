#include "forget.h"

#include "base/json.h"
#include "base/workers.h"
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
	struct known_snapshot *before; /* what the inventory before has read */
	size_t before_count;
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

const struct store_object *inventory_find_pack(const struct storage *storage,
					       const struct store_listing *packs, const char *name)
{
	auto_free char *key = transfer_pack_key(&storage->transfer, name);

	return store_listing_find(packs, key);
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
static bool recall_snapshot(const struct scan *scan, const struct manifest_object *object,
			    struct known_snapshot *known)
{
	struct known_snapshot *old =
		scan->before_count ? bsearch(known, scan->before, scan->before_count,
					     sizeof(*known), compare_infos)
				   : NULL;

	if (!old || object->put_ms <= 0 || old->object.put_ms != object->put_ms ||
	    old->object.size != object->size)
		return false;
	*known = *old;
	known->cached = true;
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

	known->unknown = true;
	if (job_record_get_manifest_head(scan->storage, known->info.id, &manifest, scan->cancel,
					 err) < 0)
		return -1;
	fill_snapshot_info(&manifest, &known->info);
	known->object = *object;
	known->unknown = false;
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
	struct known_snapshot *known = &scan->storage->known[at];
	enum snapshot_state state = info->state;

	if (!(recall && recall_snapshot(scan, object, known)) &&
	    read_snapshot(scan, object, known, err) < 0)
		return -1;
	*info = known->info;
	info->state = state;
	return pack_listing_check(scan->storage,
				  &(struct manifest){.packs = known->packs,
						     .pack_count = known->pack_count},
				  &listing->packs, err);
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
		struct known_snapshot *known = &scan->storage->known[i];

		if (info->state != SNAPSHOT_GOOD)
			continue;
		if (!known->cached)
			return 0;
		known_snapshot_release(known);
		if (inspect_snapshot(scan, i, false, err) < 0)
			return -1;
		if (info->state == SNAPSHOT_GOOD)
			return 0;
	}
	return 0;
}

static void release_known(struct known_snapshot *known, size_t count)
{
	for (size_t i = 0; i < count; i++)
		known_snapshot_release(&known[i]);
	free(known);
}

void inventory_forget_known(struct storage *storage)
{
	release_known(steal(&storage->known), storage->known_count);
	storage->known_count = 0;
}

/* A manifest never changes, so a job that saves and forgets for weeks reads each once. */
static int inspect_snapshots(struct storage *storage, struct inventory *inventory,
			     struct cancel *cancel, struct err *err)
{
	struct scan scan = {
		.storage = storage,
		.inventory = inventory,
		.cancel = cancel,
		.before = storage->known,
		.before_count = storage->known_count,
	};
	size_t packs = 0;
	int result;

	for (size_t i = 0; i < scan.before_count; i++) {
		packs += scan.before[i].pack_count;
		if (packs > KNOWN_PACKS_MOST)
			known_snapshot_release(&scan.before[i]);
	}
	storage->known_count = inventory->list.count;
	storage->known = memory_new(storage->known_count * sizeof(*storage->known));
	for (size_t i = 0; i < storage->known_count; i++)
		storage->known[i].info.id = inventory->list.items[i].id;
	result = parallel_each(storage->known_count, THREADS_MOST, inspect_recalled, &scan, err);
	if (result == 0)
		result = inspect_newest(&scan, err);
	release_known(scan.before, scan.before_count);
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

		if (info &&
		    (!lineage_has_ended(&lineage->attempts[i]) || i == lineage->attempt_count - 1))
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
static void count_pack_uses(const struct storage *storage, struct inventory *inventory)
{
	const struct store_listing *packs = &inventory->listing.packs;
	auto_free uint32_t *namers = memory_new((packs->count + 1) * sizeof(*namers));

	for (int sums = 0; sums < 2; sums++)
		for (size_t i = 0; i < storage->known_count; i++)
			for (size_t j = 0; j < storage->known[i].pack_count; j++) {
				const struct store_object *pack =
					inventory_find_pack(storage, packs,
							    storage->known[i].packs[j].key);

				if (pack && !sums)
					namers[pack - packs->items]++;
				else if (pack && namers[pack - packs->items] == 1)
					inventory->list.items[i].bytes_alone += pack->size;
			}
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
	count_pack_uses(storage, inventory);
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

void inventory_release(struct inventory *inventory)
{
	snapshot_list_release(&inventory->list);
	job_listing_release(&inventory->listing);
	*inventory = (struct inventory){0};
}
