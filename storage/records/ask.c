#include "ask.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "base/workers.h"
#include "storage_handle.h"

#include <stdatomic.h>

#define THREADS_MOST 32
/* of a local disk: it answers so many before a thread is there */
#define IN_TURN_MOST 8

struct asking {
	struct storage *storage;
	const struct question *questions;
	size_t count, threads;
	struct cancel *cancel;
	struct err *errs; /* per question */
	atomic_bool failed;
};

static void ask_worker(void *arg, size_t index)
{
	struct asking *asking = arg;

	for (size_t i = index; i < asking->count && !atomic_load(&asking->failed);
	     i += asking->threads) {
		const struct question *question = &asking->questions[i];
		struct err own = {0};

		if (question->ask(asking->storage, question->about, question->answer,
				  asking->cancel, &own) == 0)
			continue;
		asking->errs[i] = own;
		atomic_store(&asking->failed, true);
	}
}

int ask_at_once(struct storage *storage, const struct question *questions, size_t count,
		struct cancel *cancel, struct err *err)
{
	bool in_turn = storage && storage->answers_at_once && count <= IN_TURN_MOST;
	auto_free struct err *errs = memory_new((count + 1) * sizeof(*errs));
	struct asking asking = {
		.storage = storage,
		.questions = questions,
		.count = count,
		.threads = in_turn                ? 1
			   : count < THREADS_MOST ? count
						  : THREADS_MOST,
		.cancel = cancel,
		.errs = errs,
	};
	size_t first = 0;

	if (count > 0)
		parallel_run(asking.threads, ask_worker, &asking);
	if (!asking.failed)
		return 0;
	while (errs[first].kind == 0 && first + 1 < count)
		first++;
	return err_pass(err, &errs[first]);
}
