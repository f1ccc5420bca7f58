/*
 * storage/backend/: MAP
 *
 * For other folders, through this header alone:
 *
 *	bucket_listing.h	PURE: One page of ListObjectsV2
 *	file_store.h	A directory: file:///DIR
 *	object_store.h	* PRIVATE: what a backend does
 *	range_request.h PURE: Reading a part of an object over HTTP: what is asked for, and whether
 *	the answer is that
 *
 * Of this folder only:
 *
 *	object_listing.h	PURE: What a store answers when it is asked which objects it has
 */
#ifndef STORAGE_BACKEND_H
#define STORAGE_BACKEND_H

#include "bucket_listing.h"
#include "file_store.h"
#include "object_store.h"
#include "range_request.h"

#endif
