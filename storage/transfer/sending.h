/* PRIVATE to storage/. How packs are filled and sent. */
#ifndef SENDING_H
#define SENDING_H

#include "job_transfer.h"
#include "storage/format/format.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Threads that share one piece of work. While the job trains they run at low CPU and IO
 * priority, and at no higher one than that at which they are started. A thread without privileges
 * cannot raise its priority again, so when `urgent` is set, the low threads end at the next
 * opportunity and new ones at normal priority replace them.
 */

struct priority_pool_worker;

struct pool {
	void (*work)(void *arg, struct priority_pool_worker *worker);
	void *arg;
	const atomic_bool *urgent; /* NULL: always at normal priority */
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct {
		/* all that were ever started; joined at release */
		struct priority_pool_worker *workers;
		unsigned running;
		unsigned vacant; /* workers that ended early and are not replaced yet */
	} locked;                /* guarded by `mutex` */
};

void priority_pool_init(struct pool *pool,
			void (*work)(void *arg, struct priority_pool_worker *worker), void *arg,
			const atomic_bool *urgent);
/* Waits for all workers. */
void priority_pool_release(struct pool *pool);

/* Starts a worker. -1: no thread could be started. */
int priority_pool_add_worker(struct pool *pool);
unsigned priority_pool_running(struct pool *pool);

/* Called by `work` between pieces. False: return now, another worker takes over. */
bool priority_pool_may_continue(struct priority_pool_worker *worker);

/* Starts a worker for each one that ended early. Call it now and then, from a thread at normal
 * priority. -1: no worker is left and none could be started. */
int priority_pool_fill_vacancies(struct pool *pool);
/* Waits up to `milliseconds`; true when all workers have ended and none is to be replaced. */
bool priority_pool_wait(struct pool *pool, int64_t milliseconds);

/*
 * Sends filled packs to the store, on threads of its own, from a bounded number of buffers. Hashing
 * continues meanwhile until the buffers are used up.
 *
 * The uploader survives an early upload: packs under way are still sent, and the next save waits
 * for them. Once an upload has finally failed, all its packs are given up, and every call returns
 * that error.
 */

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

/* fills packs with the chunks of a save or an early upload, on one thread, and hands them
 * to the uploader. */

/* Shared by the packers of one save. */
struct packing {
	struct transfer *transfer;
	struct pack_uploader *uploader;
	struct snapshot_id id;
	char nonce[33];
	struct cancel *cancel;
	atomic_uint packs; /* packs begun so far, for their names */
	atomic_uint chunks_sent, chunks_kept;
	/* Read for packs that are not full yet, which no uploader knows of. */
	_Atomic uint64_t bytes_held;
};

struct packer {
	struct packing *packing;
	struct pack_builder builder;
	struct pack_upload *upload; /* the buffer being filled, or NULL */
	uint8_t *scratch;           /* a compressed chunk; or what is only looked at */
	uint8_t *room;              /* where the next chunk is read to */
	uint32_t pack;              /* number of the pack in the index, once it has a chunk */
	uint64_t held;              /* raw bytes of its chunks: of bytes_held */
	/* What is known so far of the bytes that are being looked at. */
	struct {
		struct checksum_stream *checksum;
		size_t size;
		bool zero;
	} look;
};

int packer_init(struct packer *packer, struct packing *packing, struct err *err);
/* Frees the packer; a pack that has not been handed over is lost. */
void packer_release(struct packer *packer);

/* *room is where to put the next `size` raw bytes (at most CHUNK_SIZE), aligned. Hands a full pack
 * over first, and then blocks until a buffer is free. Errors of pack_uploader_borrow_buffer(). */
int packer_reserve(struct packer *packer, size_t size, uint8_t **room, struct err *err);
/* Packs the bytes put at packer_reserve() unless the index has them, and fills in where they
 * are. */
void packer_add(struct packer *packer, size_t size, struct chunk *chunk);

/*
 * The same while they are being read: what has just come is in the processor's cache. The bytes
 * come in order, in pieces of PACKER_PIECE or so. What is known need not be at packer_reserve().
 */
#define PACKER_PIECE ((size_t)256 << 10)
void packer_look_begin(struct packer *packer);
void packer_look_add(struct packer *packer, const void *data, size_t size);
/* True: they are known, and `chunk` says where. */
bool packer_look_end(struct packer *packer, struct chunk *chunk);
/* Packs what was looked at to its end, and is at packer_reserve(). */
void packer_add_looked(struct packer *packer, struct chunk *chunk);
/* Hands over the last pack. */
void packer_finish(struct packer *packer);

#endif
