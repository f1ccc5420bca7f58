/*
 * The operations of a store. Objects are immutable byte strings under keys of [A-Za-z0-9._/-],
 * which never start or end with '/'. All calls block, honour `cancel`, and may run on many threads
 * at once. file_store.c is file:// and the model for the other stores.
 *
 * The error kinds are part of the contract. ERR_EXISTS comes only from STORE_IF_ABSENT.
 * ERR_NOT_FOUND comes only from a get, and means that the store clearly reported the object as
 * missing. After any error a put may or may not have happened, also after ERR_NO_SPACE, which may
 * answer the second try of one: job_records.c reads the object back.
 */
#ifndef OBJECT_STORE_H
#define OBJECT_STORE_H

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store_object {
	char *key;
	uint64_t size; /* 0 if the key ends in '/' */
	/*
	 * When the object was put, by the store's own clock, in ms since 1970; for garbage
	 * collection (FORMAT.md). 0: unknown, which counts as young, so it is never collected.
	 * Every backend should fill it, from LastModified or the like, with
	 * store_listing_add_dated(); clock.h reads the forms.
	 */
	int64_t modified_ms;
};

struct store_listing {
	struct store_object *items; /* sorted by key, byte by byte */
	size_t count;
};

/* For backends: adds an object, copying `key`; sorts the finished list. */
void store_listing_add(struct store_listing *listing, const char *key, uint64_t size);
void store_listing_add_dated(struct store_listing *listing, const char *key, uint64_t size,
			     int64_t modified_ms);
void store_listing_sort(struct store_listing *listing);
/* The object with that key, or NULL; borrowed from `listing`. */
const struct store_object *store_listing_find(const struct store_listing *listing, const char *key);
void store_listing_release(struct store_listing *listing);
AUTO(struct store_listing, store_listing_release);

enum store_put_mode {
	/* nobody else uses this name, so a second put of the same bytes is harmless */
	STORE_UNIQUE,
	STORE_IF_ABSENT, /* of all writers that ever try, one succeeds; the others get ERR_EXISTS */
	/* The same, for what may be removed between two tries: it is sent once, and ERR_RETRY means
	 * that nobody knows whether it was put. */
	STORE_IF_ABSENT_ONCE,
};

enum store_depth {
	/* every object whose key starts with the prefix */
	STORE_ALL,
	/* up to the next '/': deeper keys are folded into one that ends in '/' */
	STORE_LEVEL,
};

#define STORE_TO_END SIZE_MAX

struct store {
	const struct store_ops *ops;
	/* Set where if-absent is to be proven: the condition that a store may ignore, and what to
	 * do then. */
	const char *condition, *advice;
	/* bytes of a manifest, which becomes many times as large in memory; 0: no user has said
	 * what it may take */
	size_t manifest_most;
};

/* What a backend has found out about the store, for `reprieve doctor`. */
struct store_health {
	/* the store has no if-absent: the backend checks first, then puts */
	bool if_absent_guessed;
	/* nobody knows whether the store itself does so */
	bool if_absent_unproven;
	/* a list may be as it was a while ago: what exists by name, and is not in it, is believed
	 */
	bool lists_late;
	/* credentials go to another machine over plain http; known as soon as it is open */
	bool in_the_clear;
	bool skew_known;
	int64_t skew_ms; /* the server's clock minus ours, from the Date of the last reply */
};

/* Takes the bytes of a store_read(). */
struct store_taker {
	/* `at` counts from the start of what was asked for. The pieces come in order; after a
	 * failure on the way they begin again `at` 0. -1 ends the read with `err`. */
	int (*take)(void *arg, size_t at, const void *data, size_t size, struct err *err);
	void *arg;
};

/* For a store_taker: appends what comes to `out`, of which the first `before` bytes stay. */
struct store_gathering {
	struct bytes *out;
	size_t before;
};
int store_gather(void *gathering, size_t at, const void *data, size_t size, struct err *err);

struct store_ops {
	const char *scheme; /* "file" */

	/* `create`: make what is missing; else ERR_NOT_FOUND. `read_only`: leave
	 * everything as it is. */
	int (*open)(const char *url, bool create, bool read_only, struct store **store,
		    struct cancel *cancel, struct err *err);
	void (*close)(struct store *store);

	/* Durable once it returns 0. */
	int (*put)(struct store *store, const char *key, const void *data, size_t size,
		   enum store_put_mode mode, struct cancel *cancel, struct err *err);
	/* Appends to `out` the bytes from `offset` on: exactly `size` of them (ERR_CORRUPT if the
	 * object is shorter), or all to its end (STORE_TO_END). */
	int (*get)(struct store *store, const char *key, uint64_t offset, size_t size,
		   struct bytes *out, struct cancel *cancel, struct err *err);
	/* May be NULL. Hands the same bytes to `take` in pieces, as they arrive: store_read() says
	 * how. */
	int (*read)(struct store *store, const char *key, uint64_t offset, size_t size,
		    const struct store_taker *taker, struct cancel *cancel, struct err *err);
	/* Returns the complete list or an error, never a part. Without any object the list is
	 * empty. */
	int (*list)(struct store *store, const char *prefix, enum store_depth depth,
		    struct store_listing *listing, struct cancel *cancel, struct err *err);
	/* A missing object is no error. */
	int (*remove)(struct store *store, const char *key, struct cancel *cancel, struct err *err);
	/* May be NULL. Describes for a person where requests go and where the credentials come
	 * from; never a secret. */
	void (*describe)(struct store *store, char *text, size_t capacity);
	/* May be NULL. Fills a zeroed `health` with what the other calls have shown; does not
	 * block. */
	void (*read_health)(struct store *store, struct store_health *health);
};

/* Reads exactly `size` bytes and hands them over while they arrive; the errors are those of get().
 * What was handed over before an error may be wrong. A store without read() gets them all first. */
int store_read(struct store *store, const char *key, uint64_t offset, size_t size,
	       const struct store_taker *taker, struct cancel *cancel, struct err *err);

/* Puts one small object twice, if-absent; that it is refused once proves that the store keeps the
 * promise, and can be written to. ERR_UNFIT: it ignores store->condition. Blocks. */
int store_prove(struct store *store, const char *url, struct cancel *cancel, struct err *err);

/* Sleeps before another STORE_IF_ABSENT_ONCE, as a store would before another try of its own.
 * `tries`: done so far; `begun_ms`: by the monotonic clock. False: there is to be none, because its
 * patience or the time that is left is over. */
bool store_pause(unsigned tries, int64_t begun_ms, struct cancel *cancel);

void store_close(struct store *store); /* NULL is fine */
AUTO_POINTER(struct store, store_close);
/* Returns the answer of read_health(), all zeros if there is none. Does not block. */
struct store_health store_read_health(struct store *store);
/* The text of describe(), or "". Returns `text`. */
const char *store_describe(struct store *store, char *text, size_t capacity);

/* Puts an ERR_NO_SPACE of a store into a sentence that says what makes room; leaves every other
 * error as it is. Returns -1. */
int store_explain_full(const char *job, struct err *err);
/* Where no snapshot of the job can go. `reason`: what the store has said. */
void store_explain_needed(const char *reason, struct err *err);

#endif
