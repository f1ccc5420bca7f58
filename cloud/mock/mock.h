/*
 * PUBLIC. Imitates the metadata server of one cloud and announces a preemption on demand: for
 * `reprieve mock`, the drill and the tests. It listens on loopback, on threads of its own. Any
 * thread may call the functions here.
 *
 * Files of this folder:
 *
 *	mock.c		start and stop; the functions below
 *	mock_fault.c	which fault a request meets, and what the reply then is
 *	mock_state.h	PRIVATE: shared by the files of this folder
 *	mock_control.c	POST /mock/fire, advice (also rebalance), foreign, cancel, expire, fault,
 *			set; GET /mock/state
 *	mock_aws.c mock_gcp.c mock_azure.c mock_termination.c (Alibaba, Tencent)
 *			a request -> the reply of that cloud
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
	int64_t notice_after_ms; /* ms from the start until MOCK_STOP fires; 0: on demand only */
	/* from the notice to the end; 0: 120 s on AWS and Tencent, 30 s on GCP and
	 * Azure, 300 s on Alibaba */
	int64_t notice_ms;
	const char *vm_name; /* NULL: reprieve-mock_0. Azure: what events name; copied */
	const char *action;  /* AWS: terminate (NULL), stop or hibernate; copied */
	unsigned limit;      /* requests per second, of all clients; more get 429; 0: no limit */
	bool is_gke;         /* GCP: as GKE's metadata server, which hides the notice */
	bool is_hardened;    /* Alibaba: every request needs a token */
};

struct mock;

/* ERR_EXISTS: the port is in use; ERR_INVALID: unknown action. */
int mock_start(const struct mock_options *options, struct mock **mock, struct err *err);
/* Answers the waiting requests, then ends. NULL is fine. */
void mock_stop(struct mock *mock);
AUTO_POINTER(struct mock, mock_stop);

/* "http://127.0.0.1:1338". Borrowed. */
const char *mock_url(const struct mock *mock);
/* The environment variable that makes programs use this server, and its value. Borrowed. */
void mock_environment(const struct mock *mock, const char **name, const char **value);

/* Fires an event. Firing it again changes nothing, not even its time. */
int mock_fire(struct mock *mock, enum mock_event event, struct err *err);
/* Azure: removes all events of this VM. ERR_INVALID on AWS and GCP, which never withdraw a
 * notice. */
int mock_cancel(struct mock *mock, struct err *err);
/* AWS: forgets all tokens, so that the next request gets a 401. Harmless elsewhere. */
void mock_expire_tokens(struct mock *mock);

/* When MOCK_STOP fired, and when the machine will be gone; monotonic. CLOCK_NEVER before it
 * fires. */
int64_t mock_fired_ms(struct mock *mock);
int64_t mock_deadline_ms(struct mock *mock);
/* Requests answered so far, without the control ones. */
uint64_t mock_requests(struct mock *mock);

/*
 * Sets the value at `path` (AWS, Alibaba, Tencent: "/latest/..."; GCP: "/computeMetadata/v1/...";
 * Azure: the whole list of events, under "/metadata/scheduledevents"), whatever was fired. NULL
 * restores the real value. ERR_INVALID: no room for more.
 */
int mock_set_value(struct mock *mock, const char *path, const char *body, struct err *err);
/* Requests that got 429 by the limit. */
uint64_t mock_throttled(struct mock *mock);

/* What to do with requests instead of answering them as the cloud would. */
struct mock_fault {
	char method[8];   /* "": any */
	char path[96];    /* a prefix; "": any */
	int count;        /* for this many requests; -1: until the next mock_set_fault() */
	int status;       /* reply with this status and a short body */
	bool hang;        /* no answer until the mock stops */
	bool reset;       /* reset the connection */
	bool html;        /* 200 and a login page, as a captive portal has it */
	bool truncate;    /* half of the true body */
	int64_t slow_ms;  /* the real body, with this delay per byte */
	int64_t delay_ms; /* the reply comes this late */
	/* the reply is that of another cloud */
	bool is_other;
	enum mock_cloud other;
	bool at_fire;     /* not before MOCK_STOP has fired */
	int64_t after_ms; /* not before this time after it was set, or after MOCK_STOP */
};

/* Parses "503x3@fire", "hang", "hop-limit", "as:gcp@10s", "delay:5s": a name, a count (default:
 * always) and a time. ERR_INVALID lists the names. */
int mock_fault_parse(const char *text, struct mock_fault *fault, struct err *err);
/* Replaces all faults; count 0 clears them. */
void mock_set_fault(struct mock *mock, const struct mock_fault *fault);
/* Adds a fault; the first one that applies to a request is used. ERR_INVALID: more than 8. */
int mock_add_fault(struct mock *mock, const struct mock_fault *fault, struct err *err);

#endif
