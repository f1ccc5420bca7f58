#include "metrics_server.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/httpd.h"
#include "base/json.h"
#include "base/text.h"
#include "control/control.h"
#include "health_probe.h"
#include "metrics_format.h"

#include <netdb.h>
#include <stdlib.h>
#include <string.h>

static bool is_numeric(const char *host)
{
	const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST};
	struct addrinfo *info;

	if (getaddrinfo(host, NULL, &hints, &info) != 0)
		return false;
	freeaddrinfo(info);
	return true;
}

int metrics_server_parse_address(const char *address, char **host, uint16_t *port, struct err *err)
{
	const char *colon = strrchr(address, ':'), *digits = colon ? colon + 1 : address;
	size_t length = colon ? (size_t)(colon - address) : 0;
	bool bracketed = length >= 2 && address[0] == '[' && address[length - 1] == ']';
	auto_free char *found = !colon      ? text_copy("127.0.0.1")
				: bracketed ? text_copy_n(address + 1, length - 2)
					    : text_copy_n(address, length);
	uint64_t number;

	*host = NULL;
	/* An IPv6 address needs brackets, because any of its colons could precede the port. */
	if (!text_to_u64(digits, UINT16_MAX, &number) ||
	    (!bracketed && memchr(address, ':', length)) || (*found && !is_numeric(found)))
		return err_set(err, ERR_INVALID,
			       "invalid address '%s': use 9090, :9090, 127.0.0.1:9090 or "
			       "[::1]:9090",
			       address);
	*port = (uint16_t)number;
	*host = steal(&found);
	return 0;
}

#define STATUS_TIMEOUT_MS 2000

/* Each connection is a thread beside the job. A client that scrapes less often connects again. */
enum {
	CONNECTIONS_MOST = 16,
	IDLE_SECONDS = 10
};

struct metrics_server {
	struct httpd *httpd;
	char *session;
	const char *const *states;
};

static void reply_metrics(json_t *status, const char *const *states, struct httpd_reply *reply)
{
	auto_free char *text = metrics_format(status, states, clock_wall_ms());

	httpd_reply_text(reply, 200, text);
	httpd_reply_header(reply, "Content-Type", "text/plain; version=0.0.4; charset=utf-8");
}

static void reply_probe(enum health_probe_kind kind, json_t *status, struct httpd_reply *reply)
{
	struct health_probe_facts facts = {
		.state = json_text_or(status, "state", ""),
		.sending = json_is_object(json_object_get(status, "saving")),
		.at_risk_ms = -1,
	};
	struct health_probe_result handle_request = health_probe_decide(kind, 0, &facts);

	httpd_reply_text(reply, handle_request.passed ? 200 : 503, handle_request.phase);
}

static void handle_request(void *arg, const struct httpd_request *request,
			   struct httpd_reply *reply)
{
	struct metrics_server *server = arg;
	auto_json json_t *status = NULL;
	bool live = text_equal(request->path, "/livez");
	struct err err;
	int result;

	if (!text_equal(request->path, "/metrics") && !live &&
	    !text_equal(request->path, "/readyz")) {
		httpd_reply_text(reply, 404, "/metrics, /livez or /readyz\n");
		return;
	}
	result = control_client_query(server->session, "status", STATUS_TIMEOUT_MS, &status, &err);
	/* A supervisor that refuses is alive: it must not be killed because it has many clients. */
	if (result < 0 && (err.kind != ERR_RETRY || !live)) {
		httpd_reply_text(reply, 503, err.text);
		return;
	}
	if (text_equal(request->path, "/metrics"))
		reply_metrics(status, server->states, reply);
	else
		reply_probe(live ? HEALTH_PROBE_LIVE : HEALTH_PROBE_READY, status, reply);
}

int metrics_server_start(const char *address, const char *session, const char *const *states,
			 struct metrics_server **server, struct err *err)
{
	auto_free char *host = NULL;
	struct metrics_server *new;
	uint16_t port = 0;

	*server = NULL;
	if (metrics_server_parse_address(address, &host, &port, err) < 0)
		return -1;
	new = memory_new(sizeof(*new));
	new->session = text_copy(session);
	new->states = states;
	if (httpd_start(
		    &(struct httpd_options){
			    .address = host,
			    .port = port,
			    .handler = handle_request,
			    .arg = new,
			    .connections_most = CONNECTIONS_MOST,
			    .idle_seconds = IDLE_SECONDS,
		    },
		    &new->httpd, err) < 0) {
		metrics_server_stop(new);
		return -1;
	}
	*server = new;
	return 0;
}

void metrics_server_stop(struct metrics_server *server)
{
	if (!server)
		return;
	httpd_stop(server->httpd);
	free(server->session);
	free(server);
}
