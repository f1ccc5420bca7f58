/* What a member does about the rounds of its gang. */
#include "gang/gang_rounds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define NOW 100000
#define LOG_MOST 6

/* Kinds, short. */
#define ROUND(by, at)                                                  \
	{                                                              \
		.kind = GANG_EVENT_ROUND, .member = (by), .step = (at) \
	}
#define AHEAD(by, at)                                                                    \
	{                                                                                \
		.kind = GANG_EVENT_ROUND, .member = (by), .step = (at), .at_least = true \
	}
#define LEFT_OUT(by, of, at)                                                             \
	{                                                                                \
		.kind = GANG_EVENT_LEFT_OUT, .member = (by), .round = (of), .step = (at) \
	}
#define PASSED(by, of, at)                                                             \
	{                                                                              \
		.kind = GANG_EVENT_PASSED, .member = (by), .round = (of), .step = (at) \
	}
#define ENDED(by, with)                                                  \
	{                                                                \
		.kind = GANG_EVENT_ENDED, .member = (by), .code = (with) \
	}
#define NOTICE(by)                                        \
	{                                                 \
		.kind = GANG_EVENT_NOTICE, .member = (by) \
	}
#define REQUEST(by)                                        \
	{                                                  \
		.kind = GANG_EVENT_REQUEST, .member = (by) \
	}
#define REJOIN(by)                                        \
	{                                                 \
		.kind = GANG_EVENT_REJOIN, .member = (by) \
	}

/* What member 1 of 3 knows. */
struct rounds_row {
	const char *what;
	struct gang_event log[LOG_MOST];
	size_t events;
	uint32_t committed;
	struct gang_here here;
	enum gang_round_action action;
	int64_t step;
	bool at_least;
};

#define NONE .step = -1, .before = -1
#define AT(now, then) .generation = 2, .step = (now), .before = (then), .begun = true
#define GAVE(round) .given = (round), .given_step = 20, .given_generation = 2
#define WANTS .wants = true, .wanted_ms = NOW
#define WANTED .wants = true, .wanted_ms = NOW - GANG_OPEN_PAUSE_MS

