/*
 * Sends filled packs to the store, on threads of its own, from a bounded number of buffers. Hashing
 * continues meanwhile until the buffers are used up.
 *
 * The uploader survives an early upload: packs under way are still sent, and the next save waits
 * for them. Once an upload has finally failed, all its packs are given up, and every call returns
 * that error.
 */
#ifndef PACK_UPLOADER_H
#define PACK_UPLOADER_H

#include "job_transfer.h"

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

/* A buffer for one pack, and the state of its upload. */
struct pack_upload {
	/* mapped while it is used, NULL otherwise; what follows a pack's magic in it is aligned to
	 * PACK_UPLOADER_ALIGNMENT bytes */
	uint8_t *data;
	enum upload_state state;
	char *key; /* owned */
	uint32_t pack;
	size_t size;
	uint64_t turn; /* in the queue, the lowest first; 0: not queued */
	bool stored;
	unsigned sent; /* puts ever begun */
	struct upload_put *puts[UPLOAD_PUTS_MOST];
};

struct pack_uploader;

/* The uploader of this transfer; a new one if there is none or if it has failed. */
struct pack_uploader *pack_uploader_get(struct transfer *transfer);
/* Gives up the packs under way, waits for the threads and frees the uploader. NULL is fine. */
void pack_uploader_free(struct pack_uploader *uploader);

/* --- for readers, from any thread --- */

/* Where chunks should be read to: the kernel copies to other places at a third of the speed on some
 * processors (AMD's, by rep movsb). */
#define PACK_UPLOADER_ALIGNMENT ((size_t)64)

/*
 * Blocks until a buffer is free; the caller fills it and hands it to pack_uploader_send() or
 * _return_buffer(). NULL: an upload has failed, with that error, or ERR_RETRY after an
 * interruption.
 */
struct pack_upload *pack_uploader_borrow_buffer(struct pack_uploader *uploader, struct err *err);
/* How long the connections are busy with what is queued behind what is being sent, as far as the
 * last pack shows; 0: not known. */
int64_t pack_uploader_slack_ms(struct pack_uploader *uploader);
/* Ends every wait for a buffer with ERR_RETRY, now and until the next pack_uploader_get(). Packs
 * under way are still sent. */
void pack_uploader_interrupt(struct pack_uploader *uploader);
/* Returns a buffer unused. */
void pack_uploader_return_buffer(struct pack_uploader *uploader, struct pack_upload *upload);
/* Queues the buffer: its first `size` bytes are pack number `pack` of the index. Does not block,
 * unless no thread can be started. */
void pack_uploader_send(struct pack_uploader *uploader, struct pack_upload *upload, uint32_t pack,
			size_t size);

/* --- for the one thread that uses the storage --- */

/* Call this every few ms: it applies the deadline of `cancel` (less the reserve for the commit),
 * sends late packs a second time, and replaces threads that have ended. */
void pack_uploader_poll(struct pack_uploader *uploader, struct cancel *cancel);
/* Waits up to `milliseconds`; true when no pack is queued or being sent. */
bool pack_uploader_wait(struct pack_uploader *uploader, int64_t milliseconds);
/* 0, or -1 with the error of the first upload that failed. */
int pack_uploader_check(struct pack_uploader *uploader, struct err *err);
/* Returns the memory of free buffers to the system, until the next use. */
void pack_uploader_trim(struct pack_uploader *uploader);

/* Bytes stored since the uploader was made, and bytes queued or being sent. */
uint64_t pack_uploader_bytes_sent(const struct pack_uploader *uploader);
uint64_t pack_uploader_bytes_waiting(const struct pack_uploader *uploader);

#endif
