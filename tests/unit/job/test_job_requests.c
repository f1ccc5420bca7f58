/* How the job is asked, and what comes of the asking. */
#include "bare_job.h"

#include "heard.h"

#include <signal.h>
#include <stdlib.h>

static bool by_sigterm, reaches, has_signalled, is_asking, has_page = true;
static struct recent_writers writers;
static struct job_event posted;

/* --- in place of the parts, by the linker's --wrap --- */

NOTED(tracker_requested)
NOTED(progress_page_request)
NOTED_WITH(progress_page_end_request, (struct progress_page * page, bool answered, int64_t now_ms),
	   "%d %d", answered, page &&now_ms > 0)
NOTED_WITH(rank_watch_begin, (struct rank_watch * watch, int64_t patience_ms), "%lld %d",
	   (long long)(patience_ms - RANK_PROGRESS_PATIENCE_MS), watch != NULL)
NOTED_WITH(rank_watch_add,
	   (struct rank_watch * watch, const struct rank *ranks, size_t count, size_t expected),
	   "%zu %zu %d", count, expected, watch &&ranks)

void __wrap_job_post(struct job *job, struct job_event event);
void __wrap_job_post(struct job *job, struct job_event event)
{
	assert_non_null(job);
	note_call("post %s %d", job_event_name(event.kind), event.by_flag);
}

static void note_reply(const char *what, json_t *reply)
{
	auto_free char *text = json_dumps(reply, JSON_COMPACT | JSON_SORT_KEYS);

	note_call("%s %s", what, text);
	json_decref(reply);
}

void __wrap_job_post_with(struct job *job, struct job_event event, char *text, json_t *reply);
void __wrap_job_post_with(struct job *job, struct job_event event, char *text, json_t *reply)
{
	assert_non_null(job);
	posted = event;
	note_call("text %s", text ? text : "-");
	note_reply(job_event_name(event.kind), reply);
	free(text);
}

void __wrap_job_tell_clients(struct job *job, json_t *reply);
void __wrap_job_tell_clients(struct job *job, json_t *reply)
{
	assert_non_null(job);
	note_reply("tell", reply);
}

json_t *__wrap_rank_progress_json(const struct rank_progress *progress, bool asking, bool answered,
				  int64_t now_ms);
json_t *__wrap_rank_progress_json(const struct rank_progress *progress, bool asking, bool answered,
				  int64_t now_ms)
{
	assert_true(progress && now_ms > 0);
	return json_pack("{s:b, s:b}", "asking", asking, "answered", answered);
}

size_t __wrap_rank_progress_saving(const struct rank_progress *progress);
size_t __wrap_rank_progress_saving(const struct rank_progress *progress)
{
	assert_non_null(progress);
	return 2;
}

bool __wrap_job_is_asking(const struct job_model *model);
bool __wrap_job_is_asking(const struct job_model *model)
{
	assert_non_null(model);
	return is_asking;
}

bool __wrap_job_asked_by_sigterm(const struct job_model *model, const struct job_rules *rules);
bool __wrap_job_asked_by_sigterm(const struct job_model *model, const struct job_rules *rules)
{
	assert_true(model && rules);
	return by_sigterm;
}

bool __wrap_child_forwards_to(const struct child *child, pid_t pid);
bool __wrap_child_forwards_to(const struct child *child, pid_t pid)
{
	assert_true(child && pid == 7);
	return reaches;
}

bool __wrap_checkpoint_request_has_signalled(const struct checkpoint_request *request, pid_t pid,
					     int64_t since_ms);
bool __wrap_checkpoint_request_has_signalled(const struct checkpoint_request *request, pid_t pid,
					     int64_t since_ms)
{
	assert_true(request && pid == 7 && since_ms == 100);
	return has_signalled;
}

const struct recent_writers *__wrap_tracker_writers(const struct tracker *tracker);
const struct recent_writers *__wrap_tracker_writers(const struct tracker *tracker)
{
	assert_non_null(tracker);
	return &writers;
}

struct progress_page *__wrap_tracker_page(const struct tracker *tracker);
struct progress_page *__wrap_tracker_page(const struct tracker *tracker)
{
	assert_non_null(tracker);
	return has_page ? SOME(progress_page) : NULL;
}

size_t __wrap_progress_page_count_polling(const struct progress_page *page);
size_t __wrap_progress_page_count_polling(const struct progress_page *page)
{
	assert_non_null(page);
	return 5;
}

/* --- */

static struct job *asked_job(enum request_method method, int signal, const struct profile *profile)
{
	static struct job job;

