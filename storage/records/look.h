/*
 * One look at a store: what is about to be read is wanted first, and asked for all at once, since
 * each answer takes a trip. The functions that read take the answer, or read as ever where there is
 * none. An answer serves the thread that asked, once, for 5 s: so it is no older than what was
 * wanted. Whoever must see what followed something wants it after that. For storage/ only.
 */
#ifndef LOOK_H
#define LOOK_H

#include "base/cancel.h"
#include "base/err.h"
#include "storage/backend/backend.h"
#include "storage/format/format.h"

#include <jansson.h>
#include <pthread.h>
#include <stddef.h>

struct storage;
struct look_answer;

/* Thread-safe. */
struct look {
	pthread_mutex_t mutex;
	struct look_answer **answers;
	size_t count;
};

/* Takes `key`, which is freed: a record's, or a prefix that is to be listed. */
void look_want(struct storage *storage, char *key);
/* Asks for what this thread wants, beside `work(arg)`, which may be NULL. Blocks for all of it. */
void look_ask(struct storage *storage, void (*work)(void *arg), void *arg, struct cancel *cancel);
/* What there is serves once more. */
void look_keep(struct storage *storage);
/* What this thread has asked for counts no more, but for manifests, which never change. */
void look_end(struct storage *storage);
void look_release(struct look *look);

/* As list() of a store, with all depths. */
int look_list(struct storage *storage, const char *prefix, struct store_listing *listing,
	      struct cancel *cancel, struct err *err);
/* As job_record_get(). A manifest serves again. */
int look_record(struct storage *storage, const char *key, enum record_kind kind, json_t **body,
		struct cancel *cancel, struct err *err);

#endif
