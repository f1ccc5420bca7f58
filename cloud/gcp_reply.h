/* PRIVATE. PURE. What the Compute Engine metadata server's answers mean. */
#ifndef CLOUD_GCP_REPLY_H
#define CLOUD_GCP_REPLY_H

#include "reply.h"

/* TRUE and the ACPI soft-off come together by default, and the hard one 30 s later. */
enum {
	GCP_NOTICE_MS = 30 * 1000,
	/* preemptionNoticeDuration is 0 or 120 s; whatever is said is not believed beyond this. */
	GCP_NOTICE_MOST_MS = 10 * 60 * 1000,
	/* A VM with a GPU is stopped an hour after TERMINATE_ON_HOST_MAINTENANCE appears. */
	GCP_MAINTENANCE_MS = 60 * 60 * 1000,
	GCP_MAINTENANCE_NEAR_MS = 5 * 60 * 1000,
};

/* What a reply is judged by beside itself. */
struct gcp_context {
	/* from TRUE to the end, on this VM */
	int64_t notice_ms;
	/* monotonic: when this subscription first saw its positive; CLOCK_NEVER: not yet, or it was
	 * there at the start */
	int64_t since_ms;
};
/* "120s"; false for what is no duration up to GCP_NOTICE_MOST_MS. */
bool gcp_notice_parse(const char *text, int64_t *milliseconds);

/* instance/preempted: STOP. */
void gcp_preempted_reply(const struct reply *reply, const struct gcp_context *context,
			 struct verdict *verdict);
/* instance/maintenance-event: ADVICE, and STOP when the hour of a termination is nearly over;
 * NONE is NEGATIVE. */
void gcp_maintenance_reply(const struct reply *reply, const struct gcp_context *context,
			   struct verdict *verdict);
/* instance/upcoming-maintenance?alt=json, in the shapes that were seen: ADVICE
 * with the window's times. */
void gcp_upcoming_reply(const struct reply *reply, const struct gcp_context *context,
			struct verdict *verdict);
/* An ETag that may be sent back in a query: 1 to 64 letters and digits. */
bool gcp_etag_is_usable(const char *etag);

#endif
