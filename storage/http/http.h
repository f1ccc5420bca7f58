/*
 * storage/http/: MAP
 *
 * For other folders, through this header alone:
 *
 *	bearer_token.h		a bearer token and its life
 *	crc32c.h		PURE: CRC-32C, which S3 and Google check on arrival
 *	credential_cache.h	a secret that expires, shared by the threads of one store
 *	name_values.h		PURE: names with values, sorted as they are signed
 *	page_cycle.h		PURE: whether a list that comes page by page goes in circles
 *	retrying_client.h	connections, and the loop of one call: prepare, send, judge,
 *				again
 *	store_reply.h		PURE: what the reply of a store means: one judge, to which each
 *				store brings its table
 *	token_endpoint.h	asks a token service or a metadata server for a bearer token
 *	uri.h			PURE: percent-encoding by RFC 3986, queries, endpoints
 *	xml.h			PURE: the door to expat
 *
 * Of this folder only:
 *
 *	retry_policy.h	PURE: again, and when
 */
#ifndef STORAGE_HTTP_H
#define STORAGE_HTTP_H

#include "bearer_token.h"
#include "crc32c.h"
#include "credential_cache.h"
#include "name_values.h"
#include "page_cycle.h"
#include "retrying_client.h"
#include "store_reply.h"
#include "token_endpoint.h"
#include "uri.h"
#include "xml.h"

#endif
