/*
 * supervisor/upload/: MAP
 *
 * For other folders, through this header alone:
 *
 *	retention_worker.h      * The --keep-* rules of `run`, applied in the background after a
 *	                        commit: on the snapshots' worker thread, so that the storage is used
 *	                        by one call at a time, and never in the way of a save: whoever has
 *	                        something better to do stops it, and it begins anew at the next
 *	                        commit
 *	snapshot_queue.h        * The second machine beside the job's: at most one snapshot is being
 *	                        taken, and at most one waits; the last one asked for wins
 *
 * Of this folder only:
 *
 *	early_upload.h  * Sends files of a checkpoint that is still being written: those that are
 *	                closed and large, and what large ones have grown by that are still open
 */
#ifndef UPLOAD_H
#define UPLOAD_H

#include "retention_worker.h"
#include "snapshot_queue.h"

#endif