// clang-format off
static const struct rounds_row rows[] = {
	{"nothing is known", {{0}}, 0, 0, {NONE}, GANG_WAIT, 0, false},
	{"nothing is to be saved", {{0}}, 0, 0, {AT(20, 10)}, GANG_WAIT, 0, false},
	{"the opener is given time", {{0}}, 0, 0, {AT(20, 10), WANTS}, GANG_WAIT, 0, false},
	{"it took too long", {{0}}, 0, 0, {AT(20, 10), WANTED}, GANG_OPEN, 20, false},
	{"at a notice", {{0}}, 0, 0, {AT(20, 10), WANTS, .urgent = true}, GANG_OPEN, 20, false},
	{"after the job's end", {{0}}, 0, 0, {AT(20, 10), WANTS, .ended = true}, GANG_OPEN, 20, false},
	{"who opened the last one", {ROUND(1, 10)}, 1, 1,
		{AT(20, 10), WANTS, .given = 1}, GANG_OPEN, 20, false},
	{"not before the fate of the last is known", {ROUND(1, 10)}, 1, 0,
		{AT(20, 10), WANTS, .given = 1, .given_step = 20}, GANG_WAIT, 0, false},
	{"one that is left out", {ROUND(1, 10), LEFT_OUT(0, 1, 25)}, 2, 0,
		{AT(20, 10), WANTS, .pace = 4}, GANG_OPEN, 35, true},
	{"twice as far the second time",
		{ROUND(1, 10), LEFT_OUT(0, 1, 25), ROUND(1, 35), LEFT_OUT(0, 3, 25)}, 4, 0,
		{AT(20, 10), WANTS, .pace = 4}, GANG_OPEN, 45, true},
	{"one step at least", {ROUND(1, 10), LEFT_OUT(0, 1, -1)}, 2, 0,
		{AT(20, 10), WANTS}, GANG_OPEN, 21, true},
	{"a job that has ended tries the same", {ROUND(1, 20), LEFT_OUT(0, 1, 25)}, 2, 0,
		{AT(20, 10), WANTS, .ended = true}, GANG_OPEN, 20, false},
	{"so does one that is to end", {ROUND(1, 20), LEFT_OUT(0, 1, 25)}, 2, 0,
		{AT(20, 10), WANTS, .stopping = true}, GANG_OPEN, 20, false},
	{"but not at once", {ROUND(1, 20), LEFT_OUT(0, 1, 25)}, 2, 0,
		{AT(20, 10), WANTS, .ended = true, .over_ms = NOW - 100}, GANG_WAIT, 0, false},
	{"a member has left", {ENDED(2, 1)}, 1, 0, {AT(20, 10), WANTED}, GANG_WAIT, 0, false},
	{"one has ended and stays", {ENDED(2, 0)}, 1, 0, {AT(20, 10), WANTED}, GANG_OPEN, 20, false},
	{"the attempt is over", {REJOIN(2)}, 1, 0, {AT(20, 10), WANTED}, GANG_WAIT, 0, false},

	{"the same step", {ROUND(0, 20)}, 1, 0, {AT(20, 10)}, GANG_TAKE, 0, false},
	{"also if nothing is due here", {ROUND(0, 20)}, 1, 0, {AT(20, 10)}, GANG_TAKE, 0, false},
	{"a later round", {ROUND(0, 20), ROUND(0, 30)}, 2, 0,
		{AT(30, 20), .given = 1}, GANG_TAKE, 0, false},
	{"before it", {ROUND(0, 30)}, 1, 0, {AT(20, 10)}, GANG_WAIT, 0, false},
	{"before it, and no more comes", {ROUND(0, 30)}, 1, 0,
		{AT(20, 10), .ended = true}, GANG_LEAVE_OUT, 20, false},
	{"past it", {ROUND(0, 15)}, 1, 0, {AT(20, 10)}, GANG_LEAVE_OUT, 20, false},
	{"the first from there on", {AHEAD(0, 15)}, 1, 0, {AT(20, 10)}, GANG_TAKE, 0, false},
	{"exactly there", {AHEAD(0, 20)}, 1, 0, {AT(20, 10)}, GANG_TAKE, 0, false},
	{"the second from there on", {AHEAD(0, 10)}, 1, 0, {AT(20, 10)}, GANG_LEAVE_OUT, 20, false},
	{"not there yet", {AHEAD(0, 21)}, 1, 0, {AT(20, 10)}, GANG_WAIT, 0, false},
	{"not there yet, and it is to end", {AHEAD(0, 21)}, 1, 0,
		{AT(20, 10), .stopping = true}, GANG_LEAVE_OUT, 20, false},
	{"its part could not be made", {ROUND(0, 20)}, 1, 0,
		{AT(20, 10), .unable = 1, .unable_reason = "x"}, GANG_LEAVE_OUT, 20, false},
	{"begun anew", {ROUND(0, 20)}, 1, 0, {AT(20, 10), .fallen = 1}, GANG_LEAVE_OUT, 20, false},
	{"begun anew before", {ROUND(0, 30), ROUND(0, 20)}, 2, 0,
		{AT(20, 10), .fallen = 1}, GANG_TAKE, 0, false},
	{"over already", {ROUND(0, 20), LEFT_OUT(2, 1, 30)}, 2, 0, {AT(20, 10)}, GANG_WAIT, 0, false},
	{"its own without a step", {ROUND(1, -1)}, 1, 0,
		{AT(-1, -1)}, GANG_TAKE, 0, false},
	{"another's without a step", {ROUND(0, -1)}, 1, 0,
		{AT(-1, -1)}, GANG_LEAVE_OUT, -1, false},

	{"it has written nothing yet", {ROUND(0, 20)}, 1, 0, {NONE}, GANG_WAIT, 0, false},
	{"as in the last snapshot", {ROUND(0, 20)}, 1, 0,
		{NONE, .learned = true}, GANG_GIVE_EMPTY, 0, false},
	{"of a step to come, nothing is learned", {AHEAD(0, 20)}, 1, 0,
		{NONE, .learned = true}, GANG_WAIT, 0, false},
	{"but now it writes", {ROUND(0, 20)}, 1, 0,
		{NONE, .learned = true, .begun = true}, GANG_WAIT, 0, false},
	{"another has gone on", {ROUND(0, 20), PASSED(0, 1, 30)}, 2, 0,
		{NONE}, GANG_GIVE_EMPTY, 0, false},
	{"another has gone on, but now it writes", {ROUND(0, 20), PASSED(0, 1, 30)}, 2, 0,
		{NONE, .begun = true}, GANG_WAIT, 0, false},
	{"in another round", {ROUND(0, 20), ROUND(0, 30), PASSED(0, 1, 30)}, 3, 0,
		{NONE}, GANG_WAIT, 0, false},
	{"its job has finished", {ROUND(0, 20)}, 1, 0,
		{NONE, .ended = true, .finished = true}, GANG_GIVE_EMPTY, 0, false},
	{"its job has failed", {ROUND(0, 20)}, 1, 0,
		{NONE, .ended = true}, GANG_LEAVE_OUT, -1, false},
	{"its job was cut while it wrote", {ROUND(0, 20)}, 1, 0,
		{NONE, .ended = true, .finished = true, .begun = true}, GANG_LEAVE_OUT, -1, false},

	{"given", {ROUND(0, 20)}, 1, 0,
		{AT(20, 10), .given = 1, .given_step = 20}, GANG_WAIT, 0, false},
	{"given, and gone on", {ROUND(0, 20)}, 1, 0,
		{AT(30, 20), .given = 1, .given_step = 20}, GANG_SAY_PASSED, 30, false},
	{"said already", {ROUND(0, 20), PASSED(2, 1, 30)}, 2, 0,
		{AT(30, 20), .given = 1, .given_step = 20}, GANG_WAIT, 0, false},
	{"an empty part passes nothing", {ROUND(0, 20)}, 1, 0,
		{AT(30, 20), .given = 1, .given_step = -1, .empty = true}, GANG_WAIT, 0, false},
	{"without a step, one more file is not the next one", {ROUND(1, -1)}, 1, 0,
		{AT(-1, -1), .given = 1, .given_step = -1, .given_generation = 1}, GANG_WAIT, 0, false},

	{"begun anew: what was complete is given no more", {ROUND(0, 20)}, 1, 0,
		{AT(-1, -1), .stale = 2}, GANG_WAIT, 0, false},
	{"begun anew, not even in the end", {ROUND(0, 20)}, 1, 0,
		{AT(-1, -1), .stale = 2, .ended = true}, GANG_LEAVE_OUT, -1, false},
	{"begun anew, and no round is opened for it", {{0}}, 0, 0,
		{AT(-1, -1), .stale = 2, WANTED}, GANG_WAIT, 0, false},
	{"begun anew, and saved", {ROUND(0, 20)}, 1, 0, {AT(20, -1), .stale = 1}, GANG_TAKE, 0, false},
	{"begun anew, and the log is not read yet", {ROUND(0, 20)}, 1, 0,
		{AT(20, -1), .stale = 1, .anew = true}, GANG_WAIT, 0, false},
	{"begun anew, in a round that was open", {ROUND(0, 20)}, 1, 0,
		{AT(-1, -1), .stale = 2, .fallen = 1, .anew = true}, GANG_LEAVE_OUT, -1, false},
	{"begun anew, and its part was given before", {ROUND(0, 20)}, 1, 0,
		{AT(-1, -1), .stale = 2, .fallen = 1, .given = 1, .given_step = 20}, GANG_WAIT, 0, false},
	{"its writer is dead", {ROUND(0, 20)}, 1, 0, {AT(20, 10), .holds = true}, GANG_WAIT, 0, false},
	{"its writer is dead, and none is opened", {{0}}, 0, 0,
		{AT(20, 10), WANTED, .holds = true}, GANG_WAIT, 0, false},
	{"its writer is dead, and so is the job", {ROUND(0, 20)}, 1, 0,
		{AT(20, 10), .holds = true, .ended = true}, GANG_TAKE, 0, false},
	{"what is asked for is told first", {ROUND(0, 20)}, 1, 0,
		{AT(20, 10), .telling = true}, GANG_WAIT, 0, false},
	{"before a round is opened, too", {{0}}, 0, 0,
		{AT(20, 10), WANTED, .telling = true}, GANG_WAIT, 0, false},
	{"but a round is left out", {ROUND(0, 15)}, 1, 0,
		{AT(20, 10), .telling = true}, GANG_LEAVE_OUT, 20, false},
	{"at a notice, no step ahead", {ROUND(1, 20), LEFT_OUT(0, 1, 25), NOTICE(2)}, 3, 0,
		{AT(20, 10), WANTS}, GANG_OPEN, 20, false},
	{"at a notice, its save is under way", {ROUND(0, 30), NOTICE(2)}, 2, 0,
		{AT(20, 10), .stopping = true}, GANG_WAIT, 0, false},
	{"at a notice, it has saved and comes to no later step", {ROUND(0, 30), NOTICE(2)}, 2, 0,
		{AT(20, 10), .stopping = true, .saw = 2}, GANG_LEAVE_OUT, 20, false},
	{"at a notice, it has saved just that", {ROUND(0, 20), NOTICE(2)}, 2, 0,
		{AT(20, 10), .stopping = true, .saw = 2}, GANG_TAKE, 0, false},
};
// clang-format on

