/* PRIVATE. The files of a manifest, as others see them. */
#ifndef LISTING_H
#define LISTING_H

#include "storage/format/format.h"
#include "storage/storage.h"

/* Fills `files`, which is empty; the manifest has its entries. */
void listing_add_files(const struct manifest *manifest, struct snapshot_files *files);

#endif
