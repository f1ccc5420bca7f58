/*
 * storage/http/: MAP
 *
 * For other folders, through this header alone:
 *
 *	bearer_token.h	A bearer token and its life
 *	crc32c.h	PURE: CRC-32C (Castagnoli), which S3 and Google check on arrival: by the
 *processor's own instruction where it has one
 *	credential_cache.h	A secret that expires, shared by the threads of one store
 *	error_body.h	PURE: The <Error> document that Google Cloud Storage and Azure Blob Storage
 *send with a refusal page_cycle.h	* PURE retrying_client.h	* PRIVATE token_endpoint.h
 *Asking a token service or a metadata server for a bearer token uri.h	PURE: Percent-encoding by
 *RFC 3986, and queries xml.h	* PURE
 *
 * Of this folder only:
 *
 *	retry_policy.h	* PURE
 */
#ifndef STORAGE_HTTP_H
#define STORAGE_HTTP_H

#include "bearer_token.h"
#include "crc32c.h"
#include "credential_cache.h"
#include "error_body.h"
#include "page_cycle.h"
#include "retrying_client.h"
#include "token_endpoint.h"
#include "uri.h"
#include "xml.h"

#endif
