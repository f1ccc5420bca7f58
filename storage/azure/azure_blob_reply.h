/* PURE. What a reply of Azure Blob Storage means: a table for store_reply_judge(). */
#ifndef AZURE_BLOB_REPLY_H
#define AZURE_BLOB_REPLY_H

#include "storage/http/http.h"

/*
 * ERR_EXISTS only for ASKED_PUT_IF_ABSENT. CAME_UNMARKED is a reply without the request id that all
 * of the service's have: with a good status it is somebody else's (a login page's), and ERR_RETRY.
 */
extern const struct reply_table azure_blob_replies;

#endif
