/*
 * PRIVATE: what a backend does. Objects are immutable byte strings under keys of [A-Za-z0-9._/-],
 * never starting or ending with '/'. All calls block, honour `cancel` and may be made from many
 * threads at once. file_store.c is file:// and the model for the others.
 *
 * Error kinds are part of the contract: ERR_EXISTS only from STORE_IF_ABSENT; ERR_NOT_FOUND only
 * when the other side said clearly that the object is not there; ERR_DENIED and ERR_NO_SPACE mean
 * that nothing was written. After any other error a put may or may not have happened: job_records.c
 * reads back.
 */
#ifndef OBJECT_STORE_H
#define OBJECT_STORE_H

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "object_listing.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum store_put_mode {
	STORE_UNIQUE, /* nobody else uses this name: a second put of the same bytes is harmless */
	STORE_IF_ABSENT, /* of all writers that ever try, one wins; the others get ERR_EXISTS */
};

enum store_depth {
	/* every object whose key starts with the prefix */
	STORE_ALL,
	/* up to the next '/': what lies deeper is folded into one key that ends in '/' */
	STORE_LEVEL,
};

#define STORE_TO_END SIZE_MAX

struct store {
	const struct store_ops *ops;
};

/* What a backend has found out about the other side, for `reprieve doctor`. */
struct store_health {
	bool if_absent_guessed; /* the store has no such condition: it is looked first, then put */
	bool skew_known;
	int64_t skew_ms; /* the server's clock minus ours, from the last answer's Date */
};

struct store_ops {
	const char *scheme; /* "file" */

	/* `create`: make what is missing; else ERR_NOT_FOUND. `read_only`: leave
	 * everything as it is. */
	int (*open)(const char *url, bool create, bool read_only, struct store **store,
		    struct cancel *cancel, struct err *err);
	void (*close)(struct store *store);

	/* Durable when it returns 0. */
	int (*put)(struct store *store, const char *key, const void *data, size_t size,
		   enum store_put_mode mode, struct cancel *cancel, struct err *err);
	/* Appends the bytes from `offset` to `out`: exactly `size` of them (ERR_CORRUPT if the
	 * object is shorter), or all to its end. */
	int (*get)(struct store *store, const char *key, uint64_t offset, size_t size,
		   struct bytes *out, struct cancel *cancel, struct err *err);
	/* Complete, or an error: never a part. No object at all is an empty listing. */
	int (*list)(struct store *store, const char *prefix, enum store_depth depth,
		    struct store_listing *listing, struct cancel *cancel, struct err *err);
	/* An object that is not there is fine. */
	int (*remove)(struct store *store, const char *key, struct cancel *cancel, struct err *err);
	/* NULL where there is nothing to say. Where requests go and where the credentials come
	 * from, for a person; never a secret. */
	void (*describe)(struct store *store, char *text, size_t capacity);
	/* May be NULL. Fills what it knows of a zeroed `health`; asked after the other calls were
	 * tried, and does not block. */
	void (*read_health)(struct store *store, struct store_health *health);
};

void store_close(struct store *store); /* NULL is fine */
AUTO_POINTER(struct store, store_close);
/* What the backend's describe() says, else "". Returns `text`. */
const char *store_describe(struct store *store, char *text, size_t capacity);

#endif
