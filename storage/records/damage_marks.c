#include "damage_marks.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "job_records.h"

#include <stdlib.h>
#include <string.h>

#define PACKS "packs/"

static char *mark_key(const struct storage *storage, const char *pack)
{
	return text_format("jobs/%s/damaged/%s", storage->transfer.job,
			   text_starts(pack, PACKS) ? pack + strlen(PACKS) : pack);
}

int damage_marks_list(struct storage *storage, struct store_listing *marks, struct cancel *cancel,
		      struct err *err)
{
	auto_free char *prefix = text_format("jobs/%s/damaged/", storage->transfer.job);

	return storage->transfer.store->ops->list(storage->transfer.store, prefix, STORE_ALL, marks,
						  cancel, err);
}

bool damage_marks_has(const struct storage *storage, const struct store_listing *marks,
		      const char *pack)
{
	auto_free char *key = marks->count > 0 ? mark_key(storage, pack) : NULL;

	return key && store_listing_find(marks, key);
}

int64_t damage_marks_date(const struct storage *storage, const struct store_listing *marks,
			  const char *pack)
{
	auto_free char *key = marks->count > 0 ? mark_key(storage, pack) : NULL;
	const struct store_object *mark = key ? store_listing_find(marks, key) : NULL;

	return mark ? mark->modified_ms : 0;
}

void damage_marks_drop(const struct storage *storage, const struct store_listing *marks,
		       struct store_listing *packs)
{
	size_t job = strlen("jobs//") + strlen(storage->transfer.job), left = 0;

	for (size_t i = 0; marks->count > 0 && i < packs->count; i++) {
		struct store_object object = packs->items[i];

		if (damage_marks_has(storage, marks, object.key + job))
			free(object.key);
		else
			packs->items[left++] = object;
	}
	if (marks->count > 0)
		packs->count = left;
}

int damage_mark_put_new(struct storage *storage, const char *pack, const char *found,
			struct cancel *cancel, struct err *err)
{
	auto_free char *key = mark_key(storage, pack);
	char nonce[33], created[32];
	auto_json json_t *body = NULL;

	random_hex(nonce);
	body = json_pack("{s:s, s:s, s:s, s:s, s:s}", "pack", pack, "nonce", nonce, "created",
			 clock_format(clock_wall_ms(), created, sizeof(created)), "host",
			 storage->host, "found", found);
	if (!body)
		return err_set(err, ERR_FAILED, "cannot write the mark of a damaged pack as JSON");
	if (job_record_put(storage->transfer.store, key, RECORD_DAMAGE, body, NULL, cancel, err) ==
	    0)
		return 0;
	return err_wrap(err, "cannot write down that pack %s is damaged", pack);
}

int damage_mark_put(struct storage *storage, const char *pack, const char *found,
		    struct cancel *cancel, struct err *err)
{
	struct err own = {0};

	if (damage_mark_put_new(storage, pack, found, cancel, &own) == 0 || own.kind == ERR_EXISTS)
		return 0;
	if (err)
		*err = own;
	return -1;
}

void damage_mark_note(struct storage *storage, const char *pack, const char *found,
		      struct cancel *cancel)
{
	if (!storage->read_only)
		(void)damage_mark_put(storage, pack, found, cancel, NULL);
}

int damage_mark_remove(struct storage *storage, const char *pack, struct cancel *cancel,
		       struct err *err)
{
	auto_free char *key = mark_key(storage, pack);

	return storage->transfer.store->ops->remove(storage->transfer.store, key, cancel, err);
}
