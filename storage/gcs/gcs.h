/*
 * storage/gcs/: MAP
 *
 * For other folders, through this header alone:
 *
 *	gcs_store.h	Google Cloud Storage: gs://BUCKET/PREFIX
 *
 * Of this folder only:
 *
 *	gcs_address.h		PURE: gs://BUCKET[/PREFIX], and whose endpoint
 *	gcs_reply.h		PURE: what a reply of the XML API means: the table
 *	google_account.h	PURE: what a file of credentials holds
 *	google_credentials.h	Google's Application Default Credentials: a file or the metadata
 *				server
 *	google_source_aws.h	AWS as the other issuer of an external account
 *	google_subject_token.h	the token of another issuer: from a file, a URL, a program, or
 *				AWS
 *	google_token_exchange.h	one request for a token for each kind of account
 *	jwt.h			PURE: a JSON Web Token signed with RS256 (RFC 7515, RFC 7519)
 */
#ifndef STORAGE_GCS_H
#define STORAGE_GCS_H

#include "gcs_store.h"

#endif
