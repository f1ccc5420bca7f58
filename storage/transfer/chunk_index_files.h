/* PRIVATE to storage/transfer/. The files that a chunk index knows by their stamps; what others use
 * of it is in chunk_index.h. */
#ifndef CHUNK_INDEX_FILES_H
#define CHUNK_INDEX_FILES_H

#include "chunk_index.h"

void chunk_index_files_clear(struct chunk_index *index);
/* Of an index that knows none. A stamp for each entry of the manifest. */
void chunk_index_files_set(struct chunk_index *index, const struct manifest *manifest,
			   const struct file_stamp *stamps);

#endif
