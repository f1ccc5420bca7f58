/*
 * storage/http/: what all stores over HTTP share: connections and retries, tokens, and the parts of
 * the protocols that they have in common. Read retrying_client.h first, then store_reply.h.
 *
 * For the rest of storage/, through this header alone:
 *
 *	retrying_client.h	a pool of connections, and the loop of one call
 *	store_reply.h		PURE: judges the reply of a store by a table of rows
 *	credential_cache.h	keeps credentials and fetches new ones before they expire
 *	token_endpoint.h	requests a bearer token from a token service
 *	uri.h			PURE: percent-encoding, queries, endpoints
 *	crc32c.h		PURE: CRC-32C
 *	xml.h			PURE: the one use of expat
 */
#ifndef STORAGE_HTTP_H
#define STORAGE_HTTP_H

#include "crc32c.h"
#include "credential_cache.h"
#include "retrying_client.h"
#include "store_reply.h"
#include "token_endpoint.h"
#include "uri.h"
#include "xml.h"

#endif
