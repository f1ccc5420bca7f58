/* What a snapshot cannot hold, said to the user. */
#ifndef LEFT_OUT_H
#define LEFT_OUT_H

#include "storage/storage.h"

/* One line, or none if nothing was left out. */
void left_out_tell(const struct take_result *result, const char *directory);

#endif
