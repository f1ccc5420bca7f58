#include "gang_feed_inside.h"
#include "gang_status.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* Who is missing is said first when a job has ended. */
#define SAY_AT_END_MS 2000

/* --- what follows --- */

void gang_feed_arm(struct gang_feed *feed)
{
	loop_arm(feed->options.loop, &feed->timer, clock_monotonic_ms() + feed->pause_ms);
}

static void start_work(struct gang_feed *feed, enum gang_feed_work kind)
{
	feed->busy = true;
	feed->poked = false;
	feed->work.kind = kind;
	feed->work.begun_ms = clock_monotonic_ms();
	feed->work.anew = feed->here.anew;
	workers_run(feed->workers, gang_feed_worker, gang_feed_on_worked, feed);
}

static void append_event(struct gang_feed *feed, const struct gang_event *event)
{
	feed->work.event = *event;
	gang_feed_complete_event(feed, &feed->work.event);
	start_work(feed, FEED_APPENDS);
}

static struct gang_event event_of(const struct gang_round_decision *decision)
{
	static const enum gang_event_kind kinds[] = {
		[GANG_OPEN] = GANG_EVENT_ROUND,
		[GANG_LEAVE_OUT] = GANG_EVENT_LEFT_OUT,
		[GANG_SAY_PASSED] = GANG_EVENT_PASSED,
		[GANG_SAY_GOES_ON] = GANG_EVENT_GOES_ON,
	};
	enum gang_event_kind kind = kinds[decision->action];
	struct gang_event event = {
		.kind = kind,
		.round = kind == GANG_EVENT_ROUND ? 0 : decision->round,
		.step = decision->step,
		.at_least = decision->at_least,
	};

	if (decision->reason)
		text_set(event.reason, sizeof(event.reason), decision->reason);
	return event;
}

static bool is_telling(const struct gang_feed *feed)
{
	for (size_t i = 0; i < feed->outbox_count; i++)
		if (feed->outbox[i].event.kind == GANG_EVENT_REQUEST ||
		    feed->outbox[i].event.kind == GANG_EVENT_NOTICE ||
		    feed->outbox[i].event.kind == GANG_EVENT_LEAVING)
			return true;
	return false;
}

static bool gives(const struct gang_round_decision *decision)
{
	return decision->action == GANG_TAKE || decision->action == GANG_GIVE_BESIDE;
}

static bool looks_after(const struct gang_round_decision *decision)
{
	return decision->action == GANG_LOOK_AFTER_PART;
}

static bool is_event(const struct gang_round_decision *decision)
{
	return decision->action != GANG_WAIT && !gives(decision) && !looks_after(decision);
}

/* What they write is whole, and all there, once they have given. */
static bool awaits_sharers(const struct gang_feed *feed, const struct gang_round_decision *decision)
{
	return gives(decision) && feed->options.sharers && feed->sharers_given != decision->round;
}

static void tell_answered(struct gang_feed *feed)
{
	uint32_t notice = gang_rounds_notice(&feed->view, &feed->here);
	struct gang_answer answer = gang_answer_of(&feed->view, notice);

	if (answer.event <= feed->answered.event &&
	    answer.notice_is_over == feed->answered.notice_is_over)
		return;
	feed->answered = answer;
	feed->options.answered(feed->options.arg, &answer);
}

/* What the log says is decided upon once all that is said here is in it. */
static void consider_end(struct gang_feed *feed)
{
	uint32_t asked = feed->here.stopping ? feed->view.asked : 0;
	struct gang_event event = {.kind = GANG_EVENT_ENDED, .code = feed->here.code};
	struct gang_event gone = {.kind = GANG_EVENT_GONE};
	struct gang_end_decision decision;

	if (feed->left || feed->outbox_count > 0)
		return;
	decision = gang_leave_decide(&feed->view, &feed->here, asked);
	event.more = decision.more;
	if (decision.action == GANG_SAY_ENDED)
		gang_feed_tell(feed, &event, 0);
	if (decision.action == GANG_SAY_GONE)
		gang_feed_tell(feed, &gone, 0);
	feed->left = decision.action == GANG_LEAVE;
	if (feed->left)
		feed->options.left(feed->options.arg, decision.lost);
}

static void look_here(struct gang_feed *feed)
{
	struct gang_here *here = &feed->here;
	bool wanted = here->wants, had_ended = here->ended;

	here->now_ms = clock_monotonic_ms();
	here->telling = is_telling(feed);
	feed->options.look(feed->options.arg, here);
	if (here->wants && !wanted)
		here->wanted_ms = here->now_ms;
	if (here->ended && !had_ended) {
		here->ended_ms = here->now_ms;
		here->ended_in = feed->view.round.number;
	}
	tell_answered(feed);
	consider_end(feed);
}

