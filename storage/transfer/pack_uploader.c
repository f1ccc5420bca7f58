#include "pack_uploader.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fault.h"
#include "priority_pool.h"
#include "storage/format/format.h"
#include "upload_queue.h"

#include <stdlib.h>

#define BANDWIDTH_LOOK_MS 50

struct uploader {
	struct transfer *transfer;
	struct crew crew;
	_Atomic uint64_t bytes_sent, bytes_waiting;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct {
		struct uploads uploads;
		unsigned idle; /* threads */
		unsigned busy; /* uploads in UPLOAD_BUSY */
		bool resting, interrupted, stopping, failed;
		int64_t promised_ms; /* the deadline of the whole, and what of it is for packs */
		int64_t deadline_ms;
		struct err err;
	} locked; /* under mutex */
};

static void work(void *arg, struct crew_member *member);

static struct uploader *uploader_new(struct transfer *transfer)
{
	struct uploader *uploader = memory_new(sizeof(*uploader));
	const struct transfer_plan *plan = &transfer->plan;

	uploader->transfer = transfer;
	uploads_init(&uploader->locked.uploads, plan->buffers,
		plan->pack_target + PACK_CAPACITY - PACK_TARGET);
	uploader->locked.promised_ms = uploader->locked.deadline_ms = CLOCK_NEVER;
	pthread_mutex_init(&uploader->mutex, NULL);
	crew_condition(&uploader->changed);
	crew_init(&uploader->crew, work, uploader, transfer->gentle ? &transfer->hurried : NULL);
	return uploader;
}

struct uploader *uploader_of(struct transfer *transfer)
{
	if (transfer->uploader && uploader_check(transfer->uploader, NULL) < 0)
		uploader_free(take(&transfer->uploader));
	if (!transfer->uploader)
		transfer->uploader = uploader_new(transfer);
	pthread_mutex_lock(&transfer->uploader->mutex);
	transfer->uploader->locked.interrupted = false;
	pthread_mutex_unlock(&transfer->uploader->mutex);
	return transfer->uploader;
}

/* --- buffers --- */

/* With the mutex held, as all that follows but what readers and the call itself call. */
static void release(struct uploader *uploader, struct upload *upload)
{
	if (upload->state == UPLOAD_BUSY) {
		uploader->locked.busy--;
		atomic_fetch_sub(&uploader->bytes_waiting, upload->size);
	}
	uploads_empty(upload);
	if (uploader->locked.resting)
		uploads_trim(&uploader->locked.uploads);
	pthread_cond_broadcast(&uploader->changed);
}

struct upload *uploader_take_buffer(struct uploader *uploader, struct err *err)
{
	struct upload *upload = NULL;
	int result = 0;

	pthread_mutex_lock(&uploader->mutex);
	uploader->locked.resting = false;
	while (result == 0 && !upload) {
		if (uploader->locked.interrupted)
			err_set(err, ERR_RETRY, "interrupted");
		if (uploader->locked.failed && err)
			*err = uploader->locked.err;
		if (uploader->locked.failed || uploader->locked.interrupted)
			break;
		result = uploads_find_free(&uploader->locked.uploads, &upload, err);
		if (result == 0 && !upload)
			pthread_cond_wait(&uploader->changed, &uploader->mutex);
	}
	upload = result == 0 ? upload : NULL;
	if (upload)
		upload->state = UPLOAD_FILLING;
	pthread_mutex_unlock(&uploader->mutex);
	return upload;
}

void uploader_interrupt(struct uploader *uploader)
{
	pthread_mutex_lock(&uploader->mutex);
	uploader->locked.interrupted = true;
	pthread_cond_broadcast(&uploader->changed);
	pthread_mutex_unlock(&uploader->mutex);
}

uint8_t *uploader_data(struct upload *upload)
{
	return upload->data;
}

void uploader_give_back(struct uploader *uploader, struct upload *upload)
{
	pthread_mutex_lock(&uploader->mutex);
	release(uploader, upload);
	pthread_mutex_unlock(&uploader->mutex);
}

/* --- the end of an upload --- */

/* What nobody sends any more, and nobody will. */
static void settle(struct uploader *uploader, struct upload *upload)
{
	if (upload->state != UPLOAD_BUSY || upload->queued || upload_sendings(upload) > 0)
		return;
	if (!upload->stored)
		index_pack_lost(&uploader->transfer->index, upload->pack);
	release(uploader, upload);
}

static void fail(struct uploader *uploader, const struct err *err)
{
	struct uploads *uploads = &uploader->locked.uploads;

	if (uploader->locked.failed)
		return;
	uploader->locked.failed = true;
	uploader->locked.err = *err;
	while (uploads->queue) {
		struct upload *upload = uploads->queue;

		uploads_dequeue(uploads, upload);
		settle(uploader, upload);
	}
	for (size_t i = 0; i < uploads->count; i++)
		upload_stop(&uploads->items[i]);
	pthread_cond_broadcast(&uploader->changed);
}

