#include "control.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define CONNECT_AGAIN_MS 50
#define REQUEST_MOST 4096
#define UNSENT_MOST 65536
#define HEAR_MS 100 /* for who has connected and not yet said what it wants */

/* A connection, which is for one request. */
struct control_request {
	struct source source;
	struct control_socket *control_socket;
	char input[REQUEST_MOST];
	size_t input_size;
	struct bytes output;
	bool asked;    /* the request was read; nothing more is */
	bool finished; /* the last reply is in `output` */
	bool held;     /* for control_socket_answer_held() */
};

struct control_socket {
	struct source source;
	struct loop *loop;
	struct control_handler handler;
	char *path;
	struct control_request *connections[CONTROL_CONNECTIONS_MOST];
};

static void close_connection(struct control_request *request)
{
	struct control_socket *control_socket = request->control_socket;

	for (int i = 0; i < CONTROL_CONNECTIONS_MOST; i++)
		if (control_socket->connections[i] == request)
			control_socket->connections[i] = NULL;
	loop_remove(control_socket->loop, &request->source);
	close(request->source.fd);
	bytes_release(&request->output);
	free(request);
}

static void abort_connection(struct control_request *request)
{
	struct control_socket *control_socket = request->control_socket;

	if (request->asked && !request->finished && control_socket->handler.gone)
		control_socket->handler.gone(control_socket->handler.arg, request);
	close_connection(request);
}

