/* --memory, --bandwidth and --connections: the same for `run` and for every verb that moves content. */
#ifndef TRANSFER_OPTIONS_H
#define TRANSFER_OPTIONS_H

#include "base/err.h"
#include "storage/storage.h"

/* 0: not chosen, storage.h says what then holds. */
struct transfer_options {
	uint64_t memory_bytes;
	uint64_t bandwidth_bytes_per_second;
	unsigned connections;
};

/* Each takes the option's value; ERR_INVALID says what to write instead. */
int transfer_set_memory(struct transfer_options *options, const char *value, struct err *err);
/* "100MB/s", or without the "/s". */
int transfer_set_bandwidth(struct transfer_options *options, const char *value, struct err *err);
int transfer_set_connections(struct transfer_options *options, const char *value, struct err *err);

/* From REPRIEVE_MEMORY, REPRIEVE_BANDWIDTH and REPRIEVE_CONNECTIONS, where they are set; the error names the variable. */
int transfer_read_environment(struct transfer_options *options, struct err *err);

void transfer_apply(const struct transfer_options *options, struct storage_options *storage);

#endif
