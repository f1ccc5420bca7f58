/*
 * storage/backend/: what a store of objects does, for file:// and for all stores over HTTP. Read
 * object_store.h first; file_store.c is the model for the others.
 *
 * For the rest of storage/, through this header alone:
 *
 *	object_store.h		the operations of a store: put, get, list, remove
 *	file_store.h		file:///DIR
 *	http_store.h		the operations that the stores over HTTP share
 *	bucket_listing.h	PURE: one page of a list in XML
 */
#ifndef STORAGE_BACKEND_H
#define STORAGE_BACKEND_H

#include "bucket_listing.h"
#include "file_store.h"
#include "http_store.h"
#include "object_store.h"

#endif
