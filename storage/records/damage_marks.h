/*
 * What was found damaged is written down: an object for each pack, `damaged/` in place of `packs/`
 * in its key. From then on no snapshot that names the pack is good, no save relies on it, and so
 * the next save sends its chunks anew. The names alone decide; the records say to people what was
 * found. `reprieve verify --repair` puts the marks that are missing and removes those that are not
 * true.
 */
#ifndef DAMAGE_MARKS_H
#define DAMAGE_MARKS_H

#include "storage/backend/backend.h"
#include "storage_handle.h"

/* The marks of the job, sorted by key. Blocks. */
int damage_marks_list(struct storage *storage, struct store_listing *marks, struct cancel *cancel,
		      struct err *err);
/* `pack`: relative to the job, as in a manifest: "packs/000001/...". */
bool damage_marks_has(const struct storage *storage, const struct store_listing *marks,
		      const char *pack);
/* When the mark was put, by the store's clock; 0: unknown, or there is none. */
int64_t damage_marks_date(const struct storage *storage, const struct store_listing *marks,
			  const char *pack);
/* Removes the packs that are marked from a listing of packs. */
void damage_marks_drop(const struct storage *storage, const struct store_listing *marks,
		       struct store_listing *packs);

/* Puts the mark; one that is there already is no error. `found`: a sentence. Blocks. */
int damage_mark_put(struct storage *storage, const char *pack, const char *found,
		    struct cancel *cancel, struct err *err);
/* The same; ERR_EXISTS: it is there already. */
int damage_mark_put_new(struct storage *storage, const char *pack, const char *found,
			struct cancel *cancel, struct err *err);
/* Puts the mark of a pack in which reading has found damage (chunk_fetch.h), as well as it can: a
 * store that cannot be written to has no mark, and is read again the next time. Blocks. */
void damage_mark_note(struct storage *storage, const char *pack, const char *found,
		      struct cancel *cancel);
/* One that is not there is no error. Blocks. */
int damage_mark_remove(struct storage *storage, const char *pack, struct cancel *cancel,
		       struct err *err);

#endif
