#include "upload_queue.h"

#include "base/text.h"
#include "pack_uploader.h"
#include "storage/format/format.h"

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
		munmap(upload->data - SHIFT, SHIFT + uploads->capacity);
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
