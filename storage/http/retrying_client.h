/*
 * PRIVATE to storage/. What all stores over HTTP share: a pool of connections and the loop of one
 * call: prepare (sign, at the time of sending), perform, judge, and then done, again or given up.
 * Thread-safe: as many calls at once as there are threads.
 *
 * The loop knows the deadline in the cancel object (retry_policy_decide()): far from it a call is
 * patient for a while; in the last window it goes on until the deadline, with short pauses and an
 * early eye for stalls. It corrects the clock once when the server calls it skewed, has credentials
 * renewed once when they expired, and follows a move (region, redirect) a few times at most.
 */
#ifndef RETRYING_CLIENT_H
#define RETRYING_CLIENT_H

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/http.h"

#include <stdbool.h>
#include <stdint.h>

struct retrying_client;

/* What a proxy or a login page answers with 200: nothing that was asked for has been done. */
#define CALL_FOREIGN_REPLY \
	"that is not the store's answer: is a proxy or a login page between here and it?"

/* What prepare() fills; empty at each try. Everything is copied. */
struct call_request;
void call_request_set_url(struct call_request *request, const char *url);
void call_request_add_header(struct call_request *request, const char *format, ...)
	__attribute__((format(printf, 2, 3))); /* "Name: value" */

enum call_verdict {
	/* the answer is what was asked for */
	CALL_DONE,
	/* 5xx, a conflict that passes, an answer that makes no sense: again after a pause */
	CALL_RETRY,
	/* throttled: again after a longer one, or what Retry-After says */
	CALL_SLOW_DOWN,
	/* expired credentials: again at once, with others, but only once */
	CALL_REFRESH,
	/* our clock is wrong: the answer's Date is taken, again at once, but only once */
	CALL_SKEWED,
	/* judge() has noted a new address or region: again at once, three times at most */
	CALL_MOVED,
	/* final: `err` says what */
	CALL_FAILED,
};

/* Adds URL and headers; may block (credentials). `now_ms`: the wall clock as the server has it, to
 * sign with. A failure with ERR_RETRY is tried again, any other ends the call. */
typedef int (*call_prepare_fn)(void *arg, int64_t now_ms, struct call_request *request,
			       struct cancel *cancel, struct err *err);
/* For everything but CALL_DONE it fills `err`, which is what the caller gets if this was the last
 * try. */
typedef enum call_verdict (*call_judge_fn)(void *arg, const struct http_response *response,
					   struct err *err);

struct retried_call {
	const char *method;
	const void *body; /* stays the caller's */
	size_t body_size;
	void *arg;
	call_prepare_fn prepare;
	call_judge_fn judge;
	/* Reads a reply that judge() called good. What makes no sense (-1) is asked for again.
	 * NULL: nothing to read. */
	int (*read)(void *read_arg, const struct http_response *response, struct err *err);
	void *read_arg;
	/* It is not sent again where it may have been carried out: ERR_RETRY then. What is refused
	 * for another reason (credentials, clock, address) was not, and is sent again. */
	bool once;
};

#define RETRYING_CLIENT_PATIENCE_MS ((int64_t)30 * 1000)

/* What REPRIEVE_STORE_PATIENCE says ("90s"), else 30 s; -1, ERR_INVALID, where it
 * says something else. */
int64_t retrying_client_patience_ms(struct err *err);

/* `patience_ms`: how long a call goes on without success while no deadline is near; 0:
 * retrying_client_patience_ms(). `ca_file` (NULL: none) and `ca_variable` as in struct
 * http_request; the latter stays the caller's. */
struct retrying_client *retrying_client_new(int64_t patience_ms, const char *ca_file,
					    const char *ca_variable);
void retrying_client_free(
	struct retrying_client *remote); /* when no call is under way; NULL is fine */
AUTO_POINTER(struct retrying_client, retrying_client_free);

/*
 * 0 when judge() said CALL_DONE; `response` then holds the answer (set response->body.limit
 * before). Otherwise the error of the last try: judge()'s, or http_perform()'s, or ERR_CANCELLED
 * ("... (last: ...)" when the deadline came between tries). A request whose answer was lost may
 * have been carried out, and is sent again: a call must bear that.
 */
int retrying_client_perform(struct retrying_client *remote, const struct retried_call *call,
			    struct http_response *response, struct cancel *cancel, struct err *err);

/* False where no answer has said what time it is; else *clock_ms: the server's clock minus ours,
 * from the last answer's Date, to the second, plus the way. */
bool retrying_client_clock(struct retrying_client *remote, int64_t *clock_ms);
/* The wall clock as the server has it, as far as it has complained. */
int64_t retrying_client_now_ms(struct retrying_client *remote);

enum retry_cause {
	RETRY_FAULT,     /* connection, 5xx */
	RETRY_THROTTLED, /* 503 SlowDown, 429 */
};

struct retry_policy_facts {
	enum retry_cause cause;
	unsigned tries;      /* done so far, at least 1 */
	int64_t spent_ms;    /* since the first try began */
	int64_t patience_ms; /* give up after this time, unless the deadline is near */
	int64_t left_ms;     /* to the deadline; CLOCK_NEVER: none */
	int64_t asked_ms;    /* Retry-After; -1: none */
	uint32_t random;     /* any 32 bits */
};

struct retry_policy_decision {
	bool again;
	int64_t after_ms;
};

/* The last try comes at the end of the patience: a longer pause is cut, unless the server asked for
 * it (Retry-After). */
struct retry_policy_decision retry_policy_decide(const struct retry_policy_facts *facts);

/* How long a transfer may go without a byte before it counts as dead, in ms. */
int64_t retry_policy_stall_ms(int64_t left_ms);

#endif
