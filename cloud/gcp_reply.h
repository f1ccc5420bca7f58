/* PRIVATE. PURE. Judges the replies of the Compute Engine metadata server. */
#ifndef CLOUD_GCP_REPLY_H
#define CLOUD_GCP_REPLY_H

#include "reply.h"

/* By default TRUE and the ACPI soft-off come together, and the hard power-off 30 s later. */
enum {
	GCP_NOTICE_MS = 30 * 1000,
	/* preemptionNoticeDuration is 0 or 120 s; longer values than this are not believed. */
	GCP_NOTICE_MOST_MS = 10 * 60 * 1000,
	/* A VM with a GPU is stopped an hour after TERMINATE_ON_HOST_MAINTENANCE appears. */
	GCP_MAINTENANCE_MS = 60 * 60 * 1000,
	GCP_MAINTENANCE_NEAR_MS = 5 * 60 * 1000,
};

/* What else a verdict depends on. */
struct gcp_context {
	/* time from TRUE to the end on this VM */
	int64_t notice_ms;
	/* monotonic: when this subscription first saw its positive value; CLOCK_NEVER: not yet, or
	 * it was there at the start */
	int64_t since_ms;
};
/* Parses "120s"; false: not a duration up to GCP_NOTICE_MOST_MS. */
bool gcp_notice_parse(const char *text, int64_t *milliseconds);

/* instance/preempted: STOP. */
void gcp_preempted_reply(const struct reply *reply, const struct gcp_context *context,
			 struct verdict *verdict);
/* instance/maintenance-event: ADVICE, and STOP when the hour before a termination is nearly over;
 * NONE is NEGATIVE. */
void gcp_maintenance_reply(const struct reply *reply, const struct gcp_context *context,
			   struct verdict *verdict);
/* instance/upcoming-maintenance?alt=json, in the forms that were seen: ADVICE with the times of the
 * window. */
void gcp_upcoming_reply(const struct reply *reply, const struct gcp_context *context,
			struct verdict *verdict);
/* Whether an ETag may be sent in a query: 1 to 64 letters and digits. */
bool gcp_etag_is_usable(const char *etag);

#endif
