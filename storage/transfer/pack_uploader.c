#include "sending.h"

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fault.h"
#include "base/text.h"
#include "base/workers.h"
#include "storage/format/format.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

/* The buffers of packs, and which of them wait to be sent or are being
 * sent. No locks: the uploader holds its mutex around every call. */

struct upload_queue {
	struct pack_upload *items;
	size_t count;
	size_t capacity; /* of each buffer */
	uint64_t turn;   /* the last one given */
};

static void upload_queue_trim(struct upload_queue *uploads);

/* --- buffers --- */

/* A pack begins so far behind a multiple of the alignment that its first chunk is at one. */
#define SHIFT (PACK_UPLOADER_ALIGNMENT - PACK_MAGIC_SIZE)

/* Mapped, not allocated: untouched pages cost nothing, and all of it returns to the system. */
static int map_buffer(const struct upload_queue *uploads, struct pack_upload *upload,
		      struct err *err)
{
	size_t size = SHIFT + uploads->capacity;
	uint8_t *mapped =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (mapped == MAP_FAILED)
		return err_os(err, errno, "buffer of %zu bytes", uploads->capacity);
	/* Best effort: page faults of small pages cost as much as reading the file. */
	madvise(mapped, size, MADV_HUGEPAGE);
	upload->data = mapped + SHIFT;
	return 0;
}

/* Finds a free buffer and maps its memory; *found is NULL while all are in use. -1: no memory. */
static int upload_queue_find_free(struct upload_queue *uploads, struct pack_upload **found,
				  struct err *err)
{
	*found = NULL;
	for (size_t i = 0; i < uploads->count; i++) {
		struct pack_upload *upload = &uploads->items[i];

		/* Prefer a buffer that has memory already. */
		if (upload->state == UPLOAD_FREE && (!*found || upload->data))
			*found = upload;
		if (*found && (*found)->data)
			return 0;
	}
	return *found ? map_buffer(uploads, *found, err) : 0;
}

/* Returns the memory of free buffers to the system. */
static void upload_queue_trim(struct upload_queue *uploads)
{
	for (size_t i = 0; i < uploads->count; i++) {
		struct pack_upload *upload = &uploads->items[i];

		if (upload->state != UPLOAD_FREE || !upload->data)
			continue;
		munmap(upload->data - SHIFT, SHIFT + uploads->capacity);
		upload->data = NULL;
	}
}

/* --- the queue --- */

static void upload_queue_append(struct upload_queue *uploads, struct pack_upload *upload)
{
	upload->turn = ++uploads->turn;
}

/* The next one to be sent, or NULL; *waiting: how many there are. */
static struct pack_upload *upload_queue_next(const struct upload_queue *uploads, unsigned *waiting)
{
	struct pack_upload *next = NULL;

	*waiting = 0;
	for (size_t i = 0; i < uploads->count; i++) {
		struct pack_upload *upload = &uploads->items[i];

		*waiting += upload->turn > 0;
		if (upload->turn > 0 && (!next || upload->turn < next->turn))
			next = upload;
	}
	return next;
}

/* --- what is being sent --- */

static unsigned pack_upload_puts(const struct pack_upload *upload)
{
	unsigned count = 0;

	for (size_t i = 0; i < UPLOAD_PUTS_MOST; i++)
		count += upload->puts[i] != NULL;
	return count;
}

/* How many packs are being sent twice. */
static unsigned upload_queue_hedged(const struct upload_queue *uploads)
{
	unsigned count = 0;

	for (size_t i = 0; i < uploads->count; i++)
		count += pack_upload_puts(&uploads->items[i]) + (uploads->items[i].turn > 0) > 1;
	return count;
}

static void pack_upload_cancel(struct pack_upload *upload)
{
	for (size_t i = 0; i < UPLOAD_PUTS_MOST; i++)
		if (upload->puts[i])
			cancel_raise(&upload->puts[i]->cancel);
}

