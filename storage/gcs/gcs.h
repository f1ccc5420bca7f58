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
 *	gcs_json.h		PURE: the JSON API, which emulators speak
 *	google_credentials.h	Application Default Credentials: tokens, renewed in time
 *	google_account.h	PURE: the file with the credentials
 *	google_token_exchange.h	requests a token for each kind of account
 *	google_subject_token.h	the token of another issuer
 *	google_source_aws.h	AWS as the other issuer
 *	jwt.h			PURE: a JSON Web Token
 */
#ifndef STORAGE_GCS_H
#define STORAGE_GCS_H

#include "gcs_store.h"

#endif
