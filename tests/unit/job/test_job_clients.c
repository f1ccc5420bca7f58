/* What a client of the control socket asks for, and what it is told. */
#include "bare_job.h"

#include "heard.h"

static struct control_handler handler;
static bool listens = true;
static bool asks_later;
static struct request_waiter waiters[3];

/* --- in place of the parts, by the linker's --wrap --- */

static void note_reply(const char *what, struct control_request *request, json_t *reply)
{
	auto_free char *text = json_dumps(reply, JSON_COMPACT | JSON_SORT_KEYS);

	note_call("%s %d %s", what, (int)((char *)request - some_place), text);
	json_decref(reply);
}

int __wrap_control_socket_open(struct loop *loop, const char *path,
			       const struct control_handler *given, struct control_socket **control,
			       struct err *err);
int __wrap_control_socket_open(struct loop *loop, const char *path,
			       const struct control_handler *given, struct control_socket **control,
			       struct err *err)
{
	assert_non_null(loop);
	note_call("control_socket_open %s", path);
	handler = *given;
	if (!listens)
		return err_set(err, ERR_FAILED, "no room");
	*control = SOME(control_socket);
	return 0;
}

void __wrap_control_request_reply(struct control_request *request, json_t *reply);
void __wrap_control_request_reply(struct control_request *request, json_t *reply)
{
	note_reply("reply", request, reply);
}

void __wrap_control_request_answer(struct control_request *request, json_t *reply);
void __wrap_control_request_answer(struct control_request *request, json_t *reply)
{
	note_reply("answer", request, reply);
}

void __wrap_control_socket_answer_held(struct control_socket *control, json_t *reply);
void __wrap_control_socket_answer_held(struct control_socket *control, json_t *reply)
{
	note_reply("held", control ? SOME(control_request) : NULL, reply);
}

NOTED(control_request_finish)
NOTED(control_request_hold)
NOTED_WITH(control_socket_hear, (struct control_socket * control, bool last), "%d %d", last,
	   control != NULL)
NOTED_WITH(job_forget_client, (struct job * job, void *client), "%d %d", job != NULL,
	   client != NULL)

json_t *__wrap_job_status_json(const struct job *job);
json_t *__wrap_job_status_json(const struct job *job)
{
	(void)job;
	return json_pack("{s:s}", "state", "running");
}

json_t *__wrap_tracker_checkpoints_json(const struct tracker *tracker);
json_t *__wrap_tracker_checkpoints_json(const struct tracker *tracker)
{
	assert_non_null(tracker);
	return json_pack("[s]", "step-3");
}

void __wrap_job_post_with(struct job *job, struct job_event event, char *text, json_t *reply);
void __wrap_job_post_with(struct job *job, struct job_event event, char *text, json_t *reply)
{
	assert_non_null(job);
	assert_null(text);
	assert_ptr_equal(event.client, SOME(control_request));
	asks_later = event.until_asked;
	note_reply(job_event_name(event.kind), event.client, reply);
}

enum request_phase __wrap_request_table_phase(const struct request_table *table,
					      const struct request_waiter *waiter);
enum request_phase __wrap_request_table_phase(const struct request_table *table,
					      const struct request_waiter *waiter)
{
	(void)table;
	return waiter == &waiters[1] ? REQUEST_PENDING : REQUEST_ASKED;
}

/* --- */

static void open_control(struct job *job)
{
	bare_job_init(job);
	job->session.directory = text_copy("/run/s");
	job_open_control(job);
	free(job->session.directory);
	job->session.directory = NULL;
}

static void client_asks(const char *message)
{
	auto_json json_t *parsed = json_loads(message, 0, NULL);

	calls[0] = '\0';
	handler.asked(handler.arg, SOME(control_request), parsed);
}

