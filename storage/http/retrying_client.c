#include "retrying_client.h"

#include "base/clock.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Decides whether to try again, and when. Pauses grow exponentially with full jitter (each is
 * between 0 and the bound), so that a thousand ranks that were refused together do not return
 * together. In the last window before a deadline pauses are short, and only the deadline ends the
 * tries.
 */

enum {
	LAST_WINDOW_MS = 60 * 1000,
	LAST_WINDOW_PAUSE_MS = 500,
	FIRST_PAUSE_MS = 100,
	FIRST_PAUSE_THROTTLED_MS = 1000,
	LONGEST_PAUSE_MS = 10 * 1000,
	RETRY_AFTER_MOST_MS = 30 * 1000,
	STALL_MS = 20 * 1000,
	STALL_IN_LAST_WINDOW_MS = 4 * 1000,
};

static int64_t minimum_ms(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

struct retry_policy_decision retry_policy_decide(const struct retry_policy_facts *facts)
{
	bool last_window = facts->left_ms <= LAST_WINDOW_MS;
	int64_t patience_left_ms = facts->patience_ms - facts->spent_ms;
	int64_t asked_ms = minimum_ms(facts->asked_ms, RETRY_AFTER_MOST_MS);
	int64_t pause_ms =
		backoff_ms(facts->tries,
			   facts->cause == RETRY_THROTTLED ? FIRST_PAUSE_THROTTLED_MS
							   : FIRST_PAUSE_MS,
			   last_window ? LAST_WINDOW_PAUSE_MS : LONGEST_PAUSE_MS, facts->random);

	if (last_window)
		return (struct retry_policy_decision){facts->left_ms > pause_ms, pause_ms};
	if (asked_ms > patience_left_ms || patience_left_ms < 0)
		return (struct retry_policy_decision){false, 0};
	/* Nobody comes back before the time that the server asked for, and not all at once then. */
	pause_ms += asked_ms > 0 ? asked_ms : 0;
	/* A long pause is cut, not the last try: patience of 30 s is 30 s, whatever comes up. */
	return (struct retry_policy_decision){true, minimum_ms(pause_ms, patience_left_ms)};
}

int64_t retry_policy_stall_ms(int64_t left_ms)
{
	return left_ms <= LAST_WINDOW_MS ? STALL_IN_LAST_WINDOW_MS : STALL_MS;
}

enum {
	IDLE_MS = 4000, /* of an unused connection: S3 closes after 5 s */
	MOVES_MOST = 3,
	HEADERS_MOST = 48,
};

struct call_request {
	char *url;
	char *headers[HEADERS_MOST + 1];
	size_t header_count;
};

struct retrying_client {
	int64_t patience_ms;
	char *ca_file;
	const char *ca_variable;
	/* holds what follows */
	pthread_mutex_t mutex;
	/* the one used last is taken first, so that in a lull the others grow old and close */
	struct http **resting;
	size_t resting_count;
	/* also the capacity of `resting` */
	size_t made_count;
	int64_t skew_ms; /* added to our clock for signing: not 0 once a server has complained */
	bool clock_seen;
	int64_t clock_ms;
};

/* One call: its tries so far. */
struct call_state {
	struct retrying_client *remote;
	const struct retried_call *call;
	unsigned tries; /* before this one */
	int64_t now_ms; /* of this one, as the server has it */
	int64_t begun_ms;
	unsigned moves;
	bool refreshed, skewed, fresh;
	int64_t asked_ms;
};

/* --- the request being prepared --- */

void call_request_set_url(struct call_request *request, const char *url)
{
	free(request->url);
	request->url = text_copy(url);
}

void call_request_add_header(struct call_request *request, const char *format, ...)
{
	va_list args;

	if (request->header_count == HEADERS_MOST) {
		fprintf(stderr, "reprieve: more than %d headers in a request\n", HEADERS_MOST);
		abort();
	}
	va_start(args, format);
	if (vasprintf(&request->headers[request->header_count++], format, args) < 0)
		abort();
	va_end(args);
}

static void call_request_release(struct call_request *request)
{
	/* They hold signatures and tokens. */
	for (size_t i = 0; i < request->header_count; i++) {
		explicit_bzero(request->headers[i], strlen(request->headers[i]));
		free(request->headers[i]);
	}
	free(request->url);
	*request = (struct call_request){0};
}
AUTO(struct call_request, call_request_release);

/* --- the pool --- */

int64_t retrying_client_patience_ms(struct err *err)
{
	const char *value = getenv("REPRIEVE_STORE_PATIENCE");
	int64_t patience_ms = RETRYING_CLIENT_PATIENCE_MS;

	if (value && value[0] && (!text_to_duration_ms(value, &patience_ms) || patience_ms <= 0))
		return err_set(err, ERR_INVALID,
			       "REPRIEVE_STORE_PATIENCE=\"%.60s\": expected a duration such as 30s",
			       value);
	return patience_ms;
}

struct retrying_client *retrying_client_new(int64_t patience_ms, const char *ca_file,
					    const char *ca_variable)
{
	struct retrying_client *remote = memory_new(sizeof(*remote));

	remote->patience_ms = patience_ms ? patience_ms : retrying_client_patience_ms(NULL);
	if (remote->patience_ms < 0)
		remote->patience_ms = RETRYING_CLIENT_PATIENCE_MS;
	remote->ca_file = ca_file ? text_copy(ca_file) : NULL;
	remote->ca_variable = ca_variable;
	pthread_mutex_init(&remote->mutex, NULL);
	return remote;
}

void retrying_client_free(struct retrying_client *remote)
{
	if (!remote)
		return;
	for (size_t i = 0; i < remote->resting_count; i++)
		http_free(remote->resting[i]);
	free(remote->resting);
	free(remote->ca_file);
	pthread_mutex_destroy(&remote->mutex);
	free(remote);
}

static int borrow_connection(struct retrying_client *remote, struct http **http, struct err *err)
{
	*http = NULL;
	pthread_mutex_lock(&remote->mutex);
	if (remote->resting_count)
		*http = remote->resting[--remote->resting_count];
	pthread_mutex_unlock(&remote->mutex);
	if (*http)
		return 0;
	if (http_new(http, err) < 0)
		return -1;
	pthread_mutex_lock(&remote->mutex);
	remote->made_count++;
	remote->resting =
		memory_grow(remote->resting, remote->made_count, sizeof(*remote->resting));
	pthread_mutex_unlock(&remote->mutex);
	return 0;
}

static void return_connection(struct retrying_client *remote, struct http *http)
{
	pthread_mutex_lock(&remote->mutex);
	remote->resting[remote->resting_count++] = http;
	pthread_mutex_unlock(&remote->mutex);
}

bool retrying_client_clock(struct retrying_client *remote, int64_t *clock_ms)
{
	bool seen;

	pthread_mutex_lock(&remote->mutex);
	seen = remote->clock_seen;
	*clock_ms = remote->clock_ms;
	pthread_mutex_unlock(&remote->mutex);
	return seen;
}

/* --- one try --- */

int64_t retrying_client_now_ms(struct retrying_client *remote)
{
	int64_t skew_ms;

	pthread_mutex_lock(&remote->mutex);
	skew_ms = remote->skew_ms;
	pthread_mutex_unlock(&remote->mutex);
	return clock_wall_ms() + skew_ms;
}

static void note_clock(struct retrying_client *remote, const struct http_response *answer)
{
	const char *date = http_header(answer, "date");
	int64_t server_ms;

	if (!date || !datetime_parse(date, &server_ms))
		return;
	pthread_mutex_lock(&remote->mutex);
	remote->clock_seen = true;
	remote->clock_ms = server_ms - clock_wall_ms();
	pthread_mutex_unlock(&remote->mutex);
}

static int send_request(struct call_state *progress, const struct call_request *prepared,
			struct http_response *response, struct cancel *cancel, struct err *err)
{
	const struct retried_call *call = progress->call;
	struct http_request request = {
		.method = call->method,
		.url = prepared->url,
		.headers = (const char *const *)prepared->headers,
		.body = call->body,
		.body_size = call->body_size,
		.stall_timeout_ms = retry_policy_stall_ms(cancel_left_ms(cancel)),
		.idle_timeout_ms = IDLE_MS,
		.fresh = progress->fresh,
		.ca_file = progress->remote->ca_file,
		.ca_variable = progress->remote->ca_variable,
	};
	struct http *http = NULL;
	int result;

	/* Else it would take one stall longer than it may. */
	if (request.stall_timeout_ms > progress->remote->patience_ms)
		request.stall_timeout_ms = progress->remote->patience_ms;
	if (borrow_connection(progress->remote, &http, err) < 0)
		return -1;
	result = http_perform(http, &request, response, cancel, err);
	return_connection(progress->remote, http);
	if (result == 0)
		note_clock(progress->remote, response);
	return result;
}

/* "Retry-After: 3", or a date; S3 also says it in milliseconds. */
static int64_t retry_after_ms(const struct http_response *response, int64_t now_ms)
{
	const char *after = http_header(response, "retry-after");
	const char *after_ms = http_header(response, "x-amz-retry-after");
	uint64_t value;
	int64_t date_ms;

	if (after_ms && text_to_u64(after_ms, 3600 * 1000, &value))
		return (int64_t)value;
	if (after && text_to_u64(after, 3600, &value))
		return (int64_t)value * 1000;
	if (after && datetime_parse(after, &date_ms))
		return date_ms > now_ms ? date_ms - now_ms : 0;
	return -1;
}

/* False where no answer says what time it is. */
static bool correct_clock(struct retrying_client *remote)
{
	bool seen;

	pthread_mutex_lock(&remote->mutex);
	seen = remote->clock_seen;
	remote->skew_ms = remote->clock_ms;
	pthread_mutex_unlock(&remote->mutex);
	return seen;
}

/* --- from one try to the next --- */

/* Sleeps if there is to be another try; -1 with the last try's error if not. */
static int pause_before_next(struct call_state *progress, enum retry_cause cause,
			     struct cancel *cancel, struct err *err)
{
	struct retry_policy_facts facts = {
		.cause = cause,
		.tries = progress->tries + 1,
		.spent_ms = clock_monotonic_ms() - progress->begun_ms,
		.patience_ms = progress->remote->patience_ms,
		.left_ms = cancel_left_ms(cancel),
		.asked_ms = progress->asked_ms,
		.random = backoff_random(),
	};
	struct retry_policy_decision choice = retry_policy_decide(&facts);
	struct err stopped;

	if (!choice.again)
		return err_wrap(err, "after %u %s", facts.tries,
				facts.tries == 1 ? "try" : "tries");
	if (cancel_sleep(cancel, choice.after_ms, &stopped) < 0)
		return err_set(err, stopped.kind, "%s (last: %.400s)", stopped.text,
			       err ? err->text : "");
	progress->tries++;
	progress->asked_ms = -1;
	return 0;
}

/* What follows from a verdict: 0 for another try, -1 with `err` (judge's) for the end. */
static int apply_verdict(struct call_state *progress, enum call_verdict verdict,
			 const struct http_response *response, struct cancel *cancel,
			 struct err *err)
{
	switch (verdict) {
	case CALL_RETRY:
		/* A front end that is in trouble stays so for this connection: the next one may
		 * lead to another. */
		progress->fresh = true;
		progress->asked_ms = retry_after_ms(response, progress->now_ms);
		return pause_before_next(progress, RETRY_FAULT, cancel, err);
	case CALL_SLOW_DOWN:
		progress->asked_ms = retry_after_ms(response, progress->now_ms);
		return pause_before_next(progress, RETRY_THROTTLED, cancel, err);
	case CALL_REFRESH:
		if (progress->refreshed)
			return -1;
		progress->refreshed = true;
		break;
	case CALL_SKEWED:
		if (progress->skewed || !correct_clock(progress->remote))
			return -1;
		progress->skewed = true;
		break;
	case CALL_MOVED:
		if (progress->moves++ == MOVES_MOST)
			return err_wrap(err, "moved more than %d times", MOVES_MOST);
		break;
	case CALL_DONE:
	case CALL_FAILED:
		return -1;
	}
	/* At once. */
	progress->tries++;
	return 0;
}

/* 1: done; 0: another try; -1: the end. */
static int perform_try(struct call_state *progress, struct http_response *response,
		       struct cancel *cancel, struct err *err)
{
	auto_(call_request_release) struct call_request request = {0};
	const struct retried_call *call = progress->call;
	enum call_verdict verdict;
	bool sent;

	progress->now_ms = retrying_client_now_ms(progress->remote);
	sent = call->prepare(call->arg, progress->now_ms, &request, cancel, err) == 0;
	/* A file of credentials that is not there says nothing of the object. */
	if (!sent && err->kind == ERR_NOT_FOUND)
		err->kind = ERR_DENIED;
	if (!sent || send_request(progress, &request, response, cancel, err) < 0) {
		if (err->kind != ERR_RETRY || (sent && call->once))
			return -1;
		progress->fresh = true;
		return pause_before_next(progress, RETRY_FAULT, cancel, err);
	}
	verdict = call->judge(call->arg, response, err);
	if (verdict == CALL_DONE && call->read && call->read(call->read_arg, response, err) < 0) {
		err->kind = ERR_RETRY;
		verdict = CALL_RETRY;
	}
	if (verdict == CALL_DONE)
		return 1;
	if (call->once && (verdict == CALL_RETRY || verdict == CALL_SLOW_DOWN)) {
		err->kind = ERR_RETRY;
		return -1;
	}
	return apply_verdict(progress, verdict, response, cancel, err);
}

int retrying_client_perform(struct retrying_client *remote, const struct retried_call *call,
			    struct http_response *response, struct cancel *cancel, struct err *err)
{
	struct call_state progress = {
		.remote = remote,
		.call = call,
		.begun_ms = clock_monotonic_ms(),
		.asked_ms = -1,
	};
	struct err own = {0};
	int done;

	while ((done = perform_try(&progress, response, cancel, &own)) == 0)
		own = (struct err){0};
	if (done > 0)
		return 0;
	return err_pass(err, &own);
}
