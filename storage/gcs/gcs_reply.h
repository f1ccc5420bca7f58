/* PURE. What a reply of Google Cloud Storage means: a table for store_reply_judge(). */
#ifndef GCS_REPLY_H
#define GCS_REPLY_H

#include "storage/http/http.h"

/*
 * ERR_EXISTS only for ASKED_PUT_IF_ABSENT. CAME_UNMARKED: a good status without what the service
 * adds is somebody else's (a login page's), and ERR_RETRY.
 */
extern const struct reply_table gcs_replies;

#endif