static struct gang_view view_of(const struct gang_event *log, size_t events, uint32_t committed)
{
	struct gang_view view = gang_view_new(3);

	for (size_t i = 0; i < events; i++) {
		struct gang_event event = log[i];

		event.number = (uint32_t)i + 1;
		assert_true(gang_view_fold(&view, &event));
	}
	if (committed)
		gang_view_committed(&view, committed);
	return view;
}

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct rounds_row *row = &rows[i];
		auto_(gang_view_release) struct gang_view view =
			view_of(row->log, row->events, row->committed);
		struct gang_here here = row->here;
		struct gang_round_decision decision;

		here.member = 1;
		here.now_ms = NOW;
		decision = gang_rounds_decide(&view, &here);
		if (decision.action != row->action || decision.step != row->step ||
		    decision.at_least != row->at_least)
			print_message("%s: action %d, step %lld\n", row->what, decision.action,
				      (long long)decision.step);
		assert_int_equal(decision.action, row->action);
		assert_true(decision.step == row->step && decision.at_least == row->at_least);
		if (decision.action == GANG_LEAVE_OUT)
			assert_non_null(decision.reason);
	}
}

/* --- folding --- */

static void test_a_round_behind_another_is_committed(void **state)
{
	static const struct gang_event log[] = {ROUND(0, 10), ROUND(2, 20)};
	auto_(gang_view_release) struct gang_view view = view_of(log, 2, 0);

	(void)state;
	assert_int_equal(view.committed, 1);
	assert_int_equal(view.round.number, 2);
	assert_int_equal(view.round.opener, 2);
	assert_true(gang_view_is_open(&view));
}

