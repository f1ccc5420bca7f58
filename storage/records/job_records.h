/*
 * The records of one job: their keys, and how they are written and read (job_records.c), and the
 * listing of a job (job_listing.c). For storage/ only. Keys, as FORMAT.md defines them:
 *
 *	format.json
 *	jobs/<job>/attempts/<%06u>.json              claims an attempt
 *	jobs/<job>/attempts/<%06u>.confirmed.json    its claimer has looked again
 *	jobs/<job>/attempts/<%06u>.end.json          how the attempt ended
 *	jobs/<job>/attempts/<%06u>.swept.json        nobody relies on orphaned packs up to it
 *	jobs/<job>/snapshots/<%06u>-<%06u>.json      manifest: the commit
 *	jobs/<job>/pins/<%06u>-<%06u>.json           keeps that snapshot, whatever the policy
 *	jobs/<job>/damaged/<%06u>/<%06u>-<nonce>-<%04u>.pack   a damaged pack, set aside
 *	jobs/<job>/draining/<%06u>-<%06u>.json       the attempt is preempted and still saves
 *	jobs/<job>/notes/<%06u>/<kind>-<%04u>        an attempt's events, log, metrics
 *	jobs/<job>/packs/<%06u>/<%06u>-<nonce>-<%04u>.pack
 *
 * The functions that take a `cancel` block on the store.
 */
#ifndef JOB_RECORDS_H
#define JOB_RECORDS_H

#include "base/cleanup.h"

#include "lineage.h"
#include "storage/backend/backend.h"
#include "storage/format/format.h"
#include "storage_handle.h"

#define FORMAT_KEY "format.json"

/* Puts the format marker. ERR_EXISTS: it is there already, and the store is writable all the
 * same. */
int record_put_format(struct store *store, struct cancel *cancel, struct err *err);

/* All objects whose keys begin with the prefix, sorted. */
int job_records_list_keys(struct storage *storage, const char *prefix, struct store_listing *found,
			  struct cancel *cancel, struct err *err);

/* The key of each kind of record; the caller frees it. Of an attempt `record` is "" for the claim,
 * else ".confirmed", ".end" or ".swept". */
char *job_record_key_attempt(struct storage *storage, uint32_t number, const char *record);
char *job_record_key_snapshot(struct storage *storage, struct snapshot_id id);
char *job_record_key_pin(struct storage *storage, struct snapshot_id id);

/*
 * Writes a record if-absent and finds out for certain whether it was written. When the store's
 * answer is ambiguous (a lost reply, or "exists" in answer to our own retry), the object is read
 * back and compared; the nonce inside makes every record unique. `bytes` (may be NULL) gets the
 * record's size.
 *
 * ERR_EXISTS: another record has this key. ERR_RETRY: the store twice reported that the object
 * exists, and then did not find it.
 */
int job_record_put(struct store *store, const char *key, enum record_kind kind, json_t *body,
		   uint64_t *bytes, struct cancel *cancel, struct err *err);

/* Puts a record of this machine: `format` is that of an object for json_pack(), and `nonce`, which
 * `format` may have, `created` and `host` are added. ERR_FAILED: something in it is no JSON. */
int job_record_put_new(struct storage *storage, const char *key, enum record_kind kind,
		       struct cancel *cancel, struct err *err, const char *format, ...);

/* Of a manifest, which others may remove: a second put would make it anew. */
struct put_again {
	/* Whether it may be put once more. It has been looked for before, and is not there. -1 ends
	 * it with `err`. */
	int (*ask)(void *arg, struct err *err);
	void *arg;
};
/* The same. No put is repeated, neither here nor by the store, before it has been asked. */
int job_record_put_asking(struct store *store, const char *key, enum record_kind kind, json_t *body,
			  uint64_t *bytes, const struct put_again *again, struct cancel *cancel,
			  struct err *err);
/* Reads and checks a record. ERR_NOT_FOUND, ERR_CORRUPT (after a second read) or ERR_VERSION. The
 * caller decrefs *body. */
int job_record_get(struct store *store, const char *key, enum record_kind kind, json_t **body,
		   struct cancel *cancel, struct err *err);

/* 1: it is there; 0: it certainly is not. Frees the key. */
int job_record_exists(struct storage *storage, char *key, struct cancel *cancel, struct err *err);
/* The manifest is certainly not there. What vanished while it was read, because its snapshot was
 * forgotten, is not damaged: whoever is about to say so looks here first. */
