/* What the feed does on its worker thread: one request or two to the store, as `work` says, which
 * is the worker's until the loop has its answer. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "gang_feed_inside.h"

#define REQUEST_MS 10000

/* Whether all that write into the directory of this member have given their part. */
static int look_for_sharers(struct gang_feed *feed, struct err *err)
{
	const struct gang_feed_options *options = &feed->options;
	uint32_t members = options->identity.members;
	auto_free bool *given = memory_new(members * sizeof(*given));

	if (storage_gang_given(options->storage, options->attempt, feed->work.round,
			       feed->view.members, given, &feed->cancel, err) < 0)
		return -1;
	feed->work.there = true;
	for (uint32_t i = 0; i < members; i++)
		feed->work.there &=
			given[i] || !options->sharers[i] || gang_view_does_without(&feed->view, i);
	return 0;
}

/* Who had gone when the newest round was opened; the caller frees it. */
static bool *list_gone(const struct gang_view *view)
{
	bool *gone = memory_new(view->members * sizeof(*gone));

	for (uint32_t i = 0; i < view->members; i++)
		gone[i] = gang_view_does_without(view, i);
	return gone;
}

static int look_who_is_missing(struct gang_feed *feed, struct err *err)
{
	auto_free bool *gone = list_gone(&feed->view);

	feed->work.wanted = 0;
	for (uint32_t i = 0; i < feed->view.members; i++)
		feed->work.wanted += !gone[i];
	return storage_gang_missing(feed->options.storage, feed->options.attempt, feed->work.round,
				    gone, &feed->work.have, &feed->work.missing, &feed->cancel,
				    err);
}

static int look_after_part(struct gang_feed *feed, struct err *err)
{
	auto_free bool *gone = list_gone(&feed->view);
	struct snapshot_id id = {feed->options.attempt, feed->work.round};

	return storage_gang_look_after_part(feed->options.storage, id, gone, feed->view.round.gone,
					    &feed->work.fate, &feed->cancel, err);
}

/* Another attempt has been claimed behind it, or so many that its own claim is not kept any more.
 */
static int look_whether_over(struct gang_feed *feed, struct err *err)
{
	const struct gang_feed_options *options = &feed->options;
	bool next = false, own = false;

	if (storage_gang_is_claimed(options->storage, options->attempt + 1, &next, &feed->cancel,
				    err) < 0 ||
	    storage_gang_is_claimed(options->storage, options->attempt, &own, &feed->cancel, err) <
		    0)
		return -1;
	feed->work.there = next || !own;
	return 0;
}

static int do_work(struct gang_feed *feed, struct err *err)
{
	struct storage *storage = feed->options.storage;
	uint32_t attempt = feed->options.attempt;
	struct gang_event *event = &feed->work.event;

	switch (feed->work.kind) {
	case FEED_RECALLS:
		return storage_gang_recall(storage, feed->options.from, GANG_EMPTIES_TO_LEARN,
					   &feed->work.without, &feed->cancel, err);
	case FEED_READS:
		return storage_gang_read(storage, attempt, event->number, event, &feed->work.there,
					 &feed->cancel, err);
	case FEED_APPENDS:
		return storage_gang_append(storage, attempt, event, &feed->work.there,
					   &feed->cancel, err);
	case FEED_LOOKS_WHO_IS_MISSING:
		return look_who_is_missing(feed, err);
	case FEED_LOOKS_FOR_ANSWERS:
		return storage_gang_answers(storage, attempt, feed->work.round, &feed->work.answers,
					    &feed->cancel, err);
	case FEED_LOOKS_FOR_SHARERS:
		return look_for_sharers(feed, err);
	case FEED_LOOKS_WHETHER_OVER:
		return look_whether_over(feed, err);
	case FEED_LOOKS_AFTER_PART:
		return look_after_part(feed, err);
	}
	return 0;
}

void gang_feed_worker(void *arg)
{
	struct gang_feed *feed = arg;

	cancel_set_deadline(&feed->cancel, clock_monotonic_ms() + REQUEST_MS);
	feed->work.there = false;
	feed->work.worked = do_work(feed, &feed->work.err) == 0;
}
