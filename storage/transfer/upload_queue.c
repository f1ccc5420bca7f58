#include "upload_queue.h"

#include "base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

void upload_queue_init(struct upload_queue *uploads, size_t count, size_t capacity)
{
	*uploads = (struct upload_queue){.count = count, .capacity = capacity};
	uploads->items = memory_new(count * sizeof(*uploads->items));
}

void upload_queue_release(struct upload_queue *uploads)
{
	upload_queue_trim(uploads);
	free(uploads->items);
	*uploads = (struct upload_queue){0};
}

/* --- buffers --- */

/* Mapped, not allocated: untouched pages cost nothing, and all of it returns to the system. */
static int map_buffer(const struct upload_queue *uploads, struct pack_upload *upload,
		      struct err *err)
{
	void *data = mmap(NULL, uploads->capacity, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (data == MAP_FAILED)
		return err_os(err, errno, "buffer of %zu bytes", uploads->capacity);
	/* Best effort: page faults of small pages cost as much as reading the file. */
	madvise(data, uploads->capacity, MADV_HUGEPAGE);
	upload->data = data;
	return 0;
}

int upload_queue_find_free(struct upload_queue *uploads, struct pack_upload **found,
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

void upload_queue_recycle(struct pack_upload *upload)
{
	free(upload->key);
	*upload = (struct pack_upload){.data = upload->data};
}

void upload_queue_trim(struct upload_queue *uploads)
{
	for (size_t i = 0; i < uploads->count; i++) {
		struct pack_upload *upload = &uploads->items[i];

		if (upload->state != UPLOAD_FREE || !upload->data)
			continue;
		munmap(upload->data, uploads->capacity);
		upload->data = NULL;
	}
}

/* --- the queue --- */

void upload_queue_append(struct upload_queue *uploads, struct pack_upload *upload)
{
	struct pack_upload **last = &uploads->queue;

	while (*last)
		last = &(*last)->next;
	*last = upload;
	upload->next = NULL;
	upload->queued = true;
}

void upload_queue_prepend(struct upload_queue *uploads, struct pack_upload *upload)
{
	upload->next = uploads->queue;
	uploads->queue = upload;
	upload->queued = true;
}

void upload_queue_remove(struct upload_queue *uploads, struct pack_upload *upload)
{
	struct pack_upload **at = &uploads->queue;

	while (*at && *at != upload)
		at = &(*at)->next;
	if (*at)
		*at = upload->next;
	upload->next = NULL;
	upload->queued = false;
}

unsigned upload_queue_waiting(const struct upload_queue *uploads)
{
	unsigned count = 0;

	for (const struct pack_upload *upload = uploads->queue; upload; upload = upload->next)
		count++;
	return count;
}

/* --- what is being sent --- */

unsigned pack_upload_puts(const struct pack_upload *upload)
{
	unsigned count = 0;

	for (size_t i = 0; i < UPLOAD_PUTS_MOST; i++)
		count += upload->puts[i] != NULL;
	return count;
}

unsigned upload_queue_hedged(const struct upload_queue *uploads)
{
	unsigned count = 0;

	for (size_t i = 0; i < uploads->count; i++)
		count += pack_upload_puts(&uploads->items[i]) + uploads->items[i].queued > 1;
	return count;
}

void pack_upload_cancel(struct pack_upload *upload)
{
	for (size_t i = 0; i < UPLOAD_PUTS_MOST; i++)
		if (upload->puts[i])
			cancel_raise(&upload->puts[i]->cancel);
}

void upload_queue_set_deadline(struct upload_queue *uploads, int64_t deadline_ms)
{
	for (size_t i = 0; i < uploads->count; i++)
		for (size_t j = 0; j < UPLOAD_PUTS_MOST; j++)
			if (uploads->items[i].puts[j])
				cancel_set_deadline(&uploads->items[i].puts[j]->cancel,
						    deadline_ms);
}