/* --- sending: the mutex is let go for the put itself --- */

static int wait_for_bandwidth(
	struct uploader *uploader, struct sending *sending, size_t size, struct err *err)
{
	struct transfer *transfer = uploader->transfer;
	int64_t wait_ms = rate_take(&transfer->rate, size, clock_monotonic_ms());
	int result = 0;

	pthread_mutex_unlock(&uploader->mutex);
	while (result == 0 && wait_ms > 0 && !atomic_load(&transfer->hurried)) {
		int64_t slice = wait_ms < BANDWIDTH_LOOK_MS ? wait_ms : BANDWIDTH_LOOK_MS;

		result = cancel_sleep(&sending->cancel, slice, err);
		wait_ms -= slice;
	}
	pthread_mutex_lock(&uploader->mutex);
	return result;
}

static int put(
	struct uploader *uploader, struct upload *upload, struct sending *sending, struct err *err)
{
	struct store *store = uploader->transfer->store;
	int result;

	if (wait_for_bandwidth(uploader, sending, upload->size, err) < 0)
		return -1;
	sending->began_ms = clock_monotonic_ms();
	pthread_mutex_unlock(&uploader->mutex);
	fault_point("before_pack_put");
	result = store->ops->put(store, upload->key, upload->data, upload->size, STORE_UNIQUE,
		&sending->cancel, err);
	if (result == 0)
		fault_point("after_pack_put");
	pthread_mutex_lock(&uploader->mutex);
	return result;
}

static void stored(struct uploader *uploader, struct upload *upload, int64_t took_ms)
{
	if (upload->stored)
		return;
	upload->stored = true;
	if (upload->size >= uploader->transfer->plan.pack_target / 2)
		hedge_note(&uploader->transfer->hedge, took_ms);
	index_pack_stored(&uploader->transfer->index, upload->pack, upload->size);
	atomic_fetch_add(&uploader->bytes_sent, upload->size);
	/* Who is still at it only wastes time now. */
	if (upload->queued)
		uploads_dequeue(&uploader->locked.uploads, upload);
	upload_stop(upload);
}

static void send_once(struct uploader *uploader, struct upload *upload)
{
	struct sending sending = {0};
	struct err err = {0};
	size_t place = upload->sendings[0] != NULL;
	int result = cancel_init(&sending.cancel, &err);

	if (result == 0) {
		cancel_set_deadline(&sending.cancel, uploader->locked.deadline_ms);
		upload->sendings[place] = &sending;
		upload->sent++;
		result = put(uploader, upload, &sending, &err);
		upload->sendings[place] = NULL;
		cancel_release(&sending.cancel);
	}
	if (result == 0)
		stored(uploader, upload, clock_monotonic_ms() - sending.began_ms);
	else if (!upload->stored && !upload->queued && upload_sendings(upload) == 0)
		fail(uploader, &err);
	settle(uploader, upload);
}

static void work(void *arg, struct crew_member *member)
{
	struct uploader *uploader = arg;

	pthread_mutex_lock(&uploader->mutex);
	while (!uploader->locked.stopping && crew_may_stay(member)) {
		struct upload *upload = uploader->locked.uploads.queue;

		if (upload) {
			uploads_dequeue(&uploader->locked.uploads, upload);
			send_once(uploader, upload);
			continue;
		}
		/* On the caller's own thread: only what there is. */
		if (!member)
			break;
		uploader->locked.idle++;
		pthread_cond_wait(&uploader->changed, &uploader->mutex);
		uploader->locked.idle--;
	}
	pthread_mutex_unlock(&uploader->mutex);
}

/* One thread more if all have something to do. Without any thread at all the caller works himself. */
static void find_hands(struct uploader *uploader)
{
	bool wanted;

	pthread_mutex_lock(&uploader->mutex);
	wanted = uploads_queued(&uploader->locked.uploads) > uploader->locked.idle;
	pthread_mutex_unlock(&uploader->mutex);
	if (wanted && crew_running(&uploader->crew) < uploader->transfer->plan.uploaders &&
		crew_add(&uploader->crew) < 0 && crew_running(&uploader->crew) == 0)
		work(uploader, NULL);
}