static void each_verb_is_answered(void **state)
{
	static struct job job;

	(void)state;
	open_control(&job);
	assert_calls("control_socket_open /run/s/control.sock; ");
	assert_ptr_equal(job.control, SOME(control_socket));
	client_asks("{\"do\":\"status\"}");
	assert_calls("answer 0 {\"state\":\"running\"}; ");
	client_asks("{\"do\":\"checkpoints\"}");
	assert_calls("answer 0 {\"checkpoints\":[],\"state\":\"running\"}; ");
	job.tracker = SOME(tracker);
	client_asks("{\"do\":\"checkpoints\"}");
	assert_calls("answer 0 {\"checkpoints\":[\"step-3\"],\"state\":\"running\"}; ");
	client_asks("{\"do\":\"outcome\"}");
	assert_calls("control_request_hold; ");
	client_asks("{\"do\":\"checkpoint\"}");
	assert_calls("client 0 {\"event\":\"asked\",\"pids\":[]}; ");
	assert_false(asks_later);
	client_asks("{\"do\":\"checkpoint\",\"wait\":false}");
	assert_calls("client 0 {\"event\":\"asked\",\"pids\":[]}; ");
	assert_true(asks_later);
	client_asks("{\"do\":\"harm\"}");
	assert_calls("answer 0 {\"error\":\"unknown request\",\"event\":\"failed\"}; ");
	handler.gone(handler.arg, SOME(control_request));
	assert_calls("job_forget_client 1 1; ");
}

/* The job runs without a socket, and this is said; without a session it was said before. */
static void a_socket_that_cannot_be_had_is_said(void **state)
{
	static struct job job;
	const char *said;

	(void)state;
	listens = false;
	said = HEARD(open_control(&job));
	assert_non_null(strstr(said, "`reprieve checkpoint` cannot reach this job: no room"));
	assert_true(job.reports.failed);
	bare_job_init(&job);
	job_open_control(&job);
	assert_calls("");
	assert_false(job.reports.failed);
	listens = true;
	said = HEARD(open_control(&job));
	assert_string_equal(said, "");
	assert_false(job.reports.failed);
}

/* The last reply ends the request. */
static void a_client_is_replied_to(void **state)
{
	auto_json json_t *reply = json_pack("{s:s}", "event", "saved");
	struct job_effect effect = {.kind = JOB_DO_REPLY, .client = some_place};

	(void)state;
	calls[0] = '\0';
	job_reply_to_client(&effect, reply);
	assert_calls("reply 0 {\"event\":\"saved\"}; ");
	effect.last = true;
	job_reply_to_client(&effect, reply);
	assert_calls("reply 0 {\"event\":\"saved\"}; control_request_finish; ");
}

/* News of the asking is for those whose request it serves. */
static void news_is_for_those_who_are_being_served(void **state)
{
	static struct job job;

	(void)state;
	bare_job_init(&job);
	for (size_t i = 0; i < 3; i++)
		waiters[i].client = some_place + i;
	job.model.requests.waiters = waiters;
	job.model.requests.waiter_count = 3;
	job_tell_clients(&job, json_pack("{s:s}", "event", "saving"));
	assert_calls("reply 0 {\"event\":\"saving\"}; reply 2 {\"event\":\"saving\"}; ");
}

static void each_refusal_has_its_reason(void **state)
{
	static const struct {
		enum client_refusal refusal;
		const char *says;
	} rows[] = {
		{REFUSED_SUPERSEDED, "superseded by a newer attempt"},
		{REFUSED_NOT_STARTED, "has not started yet"},
		{REFUSED_BEING_STOPPED, "is being stopped or has ended"},
		{REFUSED_ENDS_WHEN_ASKED, "saves and exits when it is asked"},
		{REFUSED_CANNOT_ASK, "start it with --checkpoint-signal"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job_effect effect = {.client = some_place, .refusal = rows[i].refusal};

		calls[0] = '\0';
		job_refuse_client(&effect);
		assert_non_null(strstr(calls, "answer 0 {\"error\":"));
		assert_non_null(strstr(calls, rows[i].says));
	}
}

/* Who has asked before is heard before, and is told how it has ended. */
static void the_outcome_is_told(void **state)
{
	static struct job job;
	const struct outcome outcome = {OUTCOME_PREEMPTED, 75};

	(void)state;
	bare_job_init(&job);
	text_set(job.name.text, sizeof(job.name.text), "j");
	job.control = SOME(control_socket);
	job_tell_outcome(&job, &outcome, true);
	assert_calls("control_socket_hear 1 1; held 0 {\"durable\":\"\",\"event\":\"ended\","
		     "\"exit_code\":75,\"job\":\"j\",\"outcome\":\"preempted\"}; ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_verb_is_answered),
		cmocka_unit_test(a_socket_that_cannot_be_had_is_said),
		cmocka_unit_test(a_client_is_replied_to),
		cmocka_unit_test(news_is_for_those_who_are_being_served),
		cmocka_unit_test(each_refusal_has_its_reason),
		cmocka_unit_test(the_outcome_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
