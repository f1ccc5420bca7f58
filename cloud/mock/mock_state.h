/* PRIVATE. Shared by the files of the mock. */
#ifndef MOCK_STATE_H
#define MOCK_STATE_H

#include "mock.h"

#include "base/httpd.h"

#include <pthread.h>

enum {
	MOCK_TOKENS_MOST = 64,
	MOCK_TOKEN_LENGTH = 32,
	MOCK_FAULTS_MOST = 8,
	MOCK_VALUES_MOST = 8,
	MOCK_BODY_MOST = 4096
};

struct mock_token {
	char text[MOCK_TOKEN_LENGTH + 1]; /* "": free */
	int64_t expires_ms;
};

/* One thing that was fired. Monotonic and wall, so that bodies hold a constant time. */
struct mock_fired {
	bool is_on;
	bool is_started; /* Azure: approved by a POST, or its time has come */
	int64_t at_ms, at_wall_ms;
};

/* A value that replaces the real one. */
struct mock_value {
	char path[128]; /* "": free */
	char body[MOCK_BODY_MOST];
};

struct mock {
	struct httpd *httpd;
	enum mock_cloud cloud;
	int64_t notice_ms;
	unsigned limit;
	bool is_gke, is_hardened;
	char vm_name[64], action[16], host[32], url[64];
	char nonce[33]; /* part of the ids of this mock's events */
	pthread_mutex_t mutex;
	pthread_cond_t changed; /* on the monotonic clock */
	struct {
		bool stopping;
		int64_t fire_at_ms; /* CLOCK_NEVER: on demand only */
		struct mock_fired stop, advice, foreign;
		uint64_t changes;
		uint64_t requests;
		struct mock_token tokens[MOCK_TOKENS_MOST];
		size_t next_token;
		struct mock_fault faults[MOCK_FAULTS_MOST];
		int64_t fault_set_ms[MOCK_FAULTS_MOST];
		size_t fault_count;
		struct mock_value values[MOCK_VALUES_MOST];
		int64_t second_ms; /* when the current second of the limit began */
		unsigned second_requests;
		uint64_t throttled;
	} locked; /* under mutex */
};

/* Each fills the reply. Called with the mutex held; GCP's releases it while it waits. */
void mock_aws_reply(struct mock *mock, const struct httpd_request *request,
		    struct httpd_reply *reply);
void mock_gcp_reply(struct mock *mock, const struct httpd_request *request,
		    struct httpd_reply *reply);
void mock_azure_reply(struct mock *mock, const struct httpd_request *request,
		      struct httpd_reply *reply);
void mock_alibaba_reply(struct mock *mock, const struct httpd_request *request,
			struct httpd_reply *reply);
void mock_tencent_reply(struct mock *mock, const struct httpd_request *request,
			struct httpd_reply *reply);
/* Called without the mutex. */
void mock_control_reply(struct mock *mock, const struct httpd_request *request,
			struct httpd_reply *reply);

/* With the mutex held: fires what is due by time. */
void mock_fire_due(struct mock *mock);
void mock_set_fired(struct mock *mock, struct mock_fired *fired, int64_t at_ms);

/* With the mutex held: what was set for this path, or NULL. */
const char *mock_override_at(const struct mock *mock, const char *path);

/* With the mutex held (mock_aws.c): issues a token for `ttl` seconds, or replies with 400; finds a
 * valid token, or NULL. */
void mock_issue_token(struct mock *mock, const char *ttl, struct httpd_reply *reply);
const struct mock_token *mock_find_token(const struct mock *mock, const char *text);

/* mock_fault.c. With the mutex held: the fault that this request meets, counted. */
bool mock_match_fault(struct mock *mock, const struct httpd_request *request,
		      struct mock_fault *fault);
/* Without the mutex, because it may block. True: the fault is the whole reply. */
bool mock_reply_with_fault(const struct mock_fault *fault, const struct httpd_request *request,
			   struct httpd_reply *reply);
/* Corrupts a real reply. */
void mock_corrupt(const struct mock_fault *fault, struct httpd_reply *reply);

/* 200 or another status with a body by format. */
void mock_reply(struct httpd_reply *reply, int status, const char *type, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

#endif