static struct gang_round_decision decide(struct gang_feed *feed)
{
	struct gang_round_decision decision;

	look_here(feed);
	decision = gang_rounds_decide(&feed->view, &feed->here);
	/* What the final round takes of a member depends on it. */
	if (!feed->recalled && feed->view.round.final)
		decision = (struct gang_round_decision){.action = GANG_WAIT, .again_ms = INT64_MAX};
	if (gives(&decision) && !awaits_sharers(feed, &decision))
		feed->options.give(feed->options.arg, &decision);
	return decision;
}

static bool is_awaiting(const struct gang_feed *feed)
{
	return gang_view_is_open(&feed->view) || feed->here.wants || feed->here.urgent ||
	       feed->here.ended || feed->outbox_count > 0 || gang_view_wants_answers(&feed->view);
}

static bool must_say(const struct gang_feed *feed)
{
	const struct gang_here *here = &feed->here;
	int64_t every_ms = here->ended && feed->said_ms < here->ended_ms + SAY_AT_END_MS
				   ? SAY_AT_END_MS
				   : GANG_SAY_EVERY_MS;

	return gang_view_is_open(&feed->view) && here->given == feed->view.round.number &&
	       here->now_ms >= feed->said_ms + every_ms;
}

static void pause_feed(struct gang_feed *feed, int64_t again_ms)
{
	int64_t most_ms = is_awaiting(feed) ? GANG_PAUSE_MOST_MS : feed->read_every_ms;
	int64_t left_ms = again_ms == INT64_MAX ? most_ms : again_ms - feed->here.now_ms;

	if (!is_awaiting(feed))
		feed->pause_ms = most_ms;
	if (left_ms < feed->pause_ms)
		feed->pause_ms = left_ms > GANG_PAUSE_FIRST_MS ? left_ms : GANG_PAUSE_FIRST_MS;
	gang_feed_arm(feed);
	feed->pause_ms = 2 * feed->pause_ms < most_ms ? 2 * feed->pause_ms : most_ms;
}

void gang_feed_go_on(struct gang_feed *feed)
{
	struct gang_round_decision decision = decide(feed);
	struct gang_event event;

	if (feed->busy)
		return;
	if (!feed->recalled) {
		start_work(feed, FEED_RECALLS);
	} else if (feed->unread) {
		feed->work.event = (struct gang_event){.number = feed->view.read + 1};
		start_work(feed, FEED_READS);
	} else if (feed->in_doubt) {
		start_work(feed, FEED_LOOKS_WHETHER_OVER);
		/* Before this member says that it has ended. */
	} else if (is_event(&decision)) {
		event = event_of(&decision);
		append_event(feed, &event);
	} else if (feed->outbox_count > 0) {
		append_event(feed, &feed->outbox[0].event);
	} else if (gang_view_wants_answers(&feed->view)) {
		feed->work.round = feed->view.committed;
		start_work(feed, FEED_LOOKS_FOR_ANSWERS);
	} else if (feed->look_due && (awaits_sharers(feed, &decision) || looks_after(&decision))) {
		feed->look_due = false;
		feed->work.round = decision.round;
		start_work(feed,
			   looks_after(&decision) ? FEED_LOOKS_AFTER_PART : FEED_LOOKS_FOR_SHARERS);
	} else if (must_say(feed)) {
		feed->said_ms = feed->here.now_ms;
		feed->work.round = feed->view.round.number;
		start_work(feed, FEED_LOOKS_WHO_IS_MISSING);
	} else {
		pause_feed(feed, decision.action == GANG_WAIT ? decision.again_ms : INT64_MAX);
	}
}

static void on_feed_due(struct timer *timer)
{
	struct gang_feed *feed = container_of(timer, struct gang_feed, timer);

	feed->unread = feed->look_due = true;
	gang_feed_go_on(feed);
}

/* The pauses stay as they are: who forges these makes nobody read more than once for each. */
static void on_poked(void *arg)
{
	struct gang_feed *feed = arg;

	feed->poked = true;
	feed->unread = true;
	gang_feed_go_on(feed);
}

/* --- for the others --- */

void gang_feed_wake(struct gang_feed *feed)
{
	if (!gang_feed_is_running(feed) || feed->options.loop->stopped)
		return;
	feed->pause_ms = GANG_PAUSE_FIRST_MS;
	feed->unread = true;
	/* What is due already is due before this. */
	loop_arm(feed->options.loop, &feed->timer, clock_monotonic_ms());
}

void gang_feed_leave(struct gang_feed *feed)
{
	feed->here.leaving = true;
	gang_feed_wake(feed);
}

