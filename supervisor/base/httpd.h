/*
 * A small HTTP server on threads, for metadata mocks, metrics and probes. The only user of
 * libmicrohttpd. Replies are built in memory; bodies of requests have at most 1 MiB.
 */
#ifndef BASE_HTTPD_H
#define BASE_HTTPD_H

#include "base/cancel.h"
#include "base/text.h"

struct httpd;

struct httpd_request {
	const char *method;
	const char *path; /* without the query; libmicrohttpd has percent-decoded it */
	const void *body;
	size_t body_size;
	struct cancel *cancel; /* httpd_stop() raises it: a waiting handler must return */
	void *connection;      /* private to the server */
};

enum httpd_delivery {
	HTTPD_SEND,
	HTTPD_RESET, /* no reply: the connection is reset */
};

#define HTTPD_HEADERS_MOST 12
struct httpd_reply {
	int status; /* 200 unless set */
	struct bytes body;
	struct {
		const char *name; /* static */
		char value[128];
	} headers[HTTPD_HEADERS_MOST];
	size_t header_count;
	enum httpd_delivery delivery;
};

/* Called on the connection's own thread; it may block. */
typedef void httpd_handler_fn(void *arg, const struct httpd_request *request,
			      struct httpd_reply *reply);

struct httpd_options {
	/* IPv4 or IPv6; NULL: 127.0.0.1; "": all addresses of this machine */
	const char *address;
	uint16_t port; /* 0: any free one */
	httpd_handler_fn *handler;
	void *arg;
	unsigned connections_most; /* at a time, a thread each; 0: no limit */
	unsigned idle_seconds;     /* an idle connection is closed after that; 0: five minutes */
};

/* ERR_INVALID: not an address. ERR_EXISTS: the port is in use. */
int httpd_start(const struct httpd_options *options, struct httpd **httpd, struct err *err);
uint16_t httpd_port(const struct httpd *httpd);
/* Wakes waiting handlers and closes all connections. Blocks until no handler runs. NULL is fine. */
void httpd_stop(struct httpd *httpd);

/* NULL: missing; "": a query argument without a value. Borrowed. */
const char *httpd_request_header(const struct httpd_request *request, const char *name);
const char *httpd_request_query(const struct httpd_request *request, const char *name);

void httpd_reply_header(struct httpd_reply *reply, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Replaces status and body. */
void httpd_reply_text(struct httpd_reply *reply, int status, const char *text);

#endif