static void test_one_that_was_left_out_is_not(void **state)
{
	static const struct gang_event log[] = {ROUND(0, 10), LEFT_OUT(1, 1, 15), AHEAD(0, 20)};
	auto_(gang_view_release) struct gang_view view = view_of(log, 3, 0);

	(void)state;
	assert_int_equal(view.committed, 0);
	assert_int_equal(view.failures, 1);
	gang_view_committed(&view, 3);
	assert_int_equal(view.failures, 0);
	assert_int_equal(view.committed, 3);
}

static void test_events_come_in_their_order(void **state)
{
	static const struct gang_event log[] = {ROUND(0, 10)};
	auto_(gang_view_release) struct gang_view view = view_of(log, 1, 0);
	struct gang_event twice = {.number = 1}, gap = {.number = 3};
	struct gang_event stranger = {.number = 2, .member = 3};

	(void)state;
	assert_false(gang_view_fold(&view, &twice));
	assert_false(gang_view_fold(&view, &gap));
	assert_false(gang_view_fold(&view, &stranger));
	assert_int_equal(view.read, 1);
}

static void test_what_a_commit_answers(void **state)
{
	static const struct gang_event log[] = {REQUEST(0), ROUND(2, 20), REQUEST(1), ROUND(1, 30)};
	auto_(gang_view_release) struct gang_view view = view_of(log, 2, 0);
	struct gang_event more[] = {log[2], log[3]};

	(void)state;
	assert_int_equal(view.asked, 1);
	assert_false(gang_view_wants_answers(&view));
	gang_view_committed(&view, 2);
	assert_true(gang_view_wants_answers(&view));
	gang_view_answers(&view, 2, 0);
	assert_false(gang_view_wants_answers(&view));
	more[0].number = 3;
	more[1].number = 4;
	assert_true(gang_view_fold(&view, &more[0]) && gang_view_fold(&view, &more[1]));
	assert_int_equal(view.asked, 3);
	gang_view_committed(&view, 4);
	assert_true(gang_view_wants_answers(&view));
	gang_view_answers(&view, 4, 3);
	assert_true(view.answered == 3 && !gang_view_wants_answers(&view));
	/* What was found out later of an earlier one takes nothing back. */
	gang_view_answers(&view, 2, 1);
	assert_true(view.answered == 3 && view.looked == 4);
}

