/*
 * PRIVATE: the job's part of a store by name, and its records. Keys, as FORMAT.md has them:
 *
 *	format.json
 *	jobs/<job>/attempts/<%06u>.json              claims an attempt
 *	jobs/<job>/attempts/<%06u>.end.json          how it ended
 *	jobs/<job>/snapshots/<%06u>-<%06u>.json      manifest: the commit
 *	jobs/<job>/pins/<%06u>-<%06u>.json           keeps that snapshot, whatever the policy
 *	jobs/<job>/draining/<%06u>-<%06u>.json       that attempt is being preempted, for the next
 *	                                             one
 *	jobs/<job>/notes/<%06u>/<kind>-<%04u>        ledger, log, metrics of an attempt: for people
 *	jobs/<job>/packs/<%06u>/<%06u>-<nonce>-<%04u>.pack
 */
#ifndef JOB_RECORDS_H
#define JOB_RECORDS_H

#include "base/cleanup.h"

#include "lineage.h"
#include "storage/backend/backend.h"
#include "storage/format/format.h"
#include "storage_handle.h"

#define FORMAT_KEY "format.json"

/* Puts the format marker; ERR_EXISTS if it is there. */
int record_put_format(struct store *store, struct cancel *cancel, struct err *err);

/* All return keys that the caller frees. */
char *job_record_key_attempt(struct storage *storage, uint32_t number);
char *job_record_key_end(struct storage *storage, uint32_t number);
char *job_record_key_snapshot(struct storage *storage, struct snapshot_id id);
char *job_record_key_pin(struct storage *storage, struct snapshot_id id);

/*
 * Writes a record if-absent, and knows the answer for certain: where the store's is ambiguous (lost
 * reply, or "exists" for our own retried put) the object is read back and compared; the nonce
 * inside makes every record unique. ERR_EXISTS: another one is there. ERR_RETRY also where the
 * store says twice that it exists, and that it does not when it is read.
 */
int job_record_put(struct store *store, const char *key, enum record_kind kind, json_t *body,
		   uint64_t *bytes, struct cancel *cancel, struct err *err);
/* ERR_NOT_FOUND, ERR_CORRUPT (after a second look), ERR_VERSION. The caller decrefs. */
int job_record_get(struct store *store, const char *key, enum record_kind kind, json_t **body,
		   struct cancel *cancel, struct err *err);

/* Reads, decodes and checks a manifest. */
int job_record_get_manifest(struct storage *storage, struct snapshot_id id,
			    struct manifest *manifest, struct cancel *cancel, struct err *err);

/* What a claim says of itself; false where that makes no sense.
 * attempt->number is known already. */
bool job_record_decode_claim(json_t *body, struct lineage_attempt *attempt);

/* PURE. Of an object's name behind its kind: "000002-000001.json". False for any other form. */
bool job_record_parse_id(const char *name, struct snapshot_id *id);

/* What lies in the store by name; `lineage` has the numbers, and all that the claims say.
 * ERR_VERSION if a claim is newer than we. */
struct job_listing {
	struct lineage lineage;
	bool *ended; /* per attempt: has an end record */
	struct store_listing packs;
};
int job_records_list(struct storage *storage, struct job_listing *listing, struct cancel *cancel,
		     struct err *err);
/* Ids of the objects below jobs/<job>/<kind>/, "snapshots" or "pins", ascending;
 * the caller frees. */
int job_records_list_ids(struct storage *storage, const char *kind, struct snapshot_id **ids,
			 size_t *count, struct cancel *cancel, struct err *err);
/* Of all attempts that left a record or snapshots, ascending, with nothing read; the caller
 * frees the lists. */
int job_records_list_attempts(struct storage *storage, struct job_listing *listing,
			      struct cancel *cancel, struct err *err);
int job_records_list_packs(struct storage *storage, struct store_listing *packs,
			   struct cancel *cancel, struct err *err);
void job_listing_release(struct job_listing *listing);
AUTO(struct job_listing, job_listing_release);

/* Whether every pack that it names is there and as long as it says; ERR_CORRUPT
 * names the one that is not. */
int job_records_check_packs(struct storage *storage, const struct manifest *manifest,
			    const struct store_listing *packs, struct err *err);

/* Gives back to the system what a call has freed: manifests of many files are large as JSON, and we
 * idle for hours in between. */
void job_records_trim_memory(void);

#endif
