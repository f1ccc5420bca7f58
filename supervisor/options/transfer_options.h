/* --memory, --connections and --bandwidth: the same for `run` and for every verb that moves
 * content. */
#ifndef TRANSFER_OPTIONS_H
#define TRANSFER_OPTIONS_H

#include "option_table.h"
#include "storage/storage.h"

/* Of struct storage_transfer: for all who move content, and for those who send. */
extern const struct option_row transfer_rows[], bandwidth_rows[];

#endif
