/*
 * The control socket: how `reprieve checkpoint` and `reprieve status` talk to a running supervisor.
 * One JSON object per line, one request at a time, any number of replies to each. The server closes
 * the connection after the last reply, once the client has shut down its side. Only root and the
 * user who runs the supervisor may connect.
 *
 *	{"do":"checkpoint","wait":true} ->
 *		{"event":"asked","pids":[..],"again":false} {"event":"saving","path":..}
 *{"event":"saved"}
 *		{"event":"durable","id":..,"bytes":..,"step":..,"seconds":..}
 *		or {"event":"failed","error":..}
 *		with "wait":false nothing after "asked"; with "again":true, "asked" names more
 *		ranks that hear the same request; without pids, a save under way serves this
 *		request, or the job is asked when that has ended
 *	{"do":"status"} -> one object
 *	{"do":"checkpoints"} -> the same with "checkpoints": what is known of each
 *	{"do":"outcome"} -> when the job has ended:
 *		{"event":"ended","job":..,"outcome":..,"exit_code":..,"durable":..}
 *
 * The reply to any other request is {"event":"failed","error":..}.
 */
#ifndef CONTROL_SOCKET_H
#define CONTROL_SOCKET_H

#include "base/cancel.h"
#include "base/loop.h"

#include <jansson.h>
#include <stdbool.h>

/* At once. Each has a descriptor, and the supervisor needs some too. */
#define CONTROL_CONNECTIONS_MOST 256

struct control_socket;
struct control_request; /* one client that waits for replies */

struct control_handler {
	/* `message` is an object, borrowed. Reply now or later; the request is valid until
	 * control_request_finish() or `gone`. */
	void (*asked)(void *arg, struct control_request *request, json_t *message);
	/* The client has disconnected before the last reply: forget the request. */
	void (*gone)(void *arg, struct control_request *request);
	void *arg;
};

/* Listens at `path`, which must fit a socket address (session.h ensures that). Does not block. */
int control_socket_open(struct loop *loop, const char *path, const struct control_handler *handler,
			struct control_socket **control, struct err *err);

/* Closes all connections without calling `gone`. Replies that were not sent yet are lost. NULL is
 * fine. */
void control_socket_close(struct control_socket *control);

/* Takes ownership of `reply`. May be called several times; never calls back, never blocks. The loop
 * drops a client that does not read. */
void control_request_reply(struct control_request *request, json_t *reply);

/* Call after the last reply. The request is invalid afterwards. */
void control_request_finish(struct control_request *request);
/* Both at once. */
void control_request_answer(struct control_request *request, json_t *reply);
/* {"event":"failed","error":why}. Owned by the caller. */
json_t *control_failure(const char *why);

/* Handles what clients have asked by now, without the loop. Waits a moment for those that have
 * connected and not asked yet. `last`: nobody else can connect from now on. NULL is fine. */
void control_socket_hear(struct control_socket *control, bool last);
/* The request waits for what all that are held are answered. */
void control_request_hold(struct control_request *request);
/* Takes ownership of `reply`. `control` NULL: nobody is held. */
void control_socket_answer_held(struct control_socket *control, json_t *reply);

/*
 * The client: sends `request` (borrowed) and calls `replied` for each reply (borrowed) until the
 * server closes. Blocks until then. ERR_NOT_FOUND: nobody listens. ERR_CANCELLED: `cancel` was
 * raised, or its deadline has passed. ERR_CORRUPT: a reply is not JSON. 0 means only that the
 * server has closed; `replied` has to know whether the last reply was a final one.
 */
int control_socket_call(const char *path, json_t *request,
			void (*replied)(void *arg, json_t *reply), void *arg, struct cancel *cancel,
			struct err *err);
/* The same in two parts. What is asked by the first one is answered, also if the supervisor is
 * about to end. The caller closes the descriptor; -1 on error. */
int control_socket_ask(const char *path, json_t *request, struct cancel *cancel, struct err *err);
int control_socket_await(int fd, void (*replied)(void *arg, json_t *reply), void *arg,
			 struct cancel *cancel, struct err *err);

#endif
