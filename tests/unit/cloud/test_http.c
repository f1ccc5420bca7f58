/* The client against the server: what goes over, and how it fails. */
#include "unit.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/http.h"
#include "base/httpd.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_int acknowledged_at_once;

int setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
	if (level == IPPROTO_TCP && name == TCP_QUICKACK)
		atomic_fetch_add(&acknowledged_at_once, 1);
	return (int)syscall(SYS_setsockopt, fd, level, name, value, size);
}

/* Tells what it was sent, or misbehaves as the path says. */
static void handle(void *arg, const struct httpd_request *request, struct httpd_reply *reply)
{
	const char *header = httpd_request_header(request, "X-Test");
	const char *query = httpd_request_query(request, "q");
	auto_free char *text = NULL;

	(void)arg;
	if (strcmp(request->path, "/hang") == 0)
		cancel_sleep(request->cancel, CLOCK_NEVER / 2, NULL);
	if (strcmp(request->path, "/later") == 0)
		cancel_sleep(request->cancel, 3000, NULL);
	if (strcmp(request->path, "/reset") == 0) {
		reply->delivery = HTTPD_RESET;
		return;
	}
	if (strcmp(request->path, "/redirect") == 0) {
		httpd_reply_text(reply, 302, "");
		httpd_reply_header(reply, "Location", "/elsewhere");
		return;
	}
	if (strcmp(request->path, "/slow") == 0)
		cancel_sleep(request->cancel, 300, NULL);
	text = text_format("%s %s q=%s h=%s e=%s b=%.*s", request->method, request->path,
			   query ? query : "-", header ? header : "-",
			   httpd_request_header(request, "Expect") ? "yes" : "no",
			   (int)request->body_size,
			   request->body ? (const char *)request->body : "");
	httpd_reply_text(reply, strcmp(request->path, "/404") == 0 ? 404 : 200, text);
	httpd_reply_header(reply, "X-Answer", " spaced  ");
}

struct fixture {
	struct httpd *httpd;
	struct http *http;
	struct http_response response;
	char url[64];
};

static int set_up(void **state)
{
	struct fixture *fixture = memory_new(sizeof(*fixture));

	/* A proxy of the surroundings must not be asked about loopback. */
	unsetenv("http_proxy");
	unsetenv("no_proxy");
	unsetenv("NO_PROXY");
	assert_int_equal(httpd_start(&(struct httpd_options){.handler = handle}, &fixture->httpd,
				     NULL),
			 0);
	assert_int_equal(http_new(&fixture->http, NULL), 0);
	snprintf(fixture->url, sizeof(fixture->url), "http://127.0.0.1:%u",
		 httpd_port(fixture->httpd));
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	http_response_release(&fixture->response);
	http_free(fixture->http);
	httpd_stop(fixture->httpd);
	free(fixture);
	return 0;
}

static int perform(struct fixture *fixture, const char *method, const char *path, struct err *err)
{
	auto_free char *url = text_format("%s%s", fixture->url, path);
	const struct http_request request = {.method = method, .url = url};

	return http_perform(fixture->http, &request, &fixture->response, NULL, err);
}

static void assert_body(const struct fixture *fixture, const char *expected)
{
	assert_int_equal(fixture->response.body.size, strlen(expected));
	assert_memory_equal(fixture->response.body.data, expected, strlen(expected));
}

/* The kernel forgets it with each packet that is sent: also on a connection that is kept. (A slow
 * answer, because one that is there already needs none.) */
static void answers_are_acknowledged_at_once(void **state)
{
	for (int i = 0; i < 3; i++) {
		atomic_store(&acknowledged_at_once, 0);
		assert_int_equal(perform(*state, NULL, "/slow", NULL), 0);
		assert_true(atomic_load(&acknowledged_at_once) > 0);
	}
}

/* A sink that takes what it likes. */
struct bucket {
	int answer;
	struct bytes taken;
	int status;
};

static int take(void *arg, const struct http_response *response, const void *data, size_t size,
		struct err *err)
{
	struct bucket *bucket = arg;

