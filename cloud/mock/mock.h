/*
 * PUBLIC. Imitates the metadata server of one cloud and announces a preemption on demand: for
 * `reprieve mock`, the drill and the tests. It listens on loopback, on threads of its own. Any
 * thread may call the functions here.
 */
#ifndef MOCK_H
#define MOCK_H

#include "base/cleanup.h"
#include "base/err.h"
#include "base/httpd.h"
#include "base/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mock_cloud {
	MOCK_AWS,
	MOCK_GCP,
	MOCK_AZURE,
	MOCK_ALIBABA,
	MOCK_TENCENT,
	MOCK_CLOUDS
};
extern const struct mock_cloud_row {
	const char *name;
	const char *variable; /* holds the URL, but Google's host:port */
	int64_t notice_ms;    /* from the notice to the end, as the cloud announces it */
} mock_clouds[MOCK_CLOUDS];
/* "aws", "gcp", "azure", "alibaba", "tencent"; false for others. */
bool mock_cloud_by_name(const char *name, enum mock_cloud *cloud);
/* Zero-initialise. The strings are borrowed. */
struct mock_options {
	enum mock_cloud cloud;
	uint16_t port;           /* 0: any that is free */
	int64_t notice_after_ms; /* ms from the start until MOCK_STOP fires; 0: on demand only */
	int64_t notice_ms;       /* from the notice to the end; 0: as the cloud announces it */
	const char *vm_name;     /* NULL: reprieve-mock_0. Azure: what events name */
	unsigned action;         /* AWS: 0 terminate, 1 stop, 2 hibernate */
	unsigned limit;   /* requests per second, of all clients; more get 429; 0: no limit */
	bool is_gke;      /* GCP: as GKE's metadata server, which hides the notice */
	bool is_hardened; /* Alibaba: every request needs a token */
};

struct mock;

/* ERR_EXISTS: the port is in use. */
int mock_start(const struct mock_options *options, struct mock **mock, struct err *err);
/* Answers the waiting requests, then ends. NULL is fine. */
void mock_stop(struct mock *mock);
AUTO_POINTER(struct mock, mock_stop);

/* "http://127.0.0.1:1338". Borrowed. */
const char *mock_url(const struct mock *mock);
/* The environment variable that makes programs use this server, and its value. Borrowed. */
void mock_environment(const struct mock *mock, const char **name, const char **value);

/*
 * What POST /mock/NAME does: "fire" the preemption; "advice" (AWS: rebalance, GCP: migration,
 * Azure: Freeze; nothing elsewhere); "foreign", on Azure a preemption of another VM in the same
 * scale set; "cancel", on Azure what was fired of this VM; "expire" all tokens, so that the next
 * request gets a 401; "set" {"path": P, "body": B}; "fault", as in reprieve-drill(1). `body`: JSON;
 * NULL: none. Firing again changes nothing, not even its time. ERR_INVALID: no such control, or
 * this cloud has none.
 */
int mock_control(struct mock *mock, const char *name, const char *body, struct err *err);
/* When the machine will be gone; monotonic. CLOCK_NEVER before the preemption fires. */
int64_t mock_deadline_ms(struct mock *mock);
/* Sets the value at `path`, as the cloud's programs ask for it (Azure: the whole list of events),
 * whatever was fired. NULL restores the real value. ERR_INVALID: no path. */
int mock_set_value(struct mock *mock, const char *path, const char *body, struct err *err);
/* What to do with requests instead of answering them as the cloud would: "503x3@fire", "hang",
 * "hop-limit", "as:gcp@10s", "delay:5s": a name, a count (default: always) and a time. Of several
 * the first that applies is used. `limits`: an object, whose "method" and "path" the requests must
 * have; NULL: none. ERR_INVALID lists the names. */
int mock_add_fault(struct mock *mock, const char *text, json_t *limits, struct err *err);

#endif
