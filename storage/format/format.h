/*
 * storage/format/: MAP
 *
 * For other folders, through this header alone:
 *
 *	manifest.h	* PURE
 *	pack.h	* PURE
 *	record.h	* PURE
 *	safe_path.h     PURE: Which names and link targets may be in a snapshot: those that cannot
 *	                lead out of the directory
 *	snapshot_id.h   PURE: The name of a snapshot: which attempt took it, and which of that
 *	                attempt's snapshots it is
 *
 * Of this folder only:
 *
 *	chunk.h	PURE: A piece of a file: hashed, compressed where it gains, and back
 *	manifest_entry.h	PURE: One entry of a manifest as JSON and back
 */
#ifndef STORAGE_FORMAT_H
#define STORAGE_FORMAT_H

#include "manifest.h"
#include "pack.h"
#include "record.h"
#include "safe_path.h"
#include "snapshot_id.h"

#endif
