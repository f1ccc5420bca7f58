#include "base/httpd.h"

#include "base/library.h"

#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

enum {
	BODY_LIMIT = 1 << 20,
	IDLE_TIMEOUT_SECONDS = 300
};

// clang-format off
#define HTTPD_FUNCTIONS(F) \
	F(MHD_add_response_header) F(MHD_create_response_from_buffer) \
	F(MHD_destroy_response) F(MHD_get_connection_info) F(MHD_get_daemon_info) \
	F(MHD_lookup_connection_value) F(MHD_lookup_connection_value_n) F(MHD_queue_response) \
	F(MHD_start_daemon) F(MHD_stop_daemon)
// clang-format on
LIBRARY(microhttpd, "libmicrohttpd.so.12", "libmicrohttpd12", HTTPD_FUNCTIONS);

struct httpd {
	struct MHD_Daemon *daemon;
	struct cancel cancel;
	httpd_handler_fn *handler;
	void *arg;
	uint16_t port;
};

const char *httpd_request_header(const struct httpd_request *request, const char *name)
{
	return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

const char *httpd_request_query(const struct httpd_request *request, const char *name)
{
	const char *value = NULL;
	size_t size;

	if (MHD_lookup_connection_value_n(request->connection, MHD_GET_ARGUMENT_KIND, name,
					  strlen(name), &value, &size) == MHD_NO)
		return NULL;
	return value ? value : "";
}

void httpd_reply_header(struct httpd_reply *reply, const char *name, const char *format, ...)
{
	va_list args;
	size_t at = reply->header_count;

	if (at == HTTPD_HEADERS_MOST)
		return;
	reply->headers[at].name = name;
	va_start(args, format);
	vsnprintf(reply->headers[at].value, sizeof(reply->headers[at].value), format, args);
	va_end(args);
	reply->header_count++;
}

void httpd_reply_text(struct httpd_reply *reply, int status, const char *text)
{
	reply->status = status;
	reply->body.size = 0;
	bytes_append(&reply->body, text, strlen(text), NULL);
}

static enum MHD_Result send_reply(struct MHD_Connection *connection, struct httpd_reply *reply)
{
	struct MHD_Response *response;
	enum MHD_Result queued;

	if (reply->delivery == HTTPD_RESET) {
		const union MHD_ConnectionInfo *info =
			MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
		const struct linger at_once = {.l_onoff = 1};

		if (info)
			setsockopt(info->connect_fd, SOL_SOCKET, SO_LINGER, &at_once,
				   sizeof(at_once));
		return MHD_NO;
	}
	/* Takes the body over; without one there is nothing to free. */
	response = reply->body.size == 0
			   ? MHD_create_response_from_buffer(0, "", MHD_RESPMEM_PERSISTENT)
			   : MHD_create_response_from_buffer(reply->body.size, reply->body.data,
							     MHD_RESPMEM_MUST_FREE);
	if (reply->body.size > 0)
		reply->body = (struct bytes){0};
	if (!response)
		return MHD_NO;
	for (size_t i = 0; i < reply->header_count; i++)
		MHD_add_response_header(response, reply->headers[i].name, reply->headers[i].value);
	queued = MHD_queue_response(connection, (unsigned)reply->status, response);
	MHD_destroy_response(response);
	return queued;
}

/* libmicrohttpd calls this once with the header, once for each part of the body, and once at its
 * end. */
static enum MHD_Result handle_request(void *arg, struct MHD_Connection *connection, const char *url,
				      const char *method, const char *version, const char *data,
				      size_t *size, void **context)
{
	struct httpd *httpd = arg;
	struct bytes *body = *context;
	struct httpd_reply reply = {.status = 200};
	struct httpd_request request = {
		.method = method,
		.path = url,
		.cancel = &httpd->cancel,
		.connection = connection,
	};
	enum MHD_Result sent;

	(void)version;
	if (!body) {
		body = memory_new(sizeof(*body));
		body->limit = BODY_LIMIT;
		*context = body;
		return MHD_YES;
	}
	if (*size) {
		if (bytes_append(body, data, *size, NULL) < 0)
			return MHD_NO;
		*size = 0;
		return MHD_YES;
	}
	request.body = body->data;
	request.body_size = body->size;
	httpd->handler(httpd->arg, &request, &reply);
	sent = send_reply(connection, &reply);
	bytes_release(&reply.body);
	return sent;
}

static void on_request_completed(void *arg, struct MHD_Connection *connection, void **context,
				 enum MHD_RequestTerminationCode code)
{
	struct bytes *body = *context;

	(void)arg, (void)connection, (void)code;
	if (body)
		bytes_release(body);
	free(body);
	*context = NULL;
}

/* NULL: `err` says why. Its threads must not receive signals, which are for the control loop. */
static struct MHD_Daemon *start_daemon(struct httpd *httpd, const struct httpd_options *options,
				       const char *address, struct err *err)
{
	const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
	const unsigned idle_seconds =
		options->idle_seconds ? options->idle_seconds : IDLE_TIMEOUT_SECONDS;
	/* The list of options ends early if there is no limit; the library then has its own. */
	const enum MHD_OPTION limit =
		options->connections_most ? MHD_OPTION_CONNECTION_LIMIT : MHD_OPTION_END;
	unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION |
			 MHD_USE_POLL | MHD_USE_ITC;
	struct MHD_Daemon *daemon;
	struct addrinfo *info;
	sigset_t all, before;
	char digits[8];

	snprintf(digits, sizeof(digits), "%u", options->port);
	if (getaddrinfo(address, digits, &hints, &info) != 0) {
		err_set(err, ERR_INVALID, "\"%s\" is not an IP address", address);
		return NULL;
	}
	/* "::" accepts IPv4 too, whatever the machine's default is. */
	if (info->ai_family == AF_INET6)
		flags |= MHD_USE_DUAL_STACK;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	errno = 0;
	daemon = MHD_start_daemon(flags, 0, NULL, NULL, handle_request, httpd, MHD_OPTION_SOCK_ADDR,
				  info->ai_addr, MHD_OPTION_NOTIFY_COMPLETED, on_request_completed,
				  NULL, MHD_OPTION_CONNECTION_TIMEOUT, idle_seconds, limit,
				  options->connections_most, MHD_OPTION_END);
	if (!daemon && errno == EADDRINUSE)
		err_set(err, ERR_EXISTS, "port %u of %s is in use: choose another", options->port,
			address);
	else if (!daemon)
		err_os(err, errno, "listen on %s port %u", address, options->port);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	freeaddrinfo(info);
	return daemon;
}

int httpd_start(const struct httpd_options *options, struct httpd **result, struct err *err)
{
	const char *address = options->address ? options->address : "127.0.0.1";
	struct httpd *httpd;

	if (library_open(&microhttpd, err) < 0)
		return -1;
	httpd = memory_new(sizeof(*httpd));
	httpd->handler = options->handler;
	httpd->arg = options->arg;
	if (cancel_init(&httpd->cancel, err) < 0) {
		free(httpd);
		return -1;
	}
	httpd->daemon = start_daemon(httpd, options, *address ? address : "::", err);
	/* A machine or a container may have no IPv6. */
	if (!httpd->daemon && !*address)
		httpd->daemon = start_daemon(httpd, options, "0.0.0.0", err);
	if (!httpd->daemon) {
		cancel_release(&httpd->cancel);
		free(httpd);
		return -1;
	}
	httpd->port = MHD_get_daemon_info(httpd->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
	*result = httpd;
	return 0;
}

uint16_t httpd_port(const struct httpd *httpd)
{
	return httpd->port;
}

void httpd_stop(struct httpd *httpd)
{
	if (!httpd)
		return;
	cancel_raise(&httpd->cancel);
	MHD_stop_daemon(httpd->daemon);
	cancel_release(&httpd->cancel);
	free(httpd);
}
