/*
 * storage/format/: encodes, decodes and checks the objects that FORMAT.md describes. All PURE. Read
 * FORMAT.md first.
 *
 *	record.h		the envelope of every small object: header with digest, JSON body
 *	manifest.h		what a snapshot consists of
 *	entry_pieces.h		its list of files, in pieces
 *	gang_manifest.h		the manifest of a snapshot of several machines
 *	pack.h			many chunks in one object, with an index at its end
 *	chunk.h			a piece of a file: digest, compression
 *	checksum.h		the fast checksum of one (through chunk.h)
 *	snapshot_id.h		the name of a snapshot
 *	safe_path.h		which names and link targets a snapshot may have
 *
 * Of this folder only:
 *
 *	weights.h		compresses weights
 */
#ifndef STORAGE_FORMAT_H
#define STORAGE_FORMAT_H

#include "entry_pieces.h"
#include "gang_manifest.h"
#include "manifest.h"
#include "pack.h"
#include "record.h"
#include "safe_path.h"
#include "snapshot_id.h"

#endif
