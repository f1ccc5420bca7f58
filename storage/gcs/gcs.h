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
 *	google_credentials.h	Application Default Credentials: tokens, renewed in time
 */
#ifndef STORAGE_GCS_H
#define STORAGE_GCS_H

#include "gcs_store.h"

#endif
