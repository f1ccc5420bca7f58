/*
 * storage/gcs/: MAP
 *
 * For other folders, through this header alone:
 *
 *	gcs_store.h	Google Cloud Storage: gs://BUCKET/PREFIX
 *
 * Of this folder only:
 *
 *	gcs_address.h	PURE: gs://BUCKET[/PREFIX], and whose endpoint
 *	gcs_reply.h	PURE: What an answer of Google Cloud Storage's XML API means
 *	google_account.h	* PURE
 *	google_credentials.h    * Google's Application Default Credentials: the file that
 *	                        GOOGLE_APPLICATION_CREDENTIALS names, else what gcloud left, else
 *	                        the metadata server
 *	google_source_aws.h     * AWS as the other issuer of a Google external account: the subject
 *	                        token is a request to AWS that says who signed it, ready to be sent
 *	google_subject_token.h  * The token of another issuer that an external account has Google's
 *	                        token service exchange: from a file, a URL, a program, or AWS
 *	google_token_exchange.h	One request for a token for each kind of Google account
 *	jwt.h   PURE: A JSON Web Token signed with RS256 (RFC 7515, RFC 7519): what a Google service
 *	        account shows for itself
 */
#ifndef STORAGE_GCS_H
#define STORAGE_GCS_H

#include "gcs_store.h"

#endif
