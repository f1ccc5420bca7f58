/* What the feed's worker has brought: events of the log, and what lies beside it in the store. */
#include "gang_feed_inside.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"

#include <string.h>

/* So often it is asked whether the attempt is over. */
#define ASK_MS 600000
/* Failures in a row, before one is said. */
#define FAILURES_SAID 5

/* Returns what it was told with. */
static uint64_t take_from_outbox(struct gang_feed *feed, const struct gang_event *event)
{
	uint64_t request = feed->outbox[0].request;

	if (feed->outbox_count == 0 || !text_equal(feed->outbox[0].event.nonce, event->nonce))
		return 0;
	memmove(feed->outbox, feed->outbox + 1, --feed->outbox_count * sizeof(feed->outbox[0]));
	return request;
}

/* A job that saves often may have many. */
static void say_left_out(struct gang_feed *feed, const struct gang_event *event)
{
	int64_t now_ms = clock_monotonic_ms();
	char id[SNAPSHOT_ID_TEXT];

	if (!feed->view.round.final && feed->left_out_said_ms > 0 &&
	    now_ms < feed->left_out_said_ms + GANG_SAY_EVERY_MS)
		return;
	feed->left_out_said_ms = now_ms;
	log_note("there will be no snapshot %s: member %u on %s has no part of it: %s",
		 snapshot_id_format((struct snapshot_id){feed->options.attempt, event->round}, id),
		 event->member, event->host, event->reason);
}

/* A member goes alone, and this one goes on, or is it. */
static void note_leaving(struct gang_feed *feed, const struct gang_event *event)
{
	bool own = event->member == feed->here.member;

	if (event->kind == GANG_EVENT_GONE) {
		feed->here.now_ms = clock_monotonic_ms();
		gang_here_note_gone(&feed->here);
	}
	if (event->kind == GANG_EVENT_GONE && !own)
		log_note("member %u on %s has gone: from now on a snapshot is of the %u that are "
			 "left, and of what their jobs save from now on",
			 event->member, event->host, feed->view.members - feed->view.gone_count);
	if (event->kind != GANG_EVENT_LEAVING || feed->view.notice > 0)
		return;
	if (own && feed->here.leaves == 0)
		feed->here.leaves = event->number;
	if (!own)
		log_note("member %u on %s is to be taken away (%s): all are asked to save, and the "
			 "others go on (--on-preemption continue)",
			 event->member, event->host, event->reason);
}

static void note_sign(struct gang_feed *feed, const struct gang_event *event)
{
	int64_t now_ms = clock_monotonic_ms();

	if (event->member != feed->here.member)
		feed->heard_ms = now_ms;
	else if (event->kind == GANG_EVENT_GOES_ON)
		feed->here.goes_on_ms = now_ms;
}

/* What the others are not to wait for until they read the log anyway. */
static bool is_urgent(enum gang_event_kind kind)
{
	return kind != GANG_EVENT_PASSED;
}

/* This member has put the event just now. */
static bool is_put_here(const struct gang_feed *feed)
{
	return feed->work.kind == FEED_APPENDS && feed->work.there;
}

/* No event was left: there was none to read, or the number of the own one was free. */
static void note_read_all(struct gang_feed *feed)
{
	if (feed->work.kind == FEED_APPENDS ? feed->work.there
					    : feed->work.kind == FEED_READS && !feed->work.there)
		feed->read_all_ms = feed->work.begun_ms;
}

int64_t gang_feed_age_ms(const struct gang_feed *feed)
{
	return clock_monotonic_ms() - feed->read_all_ms;
}

static void fold_event(struct gang_feed *feed, const struct gang_event *event)
{
	struct gang_round before = feed->view.round;
	uint64_t request;

	if (!gang_view_fold(&feed->view, event)) {
		log_debug("event %u of the gang makes no sense", event->number);
		return;
	}
	gang_heard_note(&feed->heard, &feed->view, event, clock_monotonic_ms());
	request = take_from_outbox(feed, event);
	if (before.state == GANG_ROUND_OPEN && feed->view.round.state == GANG_ROUND_OVER) {
		feed->here.over_ms = clock_monotonic_ms();
		say_left_out(feed, event);
	}
	if (feed->view.round.number != before.number)
		feed->said_ms = clock_monotonic_ms();
	if (event->kind == GANG_EVENT_ENDED || event->kind == GANG_EVENT_GOES_ON ||
	    event->kind == GANG_EVENT_GONE)
		note_sign(feed, event);
	note_leaving(feed, event);
	if (is_put_here(feed) && is_urgent(event->kind))
		gang_poke_all(feed->options.poke);
	gang_feed_note_settled(feed);
	feed->pause_ms = GANG_PAUSE_FIRST_MS;
	feed->options.happened(feed->options.arg, event, request);
}