	bucket->status = response->status;
	assert_string_equal(http_header(response, "X-Answer"), "spaced");
	if (bucket->answer < 0)
		return err_set(err, ERR_NO_SPACE, "full");
	if (bucket->answer > 0) {
		assert_int_equal(response->sunk, bucket->taken.size);
		bytes_append(&bucket->taken, data, size, NULL);
	}
	return bucket->answer;
}

static void bodies_into_a_sink(void **state)
{
	static const char body[] = "GET /a q=- h=- e=no b=";
	struct fixture *fixture = *state;

	for (int answer = -1; answer <= 1; answer++) {
		struct bucket bucket = {.answer = answer};
		const struct http_sink sink = {take, &bucket};
		struct err err = {0};

		fixture->response.sink = &sink;
		assert_int_equal(perform(fixture, NULL, "/a", &err), answer < 0 ? -1 : 0);
		assert_int_equal(err.kind, answer < 0 ? ERR_NO_SPACE : 0);
		assert_int_equal(bucket.status, 200);
		assert_int_equal(fixture->response.sunk, answer > 0 ? sizeof(body) - 1 : 0);
		assert_int_equal(bucket.taken.size, answer > 0 ? sizeof(body) - 1 : 0);
		if (answer > 0)
			assert_memory_equal(bucket.taken.data, body, bucket.taken.size);
		if (answer == 0)
			assert_body(fixture, body);
		else
			assert_int_equal(fixture->response.body.size, 0);
		bytes_release(&bucket.taken);
	}
	fixture->response.sink = NULL;
}

static void methods_and_bodies(void **state)
{
	static const struct {
		const char *method, *body, *answer;
	} rows[] = {
		{NULL, NULL, "GET /a/../b q=1 h=x e=no b="},
		{"PUT", NULL, "PUT /a/../b q=1 h=x e=no b="},
		{"PUT", "data", "PUT /a/../b q=1 h=x e=no b=data"},
		{"POST", NULL, "POST /a/../b q=1 h=x e=no b="},
		{"POST", "data", "POST /a/../b q=1 h=x e=no b=data"},
		{"DELETE", NULL, "DELETE /a/../b q=1 h=x e=no b="},
		{"HEAD", NULL, ""},
	};
	static const char *const headers[] = {"X-Test: x", NULL};
	struct fixture *fixture = *state;
	auto_free char *url = text_format("%s/a/../b?q=1", fixture->url);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct http_request request = {
			.method = rows[i].method,
			.url = url,
			.headers = headers,
			.body = rows[i].body,
			.body_size = rows[i].body ? strlen(rows[i].body) : 0,
			.no_proxy = true,
		};

		assert_int_equal(http_perform(fixture->http, &request, &fixture->response, NULL,
					      NULL),
				 0);
		assert_int_equal(fixture->response.status, 200);
		assert_body(fixture, rows[i].answer);
	}
}

/* A metadata request goes past the proxy that the environment names; another one goes to it. */
static void proxies_are_passed_by(void **state)
{
	struct fixture *fixture = *state;
	const struct http_request past = {.url = fixture->url, .no_proxy = true};
	const struct http_request through = {.url = fixture->url};
	struct err err = {0};

	setenv("http_proxy", "http://127.0.0.1:9", 1);
	assert_int_equal(http_perform(fixture->http, &past, &fixture->response, NULL, NULL), 0);
	assert_int_equal(http_perform(fixture->http, &through, &fixture->response, NULL, &err), -1);
	assert_int_equal(err.os, ECONNREFUSED);
	unsetenv("http_proxy");
}

static void headers_are_found_in_any_case(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(perform(fixture, "GET", "/", NULL), 0);
	assert_string_equal(http_header(&fixture->response, "x-ANSWER"), "spaced");
	assert_null(http_header(&fixture->response, "X-Other"));
	assert_null(http_header(&fixture->response, "spaced"));
}