static bool send_output(struct control_request *request)
{
	struct bytes *output = &request->output;

	while (output->size > 0) {
		ssize_t sent = send(request->source.fd, output->data, output->size,
				    MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return errno == EAGAIN || errno == EWOULDBLOCK;
		output->size -= (size_t)sent;
		memmove(output->data, output->data + sent, output->size);
	}
	return true;
}

/* Closes the connection once all is answered and sent. The events to wait for follow from the state
 * alone; epoll always reports hang-ups. */
static void settle_connection(struct control_request *request)
{
	if (request->finished && request->output.size == 0)
		close_connection(request);
	else
		loop_change(request->control_socket->loop, &request->source,
			    (request->asked ? 0 : EPOLLIN) |
				    (request->output.size > 0 ? EPOLLOUT : 0),
			    NULL);
}

void control_request_reply(struct control_request *request, json_t *reply)
{
	char *text = json_line(reply);

	json_decref(reply);
	if (!text || bytes_append(&request->output, text, strlen(text), NULL) < 0 ||
	    bytes_append(&request->output, "\n", 1, NULL) < 0 || !send_output(request))
		shutdown(request->source.fd, SHUT_RDWR); /* the loop sees the hang-up */
	free(text);
	settle_connection(request);
}

json_t *control_failure(const char *text)
{
	return json_pack("{s:s, s:s}", "event", "failed", "error", text);
}

void control_request_finish(struct control_request *request)
{
	request->finished = true;
	request->held = false;
	settle_connection(request);
}

void control_request_answer(struct control_request *request, json_t *reply)
{
	control_request_reply(request, reply);
	control_request_finish(request);
}

void control_request_hold(struct control_request *request)
{
	request->held = true;
}

void control_socket_answer_held(struct control_socket *control_socket, json_t *reply)
{
	for (int i = 0; control_socket && i < CONTROL_CONNECTIONS_MOST; i++)
		if (control_socket->connections[i] && control_socket->connections[i]->held)
			control_request_answer(control_socket->connections[i], json_incref(reply));
	json_decref(reply);
}

/* Hands the request to the handler once its line is complete, which may close the connection. */
static void receive_request(struct control_request *request)
{
	struct control_handler *handler = &request->control_socket->handler;
	ssize_t got = recv(request->source.fd, request->input + request->input_size,
			   sizeof(request->input) - request->input_size, MSG_DONTWAIT);
	auto_json json_t *message = NULL;
	struct err err;
	char *end;

	if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
		return;
	if (got <= 0) {
		abort_connection(request);
		return;
	}
	request->input_size += (size_t)got;
	end = memchr(request->input, '\n', request->input_size);
	if (!end && request->input_size < sizeof(request->input))
		return;
	request->asked = true;
	settle_connection(request);
	if (end)
		message = json_parse(request->input, (size_t)(end - request->input), &err);
	if (json_is_object(message))
		handler->asked(handler->arg, request, message);
	else
		control_request_answer(request, control_failure(!end ? "the request is too long"
								: message ? "not a JSON object"
									  : err.text));
}

static void connection_ready(struct source *source, uint32_t events)
{
	struct control_request *request = container_of(source, struct control_request, source);

	/* A client may send a request and hang up at once. The request still has an effect, so it
	 * is read first. */
	if ((events & EPOLLIN) && !request->asked)
		receive_request(request);
	else if ((events & (EPOLLHUP | EPOLLERR)) || !send_output(request))
		abort_connection(request);
	else
		settle_connection(request);
}

static bool peer_is_allowed(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	       (peer.uid == 0 || peer.uid == getuid());
}

/* False: nobody is there. */
static bool accept_client(struct control_socket *control_socket)
{
	static const char busy[] =
		"{\"event\":\"failed\",\"error\":\"too many clients at once\"}\n";
	auto_close int fd =
		accept4(control_socket->source.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	int free_place = 0;

	if (fd < 0)
		return false;
	if (!peer_is_allowed(fd))
		return true;
	while (free_place < CONTROL_CONNECTIONS_MOST && control_socket->connections[free_place])
		free_place++;
	if (free_place == CONTROL_CONNECTIONS_MOST) {
		(void)!send(fd, busy, sizeof(busy) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
		return true;
	}
	struct control_request *request = memory_new(sizeof(*request));
	request->control_socket = control_socket;
	request->source.fd = fd;
	request->source.ready = connection_ready;
	request->output.limit = UNSENT_MOST;
	if (loop_add(control_socket->loop, &request->source, EPOLLIN, NULL) < 0) {
		free(request);
		return true;
	}
	control_socket->connections[free_place] = request;
	(void)steal_fd(&fd);
	return true;
}

static void listener_ready(struct source *source, uint32_t events)
{
	(void)events;
	(void)accept_client(container_of(source, struct control_socket, source));
}

void control_socket_hear(struct control_socket *control_socket, bool last)
{
	int64_t until_ms = clock_monotonic_ms() + HEAR_MS;

	if (!control_socket)
		return;
	if (last)
		unlink(control_socket->path);
	while (accept_client(control_socket)) {
	}
	for (int i = 0; i < CONTROL_CONNECTIONS_MOST; i++) {
		struct control_request *request = control_socket->connections[i];
		struct pollfd fd = {.events = POLLIN};

		if (!request || request->asked)
			continue;
		fd.fd = request->source.fd;
		if (poll(&fd, 1, (int)clock_left_ms(until_ms)) > 0)
			connection_ready(&request->source, EPOLLIN);
	}
}

static int fill_socket_address(const char *path, struct sockaddr_un *address, struct err *err)
{
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof(address->sun_path))
		return err_set(err, ERR_INVALID, "%s is too long for a socket address", path);
	text_set(address->sun_path, sizeof(address->sun_path), path);
	return 0;
}

int control_socket_open(struct loop *loop, const char *path, const struct control_handler *handler,
			struct control_socket **control_socket, struct err *err)
{
	struct sockaddr_un address;
	auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct control_socket *made;

	if (fd < 0)
		return err_os(err, errno, "socket");
	if (fill_socket_address(path, &address, err) < 0)
		return -1;
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, CONTROL_CONNECTIONS_MOST) < 0)
		return err_os(err, errno, "%s", path);
	made = memory_new(sizeof(*made));
	*made = (struct control_socket){.loop = loop, .handler = *handler, .path = text_copy(path)};
	made->source = (struct source){.fd = steal_fd(&fd), .ready = listener_ready};
	if (loop_add(loop, &made->source, EPOLLIN, err) < 0) {
		control_socket_close(made);
		return err_wrap(err, "%s", path);
	}
	*control_socket = made;
	return 0;
}

void control_socket_close(struct control_socket *control_socket)
{
	if (!control_socket)
		return;
	for (int i = 0; i < CONTROL_CONNECTIONS_MOST; i++)
		if (control_socket->connections[i])
			close_connection(control_socket->connections[i]);
	loop_remove(control_socket->loop, &control_socket->source);
	close(control_socket->source.fd);
	unlink(control_socket->path);
	free(control_socket->path);
	free(control_socket);
}

