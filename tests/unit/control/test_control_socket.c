/* The control socket, with real clients on other threads. */
#include "control/control.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"

#include "unit.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static char directory[64], path[80];
static struct loop loop;
static struct control_socket *control;
static struct control_request *held;
static struct timer later;
static int gone_count;
static sem_t flooded;

static json_t *reply(const char *event)
{
	return json_pack("{s:s}", "event", event);
}

static void finish_later(struct timer *timer)
{
	(void)timer;
	if (!held)
		return;
	control_request_reply(held, reply("done"));
	control_request_finish(held);
	held = NULL;
}

/* What the tests ask for by name. */
static void asked(void *arg, struct control_request *request, json_t *message)
{
	const char *what = json_string_value(json_object_get(message, "do"));

	(void)arg;
	if (text_equal(what, "now")) {
		control_request_reply(request, reply("one"));
		control_request_reply(request, reply("two"));
		control_request_finish(request);
	} else if (text_equal(what, "later")) {
		control_request_reply(request, reply("one"));
		held = request;
		later.fired = finish_later;
		loop_arm(&loop, &later, clock_monotonic_ms() + 20);
	} else if (text_equal(what, "hold")) {
		control_request_hold(request);
	} else if (text_equal(what, "refuse")) {
		control_request_answer(request, control_failure("no"));
	} else if (text_equal(what, "release")) {
		control_request_answer(request, reply("one"));
		control_socket_answer_held(control, reply("all"));
	} else if (text_equal(what, "never")) {
		held = request;
		control_request_reply(request, reply("one"));
	} else if (text_equal(what, "flood")) {
		for (int i = 0; i < 20000; i++)
			control_request_reply(request, reply("flood"));
		control_request_finish(request);
		sem_post(&flooded);
	} else if (text_equal(what, "stop")) {
		control_request_finish(request);
		loop_stop(&loop);
	}
}

static void gone(void *arg, struct control_request *request)
{
	(void)arg;
	gone_count++;
	if (held == request)
		held = NULL;
}

static int begin(void **state)
{
	const struct control_handler handler = {.asked = asked, .gone = gone};

	(void)state;
	strcpy(directory, "/tmp/reprieve-test-XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	snprintf(path, sizeof(path), "%s/s", directory);
	gone_count = 0;
	held = NULL;
	if (loop_init(&loop, NULL) < 0)
		return -1;
	return control_socket_open(&loop, path, &handler, &control, NULL);
}

static int end(void **state)
{
	(void)state;
	control_socket_close(control);
	loop_release(&loop);
	return rmdir(directory); /* also: the socket is gone */
}

/* The client's thread: what it sends, and what it has heard when it is done. */
struct client {
	void (*run)(struct client *client);
	char heard[256];
	int result;
	struct err err;
};

static void hear(void *arg, json_t *message)
{
	struct client *client = arg;
	size_t used = strlen(client->heard);

	snprintf(client->heard + used, sizeof(client->heard) - used, "%s ",
		 json_string_value(json_object_get(message, "event")));
}

static void call(struct client *client, const char *what, int64_t deadline_ms)
{
	json_t *request = json_pack("{s:s}", "do", what);

	client->result =
		control_socket_call(path, request, hear, client, deadline_ms, &client->err);
	json_decref(request);
}

static void *run_client(void *arg)
{
	struct client *client = arg;
	struct client stopper;

	client->run(client);
	/* Refused as long as the server has not seen that others have left. */
	do {
		stopper = (struct client){0};
		call(&stopper, "stop", CLOCK_NEVER);
	} while (stopper.heard[0]);
	return NULL;
}

static void serve(struct client *client)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, run_client, client), 0);
	assert_int_equal(loop_run(&loop, NULL), 0);
	control_socket_close(control); /* which ends the call that stopped the loop */
	control = NULL;
	pthread_join(thread, NULL);
}

/* A socket without manners: sends `text`, and returns everything that comes until the end. */
static int dial(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(address.sun_path, path);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		abort();
	return fd;
}

