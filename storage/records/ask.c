#include "ask.h"

#include "base/workers.h"
#include "storage_handle.h"

#define THREADS_MOST 32
/* of a local disk: it answers so many before a thread is there */
#define IN_TURN_MOST 8

struct asking {
	struct storage *storage;
	const struct question *questions;
	struct cancel *cancel;
};

static int ask_one(void *arg, size_t at, struct err *err)
{
	const struct asking *asking = arg;
	const struct question *question = &asking->questions[at];

	return question->ask(asking->storage, question->about, question->answer, asking->cancel,
			     err);
}

int ask_at_once(struct storage *storage, const struct question *questions, size_t count,
		struct cancel *cancel, struct err *err)
{
	bool in_turn = storage && storage->answers_at_once && count <= IN_TURN_MOST;
	struct asking asking = {storage, questions, cancel};

	return parallel_each(count, in_turn ? 1 : THREADS_MOST, ask_one, &asking, err);
}
