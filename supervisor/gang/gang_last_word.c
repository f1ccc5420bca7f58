/*
 * What a member that leaves alone says last, at the end of its process: the others wait for no part
 * of it. Here nothing runs on the loop any more: it reads and appends by itself, and blocks.
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "gang_feed_inside.h"

#define LAST_WORD_MS 3000
#define PAUSE_MS 50

/* Reads the log to its end. */
static int catch_up(struct gang_feed *feed, struct cancel *cancel, struct err *err)
{
	bool there = true;

	while (there) {
		struct gang_event event;

		if (storage_gang_read(feed->options.storage, feed->options.attempt,
				      feed->view.read + 1, &event, &there, cancel, err) < 0)
			return -1;
		if (there && !gang_view_fold(&feed->view, &event))
			return err_set(err, ERR_CORRUPT, "event %u makes no sense", event.number);
	}
	return 0;
}

static int say_last(struct gang_feed *feed, enum gang_event_kind kind, struct cancel *cancel,
		    struct err *err)
{
	struct gang_event event = {
		.kind = kind,
		.round = kind == GANG_EVENT_LEFT_OUT ? feed->view.round.number : 0,
		.step = kind == GANG_EVENT_LEFT_OUT && feed->here.generation ? feed->here.step : -1,
	};
	bool taken;

	gang_feed_complete_event(feed, &event);
	if (kind == GANG_EVENT_LEFT_OUT)
		text_set(event.reason, sizeof(event.reason), "its machine is taken away");
	return storage_gang_append(feed->options.storage, feed->options.attempt, &event, &taken,
				   cancel, err);
}

/* What another one appends at the same time is read first, and may change it. */
static int try_last_word(struct gang_feed *feed, bool *said, struct cancel *cancel, struct err *err)
{
	uint32_t settled = 0;

	for (;;) {
		enum gang_last_word word;
		bool is_void;
		int status = 0;

		if (catch_up(feed, cancel, err) < 0)
			return -1;
		word = gang_leave_last_word(&feed->view, &feed->here, settled);
		*said = feed->view.ends[feed->here.member] == GANG_HAS_GONE;
		switch (word) {
		case GANG_LAST_NOTHING:
			return 0;
		case GANG_LAST_VOID_PART:
			settled = feed->view.round.number;
			status =
				storage_gang_void_part(feed->options.storage, feed->options.attempt,
						       settled, &is_void, cancel, err);
			if (status == 0 && is_void)
				feed->here.put = 0;
			break;
		case GANG_LAST_LEAVE_OUT:
			status = say_last(feed, GANG_EVENT_LEFT_OUT, cancel, err);
			break;
		case GANG_LAST_SAY_GONE:
			status = say_last(feed, GANG_EVENT_GONE, cancel, err);
			break;
		}
		if (status < 0)
			return -1;
	}
}

void gang_feed_say_last_word(struct gang_feed *feed)
{
	auto_(cancel_release) struct cancel soon = {.fd = -1};
	bool said = false;
	struct err err;

	if (!feed->leaves_alone || !gang_feed_is_running(feed) ||
	    feed->view.ends[feed->here.member] == GANG_HAS_GONE)
		return;
	gang_feed_stop(feed);
	if (cancel_init(&soon, NULL) < 0)
		return;
	cancel_set_deadline(&soon, clock_monotonic_ms() + LAST_WORD_MS);
	while (try_last_word(feed, &said, &soon, &err) < 0)
		if (err.kind != ERR_RETRY || cancel_sleep(&soon, PAUSE_MS, &err) < 0) {
			log_warn("the other members do not know that this one has gone, and save "
				 "nothing until the launcher starts it again: %s",
				 err.text);
			return;
		}
	log_debug("the others %s", said ? "know that this member has gone" : "all end too");
}
