/* What a snapshot cannot hold, said to the user. */
#ifndef LEFT_OUT_H
#define LEFT_OUT_H

#include "storage/storage.h"

/* One line, or none if nothing was left out. */
void skipped_files_report(const struct save_result *result, const char *directory);

#endif
