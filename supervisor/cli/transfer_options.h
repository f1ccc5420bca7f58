/* --memory, --bandwidth and --connections: the same for `run` and for every verb
 * that moves content. */
#ifndef TRANSFER_OPTIONS_H
#define TRANSFER_OPTIONS_H

#include "base/err.h"
#include "storage/storage.h"

/* Each takes the option's value; ERR_INVALID says what to write instead. */
int transfer_set_memory(struct storage_transfer *transfer, const char *value, struct err *err);
/* "100MB/s", or without the "/s". */
int transfer_set_bandwidth(struct storage_transfer *transfer, const char *value, struct err *err);
int transfer_set_connections(struct storage_transfer *transfer, const char *value, struct err *err);

/* From REPRIEVE_MEMORY, REPRIEVE_BANDWIDTH and REPRIEVE_CONNECTIONS, where they are set; the error
 * names the variable. */
int transfer_read_environment(struct storage_transfer *transfer, struct err *err);

#endif