static void upload_queue_set_deadline(struct upload_queue *uploads, int64_t deadline_ms)
{
	for (size_t i = 0; i < uploads->count; i++)
		for (size_t j = 0; j < UPLOAD_PUTS_MOST; j++)
			if (uploads->items[i].puts[j])
				cancel_set_deadline(&uploads->items[i].puts[j]->cancel,
						    deadline_ms);
}

#define BANDWIDTH_POLL_MS 50

struct pack_uploader {
	struct transfer *transfer;
	struct pool pool;
	_Atomic uint64_t bytes_sent, bytes_waiting;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct {
		struct upload_queue uploads;
		unsigned idle; /* threads that wait for a pack */
		unsigned busy; /* uploads in UPLOAD_BUSY */
		bool resting, interrupted, stopping, failed;
		int64_t promised_ms; /* the caller's deadline, and the earlier one for packs */
		int64_t deadline_ms;
		struct err err;
	} locked; /* guarded by `mutex` */
};

static void upload_worker(void *arg, struct priority_pool_worker *worker);

static struct pack_uploader *pack_uploader_new(struct transfer *transfer)
{
	struct pack_uploader *uploader = memory_new(sizeof(*uploader));
	const struct transfer_plan *plan = &transfer->plan;

	uploader->transfer = transfer;
	uploader->locked.uploads = (struct upload_queue){
		.items = memory_new(plan->buffers * sizeof(struct pack_upload)),
		.count = plan->buffers,
		.capacity = plan->pack_target + PACK_CAPACITY - PACK_TARGET,
	};
	uploader->locked.promised_ms = uploader->locked.deadline_ms = CLOCK_NEVER;
	upload_growth_begin(&transfer->growth, plan, clock_monotonic_ms());
	pthread_mutex_init(&uploader->mutex, NULL);
	pthread_cond_init(&uploader->changed, NULL);
	priority_pool_init(&uploader->pool, upload_worker, uploader,
			   transfer->background ? &transfer->urgent : NULL);
	return uploader;
}

struct pack_uploader *pack_uploader_get(struct transfer *transfer)
{
	if (transfer->uploader && pack_uploader_check(transfer->uploader, NULL) < 0)
		pack_uploader_free(steal(&transfer->uploader));
	if (!transfer->uploader)
		transfer->uploader = pack_uploader_new(transfer);
	pthread_mutex_lock(&transfer->uploader->mutex);
	transfer->uploader->locked.interrupted = false;
	pthread_mutex_unlock(&transfer->uploader->mutex);
	return transfer->uploader;
}

/* --- buffers --- */

/* Expects the mutex held, like all statics below. */
static void release_upload(struct pack_uploader *uploader, struct pack_upload *upload)
{
	if (upload->state == UPLOAD_BUSY) {
		uploader->locked.busy--;
		atomic_fetch_sub(&uploader->bytes_waiting, upload->size);
	}
	/* The buffer is free; its memory is kept. */
	free(upload->key);
	*upload = (struct pack_upload){.data = upload->data};
	if (uploader->locked.resting)
		upload_queue_trim(&uploader->locked.uploads);
	pthread_cond_broadcast(&uploader->changed);
}

struct pack_upload *pack_uploader_borrow_buffer(struct pack_uploader *uploader, struct err *err)
{
	const struct upload_growth *growth = &uploader->transfer->growth;
	struct pack_upload *upload = NULL;
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
		/* For each reader one that waits to be sent: more would only wait. */
		if (uploader->locked.busy < growth->connections + uploader->transfer->plan.readers)
			result = upload_queue_find_free(&uploader->locked.uploads, &upload, err);
		if (result == 0 && !upload)
			pthread_cond_wait(&uploader->changed, &uploader->mutex);
	}
	upload = result == 0 ? upload : NULL;
	if (upload)
		upload->state = UPLOAD_FILLING;
	pthread_mutex_unlock(&uploader->mutex);
	return upload;
}

void pack_uploader_interrupt(struct pack_uploader *uploader)
{
	pthread_mutex_lock(&uploader->mutex);
	uploader->locked.interrupted = true;
	pthread_cond_broadcast(&uploader->changed);
	pthread_mutex_unlock(&uploader->mutex);
}

