/* PRIVATE to pack_uploader.c: the buffers of packs, and which of them wait to be sent or are being
 * sent. No locks: the uploader holds its mutex around every call. */
#ifndef UPLOAD_QUEUE_H
#define UPLOAD_QUEUE_H

#include "base/cancel.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UPLOAD_PUTS_MOST 2 /* puts of one pack at a time */

enum upload_state {
	UPLOAD_FREE,
	UPLOAD_FILLING, /* a reader fills it */
	UPLOAD_BUSY,    /* queued, or being sent */
};

/* One put under way; on the stack of its thread. */
struct upload_put {
	struct cancel cancel;
	int64_t began_ms; /* 0: waiting for bandwidth */
};

struct pack_upload {
	/* mapped while it is used, NULL otherwise; what follows a pack's magic in it is aligned */
	uint8_t *data;
	enum upload_state state;
	char *key; /* owned */
	uint32_t pack;
	size_t size;
	bool queued, stored;
	unsigned sent; /* puts ever begun */
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
void upload_queue_release(struct upload_queue *uploads); /* Call this when no buffer is in use. */

/* Finds a free buffer and maps its memory; *found is NULL while all are in use. -1: no memory. */
int upload_queue_find_free(struct upload_queue *uploads, struct pack_upload **found,
			   struct err *err);
/* Makes the buffer free; its memory is kept. */
void upload_queue_recycle(struct pack_upload *upload);
/* Returns the memory of free buffers to the system. */
void upload_queue_trim(struct upload_queue *uploads);

void upload_queue_append(struct upload_queue *uploads, struct pack_upload *upload);
void upload_queue_prepend(struct upload_queue *uploads, struct pack_upload *upload);
void upload_queue_remove(struct upload_queue *uploads, struct pack_upload *upload);
unsigned upload_queue_waiting(const struct upload_queue *uploads);
/* How many packs are being sent twice. */
unsigned upload_queue_hedged(const struct upload_queue *uploads);

unsigned pack_upload_puts(const struct pack_upload *upload);
void pack_upload_cancel(struct pack_upload *upload);
void upload_queue_set_deadline(struct upload_queue *uploads, int64_t deadline_ms);

#endif
