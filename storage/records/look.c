#include "look.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/workers.h"
#include "job_records.h"
#include "storage_handle.h"

#include <stdlib.h>
#include <string.h>

#define LOOK_MS 5000
#define THREADS_MOST 32
/* A longer one is read when it is needed. */
#define RECORD_MOST ((size_t)1 << 20)

struct look_answer {
	char *key;
	pthread_t by;
	bool is_asked;    /* the answer is on its way, to threads of look_ask() */
	int64_t until_ms; /* 0: it is not there yet */
	unsigned uses;
	int result;
	struct err err;
	struct store_listing listing;
	struct bytes record;
};

static void answer_free(struct look_answer *answer)
{
	free(answer->key);
	store_listing_release(&answer->listing);
	bytes_release(&answer->record);
	free(answer);
}

static bool is_manifest(const char *key)
{
	return text_ends(key, ".json") && strstr(key, "/snapshots/");
}

/* Of this thread: those that serve no more; `ended`: also what can change. */
static void drop_answers(struct look *look, bool ended)
{
	int64_t now_ms = clock_monotonic_ms();
	size_t kept = 0;

	pthread_mutex_lock(&look->mutex);
	for (size_t i = 0; i < look->count; i++) {
		struct look_answer *answer = look->answers[i];

		if (pthread_equal(answer->by, pthread_self()) && !answer->is_asked &&
		    (answer->uses == 0 || (answer->until_ms > 0 && answer->until_ms <= now_ms) ||
		     (ended && !is_manifest(answer->key))))
			answer_free(answer);
		else
			look->answers[kept++] = answer;
	}
	look->count = kept;
	pthread_mutex_unlock(&look->mutex);
}

/* NULL: there is none of this thread. */
static struct look_answer *find_answer(struct look *look, const char *key)
{
	struct look_answer *found = NULL;

	pthread_mutex_lock(&look->mutex);
	for (size_t i = 0; i < look->count && !found; i++)
		if (pthread_equal(look->answers[i]->by, pthread_self()) &&
		    text_equal(look->answers[i]->key, key))
			found = look->answers[i];
	pthread_mutex_unlock(&look->mutex);
	return found;
}

void look_want(struct storage *storage, char *key)
{
	struct look *look = &storage->look;
	struct look_answer *answer;

	drop_answers(look, false);
	if (find_answer(look, key)) {
		free(key);
		return;
	}
	answer = memory_new(sizeof(*answer));
	*answer = (struct look_answer){
		.key = key,
		.by = pthread_self(),
		.uses = 1,
		.record.limit = RECORD_MOST,
	};
	pthread_mutex_lock(&look->mutex);
	look->answers = memory_grow(look->answers, look->count + 1, sizeof(struct look_answer *));
	look->answers[look->count++] = answer;
	pthread_mutex_unlock(&look->mutex);
}

struct asking {
	struct store *store;
	struct look_answer **wanted;
	size_t count;
	void (*work)(void *arg);
	void *arg;
	struct cancel *cancel;
	size_t threads; /* that ask */
};

static void ask_for(struct store *store, struct look_answer *answer, struct cancel *cancel)
{
	struct err *err = &answer->err;

	answer->result = text_ends(answer->key, ".json")
				 ? store->ops->get(store, answer->key, 0, STORE_TO_END,
						   &answer->record, cancel, err)
				 : store->ops->list(store, answer->key, STORE_ALL, &answer->listing,
						    cancel, err);
	if (!answer->record.overflowed && err->kind != ERR_CANCELLED)
		answer->until_ms = clock_monotonic_ms() + LOOK_MS;
}

/* Without work, the first thread asks as well. */
static void ask_worker(void *arg, size_t index)
{
	struct asking *asking = arg;

	if (asking->work && index-- == 0)
		asking->work(asking->arg);
	else
		for (size_t i = index; i < asking->count; i += asking->threads)
			ask_for(asking->store, asking->wanted[i], asking->cancel);
}

void look_ask(struct storage *storage, void (*work)(void *arg), void *arg, struct cancel *cancel)
{
	struct look *look = &storage->look;
	auto_free struct look_answer **wanted = NULL;
	struct asking asking = {
		.store = storage->transfer.store,
		.work = work,
		.arg = arg,
		.cancel = cancel,
	};

	pthread_mutex_lock(&look->mutex);
	asking.wanted = wanted = memory_new((look->count + 1) * sizeof(struct look_answer *));
	for (size_t i = 0; i < look->count; i++)
		if (pthread_equal(look->answers[i]->by, pthread_self()) &&
		    look->answers[i]->until_ms == 0 && !look->answers[i]->is_asked)
			wanted[asking.count++] = look->answers[i];
	for (size_t i = 0; i < asking.count; i++)
		wanted[i]->is_asked = true;
	pthread_mutex_unlock(&look->mutex);
	asking.threads = asking.count < THREADS_MOST ? asking.count : THREADS_MOST;
	if (asking.threads + (work != NULL) > 0)
		parallel_run(asking.threads + (work != NULL), ask_worker, &asking);
	for (size_t i = 0; i < asking.count; i++) {
		wanted[i]->is_asked = false;
		wanted[i]->uses = wanted[i]->until_ms > 0;
	}
}

void look_end(struct storage *storage)
{
	drop_answers(&storage->look, true);
}

void look_keep(struct storage *storage)
{
	struct look *look = &storage->look;

	pthread_mutex_lock(&look->mutex);
	for (size_t i = 0; i < look->count; i++)
		if (pthread_equal(look->answers[i]->by, pthread_self()))
			look->answers[i]->uses++;
	pthread_mutex_unlock(&look->mutex);
}

/* NULL: it is to be read. */
static struct look_answer *use_answer(struct look *look, const char *key)
{
	struct look_answer *answer;

	drop_answers(look, false);
	answer = find_answer(look, key);
	if (!answer || answer->until_ms == 0 || answer->is_asked)
		return NULL;
	answer->uses--;
	return answer;
}

static int refuse(const struct look_answer *answer, struct err *err)
{
	if (err)
		*err = answer->err;
	return -1;
}

int look_list(struct storage *storage, const char *prefix, struct store_listing *listing,
	      struct cancel *cancel, struct err *err)
{
	struct store *store = storage->transfer.store;
	const struct look_answer *answer = use_answer(&storage->look, prefix);

	if (!answer)
		return store->ops->list(store, prefix, STORE_ALL, listing, cancel, err);
	if (answer->result < 0)
		return refuse(answer, err);
	for (size_t i = 0; i < answer->listing.count; i++)
		store_listing_add_dated(listing, answer->listing.items[i].key,
					answer->listing.items[i].size,
					answer->listing.items[i].modified_ms);
	return 0;
}

int look_record(struct storage *storage, const char *key, enum record_kind kind, json_t **body,
		struct cancel *cancel, struct err *err)
{
	struct look_answer *answer = use_answer(&storage->look, key);

	if (answer && answer->result < 0)
		return refuse(answer, err);
	/* What is damaged may have been so on the way. */
	if (!answer ||
	    record_decode(kind, answer->record.data, answer->record.size, body, NULL) < 0)
		return job_record_get(storage->transfer.store, key, kind, body, cancel, err);
	answer->uses += kind == RECORD_SNAPSHOT;
	return 0;
}

void look_release(struct look *look)
{
	for (size_t i = 0; i < look->count; i++)
		answer_free(look->answers[i]);
	free(look->answers);
	pthread_mutex_destroy(&look->mutex);
}