void pack_uploader_return_buffer(struct pack_uploader *uploader, struct pack_upload *upload)
{
	pthread_mutex_lock(&uploader->mutex);
	release_upload(uploader, upload);
	pthread_mutex_unlock(&uploader->mutex);
}

int64_t pack_uploader_slack_ms(struct pack_uploader *uploader)
{
	const struct transfer *transfer = uploader->transfer;
	const struct hedge *hedge = &transfer->hedge;
	int64_t took_ms, slack_ms = 0, debt_ms;
	unsigned waiting;

	pthread_mutex_lock(&uploader->mutex);
	if (hedge->count > 0) {
		took_ms = hedge->took_ms[(hedge->count - 1) % HEDGE_SAMPLES];
		upload_queue_next(&uploader->locked.uploads, &waiting);
		slack_ms = took_ms * waiting / transfer->growth.connections;
	}
	/* A limit holds the packs up before they are put. */
	debt_ms = transfer->rate.paid_ms - clock_monotonic_ms();
	if (debt_ms > slack_ms && !atomic_load(&transfer->urgent))
		slack_ms = debt_ms;
	pthread_mutex_unlock(&uploader->mutex);
	return slack_ms;
}

/* --- ending an upload --- */

/* Releases a pack that is neither queued nor being sent any more, stored or not. */
static void settle_upload(struct pack_uploader *uploader, struct pack_upload *upload)
{
	if (upload->state != UPLOAD_BUSY || upload->turn > 0 || pack_upload_puts(upload) > 0)
		return;
	if (!upload->stored)
		chunk_index_pack_lost(&uploader->transfer->index, upload->pack);
	release_upload(uploader, upload);
}

static void fail_uploads(struct pack_uploader *uploader, const struct err *err)
{
	struct upload_queue *uploads = &uploader->locked.uploads;

	if (uploader->locked.failed)
		return;
	uploader->locked.failed = true;
	uploader->locked.err = *err;
	for (size_t i = 0; i < uploads->count; i++) {
		uploads->items[i].turn = 0;
		pack_upload_cancel(&uploads->items[i]);
		settle_upload(uploader, &uploads->items[i]);
	}
	pthread_cond_broadcast(&uploader->changed);
}

/* --- sending: the mutex is released during the put --- */

static int wait_for_bandwidth(struct pack_uploader *uploader, struct upload_put *sending,
			      size_t size, struct err *err)
{
	struct transfer *transfer = uploader->transfer;
	int64_t wait_ms = rate_limit_consume(&transfer->rate, size, clock_monotonic_ms());
	int result = 0;

	pthread_mutex_unlock(&uploader->mutex);
	while (result == 0 && wait_ms > 0 && !atomic_load(&transfer->urgent)) {
		int64_t slice = wait_ms < BANDWIDTH_POLL_MS ? wait_ms : BANDWIDTH_POLL_MS;

		result = cancel_sleep(&sending->cancel, slice, err);
		wait_ms -= slice;
	}
	pthread_mutex_lock(&uploader->mutex);
	return result;
}

static int put_pack(struct pack_uploader *uploader, struct pack_upload *upload,
		    struct upload_put *sending, struct err *err)
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

static void on_pack_stored(struct pack_uploader *uploader, struct pack_upload *upload,
			   int64_t took_ms)
{
	if (upload->stored)
		return;
	upload->stored = true;
	if (upload->size >= uploader->transfer->plan.pack_target / 2)
		hedge_add_sample(&uploader->transfer->hedge, took_ms);
	chunk_index_pack_stored(&uploader->transfer->index, upload->pack, upload->size);
	atomic_fetch_add(&uploader->bytes_sent, upload->size);
	upload_growth_add(&uploader->transfer->growth, &uploader->transfer->plan, upload->size,
			  clock_monotonic_ms());
	/* A second put of the same pack is no longer needed. */
	upload->turn = 0;
	pack_upload_cancel(upload);
}