/* Whatever is asked for after it: it is what they wait for. */
static void test_all_end_by_the_first_notice(void **state)
{
	static const struct gang_event log[] = {REQUEST(0), NOTICE(2), NOTICE(0), REQUEST(1)};
	auto_(gang_view_release) struct gang_view view = view_of(log, 4, 0);

	(void)state;
	assert_true(view.notice == 2 && view.asked == 2);
}

static void test_when_a_machine_comes_anew_the_attempt_is_over(void **state)
{
	static const struct gang_event log[] = {{.kind = GANG_EVENT_GO}, REJOIN(2), REJOIN(1)};
	auto_(gang_view_release) struct gang_view view = view_of(log, 3, 0);

	(void)state;
	assert_true(view.started && view.over);
	assert_int_equal(view.anew, 2);
}

/* --- leaving --- */

struct leaving_row {
	const char *what;
	struct gang_event log[LOG_MOST];
	size_t events;
	struct gang_here here;
	uint32_t asked;
	bool may;
};

// clang-format off
static const struct leaving_row leaving_rows[] = {
	{"the others still train", {ENDED(1, 0)}, 1, {AT(20, 10), .finished = true}, 0, false},
	{"all have ended", {ENDED(1, 0), ENDED(0, 0), ENDED(2, 0)}, 3,
		{AT(20, 10), .finished = true}, 0, true},
	{"one has left", {ENDED(1, 0), ENDED(2, 1)}, 2, {AT(20, 10), .finished = true}, 0, true},
	{"one has left in the end", {ENDED(1, 0), ENDED(2, 0), ENDED(2, 0)}, 3,
		{AT(20, 10), .finished = true}, 0, true},
	{"its job has failed", {ENDED(1, 1)}, 1, {AT(20, 10)}, 0, true},
	{"a round needs it", {ROUND(0, 20), REQUEST(0)}, 2, {AT(20, 10)}, 0, false},
	{"it can give nothing", {ROUND(0, 20)}, 1, {NONE}, 0, true},
	{"at a notice", {REQUEST(0)}, 1, {AT(20, 10)}, 1, true},
	{"at a notice, for those that save", {REQUEST(0)}, 1, {NONE, .learned = true}, 1, false},
	{"the attempt is over", {REJOIN(0)}, 1, {AT(20, 10), .finished = true}, 0, true},
};
// clang-format on

static void test_who_may_leave(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(leaving_rows) / sizeof(leaving_rows[0]); i++) {
		const struct leaving_row *row = &leaving_rows[i];
		auto_(gang_view_release) struct gang_view view = view_of(row->log, row->events, 0);
		struct gang_here here = row->here;

		here.member = 1;
		here.ended = true;
		if (gang_rounds_may_leave(&view, &here, row->asked) != row->may)
			fail_msg("%s", row->what);
	}
}

/* A checkpoint that was under way at the notice answers it, once nothing has followed it: the part
 * in round 2 is given by then. `looked`: what its manifest says is known. */