static void talk(struct client *client, const char *text, size_t size)
{
	int fd = dial();
	ssize_t got;
	size_t used = 0;

	/* fails where we are refused: the answer is there all the same */
	(void)!send(fd, text, size, MSG_NOSIGNAL);
	shutdown(fd, SHUT_WR);
	while (used < sizeof(client->heard) - 1 &&
	       (got = recv(fd, client->heard + used, sizeof(client->heard) - 1 - used, 0)) > 0)
		used += (size_t)got;
	close(fd);
}

/* Who is held is answered when the others are; but not who has left. */
static void call_held(struct client *client)
{
	static const char hold[] = "{\"do\":\"hold\"}\n";
	int left = dial(), fd = dial();
	size_t used;

	(void)!send(left, hold, strlen(hold), MSG_NOSIGNAL);
	(void)!send(fd, hold, strlen(hold), MSG_NOSIGNAL);
	call(client, "refuse", CLOCK_NEVER);
	close(left);
	call(client, "release", CLOCK_NEVER);
	used = strlen(client->heard);
	(void)!recv(fd, client->heard + used, sizeof(client->heard) - 1 - used, 0);
	close(fd);
}

static void answers_all_that_are_held(void **state)
{
	struct client client = {.run = call_held};

	(void)state;
	serve(&client);
	assert_string_equal(client.heard, "failed one {\"event\":\"all\"}\n");
}

static void keep_event(void *arg, json_t *message)
{
	const char **event = arg;

	*event = text_equal(json_text_or(message, "event", ""), "all") ? "all" : "another";
}

/* The loop runs no more: who has asked by then is answered, and nobody can ask afterwards. */
static void hears_who_asks_at_the_end(void **state)
{
	auto_json json_t *hold = json_pack("{s:s}", "do", "hold");
	const char *early = "nothing", *late = "nothing";
	struct err err;
	int fds[2];

	(void)state;
	fds[0] = control_socket_ask(path, hold, CLOCK_NEVER, &err);
	assert_true(fds[0] >= 0);
	control_socket_hear(control, false);
	control_socket_answer_held(control, reply("all"));
	fds[1] = control_socket_ask(path, hold, CLOCK_NEVER, &err);
	assert_true(fds[1] >= 0);
	control_socket_hear(control, true);
	control_socket_answer_held(control, reply("all"));
	assert_int_equal(control_socket_ask(path, hold, CLOCK_NEVER, &err), -1);
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	assert_int_equal(control_socket_await(fds[0], keep_event, &early, CLOCK_NEVER, &err), 0);
	assert_string_equal(early, "all");
	/* Its end of file has not been read: closed by the end. */
	control_socket_close(control);
	control = NULL;
	assert_int_equal(control_socket_await(fds[1], keep_event, &late, CLOCK_NEVER, &err), 0);
	assert_string_equal(late, "all");
	close(fds[0]);
	close(fds[1]);
}

static void call_now(struct client *client)
{
	call(client, "now", CLOCK_NEVER);
}

static void answers_at_once(void **state)
{
	struct client client = {.run = call_now};

	(void)state;
	serve(&client);
	assert_int_equal(client.result, 0);
	assert_string_equal(client.heard, "one two ");
}

static void call_later(struct client *client)
{
	call(client, "later", CLOCK_NEVER);
}

static void answers_later(void **state)
{
	struct client client = {.run = call_later};

	(void)state;
	serve(&client);
	assert_int_equal(client.result, 0);
	assert_string_equal(client.heard, "one done ");
	assert_int_equal(gone_count, 0);
}

static void call_with_deadline(struct client *client)
{
	call(client, "never", clock_monotonic_ms() + 50);
}

static void gives_up_and_is_forgotten(void **state)
{
	struct client client = {.run = call_with_deadline};

	(void)state;
	serve(&client);
	assert_int_equal(client.result, -1);
	assert_int_equal(client.err.kind, ERR_CANCELLED);
	assert_int_equal(gone_count, 1);
	assert_null(held);
}

static void send_nonsense(struct client *client)
{
	talk(client, "nonsense\n", 9);
}

static void send_list(struct client *client)
{
	talk(client, "[]\n", 3);
}

static void refuses_nonsense(void **state)
{
	struct client client = {.run = send_nonsense};

	(void)state;
	serve(&client);
	assert_non_null(strstr(client.heard, "not JSON"));
}

