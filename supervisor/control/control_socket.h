/*
 * The control socket: how `reprieve checkpoint` and `reprieve status` talk to a running supervisor.
 * One JSON object per line, a request at a time, any number of replies to each; the server closes
 * when it has answered and nothing more can come. Only root and the user that runs the supervisor
 * are heard.
 *
 *	{"do":"checkpoint","wait":true} ->
 *		{"event":"asked","pids":[..]} {"event":"saving","path":..} {"event":"saved"}
 *		{"event":"durable","id":..,"bytes":..,"step":..,"seconds":..}
 *		or {"event":"failed","error":..}
 *		"wait":false: nothing after "asked"
 *	{"do":"status"} -> one object
 *
 * A request that is not understood is answered by {"event":"failed","error":..}.
 */
#ifndef CONTROL_SOCKET_H
#define CONTROL_SOCKET_H

#include "base/cancel.h"
#include "base/loop.h"

#include <jansson.h>

struct control_socket;
struct control_request; /* one client waiting for answers */

struct control_handler {
	/* `message` is an object, borrowed. Answer now or later; the request is valid until
	 * finished or gone. */
	void (*asked)(void *arg, struct control_request *request, json_t *message);
	/* The client went away before it was answered: forget the request. */
	void (*gone)(void *arg, struct control_request *request);
	void *arg;
};

/* Listens at `path`, which must fit a socket's address (session.h sees to that). */
int control_socket_open(struct loop *loop, const char *path, const struct control_handler *handler,
			struct control_socket **control, struct err *err);

/* Sends what can be sent at once, and ends all connections without calling `gone`. NULL is fine. */
void control_socket_close(struct control_socket *control);

/* Takes over `reply`. May be called several times; never calls back. A client that does not read is
 * dropped by the loop. */
void control_request_reply(struct control_request *request, json_t *reply);

/* After the last reply. The request is invalid afterwards. */
void control_request_finish(struct control_request *request);

/*
 * The client's side, blocking: sends `request` (borrowed), calls `replied` for each answer
 * (borrowed) until the server is done. ERR_NOT_FOUND when nobody listens; ERR_CANCELLED at the
 * deadline of `cancel`, or when that is raised; ERR_CORRUPT for an answer that is not JSON. 0 says
 * only that the server has closed: whether the last answer was a final one is for `replied`.
 */
int control_socket_call(const char *path, json_t *request,
			void (*replied)(void *arg, json_t *reply), void *arg, struct cancel *cancel,
			struct err *err);

#endif