bool job_record_is_forgotten(struct storage *storage, struct snapshot_id id, struct cancel *cancel);
/* Reads, decodes and checks a manifest, but not its entries if they are in pieces; the caller
 * releases it. One request, however many files there are. Errors as for job_record_get(). */
int job_record_get_manifest_head(struct storage *storage, struct snapshot_id id,
				 struct manifest *manifest, struct cancel *cancel, struct err *err);
/* The same for its content alone, which this process may have read before: whether it is still
 * there, or was damaged since, is not looked up. */
int job_record_get_known_head(struct storage *storage, struct snapshot_id id,
			      struct manifest *manifest, struct cancel *cancel, struct err *err);
/* That with the entries, wherever they are. */
int job_record_get_manifest(struct storage *storage, struct snapshot_id id,
			    struct manifest *manifest, struct cancel *cancel, struct err *err);
/* Makes the second of the first: one that is read is not read once more. */
int job_record_finish_manifest(struct storage *storage, struct manifest *manifest,
			       struct cancel *cancel, struct err *err);

/* Whether this process is one of several members. */
bool storage_is_member(const struct storage *storage);

/* Leaves of the manifest, whose entries are not loaded yet, what this process sees: the part that
 * it is a member of, or that storage_gang_look_at() has named. ERR_UNFIT: it is of another number
 * of members. */
int member_view_cut(struct storage *storage, struct manifest *manifest, struct err *err);

/* Fills `attempt` from the body of its claim. False: the body contradicts itself or
 * attempt->number, which the caller has set. */
bool job_record_decode_claim(json_t *body, struct lineage_attempt *attempt);

/* PURE. Parses an object's name without its prefix, "000002-000001.json". False for any other
 * form. */
bool job_record_parse_id(const char *name, struct snapshot_id *id);

/* PURE. The number, from 1, that a name without its prefix begins with; `*rest` is what follows. */
bool job_record_parse_leading_number(const char *name, uint32_t *number, const char **rest);

/* PURE. Parses an object's name without its prefix, "000012.json". False for any other form. */
bool job_record_parse_number(const char *name, uint32_t *number);
/* PURE. The number of the attempt whose record of any kind has this name: "000003.end.json". */
bool job_record_parse_attempt(const char *name, uint32_t *number);

/* All of it; all claims were read. ERR_VERSION: another version wrote one. */
int job_records_list(struct storage *storage, struct job_listing *listing, struct cancel *cancel,
		     struct err *err);
/* The same without packs, and no claim was read: two listings, at once. Every attempt that has left
 * a record or a snapshot is in it. */
int job_records_list_lineage(struct storage *storage, struct job_listing *listing,
			     struct cancel *cancel, struct err *err);
/* The ids of the objects below jobs/<job>/<kind>/ ("snapshots" or "pins"), ascending; the caller
 * frees them. */
int job_records_list_ids(struct storage *storage, const char *kind, struct snapshot_id **ids,
			 size_t *count, struct cancel *cancel, struct err *err);
/* Fills lineage.snapshots and `manifests`; the caller frees with job_listing_release(). */
int job_records_list_snapshots(struct storage *storage, struct job_listing *listing,
			       struct cancel *cancel, struct err *err);
/* The attempts that left a record, ascending, as the newest ones always have; no claim is read. */
int job_records_list_singles(struct storage *storage, struct job_listing *listing,
			     struct cancel *cancel, struct err *err);
/* The same as a question of ask.h: `answer` is the listing. */
int job_records_ask_singles(struct storage *storage, const void *about, void *answer,
			    struct cancel *cancel, struct err *err);
/* The newest attempt that left a record; 0: none did. One listing. */
int job_records_newest_attempt(struct storage *storage, uint32_t *newest, struct cancel *cancel,
			       struct err *err);
/* What exists by name is believed where it is not listed (struct store_health): the lists above
 * have it. */
bool job_record_lists_late(const struct storage *storage);
void job_listing_release(struct job_listing *listing);
AUTO(struct job_listing, job_listing_release);

/* Returns freed memory to the system: the manifest of a large checkpoint is large as JSON, and the
 * process then idles for hours. */
void job_records_trim_memory(void);

#endif
