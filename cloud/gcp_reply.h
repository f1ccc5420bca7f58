/* PRIVATE. PURE. What the Compute Engine metadata server's answers mean. */
#ifndef CLOUD_GCP_REPLY_H
#define CLOUD_GCP_REPLY_H

#include "answer.h"

/* TRUE and the ACPI soft-off come together by default, and the hard one 30 s later. */
enum {
	GCP_NOTICE_MS = 30 * 1000
};

/* instance/preempted: STOP. */
void gcp_preempted_reply(const struct answer *answer, struct verdict *verdict);
/* instance/maintenance-event: ADVICE; NONE is NEGATIVE. */
void gcp_maintenance_reply(const struct answer *answer, struct verdict *verdict);
/* An ETag that may be sent back in a query: 1 to 64 letters and digits. */
bool gcp_etag_is_usable(const char *etag);
/* How long to wait before the next plain request after `failures` failed ones in a row (1, 2, ...). */
int64_t gcp_backoff_ms(unsigned failures);

#endif