	bare_job_init(&job);
	bare_config.ask = method;
	bare_config.checkpoint_signal = signal;
	bare_config.checkpoint_command = method == REQUEST_COMMAND ? "touch save" : NULL;
	job.rules.request_signal = signal ? signal : SIGTERM;
	job.profile.profile = profile;
	job.tracker = SOME(tracker);
	job_prepare_requests(&job);
	return &job;
}

/* By its own signal the profile knows who handles it; by another one, all are asked. */
static void who_is_asked(void **state)
{
	static const struct profile by_rank_0 = {.ask = PROFILE_ASK_SIGNAL,
						 .signal = SIGUSR1,
						 .whom = PROFILE_TARGET_RANK_0};
	static const struct profile never = {.ask = PROFILE_ASK_NONE,
					     .signal = SIGUSR1,
					     .whom = PROFILE_TARGET_RANK_0};
	static const struct {
		enum request_method method;
		int signal;
		const struct profile *profile;
		enum request_method by;
		bool as_profile;
	} rows[] = {
		{REQUEST_AUTO, 0, &by_rank_0, REQUEST_SIGNAL, true},
		{REQUEST_AUTO, 0, NULL, REQUEST_SIGNAL, false},
		{REQUEST_AUTO, 0, &never, REQUEST_SIGNAL, false},
		{REQUEST_SIGNAL, SIGUSR1, &by_rank_0, REQUEST_SIGNAL, true},
		{REQUEST_SIGNAL, SIGUSR2, &by_rank_0, REQUEST_SIGNAL, false},
		{REQUEST_COMMAND, 0, &by_rank_0, REQUEST_COMMAND, true},
		{REQUEST_FLAG, 0, &by_rank_0, REQUEST_FLAG, true},
		{REQUEST_NONE, 0, NULL, REQUEST_SIGNAL, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job *job = asked_job(rows[i].method, rows[i].signal, rows[i].profile);

		assert_int_equal(job->ask.method, rows[i].by);
		assert_int_equal(job->ask.whom,
				 rows[i].as_profile ? PROFILE_TARGET_RANK_0 : PROFILE_TARGET_ALL);
		assert_int_equal(job->ask.signal, rows[i].signal ? rows[i].signal : SIGTERM);
		assert_int_equal(job->ranks.signal, job->ask.signal);
	}
}

/* The tracker learns it before the job does. */
static void before_the_job_is_asked(void **state)
{
	static const struct profile patient = {.patience_ms = 500};
	struct job *job = asked_job(REQUEST_AUTO, 0, &patient);

	(void)state;
	job->ask.by_flag = true;
	job->ask.callbacks.on_request_sending(job);
	assert_calls("post sending 1; tracker_requested; rank_watch_begin 500 1; ");
	job = asked_job(REQUEST_AUTO, 0, NULL);
	job->tracker = NULL;
	job->ask.callbacks.on_request_sending(job);
	assert_calls("post sending 0; rank_watch_begin 0 1; ");
}

static void what_is_said_of_the_asking(void **state)
{
	static const struct rank ranks[] = {{.pid = 11}, {.pid = 12}};
	static const struct {
		enum request_method method;
		bool by_flag;
		size_t count, expected;
		const char *says, *how;
	} rows[] = {
		{REQUEST_AUTO, false, 1, 1, "asked process 11 for a checkpoint (SIGTERM)",
		 "signal"},
		{REQUEST_AUTO, false, 2, 2, "asked 2 processes for a checkpoint (SIGTERM)",
		 "signal"},
		{REQUEST_AUTO, true, 0, 1, "raised the flag that 1 process polls", "flag"},
		{REQUEST_AUTO, true, 0, 2, "raised the flag that 2 processes poll", "flag"},
		{REQUEST_COMMAND, false, 0, 0, "asked for a checkpoint (touch save)", "command"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job *job = asked_job(rows[i].method, 0, NULL);
		char expected[160];

		job->ask.by_flag = rows[i].by_flag;
		assert_non_null(strstr(HEARD(job->ask.callbacks.asked(job, ranks, rows[i].count,
								      rows[i].expected)),
				       rows[i].says));
		snprintf(expected, sizeof(expected),
			 "text -; asked {\"again\":false,\"event\":\"asked\",\"pids\":[%s]}; "
			 "rank_watch_add %zu %zu 1; ",
			 rows[i].count == 0   ? ""
			 : rows[i].count == 1 ? "11"
					      : "11,12",
			 rows[i].count, rows[i].expected);
		assert_calls(expected);
		snprintf(expected, sizeof(expected), "\"how\":\"%s\"", rows[i].how);
		assert_non_null(strstr(events, expected));
		assert_non_null(
			strstr(events, strcmp(rows[i].how, "signal") == 0 ? "\"signal\":\"SIGTERM\""
									  : "\"signal\":null"));
	}
	/* More of them, later. */
	{
		struct job *job = asked_job(REQUEST_AUTO, 0, NULL);

		job->ranks.progress.count = 1;
		assert_string_equal(HEARD(job->ask.callbacks.asked(job, ranks, 1, 2)), "");
		assert_non_null(strstr(calls, "\"again\":true"));
		assert_non_null(strstr(events, "\"again\":true"));
		job->ranks.progress.count = 0;
	}
}

static void a_job_that_cannot_be_asked(void **state)
{
	struct job *job = asked_job(REQUEST_AUTO, 0, NULL);

	(void)state;
	job->ask.callbacks.on_request_failed(job, "why");
	assert_calls("text why; cannot_ask {\"error\":\"why\",\"event\":\"failed\"}; ");
}

static void how_far_the_ranks_are(void **state)
{
	struct job *job = asked_job(REQUEST_AUTO, 0, NULL);

	(void)state;
	for (unsigned bits = 0; bits < 4; bits++) {
		json_t *progress;

		is_asking = bits & 1;
		job->model.asking.answered = bits & 2;
		progress = job_rank_progress_json(job);
		assert_int_equal(json_is_true(json_object_get(progress, "asking")), bits & 1);
		assert_int_equal(json_is_true(json_object_get(progress, "answered")), bits == 2);
		json_decref(progress);
	}
	job->ranks.progress.count = 3;
	job->ranks.progress.expected = 4;
	job->ranks.news(job, "line");
	assert_calls("tell {\"answered\":false,\"asking\":true,\"event\":\"rank_progress\"}; ");
	assert_events(
		"rank_progress {\"asked\":3,\"expected\":4,\"saving\":2,\"text\":\"line\"}; ");
	job->ranks.progress.count = 0;
}

static void who_has_written(void **state)
{
	struct job *job = asked_job(REQUEST_AUTO, 0, NULL);
	pid_t pids[4] = {0};

	(void)state;
	writers.count = 3;
	for (int i = 0; i < 3; i++)
		writers.items[i].pid = 20 + i;
	assert_int_equal(job_list_writers(job, pids, 4), 3);
	assert_int_equal(pids[2], 22);
	pids[2] = 0;
	assert_int_equal(job_list_writers(job, pids, 2), 2);
	assert_int_equal(pids[1], 21);
	assert_int_equal(pids[2], 0);
	job->tracker = NULL;
	assert_int_equal(job_list_writers(job, pids, 4), 0);
}

static void the_flag(void **state)
{
	struct job *job = asked_job(REQUEST_AUTO, 0, NULL);

	(void)state;
	for (unsigned bits = 0; bits < 4; bits++) {
		bool there = bits == 3;

		job->tracker = bits & 1 ? SOME(tracker) : NULL;
		has_page = bits & 2;
		assert_int_equal(job->ask.callbacks.count_polling_processes(job), there ? 5 : 0);
		job->ask.callbacks.raise(job);
		assert_calls(there ? "progress_page_request; " : "");
		job_end_flag(job, true);
		assert_calls(there ? "progress_page_end_request 1 1; " : "");
	}
}

/* A SIGTERM is ours only if it was sent later than the process has got another one. */
static void whose_sigterm_it_was(void **state)
{
	struct job *job = asked_job(REQUEST_AUTO, 0, NULL);

	(void)state;
	for (unsigned bits = 0; bits < 32; bits++) {
		bool forwarded = bits & 4;

		by_sigterm = bits & 1;
		reaches = bits & 2;
		job->model.asking.forwarded = forwarded;
		job->model.asking.sent_ms = bits & 8 ? 101 : 100;
		has_signalled = bits & 16;
		assert_int_equal(job_has_sent_sigterm(job, 7, 100),
				 by_sigterm && (forwarded ? (bits & 8) && reaches : has_signalled));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_asked),
		cmocka_unit_test(before_the_job_is_asked),
		cmocka_unit_test(what_is_said_of_the_asking),
		cmocka_unit_test(a_job_that_cannot_be_asked),
		cmocka_unit_test(how_far_the_ranks_are),
		cmocka_unit_test(who_has_written),
		cmocka_unit_test(the_flag),
		cmocka_unit_test(whose_sigterm_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
