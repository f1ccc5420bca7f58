#include "reading_order.h"

#include "base/text.h"

#include <stdlib.h>

void reading_order_init(struct reading_order *order, size_t files)
{
	*order = (struct reading_order){0};
	order->files = memory_new((files + 1) * sizeof(*order->files));
	order->again = memory_new((files + 1) * sizeof(*order->again));
}

void reading_order_release(struct reading_order *order)
{
	free(order->files);
	free(order->again);
	*order = (struct reading_order){0};
}

void reading_order_add(struct reading_order *order, size_t first, size_t end, size_t sent_early)
{
	order->files[order->count++] = (struct reading_order_file){
		.next = first,
		.end = end,
		.sent_early = sent_early > first && sent_early <= end ? sent_early : first,
	};
}

static size_t size_of(const struct reading_order_file *file)
{
	return file->end - file->next;
}

/* How many of its chunks come in the first round. */
static size_t unsent_of(const struct reading_order_file *file)
{
	return file->end - file->sent_early;
}

bool reading_order_next(struct reading_order *order, size_t *found)
{
	for (int round = 0; round < 2; round++) {
		for (; order->current < order->count; order->current++) {
			const struct reading_order_file *file = &order->files[order->current];

			*found = order->current;
			if (file->taken < (order->rest ? size_of(file) : unsent_of(file)))
				return true;
		}
		if (order->rest)
			break;
		order->rest = true;
		order->current = 0;
	}
	if (order->again_count == 0)
		return false;
	*found = order->current = order->again[--order->again_count];
	order->files[*found].waiting = false;
	/* A file may be read again more than once, but nothing else is left. */
	return order->files[*found].taken < size_of(&order->files[*found]) ||
	       reading_order_next(order, found);
}

size_t reading_order_take(struct reading_order *order, size_t number)
{
	struct reading_order_file *file = &order->files[number];
	size_t turn = file->sent_early - file->next + file->taken++;

	return file->next + turn % size_of(file);
}

void reading_order_skip(struct reading_order *order, size_t number)
{
	order->files[number].taken = size_of(&order->files[number]);
}

void reading_order_again(struct reading_order *order, size_t number)
{
	struct reading_order_file *file = &order->files[number];

	file->taken = 0;
	if (!file->waiting)
		order->again[order->again_count++] = number;
	file->waiting = true;
}
