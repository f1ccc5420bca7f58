/*
 * storage/gcs/: Google Cloud Storage, and the credentials of Google. Read google_credentials.h
 * first.
 *
 * For the rest of storage/, through this header alone:
 *
 *	gcs_store.h		gs://BUCKET/PREFIX
 *
 * Of this folder only:
 *
 *	gcs_address.h		PURE: the URL and the endpoint
 *	gcs_reply.h		PURE: what a reply means
 *	gcs_json.h		PURE: the JSON API
 *	google_credentials.h	Application Default Credentials: tokens, renewed in time
 *	jwt.h			PURE: a JSON Web Token
 */
#ifndef STORAGE_GCS_H
#define STORAGE_GCS_H

#include "gcs_store.h"

#endif