static void statuses_are_answers(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(perform(fixture, "GET", "/404", NULL), 0);
	assert_int_equal(fixture->response.status, 404);
	assert_int_equal(perform(fixture, "GET", "/redirect", NULL), 0);
	assert_int_equal(fixture->response.status, 302);
	assert_string_equal(http_header(&fixture->response, "Location"), "/elsewhere");
}

/* Many times the socket's buffers: comes back whole, in the same response's memory. */
static void large_bodies(void **state)
{
	enum {
		SIZE = 900 * 1000
	};
	struct fixture *fixture = *state;
	auto_free char *url = text_format("%s/", fixture->url);
	auto_free char *body = memory_new(SIZE);
	const struct http_request request = {
		.method = "PUT",
		.url = url,
		.body = body,
		.body_size = SIZE,
	};
	const uint8_t *end;

	for (size_t i = 0; i < SIZE; i++)
		body[i] = (char)('a' + i % 23);
	assert_int_equal(http_perform(fixture->http, &request, &fixture->response, NULL, NULL), 0);
	assert_true(fixture->response.body.size > SIZE);
	end = fixture->response.body.data + fixture->response.body.size;
	assert_memory_equal(end - SIZE, body, SIZE);
	assert_int_equal(perform(fixture, "GET", "/", NULL), 0);
	assert_body(fixture, "GET / q=- h=- e=no b=");
}

static void too_long_is_an_error(void **state)
{
	struct fixture *fixture = *state;
	struct err err = {0};

	fixture->response.body.limit = 5;
	assert_int_equal(perform(fixture, "GET", "/", &err), -1);
	assert_int_equal(err.kind, ERR_FAILED);
	fixture->response.body.limit = 0;
	assert_int_equal(perform(fixture, "GET", "/", NULL), 0);
}

static void what_the_network_does(void **state)
{
	struct fixture *fixture = *state;
	struct http_request request = {.url = "http://127.0.0.1:9/"};
	auto_free char *hang = text_format("%s/hang", fixture->url);
	auto_free char *slow = text_format("%s/slow", fixture->url);
	struct err err = {0};

	assert_int_equal(http_perform(fixture->http, &request, &fixture->response, NULL, &err), -1);
	assert_int_equal(err.kind, ERR_RETRY);
	assert_int_equal(err.os, ECONNREFUSED);
	assert_int_equal(perform(fixture, "GET", "/reset", &err), -1);
	assert_int_equal(err.kind, ERR_RETRY);
	request = (struct http_request){.url = hang, .timeout_ms = 50};
	assert_int_equal(http_perform(fixture->http, &request, &fixture->response, NULL, &err), -1);
	assert_int_equal(err.kind, ERR_RETRY);
	assert_int_equal(err.os, ETIMEDOUT);
	request = (struct http_request){.url = slow, .timeout_ms = 100};
	assert_int_equal(http_perform(fixture->http, &request, &fixture->response, NULL, &err), -1);
	assert_int_equal(err.os, ETIMEDOUT);
}

static void urls_that_are_none(void **state)
{
	static const char *const urls[] = {"", "nonsense://x/", "file:///etc/passwd", "http://",
					   "ftp://h/"};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		const struct http_request request = {.url = urls[i]};
		struct err err = {0};

		assert_int_equal(http_perform(fixture->http, &request, &fixture->response, NULL,
					      &err),
				 -1);
		assert_int_equal(err.kind, ERR_INVALID);
	}
}

static void *raise_soon(void *arg)
{
	/* curl wakes by itself for its first timers, within 200 ms. */
	usleep(600 * 1000);
	cancel_raise(arg);
	return NULL;
}

/* Who does not wake at the raise sees the answer that comes 3 s later, and that is no error. */
static void cancel_ends_it(void **state)
{
	struct fixture *fixture = *state;
	auto_free char *url = text_format("%s/later", fixture->url);
	const struct http_request request = {.url = url};
	struct cancel cancel;
	struct err err = {0};
	pthread_t thread;

	assert_int_equal(cancel_init(&cancel, NULL), 0);
	pthread_create(&thread, NULL, raise_soon, &cancel);
	assert_int_equal(http_perform(fixture->http, &request, &fixture->response, &cancel, &err),
			 -1);
	assert_int_equal(err.kind, ERR_CANCELLED);
	pthread_join(thread, NULL);
	assert_int_equal(http_perform(fixture->http, &request, &fixture->response, &cancel, &err),
			 -1);
	assert_int_equal(err.kind, ERR_CANCELLED);
	cancel_release(&cancel);
}