static void test_an_answer_that_is_known_late(void **state)
{
	static const struct {
		struct gang_event asked;
		uint32_t saw, looked, answered;
		bool anew;
	} of[] = {
		{NOTICE(0), 1, 2, 0, true},
		{NOTICE(0), 1, 0, 0, false},  /* perhaps another one's part says it */
		{NOTICE(0), 1, 2, 1, false},  /* it does */
		{NOTICE(0), 0, 2, 0, false},  /* it is no answer */
		{REQUEST(0), 1, 2, 0, false}, /* the next checkpoint will do */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		const struct gang_event log[] = {of[i].asked, ROUND(0, 20)};
		auto_(gang_view_release) struct gang_view view = view_of(log, 2, 2);
		struct gang_here here = {AT(20, 10), GAVE(2), .member = 1, .now_ms = NOW};
		struct gang_round_decision decision;

		here.stopping = here.urgent = true;
		here.saw = of[i].saw;
		gang_view_answers(&view, of[i].looked, of[i].answered);
		decision = gang_rounds_decide(&view, &here);
		assert_int_equal(decision.action, of[i].anew ? GANG_OPEN : GANG_WAIT);
		assert_int_equal(decision.step, of[i].anew ? 20 : 0);
		here.ended = true;
		assert_int_equal(gang_rounds_may_leave(&view, &here, 1), !of[i].anew);
	}
}

/* The log may have more than is read of it: rounds that were opened before count, too. */
static void test_what_a_new_run_changes(void **state)
{
	auto_(gang_view_release) struct gang_view view = gang_view_new(3);
	struct gang_here here = gang_here_new(1);

	(void)state;
	view.round.number = 7;
	gang_here_note_complete(&here, &view, 1, 10);
	gang_here_note_complete(&here, &view, 2, 20);
	assert_true(gang_here_can_give(&here));
	gang_here_note_anew(&here, &view);
	assert_true(here.fallen == 7 && here.anew && !gang_here_can_give(&here));
	view.round.number = 9;
	gang_here_note_read(&here, &view);
	assert_true(here.fallen == 9 && !here.anew);
	/* From an earlier step: that is known already. */
	view.round.number = 11;
	gang_here_note_complete(&here, &view, 3, 15);
	assert_true(here.fallen == 9 && here.step == 15 && gang_here_can_give(&here));
	gang_here_note_read(&here, &view);
	assert_int_equal(here.fallen, 9);
}

static void test_what_a_complete_checkpoint_changes(void **state)
{
	auto_(gang_view_release) struct gang_view view = gang_view_new(3);
	struct gang_here here = gang_here_new(1);

	(void)state;
	view.round.number = 7;
	here.now_ms = 1000;
	gang_here_note_complete(&here, &view, 1, 10);
	assert_true(here.begun && here.step == 10 && here.before == -1 && here.pace == 0);
	here.now_ms = 6000;
	gang_here_note_complete(&here, &view, 2, 20);
	assert_true(here.step == 20 && here.before == 10 && here.pace == 2 && here.fallen == 0);
	/* A file more. */
	gang_here_note_complete(&here, &view, 3, 20);
	assert_true(here.generation == 3 && here.step == 20 && here.before == 10);
	gang_here_note_complete(&here, &view, 4, 15);
	assert_true(here.step == 15 && here.before == 20 && here.fallen == 7);
}

/* Else the next round is about a step that nobody comes to. */
static void test_two_that_are_complete_at_once_say_little_of_the_pace(void **state)
{
	auto_(gang_view_release) struct gang_view view = gang_view_new(3);
	struct gang_here here = gang_here_new(1);

	(void)state;
	here.now_ms = 1000;
	gang_here_note_complete(&here, &view, 1, 10);
	gang_here_note_complete(&here, &view, 2, 20);
	assert_true(here.pace * GANG_READ_MS == 10 * 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_a_round_behind_another_is_committed),
		cmocka_unit_test(test_one_that_was_left_out_is_not),
		cmocka_unit_test(test_events_come_in_their_order),
		cmocka_unit_test(test_what_a_commit_answers),
		cmocka_unit_test(test_all_end_by_the_first_notice),
		cmocka_unit_test(test_when_a_machine_comes_anew_the_attempt_is_over),
		cmocka_unit_test(test_who_may_leave),
		cmocka_unit_test(test_an_answer_that_is_known_late),
		cmocka_unit_test(test_what_a_new_run_changes),
		cmocka_unit_test(test_what_a_complete_checkpoint_changes),
		cmocka_unit_test(test_two_that_are_complete_at_once_say_little_of_the_pace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
