/* Apart from workers.c, so that a test that has parallel_run() do the work in turn has this do so
 * too. */
#include "base/workers.h"

#include <stdatomic.h>
#include <stdbool.h>

struct parallel_items {
	int (*work)(void *arg, size_t at, struct err *err);
	void *arg;
	size_t count;
	atomic_size_t next;
	pthread_mutex_t mutex;
	/* under mutex */
	bool failed;
	struct err err;
};

static void items_main(void *arg, size_t index)
{
	struct parallel_items *items = arg;
	size_t at;

	(void)index;
	while ((at = atomic_fetch_add(&items->next, 1)) < items->count) {
		struct err err = {0};

		if (items->work(items->arg, at, &err) == 0)
			continue;
		atomic_store(&items->next, items->count);
		pthread_mutex_lock(&items->mutex);
		if (!items->failed)
			items->err = err;
		items->failed = true;
		pthread_mutex_unlock(&items->mutex);
	}
}

int parallel_each(size_t count, size_t threads_most,
		  int (*work)(void *arg, size_t at, struct err *err), void *arg, struct err *err)
{
	struct parallel_items items = {.work = work, .arg = arg, .count = count};

	pthread_mutex_init(&items.mutex, NULL);
	if (count > 0)
		parallel_run(count < threads_most ? count : threads_most, items_main, &items);
	pthread_mutex_destroy(&items.mutex);
	return items.failed ? err_pass(err, &items.err) : 0;
}