static void deadline_ends_it(void **state)
{
	struct fixture *fixture = *state;
	auto_free char *url = text_format("%s/hang", fixture->url);
	const struct http_request request = {.url = url};
	struct cancel cancel;
	struct err err = {0};

	assert_int_equal(cancel_init(&cancel, NULL), 0);
	cancel_set_deadline(&cancel, clock_monotonic_ms() + 50);
	assert_int_equal(http_perform(fixture->http, &request, &fixture->response, &cancel, &err),
			 -1);
	assert_int_equal(err.kind, ERR_CANCELLED);
	cancel_release(&cancel);
	/* And the handle is good for the next one. */
	assert_int_equal(perform(fixture, "GET", "/", NULL), 0);
}

static void a_port_in_use_is_named(void **state)
{
	struct fixture *fixture = *state;
	struct httpd *second;
	struct err err = {0};
	const struct httpd_options options = {
		.handler = handle,
		.port = httpd_port(fixture->httpd),
	};

	assert_int_equal(httpd_start(&options, &second, &err), -1);
	assert_int_equal(err.kind, ERR_EXISTS);
	assert_int_equal(httpd_start(
				 &(struct httpd_options){
					 .handler = handle,
					 .address = "nowhere",
				 },
				 &second, &err),
			 -1);
	assert_int_equal(err.kind, ERR_INVALID);
}

static int connect_to(uint16_t port)
{
	struct sockaddr_in name = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	return fd;
}

static size_t thread_count(void)
{
	DIR *directory = opendir("/proc/self/task");
	size_t count = 0;

	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

/* However many say nothing, there are no more threads than that, and who says
 * something is answered. */
static void silent_clients_are_bounded(void **state)
{
	static const struct httpd_options options = {
		.handler = handle,
		.connections_most = 4,
		.idle_seconds = 1,
	};
	struct fixture *fixture = *state;
	size_t before = thread_count(), most = 0;
	const int64_t limit_ms = clock_monotonic_ms() + 60000;
	int silent[10];

	httpd_stop(fixture->httpd);
	assert_int_equal(httpd_start(&options, &fixture->httpd, NULL), 0);
	snprintf(fixture->url, sizeof(fixture->url), "http://127.0.0.1:%u",
		 httpd_port(fixture->httpd));
	for (size_t i = 0; i < 10; i++)
		silent[i] = connect_to(httpd_port(fixture->httpd));
	for (int i = 0; i < 20; i++) {
		size_t now = thread_count();

		most = now > most ? now : most;
		cancel_sleep(NULL, 10, NULL);
	}
	assert_true(most > before && most <= before + 5);
	/* Who comes meanwhile is sent away, and gets in when the first silent ones are shut out. */
	while (perform(fixture, "GET", "/", NULL) < 0)
		assert_true(clock_monotonic_ms() < limit_ms && cancel_sleep(NULL, 20, NULL) == 0);
	assert_int_equal(fixture->response.status, 200);
	for (size_t i = 0; i < 10; i++)
		close(silent[i]);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(answers_are_acknowledged_at_once),
		ROW(bodies_into_a_sink),
		ROW(methods_and_bodies),
		ROW(proxies_are_passed_by),
		ROW(headers_are_found_in_any_case),
		ROW(statuses_are_answers),
		ROW(large_bodies),
		ROW(too_long_is_an_error),
		ROW(what_the_network_does),
		ROW(urls_that_are_none),
		ROW(cancel_ends_it),
		ROW(deadline_ends_it),
		ROW(a_port_in_use_is_named),
		ROW(silent_clients_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