void uploader_send(struct uploader *uploader, struct upload *upload, uint32_t pack, size_t size)
{
	struct index *index = &uploader->transfer->index;

	/* The table may be growing on another thread. */
	pthread_mutex_lock(&index->mutex);
	upload->key = transfer_pack_key(uploader->transfer, index->packs[pack].key);
	pthread_mutex_unlock(&index->mutex);
	pthread_mutex_lock(&uploader->mutex);
	upload->pack = pack;
	upload->size = size;
	upload->state = UPLOAD_BUSY;
	uploader->locked.busy++;
	uploader->locked.resting = false;
	atomic_fetch_add(&uploader->bytes_waiting, size);
	if (uploader->locked.failed)
		settle(uploader, upload);
	else
		uploads_enqueue(&uploader->locked.uploads, upload);
	pthread_cond_broadcast(&uploader->changed);
	pthread_mutex_unlock(&uploader->mutex);
	find_hands(uploader);
}

/* --- looking after it --- */

static void hedge(struct uploader *uploader, struct upload *upload, int64_t now)
{
	const struct sending *first = upload->sendings[0];
	struct hedge_facts facts = {
		.age_ms = first && first->began_ms ? now - first->began_ms : 0,
		.sent = upload->sent,
		.hedged_now = uploads_hedged(&uploader->locked.uploads),
		.connections = uploader->transfer->plan.uploaders,
	};

	if (upload->state != UPLOAD_BUSY || upload->queued || !first ||
		!hedge_is_due(&uploader->transfer->hedge, &facts))
		return;
	uploads_enqueue_first(&uploader->locked.uploads, upload);
	pthread_cond_broadcast(&uploader->changed);
}

/* Once for each deadline: the reserve is a share of what is left, and what was promised to the commit must not shrink with it. */
static void take_deadline(struct uploader *uploader, struct cancel *cancel)
{
	int64_t deadline = cancel ? atomic_load(&cancel->deadline_ms) : CLOCK_NEVER;

	if (deadline == uploader->locked.promised_ms)
		return;
	uploader->locked.promised_ms = deadline;
	if (deadline != CLOCK_NEVER)
		deadline -= transfer_reserve_ms(clock_left_ms(deadline), uploader->transfer->remote);
	uploader->locked.deadline_ms = deadline;
	uploads_set_deadline(&uploader->locked.uploads, deadline);
}

void uploader_attend(struct uploader *uploader, struct cancel *cancel)
{
	struct uploads *uploads = &uploader->locked.uploads;
	int64_t now = clock_monotonic_ms();
	struct err err = {0};

	pthread_mutex_lock(&uploader->mutex);
	take_deadline(uploader, cancel);
	if (cancel_check(cancel, &err) < 0)
		fail(uploader, &err);
	if (uploader->transfer->remote && !uploader->locked.failed)
		for (size_t i = 0; i < uploads->count; i++)
			hedge(uploader, &uploads->items[i], now);
	pthread_mutex_unlock(&uploader->mutex);
	crew_refill(&uploader->crew);
	find_hands(uploader);
}

bool uploader_wait(struct uploader *uploader, int64_t milliseconds)
{
	bool done;

	pthread_mutex_lock(&uploader->mutex);
	if (uploader->locked.busy > 0 && milliseconds > 0)
		crew_wait_for(&uploader->changed, &uploader->mutex, milliseconds);
	done = uploader->locked.busy == 0;
	pthread_mutex_unlock(&uploader->mutex);
	return done;
}

int uploader_check(struct uploader *uploader, struct err *err)
{
	bool failed;

	pthread_mutex_lock(&uploader->mutex);
	failed = uploader->locked.failed;
	if (failed && err)
		*err = uploader->locked.err;
	pthread_mutex_unlock(&uploader->mutex);
	return failed ? -1 : 0;
}

void uploader_rest(struct uploader *uploader)
{
	pthread_mutex_lock(&uploader->mutex);
	uploader->locked.resting = true;
	uploads_trim(&uploader->locked.uploads);
	pthread_mutex_unlock(&uploader->mutex);
}

void uploader_free(struct uploader *uploader)
{
	struct err stopped = {0};

	if (!uploader)
		return;
	err_set(&stopped, ERR_CANCELLED, "stopped");
	pthread_mutex_lock(&uploader->mutex);
	if (uploader->locked.busy > 0)
		fail(uploader, &stopped);
	while (uploader->locked.busy > 0)
		pthread_cond_wait(&uploader->changed, &uploader->mutex);
	uploader->locked.stopping = true;
	pthread_cond_broadcast(&uploader->changed);
	pthread_mutex_unlock(&uploader->mutex);
	crew_release(&uploader->crew);
	uploads_release(&uploader->locked.uploads);
	pthread_mutex_destroy(&uploader->mutex);
	pthread_cond_destroy(&uploader->changed);
	free(uploader);
}

uint64_t uploader_bytes_sent(const struct uploader *uploader)
{
	return atomic_load(&uploader->bytes_sent);
}

uint64_t uploader_bytes_waiting(const struct uploader *uploader)
{
	return atomic_load(&uploader->bytes_waiting);
}
