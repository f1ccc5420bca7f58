/* PRIVATE. Shared by the files of the mock. */
#ifndef MOCK_STATE_H
#define MOCK_STATE_H

#include "mock.h"

#include "base/httpd.h"

#include <pthread.h>

enum {
	MOCK_TOKENS_MOST = 64,
	MOCK_FAULTS_MOST = 8,
	MOCK_VALUES_MOST = 8,
	MOCK_BODY_MOST = 4096
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
	char vm_name[64], action[16], host[32], url[64];
	pthread_mutex_t mutex;
	pthread_cond_t changed; /* on the monotonic clock */
	bool stopping;
	int64_t fire_at_ms; /* CLOCK_NEVER: on demand only */
	struct mock_fired fired[MOCK_EVENTS];
	uint64_t changes, requests, throttled;
	struct {
		char text[33]; /* "": free */
		int64_t expires_ms;
	} tokens[MOCK_TOKENS_MOST];
	size_t next_token;
	struct mock_fault faults[MOCK_FAULTS_MOST];
	int64_t fault_set_ms[MOCK_FAULTS_MOST];
	size_t fault_count;
	struct {
		char path[128]; /* "": free */
		char body[MOCK_BODY_MOST];
	} values[MOCK_VALUES_MOST]; /* they replace the real ones */
	int64_t second_ms;          /* when the current second of the limit began */
	unsigned second_requests;
};

/* With the mutex held; GCP's releases it while it waits. Fills the reply. */
void mock_reply_of_cloud(struct mock *mock, enum mock_cloud cloud,
			 const struct httpd_request *request, struct httpd_reply *reply);

/* With the mutex held: fires what is due by time. */
void mock_fire_due(struct mock *mock);
/* With the mutex held: what was set for this path, or NULL. */
const char *mock_value_at(const struct mock *mock, const char *path);

/* 200 or another status with a body by format. */
void mock_reply(struct httpd_reply *reply, int status, const char *type, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

#endif
