#include "upload_queue.h"

#include "base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

void uploads_init(struct uploads *uploads, size_t count, size_t capacity)
{
	*uploads = (struct uploads){.count = count, .capacity = capacity};
	uploads->items = memory_new(count * sizeof(*uploads->items));
}

void uploads_release(struct uploads *uploads)
{
	uploads_trim(uploads);
	free(uploads->items);
	*uploads = (struct uploads){0};
}

/* --- buffers --- */

/* Mapped, not allocated: what is not touched costs nothing, and all of it goes back. */
static int map(const struct uploads *uploads, struct upload *upload, struct err *err)
{
	void *data = mmap(NULL, uploads->capacity, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (data == MAP_FAILED)
		return err_os(err, errno, "buffer of %zu bytes", uploads->capacity);
	/* Best effort: the faults of small pages cost as much as reading the file. */
	madvise(data, uploads->capacity, MADV_HUGEPAGE);
	upload->data = data;
	return 0;
}

int uploads_find_free(struct uploads *uploads, struct upload **found, struct err *err)
{
	*found = NULL;
	for (size_t i = 0; i < uploads->count; i++) {
		struct upload *upload = &uploads->items[i];

		/* Memory that is there already is better than new one. */
		if (upload->state == UPLOAD_FREE && (!*found || upload->data))
			*found = upload;
		if (*found && (*found)->data)
			return 0;
	}
	return *found ? map(uploads, *found, err) : 0;
}

void uploads_empty(struct upload *upload)
{
	free(upload->key);
	*upload = (struct upload){.data = upload->data};
}

void uploads_trim(struct uploads *uploads)
{
	for (size_t i = 0; i < uploads->count; i++) {
		struct upload *upload = &uploads->items[i];

		if (upload->state != UPLOAD_FREE || !upload->data)
			continue;
		munmap(upload->data, uploads->capacity);
		upload->data = NULL;
	}
}

/* --- the queue --- */

void uploads_enqueue(struct uploads *uploads, struct upload *upload)
{
	struct upload **last = &uploads->queue;

	while (*last)
		last = &(*last)->next;
	*last = upload;
	upload->next = NULL;
	upload->queued = true;
}

void uploads_enqueue_first(struct uploads *uploads, struct upload *upload)
{
	upload->next = uploads->queue;
	uploads->queue = upload;
	upload->queued = true;
}

void uploads_dequeue(struct uploads *uploads, struct upload *upload)
{
	struct upload **at = &uploads->queue;

	while (*at && *at != upload)
		at = &(*at)->next;
	if (*at)
		*at = upload->next;
	upload->next = NULL;
	upload->queued = false;
}

unsigned uploads_queued(const struct uploads *uploads)
{
	unsigned count = 0;

	for (const struct upload *upload = uploads->queue; upload; upload = upload->next)
		count++;
	return count;
}

/* --- what is being sent --- */

unsigned upload_sendings(const struct upload *upload)
{
	unsigned count = 0;

	for (size_t i = 0; i < SENDINGS_MOST; i++)
		count += upload->sendings[i] != NULL;
	return count;
}

unsigned uploads_hedged(const struct uploads *uploads)
{
	unsigned count = 0;

	for (size_t i = 0; i < uploads->count; i++)
		count += upload_sendings(&uploads->items[i]) + uploads->items[i].queued > 1;
	return count;
}

void upload_stop(struct upload *upload)
{
	for (size_t i = 0; i < SENDINGS_MOST; i++)
		if (upload->sendings[i])
			cancel_raise(&upload->sendings[i]->cancel);
}

void uploads_set_deadline(struct uploads *uploads, int64_t deadline_ms)
{
	for (size_t i = 0; i < uploads->count; i++)
		for (size_t j = 0; j < SENDINGS_MOST; j++)
			if (uploads->items[i].sendings[j])
				cancel_set_deadline(
					&uploads->items[i].sendings[j]->cancel, deadline_ms);
}
