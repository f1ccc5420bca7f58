/* What the log of a gang means for the job of a member: tables. */
#include "gang/gang_rounds.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include "unit.h"

#include <string.h>

static void test_news(void **state)
{
	static const struct {
		struct gang_event event;
		struct gang_news news;
	} rows[] = {
		{{.kind = GANG_EVENT_REQUEST}, {.kind = GANG_NEWS_ASKS}},
		/* It was put after the log was last read, so long ago. */
		{{.kind = GANG_EVENT_NOTICE, .left_ms = 30000, .reason = "spot"},
		 {GANG_NEWS_STOP, 26000, "gang-3", "member 3 on node3: spot"}},
		{{.kind = GANG_EVENT_NOTICE, .left_ms = 4500, .reason = "spot"},
		 {GANG_NEWS_STOP, 1000, "gang-3", "member 3 on node3: spot"}},
		{{.kind = GANG_EVENT_NOTICE, .left_ms = CLOCK_NEVER, .reason = "spot"},
		 {GANG_NEWS_STOP, CLOCK_NEVER, "gang-3", "member 3 on node3: spot"}},
		{{.kind = GANG_EVENT_OVER},
		 {GANG_NEWS_STOP, 1000, "gang-3",
		  "member 3 on node3: this machine has come anew, so the attempt is over"}},
		{{.kind = GANG_EVENT_ENDED, .code = 9},
		 {GANG_NEWS_STOP, 1000, "gang-3",
		  "member 3 on node3: its job has failed (exit code 9)"}},
		{{.kind = GANG_EVENT_ENDED}, {.kind = GANG_NEWS_NOTHING}},
		{{.kind = GANG_EVENT_GO}, {.kind = GANG_NEWS_NOTHING}},
		{{.kind = GANG_EVENT_ROUND}, {.kind = GANG_NEWS_NOTHING}},
		{{.kind = GANG_EVENT_PASSED}, {.kind = GANG_NEWS_NOTHING}},
		{{.kind = GANG_EVENT_ANSWERS}, {.kind = GANG_NEWS_NOTHING}},
		{{.kind = GANG_EVENT_GOES_ON}, {.kind = GANG_NEWS_NOTHING}},
		{{.kind = GANG_EVENT_LEFT_OUT}, {.kind = GANG_NEWS_NOTHING}},
		{{.kind = GANG_EVENT_GONE}, {.kind = GANG_NEWS_NOTHING}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_(gang_view_release) struct gang_view view = gang_view_new(4, 0);
		struct gang_event event = rows[i].event;
		struct gang_news news;

		event.member = 3;
		strcpy(event.host, "node3");
		event.number = 7;
		view.asked = 6;
		news = gang_news_of(&view, &event, 4000);
		assert_int_equal(news.kind, rows[i].news.kind);
		assert_true(news.left_ms == rows[i].news.left_ms);
		assert_string_equal(news.identity, rows[i].news.identity);
		assert_string_equal(news.reason, rows[i].news.reason);
	}
}

static void test_answers(void **state)
{
	static const struct {
		uint32_t notice, answered;
		bool parted, open, over, unanswered;
	} rows[] = {
		{0, 0, false, false, false, false}, {0, 4, false, false, false, false},
		{5, 4, false, false, false, true},  {5, 5, false, false, true, false},
		{5, 4, true, false, true, true},    {5, 4, true, true, false, true},
		{5, 6, true, true, true, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct gang_view view = gang_view_new(2, 0);
		struct gang_answer answer;

		view.notice = view.asked = rows[i].notice;
		view.answered = rows[i].answered;
		view.parted = rows[i].parted;
		view.committed = 7;
		view.round.state = rows[i].open ? GANG_ROUND_OPEN : GANG_ROUND_OVER;
		answer = gang_answer_of(&view, view.notice);
		assert_int_equal(answer.event, rows[i].answered);
		assert_int_equal(answer.round, 7);
		assert_int_equal(answer.notice_is_over, rows[i].over);
		assert_int_equal(answer.unanswered, rows[i].unanswered);
		gang_view_release(&view);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_news),
		cmocka_unit_test(test_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
