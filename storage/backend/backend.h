/*
 * storage/backend/: MAP
 *
 * For other folders, through this header alone:
 *
 *	bucket_listing.h	PURE: one page of ListObjectsV2
 *	file_store.h		a directory: file:///DIR
 *	http_store.h		what the stores over HTTP have in common: put, get a part, list
 *				page by page, remove
 *	object_store.h		what a store does: the contract of all of them
 *
 * Of this folder only:
 *
 *	object_listing.h	PURE: what a store answers when it is asked which objects it has
 *	range_request.h		PURE: reading a part of an object over HTTP: what is asked for,
 *				and whether the reply is that
 */
#ifndef STORAGE_BACKEND_H
#define STORAGE_BACKEND_H

#include "bucket_listing.h"
#include "file_store.h"
#include "http_store.h"
#include "object_store.h"

#endif
