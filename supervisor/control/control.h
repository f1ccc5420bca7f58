/*
 * supervisor/control/: how other processes reach a running supervisor: its runtime directory
 * (session.c), and the control socket in it (control_socket.c).
 */
#ifndef CONTROL_H
#define CONTROL_H

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/loop.h"

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

/* --- one's own session --- */

enum session_line {
	SESSION_JOB,
	SESSION_MEMBER,
	SESSION_PROCESS, /* the job's main process, as process_identity() has it */
	SESSION_STORE,   /* a URL */
	SESSION_PLACE,   /* two lines: name of this boot, checkpoint directory, canonical */
	SESSION_LINES
};

/*
 * The runtime directory of one supervisor, where its clients find it: control socket, notice file,
 * shim channel. It is removed when the supervisor ends; after a kill, a next supervisor removes
 * it, once the job that was left behind has ended as well. A supervisor is alive while it holds the
 * lock in its directory: the kernel releases that with the process, and it works across PID
 * namespaces that share a /tmp.
 */
struct session {
	char *directory; /* absolute; short enough that any file in it fits a socket address */
	int lock_fd;
	char *lines[SESSION_LINES]; /* what others read of it; NULL: an empty line */
};

/*
 * `member`: of a gang, which one of its supervisors this is; else 0. `store`: the URL of where the
 * job is saved, for whoever starts here when we have been killed; NULL: nowhere.
 *
 * Creates the directory below $XDG_RUNTIME_DIR/reprieve, else /tmp/reprieve-UID, else
 * /dev/shm/reprieve-UID, else $XDG_CACHE_HOME/reprieve (~/.cache), if that is private (our own,
 * mode 0700, no link): others can take the names in /tmp before us. ERR_DENIED: no place is
 * writable and private. Then `session` is empty, every function here does nothing with it, and the
 * caller may continue without.
 */
int session_open(const char *job, unsigned member, const char *store, struct session *session,
		 struct err *err);

/* Removes the directory and its contents. */
void session_close(struct session *session);
AUTO(struct session, session_close);

/* Lets one start of this job at a time, on this machine, look for others of it that live and claim
 * its attempt. Blocks, for 10 seconds at most. Returns a descriptor, to close once it has claimed;
 * -1: the start goes on without. */
int session_lock_start(const char *job, struct cancel *cancel);

/* Writes down a line for whoever starts here when we have been killed; takes over `text`. With
 * SESSION_PLACE there is something for the next start in that directory to read. */
void session_note(struct session *session, enum session_line line, char *text);

/* Names in the directory. */
#define SESSION_CONTROL "control.sock"
#define SESSION_NOTICE "notice"   /* REPRIEVE_NOTICE_FILE: appears on a notice */
#define SESSION_CHANNEL "channel" /* shim.h */
#define SESSION_WAKEUP "doorbell" /* shim.h */

/* "DIRECTORY/name"; NULL: there is no session. The caller frees. */
char *session_path(const struct session *session, const char *name);

/* --- sessions as others find them: clients, and the next supervisor --- */

/* Is the supervisor of this session directory alive? */
bool session_is_alive(const char *directory);

/* What is not known is "", or 0. */
struct session_info {
	char *directory;
	pid_t pid; /* of the supervisor, in its own PID namespace; so is the job's */
	pid_t job_pid;
	bool job_runs; /* as far as it can be seen from this PID namespace */
	const char *job, *store;
	/* private */
	char *text;
	const char *member, *process, *boot, *place;
	int64_t age_s;
};

struct session_list {
	struct session_info *items;
	size_t count;
};

void session_list_release(struct session_list *list);
AUTO(struct session_list, session_list_release);

/* The live sessions of this user, or those whose supervisor was killed and whose job runs on. `job`
 * NULL: of all jobs. */
void session_find(struct session_list *list, bool orphans, const char *job);

/* Calls `each` for the session of every dead supervisor of this user that had the checkpoint
 * directory, if nothing is left running of it. Nobody removes it meanwhile. */
void session_each_dead(const char *directory, void (*each)(void *arg, const char *session),
		       void *arg);

/* So many of dead supervisors stay; each has at most some 2 MiB. */
#define LEFT_SESSIONS_MOST 32

/* Removes the sessions of dead supervisors beside this one, if nothing is left of their jobs.
 * Those of this boot that a start in another directory may read stay (monitor/left_channel.c), but
 * no more than the youngest, because in some directories nobody starts again. No checkpoint
 * directory is touched. */
void session_remove_dead(const struct session *session, const char *directory, const char *boot);

/* --- the control socket --- */

/*
 * How `reprieve checkpoint` and `reprieve status` talk to a running supervisor. One JSON object per
 * line, one request a connection, any number of replies to it. The server closes the connection
 * after the last reply. Only root and the user who runs the
 * supervisor may connect.
 *
 *	{"do":"checkpoint","wait":true} ->
 *		{"event":"asked","pids":[..],"again":false}
 *		{"event":"saving","path":..} {"event":"saved"}
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

/* Listens at `path`, which must fit a socket address, as in a session. Does not block. */
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
 * server closes. Blocks until then. ERR_NOT_FOUND: nobody listens. ERR_CANCELLED: the
 * deadline has passed (monotonic; CLOCK_NEVER: there is none). ERR_CORRUPT: a reply is not JSON. 0
 * means only that the server has closed; `replied` has to know whether the last reply was a final
 * one.
 */
int control_socket_call(const char *path, json_t *request,
			void (*replied)(void *arg, json_t *reply), void *arg, int64_t deadline_ms,
			struct err *err);
/* The same in two parts. What is asked by the first one is answered, also if the supervisor is
 * about to end. The caller closes the descriptor; -1 on error. */
int control_socket_ask(const char *path, json_t *request, int64_t deadline_ms, struct err *err);
int control_socket_await(int fd, void (*replied)(void *arg, json_t *reply), void *arg,
			 int64_t deadline_ms, struct err *err);

/*
 * Sends {"do": `what`} to the supervisor of the session in `directory`. Blocks for `patience_ms` at
 * most. The caller owns *answer. Errors are those of control_socket_call(), and ERR_FAILED: the
 * supervisor exited before it replied; ERR_RETRY: it runs but refuses, as with too many clients.
 */
int control_client_query(const char *directory, const char *what, int64_t patience_ms,
			 json_t **answer, struct err *err);

#endif
