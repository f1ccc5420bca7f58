#include "gang.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

/* Between two readings of the log. */
#define GANG_PAUSE_FIRST_MS 50
#define GANG_PAUSE_MOST_MS 2000
/* Who is missing is said so often; and what comes again and again. */
#define GANG_SAY_EVERY_MS 60000

static void gang_feed_go_on(struct gang_feed *feed);

/* It looks again after `pause_ms`. */
static void gang_feed_arm(struct gang_feed *feed)
{
	loop_arm(feed->options.loop, &feed->timer, clock_monotonic_ms() + feed->pause_ms);
}

/* Fills in what an event of this member has as the next one of the log. */
static void gang_feed_complete_event(const struct gang_feed *feed, struct gang_event *event)
{
	event->number = feed->view.read + 1;
	event->member = feed->here.member;
	if (event->kind != GANG_EVENT_GONE)
		return;
	event->saves = feed->here.begun || feed->here.holds_start;
	event->step = event->saves ? feed->here.begun_step : 0;
}

/* --- on the worker thread: one request or two to the store, as `work` says, which is the worker's
 * until the loop has its answer --- */

#define REQUEST_MS 10000

/* Who has given its part, of those that had not gone; and whether all have that write into the
 * directory of this member. */
static int list_parts(struct gang_feed *feed, struct err *err)
{
	const struct gang_feed_options *options = &feed->options;
	uint32_t members = feed->view.members;
	auto_free bool *given = memory_new(members * sizeof(*given));

	if (storage_gang_given(options->storage, options->attempt, feed->work.round, members, given,
			       &feed->cancel, err) < 0)
		return -1;
	feed->work.there = true;
	feed->work.have = feed->work.wanted = 0;
	feed->work.missing = members;
	for (uint32_t i = members; i-- > 0;) {
		if (gang_view_does_without(&feed->view, i))
			continue;
		feed->work.wanted++;
		feed->work.have += given[i];
		feed->work.missing = given[i] ? feed->work.missing : i;
		feed->work.there &= given[i] || !options->sharers || !options->sharers[i];
	}
	return 0;
}

static int look_after_part(struct gang_feed *feed, uint32_t round, struct cancel *cancel,
			   struct err *err)
{
	struct snapshot_id id = {feed->options.attempt, round};

	return storage_gang_look_after_part(feed->options.storage, id, &feed->work.fate, cancel,
					    err);
}

static int mark_gone(struct gang_feed *feed, struct err *err)
{
	struct snapshot_id id = {feed->options.attempt, feed->work.round};

	for (uint32_t i = 0; i < feed->view.members; i++)
		if (gang_view_does_without(&feed->view, i) &&
		    storage_gang_mark_gone(feed->options.storage, id, i, &feed->cancel, err) < 0)
			return -1;
	return 0;
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
	case FEED_READS:
		return storage_gang_read(storage, attempt, event->number, event, &feed->work.there,
					 &feed->cancel, err);
	case FEED_APPENDS:
		return storage_gang_append(storage, attempt, event, &feed->work.there,
					   &feed->cancel, err);
	case FEED_LISTS_PARTS:
		return list_parts(feed, err);
	case FEED_LOOKS_WHETHER_OVER:
		return look_whether_over(feed, err);
	case FEED_MARKS_GONE:
		return mark_gone(feed, err);
	case FEED_LOOKS_AFTER_PART:
		return look_after_part(feed, feed->work.round, &feed->cancel, err);
	}
	return 0;
}

static void gang_feed_worker(void *arg)
{
	struct gang_feed *feed = arg;

	cancel_set_deadline(&feed->cancel, clock_monotonic_ms() + REQUEST_MS);
	feed->work.there = false;
	feed->work.worked = do_work(feed, &feed->work.err) == 0;
}

/* --- what becomes of the parts that this member gives, and of their rounds --- */

static void gang_feed_note_settled(struct gang_feed *feed)
{
	const struct gang_round *round = &feed->view.round;
	uint32_t settled = round->number > 0 ? round->number - 1 : 0;

	if (feed->view.over)
		settled = UINT32_MAX;
	else if (round->state != GANG_ROUND_OPEN)
		settled = round->number;
	atomic_store(&feed->settled, settled);
}

