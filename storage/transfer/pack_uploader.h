/*
 * PRIVATE: filled packs on their way into the store, on threads of their own, in a bounded number
 * of buffers. Hashing goes on meanwhile, until the buffers are used up.
 *
 * It outlives a presend: what is on its way then goes on, and the take that follows waits for it.
 * Once an upload has finally failed everything it holds is given up, and every call says why.
 */
#ifndef PACK_UPLOADER_H
#define PACK_UPLOADER_H

#include "job_transfer.h"

struct pack_uploader;

/* A buffer for one pack, and what becomes of it. */
struct pack_upload;

/* The storage's: a new one where there is none or it has failed. */
struct pack_uploader *pack_uploader_get(struct transfer *transfer);
/* Gives up what is under way, and waits until no thread touches it. NULL is fine. */
void pack_uploader_free(struct pack_uploader *uploader);

/* --- for readers, any thread --- */

/* Waits for a free buffer: NULL with the error once an upload has failed. */
struct pack_upload *pack_uploader_borrow_buffer(struct pack_uploader *uploader, struct err *err);
uint8_t *pack_uploader_buffer_data(struct pack_upload *upload);
/* Whoever waits for a buffer, or asks for one from now on until pack_uploader_get(), gets
 * ERR_RETRY. What is on its way goes on. */
void pack_uploader_interrupt(struct pack_uploader *uploader);
/* Not needed after all. */
void pack_uploader_return_buffer(struct pack_uploader *uploader, struct pack_upload *upload);
/* Hands it over: these bytes are pack number `pack` of the index. */
void pack_uploader_send(struct pack_uploader *uploader, struct pack_upload *upload, uint32_t pack,
			size_t size);

/* --- for the one call that is using the storage; it does nothing else meanwhile --- */

/* To be called every few ms: passes the cancel object's word on (less the time that belongs to the
 * commit), sends again what is late, and fills places. */
void pack_uploader_poll(struct pack_uploader *uploader, struct cancel *cancel);
/* Waits up to `milliseconds`; true when nothing is on its way any more. */
bool pack_uploader_wait(struct pack_uploader *uploader, int64_t milliseconds);
/* 0, or -1 with the error of the first upload that failed. */
int pack_uploader_check(struct pack_uploader *uploader, struct err *err);
/* Nobody uses it for now: free buffers go back to the system. */
void pack_uploader_trim(struct pack_uploader *uploader);

/* stored since it was made */
uint64_t pack_uploader_bytes_sent(const struct pack_uploader *uploader);
uint64_t pack_uploader_bytes_waiting(const struct pack_uploader *uploader);

#endif
