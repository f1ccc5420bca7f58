/*
 * PUBLIC. A metadata server of one cloud, true to its protocol, that announces a preemption on
 * demand: for `reprieve mock`, the drill and the tests. It listens on loopback, on threads of its
 * own; every function here may be called on any thread.
 *
 * Map of this folder:
 *
 *	mock.c          life, state; the functions below
 *	mock_fault.c    which fault a request meets, and how it looks
 *	mock_state.h    PRIVATE: what the clouds' files share
 *	mock_control.c  POST /mock/fire, advice (also rebalance), foreign, cancel, expire, fault,
 *	                set; GET /mock/state
 *	mock_aws.c mock_gcp.c mock_azure.c mock_termination.c (Alibaba, Tencent)
 *	a request -> the answer of that cloud
 */
#ifndef MOCK_H
#define MOCK_H

#include "base/cleanup.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mock_cloud {
	MOCK_AWS,
	MOCK_GCP,
	MOCK_AZURE,
	MOCK_ALIBABA,
	MOCK_TENCENT
};
/* "aws", "gcp", "azure", "alibaba", "tencent"; false for others. */
bool mock_cloud_by_name(const char *name, enum mock_cloud *cloud);
const char *mock_cloud_name(enum mock_cloud cloud);

enum mock_event {
	/* the preemption */
	MOCK_STOP,
	/* AWS: rebalance. GCP: host maintenance by migration. Azure: Freeze; nothing elsewhere */
	MOCK_ADVICE,
	/* Azure: a preemption of another VM in the same scale set. ERR_INVALID elsewhere */
	MOCK_FOREIGN,
};

/* Zero-initialise. */
struct mock_options {
	enum mock_cloud cloud;
	uint16_t port;           /* 0: any that is free */
	int64_t notice_after_ms; /* MOCK_STOP fires so long after the start; 0: on demand only */
	/* from the notice to the end; 0: 120 s on AWS and Tencent, 30 s on GCP and
	 * Azure, 300 s on Alibaba */
	int64_t notice_ms;
	const char *vm_name; /* NULL: reprieve-mock_0. Azure: what events name; copied */
	const char *action;  /* AWS: terminate (NULL), stop or hibernate; copied */
	unsigned limit;      /* requests per second, all clients together; more get 429; 0: any */
	bool is_gke;         /* GCP: as GKE's metadata server, which hides the notice */
	bool is_hardened;    /* Alibaba: nothing without a token */
};

struct mock;

/* ERR_EXISTS for a port in use, ERR_INVALID for an action that is none. */
int mock_start(const struct mock_options *options, struct mock **mock, struct err *err);
/* Answers requests that wait, then ends. NULL is fine. */
void mock_stop(struct mock *mock);
AUTO_POINTER(struct mock, mock_stop);

/* "http://127.0.0.1:1338". Borrowed. */
const char *mock_url(const struct mock *mock);
/* The environment variable that points programs at it, and its value. Borrowed. */
void mock_environment(const struct mock *mock, const char **name, const char **value);

/* Firing what has fired already changes nothing: its time stays. */
int mock_fire(struct mock *mock, enum mock_event event, struct err *err);
/* Azure: all events of this VM vanish. ERR_INVALID on AWS and GCP, which never
 * take a notice back. */
int mock_cancel(struct mock *mock, struct err *err);
/* AWS: forgets all tokens, so that the next request gets a 401. Harmless elsewhere. */
void mock_expire_tokens(struct mock *mock);

/* Monotonic: when MOCK_STOP fired, and when the machine is to be gone. Both
 * CLOCK_NEVER before it fired. */
int64_t mock_fired_ms(struct mock *mock);
int64_t mock_deadline_ms(struct mock *mock);
/* Requests answered so far, without the control ones. */
uint64_t mock_requests(struct mock *mock);

/*
 * What is at `path` (AWS, Alibaba, Tencent: "/latest/..."; GCP: "/computeMetadata/v1/..."; Azure:
 * the list of events as a whole, under "/metadata/scheduledevents"), whatever was fired; NULL: as
 * it was. ERR_INVALID for more than there is room for.
 */
int mock_set_value(struct mock *mock, const char *path, const char *body, struct err *err);
/* Requests that got 429 by the limit. */
uint64_t mock_throttled(struct mock *mock);

/* What to do to requests instead of answering them truly. */
struct mock_fault {
	char method[8];   /* "": any */
	char path[96];    /* a prefix; "": any */
	int count;        /* so many requests; -1: until the next mock_fault() */
	int status;       /* answer with it and a short body */
	bool hang;        /* no answer until the mock stops */
	bool reset;       /* tear the connection down */
	bool html;        /* 200 and a login page, as a captive portal has it */
	bool truncate;    /* half of the true body */
	int64_t slow_ms;  /* the true body, so long per byte */
	int64_t delay_ms; /* the answer comes so late */
	/* the answer is that of another cloud, whose machine this address belongs to */
	bool is_other;
	enum mock_cloud other;
	bool at_fire;     /* not before MOCK_STOP has fired */
	int64_t after_ms; /* not before so long after it was set, or after the fire */
};

/* "503x3@fire", "hang", "hop-limit", "as:gcp@10s", "delay:5s": a name, how often (else always),
 * when. ERR_INVALID lists what there is. */
int mock_fault_parse(const char *text, struct mock_fault *fault, struct err *err);
/* Replaces the faults there are; count 0 clears them. */
void mock_set_fault(struct mock *mock, const struct mock_fault *fault);
/* One more; the first that applies to a request is taken. ERR_INVALID for more than 8. */
int mock_add_fault(struct mock *mock, const struct mock_fault *fault, struct err *err);

#endif