/* Non-blocking, because a stopped supervisor (SIGSTOP) accepts nobody: once its backlog is full, a
 * blocking connect(2) would wait for ever. */
static int connect_socket(const char *path, int64_t deadline_ms, struct err *err)
{
	struct sockaddr_un address;
	auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return err_os(err, errno, "socket");
	if (fill_socket_address(path, &address, err) < 0)
		return -1;
	while (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		/* ECONNREFUSED: the socket's file exists, but its supervisor is gone. */
		int reason = errno == ECONNREFUSED ? ENOENT : errno;

		if (reason != EAGAIN)
			return err_os(err, reason, "%s", path);
		if (clock_left_ms(deadline_ms) <= 0)
			return err_set(err, ERR_CANCELLED, "out of time");
		usleep(CONNECT_AGAIN_MS * 1000);
	}
	fcntl(fd, F_SETFL, 0);
	return steal_fd(&fd);
}

/* Errors are ignored: the server may have replied and closed already, so the caller reads first. */
static void send_request(int fd, json_t *request)
{
	char *text = json_line(request);

	if (text && send(fd, text, strlen(text), MSG_NOSIGNAL) >= 0)
		(void)!send(fd, "\n", 1, MSG_NOSIGNAL);
	free(text);
	shutdown(fd, SHUT_WR); /* the server closes after its last reply */
}

int control_socket_ask(const char *path, json_t *request, int64_t deadline_ms, struct err *err)
{
	int fd = connect_socket(path, deadline_ms, err);

	if (fd >= 0)
		send_request(fd, request);
	return fd;
}

int control_socket_await(int fd, void (*replied)(void *arg, json_t *reply), void *arg,
			 int64_t deadline_ms, struct err *err)
{
	auto_free char *line = NULL;
	FILE *input = fdopen(dup(fd), "r");
	size_t capacity = 0;
	int status = input ? 1 : err_os(err, errno, "the supervisor's reply");

	while (status > 0) {
		int64_t left = clock_left_ms(deadline_ms);
		struct timeval time = {.tv_sec = left / 1000, .tv_usec = left % 1000 * 1000};
		auto_json json_t *reply = NULL;
		ssize_t length = -1;
		bool whole;

		/* A time-out of 0 is none. */
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
		errno = EAGAIN;
		if (left > 0)
			length = getline(&line, &capacity, input);
		whole = length > 0 && line[length - 1] == '\n';
		if (whole)
			reply = json_parse(line, (size_t)length, err);
		if (reply)
			replied(arg, reply);
		else if (whole)
			status = err_wrap(err, "the supervisor's reply");
		else if (feof(input) || errno == ECONNRESET)
			status = 0;
		else if (errno == EAGAIN)
			status = err_set(err, ERR_CANCELLED, "out of time");
		else if (errno != EINTR)
			status = err_os(err, errno, "the supervisor's reply");
		else
			clearerr(input);
	}
	if (input)
		fclose(input);
	return status;
}

int control_socket_call(const char *path, json_t *request,
			void (*replied)(void *arg, json_t *reply), void *arg, int64_t deadline_ms,
			struct err *err)
{
	auto_close int fd = control_socket_ask(path, request, deadline_ms, err);

	return fd < 0 ? -1 : control_socket_await(fd, replied, arg, deadline_ms, err);
}

static void keep_reply(void *arg, json_t *reply)
{
	json_t **answer = arg;

	json_decref(*answer);
	*answer = json_incref(reply);
}

int control_client_query(const char *directory, const char *what, int64_t patience_ms,
			 json_t **answer, struct err *err)
{
	auto_free char *path = text_format("%s/%s", directory, SESSION_CONTROL);
	auto_json json_t *request = json_pack("{s:s}", "do", what);

	*answer = NULL;
	if (control_socket_call(path, request, keep_reply, answer,
				clock_monotonic_ms() + patience_ms, err) < 0)
		return -1;
	if (!*answer)
		return err_set(err, ERR_FAILED, "the supervisor exited before it replied");
	if (!text_equal(json_text_or(*answer, "event", ""), "failed"))
		return 0;
	err_set(err, ERR_RETRY, "the supervisor refuses: %s",
		json_text_or(*answer, "error", "no reason given"));
	json_decref(*answer);
	*answer = NULL;
	return -1;
}