static void send_pack_once(struct pack_uploader *uploader, struct pack_upload *upload)
{
	struct upload_put sending = {0};
	struct err err = {0};
	size_t place = upload->puts[0] != NULL;
	int result = cancel_init(&sending.cancel, &err);

	if (result == 0) {
		cancel_set_deadline(&sending.cancel, uploader->locked.deadline_ms);
		upload->puts[place] = &sending;
		upload->sent++;
		result = put_pack(uploader, upload, &sending, &err);
		upload->puts[place] = NULL;
		cancel_release(&sending.cancel);
	}
	if (result == 0)
		on_pack_stored(uploader, upload, clock_monotonic_ms() - sending.began_ms);
	else if (!upload->stored && upload->turn == 0 && pack_upload_puts(upload) == 0)
		fail_uploads(uploader, &err);
	settle_upload(uploader, upload);
}

static void upload_worker(void *arg, struct priority_pool_worker *worker)
{
	struct pack_uploader *uploader = arg;

	pthread_mutex_lock(&uploader->mutex);
	while (!uploader->locked.stopping && priority_pool_may_continue(worker)) {
		unsigned waiting;
		struct pack_upload *upload = upload_queue_next(&uploader->locked.uploads, &waiting);

		if (upload) {
			upload->turn = 0;
			send_pack_once(uploader, upload);
			continue;
		}
		/* On the caller's own thread: only what is queued. */
		if (!worker)
			break;
		uploader->locked.idle++;
		pthread_cond_wait(&uploader->changed, &uploader->mutex);
		uploader->locked.idle--;
	}
	pthread_mutex_unlock(&uploader->mutex);
}

/* Adds a thread if all are busy. Without any thread, the caller sends. */
static void add_worker_if_busy(struct pack_uploader *uploader)
{
	unsigned connections, waiting;
	bool wanted;

	pthread_mutex_lock(&uploader->mutex);
	connections = uploader->transfer->growth.connections;
	upload_queue_next(&uploader->locked.uploads, &waiting);
	wanted = waiting > uploader->locked.idle;
	pthread_mutex_unlock(&uploader->mutex);
	if (wanted && priority_pool_running(&uploader->pool) < connections &&
	    priority_pool_add_worker(&uploader->pool) < 0 &&
	    priority_pool_running(&uploader->pool) == 0)
		upload_worker(uploader, NULL);
}

void pack_uploader_send(struct pack_uploader *uploader, struct pack_upload *upload, uint32_t pack,
			size_t size)
{
	struct chunk_index *index = &uploader->transfer->index;

	/* Another thread may be adding to the table of packs. */
	pthread_mutex_lock(&index->mutex);
	upload->key = transfer_pack_key(uploader->transfer, index->packs[pack].key);
	pthread_mutex_unlock(&index->mutex);
	pthread_mutex_lock(&uploader->mutex);
	upload->pack = pack;
	upload->size = size;
	upload->state = UPLOAD_BUSY;
	if (uploader->locked.busy++ == 0)
		upload_growth_begin(&uploader->transfer->growth, &uploader->transfer->plan,
				    clock_monotonic_ms());
	uploader->locked.resting = false;
	atomic_fetch_add(&uploader->bytes_waiting, size);
	if (uploader->locked.failed)
		settle_upload(uploader, upload);
	else
		upload_queue_append(&uploader->locked.uploads, upload);
	pthread_cond_broadcast(&uploader->changed);
	pthread_mutex_unlock(&uploader->mutex);
	add_worker_if_busy(uploader);
}

/* --- supervision --- */

static void hedge_upload(struct pack_uploader *uploader, struct pack_upload *upload, int64_t now)
{
	const struct upload_put *first = upload->puts[0];
	struct hedge_facts facts = {
		.age_ms = first && first->began_ms ? now - first->began_ms : 0,
		.sent = upload->sent,
		.hedged_now = upload_queue_hedged(&uploader->locked.uploads),
		.connections = uploader->transfer->growth.connections,
	};

	if (upload->state != UPLOAD_BUSY || upload->turn > 0 || !first ||
	    !hedge_is_due(&uploader->transfer->hedge, &facts))
		return;
	upload->turn = 1; /* before all others: the first one was sent long ago */
	pthread_cond_broadcast(&uploader->changed);
}

