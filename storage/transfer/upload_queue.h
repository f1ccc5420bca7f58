/* PRIVATE to pack_uploader.c: the buffers of packs, which of them wait to be sent and which are being sent. No locks: the uploader's mutex is
 * held around every call. */
#ifndef UPLOAD_QUEUE_H
#define UPLOAD_QUEUE_H

#include "base/cancel.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SENDINGS_MOST 2 /* at once, of one pack */

enum upload_state {
	UPLOAD_FREE,
	UPLOAD_FILLING, /* a reader's */
	UPLOAD_BUSY,    /* queued, or being sent */
};

/* One put under way. On the stack of its thread. */
struct sending {
	struct cancel cancel;
	int64_t began_ms; /* 0: waiting for bandwidth */
};

struct upload {
	uint8_t *data; /* mapped while it is used, NULL otherwise */
	enum upload_state state;
	char *key; /* owned */
	uint32_t pack;
	size_t size;
	bool queued, stored;
	unsigned sent; /* puts begun, ever */
	struct sending *sendings[SENDINGS_MOST];
	struct upload *next; /* in the queue */
};

struct uploads {
	struct upload *items;
	size_t count;
	size_t capacity; /* of each buffer */
	struct upload *queue;
};

void uploads_init(struct uploads *uploads, size_t count, size_t capacity);
void uploads_release(struct uploads *uploads); /* when none is in use */

/* A free one, with memory: *found is NULL while all are used. -1: no memory. */
int uploads_find_free(struct uploads *uploads, struct upload **found, struct err *err);
/* Makes it a free one; its memory is kept. */
void uploads_empty(struct upload *upload);
/* Memory of free ones goes back to the system. */
void uploads_trim(struct uploads *uploads);

void uploads_enqueue(struct uploads *uploads, struct upload *upload);
void uploads_enqueue_first(struct uploads *uploads, struct upload *upload);
void uploads_dequeue(struct uploads *uploads, struct upload *upload);
unsigned uploads_queued(const struct uploads *uploads);
/* How many are on their way twice. */
unsigned uploads_hedged(const struct uploads *uploads);

unsigned upload_sendings(const struct upload *upload);
void upload_stop(struct upload *upload);
void uploads_set_deadline(struct uploads *uploads, int64_t deadline_ms);

#endif