bool gang_feed_is_settled(const struct gang_feed *feed, uint32_t round)
{
	return round <= atomic_load(&feed->settled);
}

static void note_committed(struct gang_feed *feed)
{
	gang_feed_note_settled(feed);
	feed->heard_ms = clock_monotonic_ms();
}

static void gang_feed_note_fate(struct gang_feed *feed, uint32_t round, enum gang_part_fate fate)
{
	gang_here_note_fate(&feed->here, &feed->view, round, fate);
	if (fate != GANG_FATE_COMMITTED)
		return;
	note_committed(feed);
	feed->options.committed(feed->options.arg, round,
				feed->here.given == round ? feed->here.given_generation : 0);
}

/* Once is no proof: it may have been slower than the one that had gone on. */
static void note_given(struct gang_here *here, uint32_t round)
{
	if (here->given != round)
		return;
	gang_here_note_shared(here, round);
	if (!here->beside && here->given_generation > 0)
		here->durable = here->given_generation;
	here->empties = here->beside ? here->empties + 1 : 0;
	here->learned = here->empties >= GANG_EMPTIES_TO_LEARN;
}

void gang_feed_note_part_ended(struct gang_feed *feed, uint32_t round, bool durable,
			       enum gang_part_fate fate, bool put, const char *why)
{
	struct gang_here *here = &feed->here;

	if (durable) {
		gang_view_committed(&feed->view, round);
		note_given(here, round);
		note_committed(feed);
	} else if (fate == GANG_FATE_UNFIT || (fate == GANG_FATE_VOID && !put)) {
		if (here->given == round && fate == GANG_FATE_VOID)
			gang_here_forget_step(here, here->given_step);
		gang_here_note_fate(here, &feed->view, round, fate);
		text_set(feed->reason, sizeof(feed->reason), why);
		here->unable_reason = feed->reason;
	} else if (here->given == round) {
		here->lies = put && fate != GANG_FATE_OVER;
		here->given = here->lies ? round : 0;
	}
	gang_feed_wake(feed);
}

/* --- what the worker has brought: events of the log, and what lies beside it in the store --- */

/* So often it is asked whether the attempt is over. */
#define ASK_MS 600000
/* Failures in a row, before one is said. */
#define FAILURES_SAID 5
/* Of a member, the newest. */
#define STEPS_SAID 4

/* Returns what it was told with. */
static uint64_t take_from_outbox(struct gang_feed *feed, const struct gang_event *event)
{
	uint64_t request = feed->outbox[0].request;

	if (feed->outbox_count == 0 || !text_equal(feed->outbox[0].event.nonce, event->nonce))
		return 0;
	memmove(feed->outbox, feed->outbox + 1, --feed->outbox_count * sizeof(feed->outbox[0]));
	return request;
}

/* "30, 20, 10", "30, 20, 10, ...", "none". */
static const char *list_steps(const struct gang_steps *steps, char text[80])
{
	size_t length = 0;

	text_set(text, 80, "none");
	for (unsigned i = 0; i < steps->count && i < STEPS_SAID; i++)
		length += (size_t)snprintf(text + length, 80 - length, "%s%lld", i ? ", " : "",
					   (long long)steps->at[i]);
	if (steps->count > STEPS_SAID && length < 75)
		text_set(text + length, 80 - length, ", ...");
	return text;
}

/* A job that saves often may have many. If there is a step that all have, the next round is about
 * that one. */
static void say_left_out(struct gang_feed *feed, const struct gang_event *event)
{
	int64_t now_ms = clock_monotonic_ms();
	char id[SNAPSHOT_ID_TEXT], theirs[80], ours[80];

	if (event->steps.count > 0 && gang_rounds_common_step(&feed->view, &feed->here) >= 0)
		return;
	if (!feed->view.round.final && feed->left_out_said_ms > 0 &&
	    now_ms < feed->left_out_said_ms + GANG_SAY_EVERY_MS)
		return;
	feed->left_out_said_ms = now_ms;
	snapshot_id_format((struct snapshot_id){feed->options.attempt, event->round}, id);
	if (event->steps.count == 0 || event->member == feed->here.member)
		log_note("there will be no snapshot %s: member %u on %s has no part of it: %s", id,
			 event->member, event->host, event->reason);
	else
		log_note("snapshot %s skipped: member %u (%s) has no part: %s; its steps: %s; "
			 "member %u has %s: all must have one step",
			 id, event->member, event->host, event->reason,
			 list_steps(&event->steps, theirs), feed->here.member,
			 list_steps(&feed->here.steps, ours));
}