void gang_feed_note_complete(struct gang_feed *feed, uint64_t generation, int64_t step,
			     int64_t begun_ms)
{
	if (!gang_feed_is_running(feed))
		return;
	if (feed->here.learned)
		log_note("this member saves checkpoints after all: from now on each snapshot waits "
			 "for its part");
	feed->here.now_ms = clock_monotonic_ms();
	gang_here_note_complete(&feed->here, &feed->view, generation, step, begun_ms);
	gang_feed_wake(feed);
}

void gang_feed_note_anew(struct gang_feed *feed)
{
	gang_here_note_anew(&feed->here, &feed->view);
	gang_feed_wake(feed);
}

void gang_feed_tell(struct gang_feed *feed, const struct gang_event *event, uint64_t request)
{
	struct gang_told_event *own = &feed->outbox[feed->outbox_count];

	if (!gang_feed_is_running(feed) || feed->outbox_count == GANG_OUTBOX_MOST)
		return;
	*own = (struct gang_told_event){*event, request};
	random_hex(own->event.nonce);
	feed->outbox_count++;
	gang_feed_wake(feed);
}

void gang_feed_tell_notice(struct gang_feed *feed, struct gang_event *event)
{
	if (feed->leaves_alone)
		return;
	feed->leaves_alone = feed->options.identity.goes_on && !feed->options.sharers &&
			     !feed->here.ended && gang_feed_is_running(feed);
	if (feed->options.identity.goes_on && feed->options.sharers)
		log_note("other members have the checkpoint directory of this one, which it saves "
			 "for all of them: all members end, as with --on-preemption stop");
	if (feed->leaves_alone)
		event->kind = GANG_EVENT_LEAVING;
	gang_feed_tell(feed, event, 0);
}

json_t *gang_feed_status(const struct gang_feed *feed)
{
	return gang_status_json(&feed->view, &feed->here, &feed->heard, clock_monotonic_ms(),
				feed->options.attempt, feed->options.hosts);
}

void gang_feed_complete_event(const struct gang_feed *feed, struct gang_event *event)
{
	bool names_gone = event->kind == GANG_EVENT_ROUND || event->kind == GANG_EVENT_ENDED ||
			  event->kind == GANG_EVENT_GONE;

	event->number = feed->view.read + 1;
	event->member = feed->here.member;
	event->gone = names_gone ? feed->view.gone : 0;
	if (event->kind != GANG_EVENT_GONE)
		return;
	event->saves = feed->here.begun || feed->here.holds_start || !feed->recalled;
	event->step = event->saves ? feed->here.begun_step : 0;
}

/* For tests, which show by a long one that something else has led to a reading. */
static int64_t read_every_ms(void)
{
	const char *value = getenv("REPRIEVE_GANG_READ_EVERY");
	int64_t every_ms;

	return value && text_to_duration_ms(value, &every_ms) && every_ms > 0
		       ? every_ms
		       : GANG_READ_EVERY_MS;
}

int gang_feed_start(struct gang_feed *feed, const struct gang_feed_options *options,
		    struct err *err)
{
	struct err own;

	fault_point("before_gang_feed");
	feed->options = *options;
	feed->view = gang_view_new(options->identity.members);
	feed->here = gang_here_new(options->identity.member);
	feed->heard = gang_heard_new(options->identity.members, clock_monotonic_ms());
	feed->timer.fired = on_feed_due;
	feed->pause_ms = GANG_PAUSE_FIRST_MS;
	feed->read_every_ms = read_every_ms();
	feed->looked_ms = feed->asked_ms = clock_boot_ms();
	/* It may have stood still since the start made sure of that. */
	feed->in_doubt = true;
	/* The start has read all of the log; since then it may have swept. */
	feed->read_all_ms = clock_monotonic_ms() - GANG_READ_EVERY_MS;
	if (cancel_init(&feed->cancel, err) < 0)
		return -1;
	if (workers_new(options->loop, 1, &feed->workers, err) < 0) {
		cancel_release(&feed->cancel);
		return -1;
	}
	if (gang_poke_listen(options->poke, options->loop, on_poked, feed, &own) < 0)
		log_debug("the other members are not heard at once: %s", own.text);
	gang_feed_wake(feed);
	return 0;
}

void gang_feed_stop(struct gang_feed *feed)
{
	if (!feed->workers)
		return;
	gang_poke_stop(feed->options.poke);
	loop_disarm(feed->options.loop, &feed->timer);
	cancel_raise(&feed->cancel);
	workers_free(feed->workers);
	feed->workers = NULL;
	cancel_release(&feed->cancel);
}

void gang_feed_release(struct gang_feed *feed)
{
	gang_feed_stop(feed);
	gang_view_release(&feed->view);
	gang_heard_release(&feed->heard);
}
