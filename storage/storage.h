/*
 * PUBLIC. Snapshots of a checkpoint directory in an object store. From outside, all of storage/ is
 * used through this header, which brings the others with it:
 *
 *	storage.h		open and close a store; the jobs in it
 *	storage_attempts.h	who continues from what: claims, drains, ends, notes, history
 *	storage_gang.h		several machines that save and restore one job together
 *	storage_save.h		save a directory, and send parts of it early
 *	storage_restore.h	find snapshots, restore, verify and export them
 *	storage_retention.h	forget by a policy, collect garbage, pin
 *	storage_probe.h		try what a store can do
 *
 * The folders, from the low to the high; each has a header of its own name that opens with its map:
 *
 *	http/		requests that are tried again, tokens, XML, what a reply means
 *	backend/	what a store does; file://; what all stores over HTTP share
 *	aws/		the credentials and signatures of AWS
 *	s3/		the store behind s3://
 *	gcs/		the store behind gs://
 *	azure/		the store behind az://
 *	format/		PURE: what lies in a store; FORMAT.md is its written form
 *	transfer/	content on its way: reading, packing, sending, fetching
 *	snapshots/	what these headers declare: attempts, saving, restoring, forgetting
 *
 * Beside them storage.c opens a URL by scheme_table.c, and store_probe.c tries a store.
 *
 * For all functions here, unless one says otherwise: it blocks; it honours `cancel`, which may be
 * NULL; it may be called from any thread, but one `struct storage` is used by one call at a time;
 * it uses all processors; it logs nothing. It returns 0, or -1 with `err` filled:
 *
 *	ERR_CANCELLED	`cancel` was raised, or its deadline came
 *	ERR_RETRY	the store did not answer for long enough: later it may work
 *	ERR_DENIED	credentials or permissions: nothing was written
 *	ERR_NO_SPACE	nothing was written
 *	ERR_NOT_FOUND	the store says clearly that it is not there
 *	ERR_CORRUPT	what is there is damaged
 *	ERR_VERSION	a newer version wrote it
 *
 * What a call returns in a struct with a release function is the caller's, who releases it.
 *
 * Order is the safety (restic's "Read and Write Ordering", and the conditional writes every store
 * has): packs are written under names that no one else uses and are durable before the manifest;
 * writing the manifest if-absent is the commit; nothing is ever changed afterwards. A crash at any
 * instant leaves packs that no manifest names, and nothing else.
 */
#ifndef STORAGE_H
#define STORAGE_H

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "storage_attempts.h"
#include "storage_gang.h"
#include "storage_probe.h"
#include "storage_restore.h"
#include "storage_retention.h"
#include "storage_save.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An open store and one job in it. */
struct storage;

/* How content is moved. All zero: what suits the store. */
struct storage_transfer {
	/* Connections at once; 0: 8 to 24 up and 16 down, for file:// one per processor. */
	unsigned connections;
	/* For buffers; 0: 256 MiB. */
	uint64_t memory_bytes;
	/* Up; 0: no limit. Not kept to after storage_set_urgent(). */
	uint64_t bandwidth_bytes_per_second;
	/* Believe no times of files that another process has saved. */
	bool check_content;
};

struct storage_options {
	/* file:///DIR, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or az://ACCOUNT/CONTAINER/PREFIX. */
	const char *url;
	/* 1 to 128 bytes of [A-Za-z0-9._-], not starting with '.'. */
	const char *job;
	/* Make the store if it is not there; without it a missing store is ERR_NOT_FOUND. */
	bool create;
	/* A file:// store that has to be made is for this user alone (mode 0700); else the umask
	 * decides. */
	bool is_private;
	/* Never write anything, not even the format marker. */
	bool read_only;
	/* 0: one per processor. */
	unsigned threads;
	struct storage_transfer transfer;
	/* Beside a job: low CPU and IO priority for sending, until storage_set_urgent(). */
	bool background;
	/* storage_history() follows at once: its lists are asked for with the opening. */
	bool history_follows;
};

/*
 * Opens the store; with `create` it also proves, by writing the format marker, that the store is
 * writable. ERR_INVALID: URL or job, or an unknown scheme; ERR_VERSION: a newer version has written
 * the store. The sentence names the URL and what to do. The options stay the caller's.
 */
int storage_open(const struct storage_options *options, struct storage **storage,
		 struct cancel *cancel, struct err *err);
/* NULL is fine. Gives up what storage_presave() has left under way. */
void storage_close(struct storage *storage);
AUTO_POINTER(struct storage, storage_close);

/* What storage_open() has found there. */
enum storage_found {
	STORAGE_FOUND,
	/* Nothing: it has made the store. */
	STORAGE_MADE,
	/* Nothing, and it has made the directory as well: in one that was empty, as a mount point
	 * is without its file system, or together with the one that it lies in. */
	STORAGE_MADE_FROM_NOTHING,
};
enum storage_found storage_was_found(const struct storage *storage);

/* Where requests go and which source the credentials come from, for a person and without secrets.
 * Returns `text`. Does not block. */
const char *storage_describe(struct storage *storage, char *text, size_t capacity);

/* The store cannot put if-absent, and the user has accepted that: it looks first, and of two
 * machines that put one name at the same time both may believe that it is theirs. */
bool storage_looks_first(struct storage *storage);

/* PURE. The versions of FORMAT.md that this program writes: of a store, and of a manifest. */
void storage_format_versions(int *store, int *manifest);

/* PURE. ERR_INVALID: no store has such a URL; the rest of it only storage_open() judges. */
int storage_check_url(const char *url, struct err *err);

/* Whether credentials and content go to another machine over plain http, where whoever is on the
 * way can read and replace them. Nothing is sent to find out. False also for a URL that cannot be
 * opened: storage_open() says why. */
bool storage_is_in_the_clear(const char *url);

/* What is waited for while a store does not answer, and for how long: "store s3://b/p gives no good
 * answer so far: it is tried for up to 30 s (REPRIEVE_STORE_PATIENCE)". Said by the caller of a
 * function that takes longer than STORAGE_SLOW_MS. The caller frees. Does not block. */
#define STORAGE_SLOW_MS 2500
char *storage_waiting_text(const char *url);

/* Where a file:// store lies: absolute, links resolved as far as it is there already. NULL for any
 * other. The caller frees. Does not block on a store. */
char *storage_directory(const char *url);
/* PURE. Whether a name just below the URL stands for the store's own content: nothing else may lie
 * there. */
bool storage_is_reserved_name(const char *name);

/*
 * There is a deadline now: what is being sent, and will be, gets normal priority and all the
 * bandwidth; storage_clear_urgent() takes that back (the notice was withdrawn). Neither blocks.
 * Both may be called while another call uses the storage.
 */
void storage_set_urgent(struct storage *storage);
void storage_clear_urgent(struct storage *storage);

struct storage_job_names {
	size_t count;
	/* Sorted. */
	char **names;
};

/* The jobs that the store at `url` holds; none is no error. */
int storage_list_jobs(const char *url, struct storage_job_names *jobs, struct cancel *cancel,
		      struct err *err);
void storage_job_names_release(struct storage_job_names *jobs);
AUTO(struct storage_job_names, storage_job_names_release);

#endif
