/* PRIVATE to pack_uploader.c: the buffers of packs, which of them wait to be sent and which are
 * being sent. No locks: the uploader's mutex is held around every call. */
#ifndef UPLOAD_QUEUE_H
#define UPLOAD_QUEUE_H

#include "base/cancel.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UPLOAD_PUTS_MOST 2 /* at once, of one pack */

enum upload_state {
	UPLOAD_FREE,
	UPLOAD_FILLING, /* a reader's */
	UPLOAD_BUSY,    /* queued, or being sent */
};

/* One put under way. On the stack of its thread. */
struct upload_put {
	struct cancel cancel;
	int64_t began_ms; /* 0: waiting for bandwidth */
};

struct pack_upload {
	uint8_t *data; /* mapped while it is used, NULL otherwise */
	enum upload_state state;
	char *key; /* owned */
	uint32_t pack;
	size_t size;
	bool queued, stored;
	unsigned sent; /* puts begun, ever */
	struct upload_put *puts[UPLOAD_PUTS_MOST];
	struct pack_upload *next; /* in the queue */
};

struct upload_queue {
	struct pack_upload *items;
	size_t count;
	size_t capacity; /* of each buffer */
	struct pack_upload *queue;
};

void upload_queue_init(struct upload_queue *uploads, size_t count, size_t capacity);
void upload_queue_release(struct upload_queue *uploads); /* when none is in use */

/* A free one, with memory: *found is NULL while all are used. -1: no memory. */
int upload_queue_find_free(struct upload_queue *uploads, struct pack_upload **found,
			   struct err *err);
/* Makes it a free one; its memory is kept. */
void upload_queue_recycle(struct pack_upload *upload);
/* Memory of free ones goes back to the system. */
void upload_queue_trim(struct upload_queue *uploads);

void upload_queue_append(struct upload_queue *uploads, struct pack_upload *upload);
void upload_queue_prepend(struct upload_queue *uploads, struct pack_upload *upload);
void upload_queue_remove(struct upload_queue *uploads, struct pack_upload *upload);
unsigned upload_queue_waiting(const struct upload_queue *uploads);
/* How many are on their way twice. */
unsigned upload_queue_hedged(const struct upload_queue *uploads);

unsigned pack_upload_puts(const struct pack_upload *upload);
void pack_upload_cancel(struct pack_upload *upload);
void upload_queue_set_deadline(struct upload_queue *uploads, int64_t deadline_ms);

#endif
