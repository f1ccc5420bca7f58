/*
 * storage/http/: what all stores over HTTP share: connections and retries, tokens, and the parts of
 * the protocols that they have in common. Read retrying_client.h first, then store_reply.h.
 *
 * For the rest of storage/, through this header alone:
 *
 *	retrying_client.h	a pool of connections, and the loop of one call
 *	retry_policy.h		PURE: whether to try again, and when
 *	store_reply.h		PURE: judges the reply of a store by a table of rows
 *	bearer_token.h		a bearer token that the threads of one store share
 *	credential_cache.h	keeps credentials and fetches new ones before they expire
 *	token_endpoint.h	requests a bearer token from a token service
 *	page_cycle.h		PURE: detects a listing that repeats its pages
 *	name_values.h		PURE: sorted pairs of name and value
 *	uri.h			PURE: percent-encoding, queries, endpoints
 *	crc32c.h		PURE: CRC-32C
 *	xml.h			PURE: the one use of expat
 */
#ifndef STORAGE_HTTP_H
#define STORAGE_HTTP_H

#include "bearer_token.h"
#include "crc32c.h"
#include "credential_cache.h"
#include "name_values.h"
#include "page_cycle.h"
#include "retry_policy.h"
#include "retrying_client.h"
#include "store_reply.h"
#include "token_endpoint.h"
#include "uri.h"
#include "xml.h"

#endif