/* Computed once per deadline: the reserve is a share of the time left, and must not shrink with
 * it. */
static void adopt_deadline(struct pack_uploader *uploader, struct cancel *cancel)
{
	int64_t deadline = cancel ? atomic_load(&cancel->deadline_ms) : CLOCK_NEVER;

	if (deadline == uploader->locked.promised_ms)
		return;
	uploader->locked.promised_ms = deadline;
	if (deadline != CLOCK_NEVER)
		deadline -= transfer_plan_reserve_ms(clock_left_ms(deadline),
						     uploader->transfer->remote);
	uploader->locked.deadline_ms = deadline;
	upload_queue_set_deadline(&uploader->locked.uploads, deadline);
}

void pack_uploader_poll(struct pack_uploader *uploader, struct cancel *cancel)
{
	struct upload_queue *uploads = &uploader->locked.uploads;
	int64_t now = clock_monotonic_ms();
	struct err err = {0};

	pthread_mutex_lock(&uploader->mutex);
	adopt_deadline(uploader, cancel);
	if (cancel_check(cancel, &err) < 0)
		fail_uploads(uploader, &err);
	if (uploader->transfer->remote && !uploader->locked.failed)
		for (size_t i = 0; i < uploads->count; i++)
			hedge_upload(uploader, &uploads->items[i], now);
	pthread_mutex_unlock(&uploader->mutex);
	priority_pool_fill_vacancies(&uploader->pool);
	add_worker_if_busy(uploader);
}

bool pack_uploader_wait(struct pack_uploader *uploader, int64_t milliseconds)
{
	bool done;

	pthread_mutex_lock(&uploader->mutex);
	if (uploader->locked.busy > 0 && milliseconds > 0)
		condition_wait(&uploader->changed, &uploader->mutex, milliseconds);
	done = uploader->locked.busy == 0;
	pthread_mutex_unlock(&uploader->mutex);
	return done;
}

int pack_uploader_check(struct pack_uploader *uploader, struct err *err)
{
	bool failed;

	pthread_mutex_lock(&uploader->mutex);
	failed = uploader->locked.failed;
	if (failed && err)
		*err = uploader->locked.err;
	pthread_mutex_unlock(&uploader->mutex);
	return failed ? -1 : 0;
}

void pack_uploader_trim(struct pack_uploader *uploader)
{
	pthread_mutex_lock(&uploader->mutex);
	uploader->locked.resting = true;
	upload_queue_trim(&uploader->locked.uploads);
	pthread_mutex_unlock(&uploader->mutex);
}

void pack_uploader_free(struct pack_uploader *uploader)
{
	struct err stopped = {0};

	if (!uploader)
		return;
	err_set(&stopped, ERR_CANCELLED, "stopped");
	pthread_mutex_lock(&uploader->mutex);
	fail_uploads(uploader, &stopped);
	while (uploader->locked.busy > 0)
		pthread_cond_wait(&uploader->changed, &uploader->mutex);
	uploader->locked.stopping = true;
	pthread_cond_broadcast(&uploader->changed);
	pthread_mutex_unlock(&uploader->mutex);
	priority_pool_release(&uploader->pool);
	upload_queue_trim(&uploader->locked.uploads);
	free(uploader->locked.uploads.items);
	pthread_mutex_destroy(&uploader->mutex);
	pthread_cond_destroy(&uploader->changed);
	free(uploader);
}

uint64_t pack_uploader_bytes_sent(const struct pack_uploader *uploader)
{
	return atomic_load(&uploader->bytes_sent);
}

uint64_t pack_uploader_bytes_waiting(const struct pack_uploader *uploader)
{
	return atomic_load(&uploader->bytes_waiting);
}