/* A member goes alone, and this one goes on, or is it. */
static void note_leaving(struct gang_feed *feed, const struct gang_event *event)
{
	bool own = event->member == feed->here.member;

	if (event->kind == GANG_EVENT_GONE && event->saves) {
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

	if (!gang_view_fold(&feed->view, event, clock_monotonic_ms())) {
		log_debug("event %u of the gang makes no sense", event->number);
		return;
	}
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
	gang_feed_note_settled(feed);
	feed->pause_ms = GANG_PAUSE_FIRST_MS;
	feed->options.happened(feed->options.arg, event, request);
}

static void note_parts(struct gang_feed *feed)
{
	const char *host =
		json_string_value(json_array_get(feed->options.hosts, feed->work.missing));
	char id[SNAPSHOT_ID_TEXT];

	if (feed->work.there)
		feed->sharers_given = feed->work.round;
	if (!feed->work.says || feed->work.missing >= feed->view.members)
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

	if (++feed->failures == FAILURES_SAID || err->kind == ERR_VERSION)
		log_warn("the log of the gang cannot be used: %s", err->text);
	else
		log_debug("the log of the gang: %s", err->text);
}

/* Something was read, or nothing is there. */
static void note_looked(struct gang_feed *feed)
{
	int64_t now_ms = clock_boot_ms();

	feed->in_doubt |= !feed->view.over && (now_ms > feed->looked_ms + 2 * GANG_READ_EVERY_MS ||
					       now_ms > feed->asked_ms + ASK_MS);
	feed->looked_ms = now_ms;
}

/* As if the log said it. */
static void note_whether_over(struct gang_feed *feed)
{
	struct gang_event event = {
		.kind = GANG_EVENT_OVER,
		.number = feed->view.read + 1,
		.host = "another machine",
	};

	feed->in_doubt = false;
	feed->asked_ms = clock_boot_ms();
	if (feed->work.there && !feed->view.over)
		fold_event(feed, &event);
}

static void gang_feed_on_worked(void *arg)
{
	struct gang_feed *feed = arg;

	feed->busy = false;
	if (feed->options.loop->stopped)
		return;
	if (!feed->work.worked) {
		note_failure(feed);
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
	else if (feed->work.kind == FEED_LISTS_PARTS)
		note_parts(feed);
	else if (feed->work.kind == FEED_MARKS_GONE)
		feed->marked = feed->work.round;
	else if (feed->work.kind == FEED_LOOKS_AFTER_PART)
		gang_feed_note_fate(feed, feed->work.round, feed->work.fate);
	else if (feed->work.there)
		fold_event(feed, &feed->work.event);
	/* An event that another has won; or there is none yet. */
	else
		feed->unread = feed->work.kind == FEED_APPENDS;
	if (feed->work.kind == FEED_READS && !feed->work.there && feed->work.anew)
		gang_here_note_read(&feed->here, &feed->view);
	gang_feed_go_on(feed);
}

/* Who is missing is said first when a job has ended. */
#define SAY_AT_END_MS 2000

/* --- what follows --- */

static void start_work(struct gang_feed *feed, enum gang_feed_work kind)
{
	feed->busy = true;
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

static struct gang_event event_of(const struct gang_feed *feed,
				  const struct gang_round_decision *decision)
{
	static const enum gang_event_kind kinds[] = {
		[GANG_OPEN] = GANG_EVENT_ROUND,          [GANG_LEAVE_OUT] = GANG_EVENT_LEFT_OUT,
		[GANG_SAY_PASSED] = GANG_EVENT_PASSED,   [GANG_SAY_ANSWERS] = GANG_EVENT_ANSWERS,
		[GANG_SAY_GOES_ON] = GANG_EVENT_GOES_ON,
	};
	enum gang_event_kind kind = kinds[decision->action];
	struct gang_event event = {
		.kind = kind,
		.round = kind == GANG_EVENT_ROUND ? 0 : decision->round,
		.step = decision->step,
		.at_least = decision->at_least,
		.answers = decision->answers,
	};

	if (kind == GANG_EVENT_LEFT_OUT)
		event.steps = feed->here.steps;
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

/* What they write is whole, and all there, once they have given. */
static bool awaits_sharers(const struct gang_feed *feed, const struct gang_round_decision *decision)
{
	return gives(decision) && feed->options.sharers && feed->sharers_given != decision->round;
}

/* The lowest member of the round says in the store who had gone, before it gives its own part. */
static bool must_mark(const struct gang_feed *feed, const struct gang_round_decision *decision)
{
	uint32_t first = 0;

	while (first < feed->view.members && gang_view_does_without(&feed->view, first))
		first++;
	return gives(decision) && feed->view.round.gone > 0 && first == feed->here.member &&
	       feed->marked != decision->round;
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

static void say_silent(const struct gang_feed *feed, uint32_t member)
{
	const char *host = json_string_value(json_array_get(feed->options.hosts, member));

	log_warn("member %u%s%s is lost: it has said nothing since the job failed here, %d s ago; "
		 "start all members again",
		 member, host && *host ? " on " : "", host ? host : "", GANG_SILENT_MS / 1000);
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
	if (feed->left && decision.is_silent)
		say_silent(feed, decision.silent);
	if (feed->left)
		feed->options.left(feed->options.arg, decision.lost, decision.is_silent);
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
	if (gives(&decision) && !awaits_sharers(feed, &decision) && !must_mark(feed, &decision)) {
		feed->options.give(feed->options.arg, &decision);
		/* What it answers is in the log before the commit. */
		if (feed->here.given == decision.round)
			decision = gang_rounds_decide(&feed->view, &feed->here);
	}
	return decision;
}

static bool is_awaiting(const struct gang_feed *feed)
{
	return gang_view_is_open(&feed->view) || feed->here.wants || feed->here.urgent ||
	       feed->here.ended || feed->outbox_count > 0;
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
	int64_t most_ms = is_awaiting(feed) ? GANG_PAUSE_MOST_MS : GANG_READ_EVERY_MS;
	int64_t left_ms = again_ms == INT64_MAX ? most_ms : again_ms - feed->here.now_ms;

	if (!is_awaiting(feed))
		feed->pause_ms = most_ms;
	if (left_ms < feed->pause_ms)
		feed->pause_ms = left_ms > GANG_PAUSE_FIRST_MS ? left_ms : GANG_PAUSE_FIRST_MS;
	gang_feed_arm(feed);
	feed->pause_ms = 2 * feed->pause_ms < most_ms ? 2 * feed->pause_ms : most_ms;
}

static void gang_feed_go_on(struct gang_feed *feed)
{
	struct gang_round_decision decision = decide(feed);
	bool looks_after = decision.action == GANG_LOOK_AFTER_PART;
	bool appends = decision.action != GANG_WAIT && !gives(&decision) && !looks_after;
	struct gang_event event;

	if (feed->busy)
		return;
	if (feed->unread) {
		feed->work.event = (struct gang_event){.number = feed->view.read + 1};
		start_work(feed, FEED_READS);
	} else if (feed->in_doubt) {
		start_work(feed, FEED_LOOKS_WHETHER_OVER);
		/* Before this member says that it has ended. */
	} else if (appends) {
		event = event_of(feed, &decision);
		append_event(feed, &event);
	} else if (feed->outbox_count > 0) {
		append_event(feed, &feed->outbox[0].event);
	} else if (must_mark(feed, &decision)) {
		feed->work.round = decision.round;
		start_work(feed, FEED_MARKS_GONE);
	} else if (feed->look_due && (awaits_sharers(feed, &decision) || looks_after)) {
		feed->look_due = false;
		feed->work.round = decision.round;
		feed->work.says = false;
		start_work(feed, looks_after ? FEED_LOOKS_AFTER_PART : FEED_LISTS_PARTS);
	} else if (must_say(feed)) {
		feed->said_ms = feed->here.now_ms;
		feed->work.round = feed->view.round.number;
		feed->work.says = true;
		start_work(feed, FEED_LISTS_PARTS);
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
		log_note("members share this checkpoint directory: all members end, as with "
			 "--on-preemption stop");
	if (feed->leaves_alone)
		event->kind = GANG_EVENT_LEAVING;
	gang_feed_tell(feed, event, 0);
}

json_t *gang_feed_status(const struct gang_feed *feed)
{
	return gang_status_json(&feed->view, &feed->here, clock_monotonic_ms(),
				feed->options.attempt, feed->options.hosts);
}

int gang_feed_start(struct gang_feed *feed, const struct gang_feed_options *options,
		    struct err *err)
{
	fault_point("before_gang_feed");
	feed->options = *options;
	feed->view = gang_view_new(options->identity.members, clock_monotonic_ms());
	feed->here = gang_here_new(options->identity.member);
	feed->here.holds_start = options->has_start && options->without == 0;
	feed->here.empties = options->without;
	feed->here.learned = options->without >= GANG_EMPTIES_TO_LEARN;
	feed->timer.fired = on_feed_due;
	feed->pause_ms = GANG_PAUSE_FIRST_MS;
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
	gang_feed_wake(feed);
	return 0;
}

static void gang_feed_stop(struct gang_feed *feed)
{
	if (!feed->workers)
		return;
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
}

/*
 * --- the last word ---
 *
 * What a member that leaves alone says last, at the end of its process: the others wait for no part
 * of it. Here nothing runs on the loop any more: it reads and appends by itself, and blocks.
 */

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
		if (there && !gang_view_fold(&feed->view, &event, clock_monotonic_ms()))
			return err_set(err, ERR_CORRUPT, "event %u makes no sense", event.number);
	}
	return 0;
}

void gang_feed_read_rest(struct gang_feed *feed, int64_t until_ms)
{
	struct cancel soon = CANCEL_AT(until_ms);
	struct err err;

	gang_feed_stop(feed);
	if (catch_up(feed, &soon, &err) < 0)
		log_debug("the end of the log is not read: %s", err.text);
}

/* What another one appends at the same time is read first, and may change it. */
static int try_last_word(struct gang_feed *feed, struct cancel *cancel, struct err *err)
{
	const struct gang_view *view = &feed->view;
	struct gang_here *here = &feed->here;
	struct gang_round_decision decision;
	struct gang_event event;
	bool taken;

	here->lies = true;
	for (;;) {
		if (catch_up(feed, cancel, err) < 0)
			return -1;
		if (view->over || (view->notice > 0 && here->leaves == 0) ||
		    view->ends[here->member] == GANG_HAS_GONE)
			return 0;
		here->unable = view->round.number;
		here->unable_reason = "its machine is taken away";
		decision = gang_rounds_decide(view, here);
		if (decision.action == GANG_LOOK_AFTER_PART) {
			if (look_after_part(feed, decision.round, cancel, err) < 0)
				return -1;
			gang_here_note_fate(here, &feed->view, decision.round, feed->work.fate);
			/* The others may commit it. */
			here->lies = false;
			continue;
		}
		event = decision.action == GANG_LEAVE_OUT
				? event_of(feed, &decision)
				: (struct gang_event){.kind = GANG_EVENT_GONE};
		gang_feed_complete_event(feed, &event);
		if (storage_gang_append(feed->options.storage, feed->options.attempt, &event,
					&taken, cancel, err) < 0)
			return -1;
	}
}

void gang_feed_say_last_word(struct gang_feed *feed)
{
	struct cancel soon = CANCEL_AT(clock_monotonic_ms() + LAST_WORD_MS);
	struct err err;

	if (!feed->leaves_alone || feed->view.ends[feed->here.member] == GANG_HAS_GONE)
		return;
	gang_feed_stop(feed);
	while (try_last_word(feed, &soon, &err) < 0)
		if (err.kind != ERR_RETRY || cancel_sleep(&soon, PAUSE_MS, &err) < 0) {
			log_warn("the other members do not know that this one has gone, and save "
				 "nothing until the launcher starts it again: %s",
				 err.text);
			return;
		}
}