static void say_who_is_missing(const struct gang_feed *feed)
{
	const char *host =
		json_string_value(json_array_get(feed->options.hosts, feed->work.missing));
	char id[SNAPSHOT_ID_TEXT];

	if (feed->work.missing >= feed->view.members)
		return;
	log_note("the snapshot %s waits for the part of member %u%s%s: %u of %u are there",
		 snapshot_id_format((struct snapshot_id){feed->options.attempt, feed->work.round},
				    id),
		 feed->work.missing, host && *host ? " on " : "", host ? host : "", feed->work.have,
		 feed->work.wanted);
}

static void note_failure(struct gang_feed *feed)
{
	const struct err *err = &feed->work.err;
	bool said = ++feed->failures == FAILURES_SAID || err->kind == ERR_VERSION;

	if (said)
		log_warn("the log of the gang cannot be used: %s", err->text);
	else
		log_debug("the log of the gang: %s", err->text);
}

/* Two in a row say that it saves none; one that it has is not replaced by one that has none. */
static void note_recalled(struct gang_feed *feed)
{
	struct gang_here *here = &feed->here;

	feed->recalled = true;
	here->holds_start = !snapshot_id_is_none(feed->options.from) && feed->work.without == 0;
	if (here->generation > 0)
		return;
	here->empties += feed->work.without;
	here->learned = here->empties >= GANG_EMPTIES_TO_LEARN;
}

/* The log is read without it; but then nothing is known that lets a part be without a checkpoint.
 */
static void give_up_recalling(struct gang_feed *feed)
{
	feed->recalled = true;
	feed->here.holds_start = !snapshot_id_is_none(feed->options.from);
}

/* An event that another has won; or there is none yet. */
static void note_nothing_there(struct gang_feed *feed)
{
	feed->unread = feed->work.kind == FEED_APPENDS || feed->poked;
	if (feed->work.kind == FEED_READS && feed->work.anew)
		gang_here_note_read(&feed->here, &feed->view);
}

/* Something was read, or nothing is there. */
static void note_looked(struct gang_feed *feed)
{
	int64_t now_ms = clock_boot_ms();

	feed->in_doubt |= !feed->view.over && (now_ms > feed->looked_ms + 2 * feed->read_every_ms ||
					       now_ms > feed->asked_ms + ASK_MS);
	feed->looked_ms = now_ms;
}

/* As if the log said it. */
static void note_whether_over(struct gang_feed *feed)
{
	struct gang_event event = {
		.kind = GANG_EVENT_REJOIN,
		.number = feed->view.read + 1,
		.host = "another machine",
	};

	feed->in_doubt = false;
	feed->asked_ms = clock_boot_ms();
	if (feed->work.there && !feed->view.over)
		fold_event(feed, &event);
}

void gang_feed_on_worked(void *arg)
{
	struct gang_feed *feed = arg;

	feed->busy = false;
	if (feed->options.loop->stopped)
		return;
	if (!feed->work.worked) {
		note_failure(feed);
		if (feed->work.kind == FEED_RECALLS && feed->failures >= FAILURES_SAID)
			give_up_recalling(feed);
		feed->unread = false;
		feed->pause_ms = GANG_PAUSE_MOST_MS;
		gang_feed_arm(feed);
		return;
	}
	feed->failures = 0;
	note_read_all(feed);
	if (feed->work.kind == FEED_READS || feed->work.kind == FEED_APPENDS)
		note_looked(feed);
	if (feed->work.kind == FEED_LOOKS_WHETHER_OVER)
		note_whether_over(feed);
	else if (feed->work.kind == FEED_RECALLS)
		note_recalled(feed);
	else if (feed->work.kind == FEED_LOOKS_WHO_IS_MISSING)
		say_who_is_missing(feed);
	else if (feed->work.kind == FEED_LOOKS_FOR_ANSWERS)
		gang_view_answers(&feed->view, feed->work.round, feed->work.answers);
	else if (feed->work.kind == FEED_LOOKS_AFTER_PART)
		gang_feed_note_fate(feed, feed->work.round, feed->work.fate);
	else if (feed->work.kind == FEED_LOOKS_FOR_SHARERS)
		feed->sharers_given = feed->work.there ? feed->work.round : feed->sharers_given;
	else if (feed->work.there)
		fold_event(feed, &feed->work.event);
	else
		note_nothing_there(feed);
	gang_feed_go_on(feed);
}