static void refuses_a_list(void **state)
{
	struct client client = {.run = send_list};

	(void)state;
	serve(&client);
	assert_non_null(strstr(client.heard, "not a JSON object"));
}

static void send_too_much(struct client *client)
{
	static char text[4096];

	memset(text, 'x', sizeof(text));
	talk(client, text, sizeof(text));
}

static void refuses_long_requests(void **state)
{
	struct client client = {.run = send_too_much};

	(void)state;
	serve(&client);
	assert_non_null(strstr(client.heard, "too long"));
}

static void crowd(struct client *client)
{
	int fds[CONTROL_CONNECTIONS_MOST];

	for (int i = 0; i < CONTROL_CONNECTIONS_MOST; i++)
		fds[i] = dial();
	talk(client, "{}\n", 3);
	for (int i = 0; i < CONTROL_CONNECTIONS_MOST; i++)
		close(fds[i]);
}

static void refuses_a_crowd(void **state)
{
	struct client client = {.run = crowd};

	(void)state;
	serve(&client);
	assert_non_null(strstr(client.heard, "too many clients"));
}

static void ask_and_read_too_late(struct client *client)
{
	int fd = dial();
	char byte;

	if (send(fd, "{\"do\":\"flood\"}\n", 15, MSG_NOSIGNAL) != 15)
		abort();
	sem_wait(&flooded);
	/* That there is an end although we have not said that we are done: the
	 * server has hung up. */
	while (recv(fd, &byte, 1, 0) > 0)
		client->result += byte == '\n';
	close(fd);
}

static void drops_who_does_not_read(void **state)
{
	struct client client = {.run = ask_and_read_too_late};

	(void)state;
	assert_int_equal(sem_init(&flooded, 0, 0), 0);
	serve(&client);
	assert_in_range(client.result, 1, 19999);
	sem_destroy(&flooded);
}

static void leave_in_the_middle(struct client *client)
{
	(void)client;
	for (int i = 0; i < 50; i++) {
		int fd = dial();

		if (send(fd, "{\"do\":\"later\"}\n", (size_t)(i % 16), MSG_NOSIGNAL) < 0)
			abort();
		close(fd);
	}
}

static void stands_clients_that_leave(void **state)
{
	struct client client = {.run = leave_in_the_middle};

	(void)state;
	serve(&client);
}

static void says_that_nobody_listens(void **state)
{
	struct client client = {0};

	(void)state;
	snprintf(path, sizeof(path), "%s/other", directory);
	call(&client, "now", CLOCK_NEVER);
	assert_int_equal(client.result, -1);
	assert_int_equal(client.err.kind, ERR_NOT_FOUND);
}

/* A supervisor that is stopped, and whose queue is full: connect(2) alone would wait for good. */
static void one_that_accepts_nobody_is_given_up(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), waiting[64];
	json_t *request = json_pack("{s:s}", "do", "now");
	size_t count = 0;
	struct err err = {0};

	(void)state;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/full", directory);
	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(listener, 1), 0);
	do {
		assert_in_range(count, 0, 63);
		waiting[count] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	} while (connect(waiting[count++], (struct sockaddr *)&address, sizeof(address)) == 0);
	assert_int_equal(control_socket_call(address.sun_path, request, NULL, NULL,
					     clock_monotonic_ms() + 200, &err),
			 -1);
	assert_int_equal(err.kind, ERR_CANCELLED);
	json_decref(request);
	while (count > 0)
		close(waiting[--count]);
	close(listener);
	unlink(address.sun_path);
}

#define SERVED(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SERVED(answers_at_once),
		SERVED(answers_all_that_are_held),
		SERVED(hears_who_asks_at_the_end),
		SERVED(answers_later),
		SERVED(gives_up_and_is_forgotten),
		SERVED(refuses_nonsense),
		SERVED(refuses_a_list),
		SERVED(refuses_long_requests),
		SERVED(refuses_a_crowd),
		SERVED(drops_who_does_not_read),
		SERVED(stands_clients_that_leave),
		SERVED(says_that_nobody_listens),
		SERVED(one_that_accepts_nobody_is_given_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
