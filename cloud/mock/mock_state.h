/* PRIVATE. Shared by the files of the mock. */
#ifndef MOCK_STATE_H
#define MOCK_STATE_H

#include "mock.h"

#include "base/httpd.h"
#include "base/json.h"

#include <pthread.h>

enum mock_event {
	MOCK_STOP,
	MOCK_ADVICE,
	MOCK_FOREIGN,
	MOCK_EVENTS
};

/* One thing that was fired. Monotonic and wall, so that bodies hold a constant time. */
struct mock_fired {
	bool is_on, is_started; /* Azure: started by a POST, or as its time has come */
	int64_t at_ms, at_wall_ms;
};

/* The mutex guards every member that changes after the server has started. */
struct mock {
	struct httpd *httpd;
	struct mock_options options;
	char host[32], url[64];
	pthread_mutex_t mutex;
	pthread_cond_t changed; /* on the monotonic clock */
	bool stopping;
	int64_t fire_at_ms; /* CLOCK_NEVER: on demand only */
	struct mock_fired fired[MOCK_EVENTS];
	uint64_t changes, requests, throttled;
	char secret[33];   /* a token is that, and its end */
	json_t *faults;    /* as of POST /mock/fault, also with "at_fire", "after_ms", "set_ms" */
	json_t *values;    /* by path; they replace the real ones */
	int64_t second_ms; /* when the current second of the limit began */
	unsigned second_requests;
};

/* With the mutex held; GCP's releases it while it waits. Fills the reply. */
void mock_reply_of_cloud(struct mock *mock, enum mock_cloud cloud,
			 const struct httpd_request *request, struct httpd_reply *reply);

/* With the mutex held: fires what is due by time. */
void mock_fire_due(struct mock *mock);
/* 200 or another status with a body by format. */
void mock_reply(struct httpd_reply *reply, int status, const char *type, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

#endif
