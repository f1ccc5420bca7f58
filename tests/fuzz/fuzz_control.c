/* What a client sends to the control socket: whatever it is, each answer is one line of JSON, and
 * the connection ends. */
#include "fuzz.h"

#include "base/cleanup.h"
#include "control/control.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define SENT_MOST 60000 /* so that no call blocks */

static char directory[] = "/tmp/reprieve-fuzz-XXXXXX";
static char path[64];
static struct loop loop;
static struct control_socket *control;
static struct bytes answers;

static void asked(void *arg, struct control_request *request, json_t *message)
{
	(void)arg;
	CHECK(json_is_object(message));
	for (size_t i = json_object_size(message) % 3; i > 0; i--)
		control_request_reply(request, json_incref(message));
	control_request_finish(request);
}

static void remove_socket(void)
{
	control_socket_close(control);
	unlink(path);
	rmdir(directory);
}

static void open_once(void)
{
	const struct control_handler handler = {.asked = asked};
	struct err err;

	if (control)
		return;
	CHECK(mkdtemp(directory) && loop_init(&loop, &err) == 0);
	snprintf(path, sizeof(path), "%s/control.sock", directory);
	CHECK(control_socket_open(&loop, path, &handler, &control, &err) == 0);
	atexit(remove_socket);
}

static void answered(struct source *source, uint32_t events)
{
	char piece[4096];
	ssize_t got = recv(source->fd, piece, sizeof(piece), MSG_DONTWAIT);

	(void)events;
	if (got > 0)
		CHECK(bytes_append(&answers, piece, (size_t)got, NULL) == 0);
	else if (got == 0 || errno != EAGAIN)
		loop_stop(&loop);
}

static void check_answers(void)
{
	const uint8_t *at = answers.data;
	size_t left = answers.size;

	CHECK(left == 0 || at[left - 1] == '\n');
	while (left > 0) {
		auto_free char *line = fuzz_line(&at, &left);
		json_t *answer = json_loads(line, 0, NULL);

		CHECK(json_is_object(answer));
		json_decref(answer);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct source client = {.ready = answered};

	open_once();
	text_set(address.sun_path, sizeof(address.sun_path), path);
	client.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(connect(client.fd, (struct sockaddr *)&address, sizeof(address)) == 0);
	size = size < SENT_MOST ? size : SENT_MOST;
	CHECK(send(client.fd, data, size, MSG_NOSIGNAL) == (ssize_t)size);
	shutdown(client.fd, SHUT_WR);
	answers.size = 0;
	loop.stopped = false;
	CHECK(loop_add(&loop, &client, EPOLLIN, NULL) == 0);
	CHECK(loop_run(&loop, NULL) == 0);
	loop_remove(&loop, &client);
	close(client.fd);
	check_answers();
	return 0;
}
