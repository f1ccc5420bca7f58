/*
 * PRIVATE: filled packs on their way into the store, on threads of their own, in a bounded number of buffers. Hashing goes on
 * meanwhile, until the buffers are used up.
 *
 * It outlives a presend: what is on its way then goes on, and the take that follows waits for it. Once an upload has finally failed
 * everything it holds is given up, and every call says why.
 */
#ifndef PACK_UPLOADER_H
#define PACK_UPLOADER_H

#include "job_transfer.h"

struct uploader;

/* A buffer for one pack, and what becomes of it. */
struct upload;

/* The storage's: a new one where there is none or it has failed. */
struct uploader *uploader_of(struct transfer *transfer);
/* Gives up what is under way, and waits until no thread touches it. NULL is fine. */
void uploader_free(struct uploader *uploader);

/* --- for readers, any thread --- */

/* Waits for a free buffer: NULL with the error once an upload has failed. */
struct upload *uploader_take_buffer(struct uploader *uploader, struct err *err);
uint8_t *uploader_data(struct upload *upload);
/* Whoever waits for a buffer, or asks for one from now on until uploader_of(), gets ERR_RETRY. What is on its way goes on. */
void uploader_interrupt(struct uploader *uploader);
/* Not needed after all. */
void uploader_give_back(struct uploader *uploader, struct upload *upload);
/* Hands it over: these bytes are pack number `pack` of the index. */
void uploader_send(struct uploader *uploader, struct upload *upload, uint32_t pack, size_t size);

/* --- for the one call that is using the storage; it does nothing else meanwhile --- */

/* To be called every few ms: passes the cancel object's word on (less the time that belongs to the commit), sends again what is
 * late, and fills places. */
void uploader_attend(struct uploader *uploader, struct cancel *cancel);
/* Waits up to `milliseconds`; true when nothing is on its way any more. */
bool uploader_wait(struct uploader *uploader, int64_t milliseconds);
/* 0, or -1 with the error of the first upload that failed. */
int uploader_check(struct uploader *uploader, struct err *err);
/* Nobody uses it for now: free buffers go back to the system. */
void uploader_rest(struct uploader *uploader);

uint64_t uploader_bytes_sent(const struct uploader *uploader); /* stored since it was made */
uint64_t uploader_bytes_waiting(const struct uploader *uploader);

#endif
