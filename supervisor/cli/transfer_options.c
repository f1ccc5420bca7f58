#include "transfer_options.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define MEMORY_LEAST ((uint64_t)32 << 20) /* storage: less is not kept to */
#define BANDWIDTH_LEAST 1000              /* less is a forgotten unit */
#define CONNECTIONS_MOST 64

int transfer_set_memory(struct storage_transfer *transfer, const char *value, struct err *err)
{
	if (!text_to_bytes(value, &transfer->memory_bytes))
		return err_set(err, ERR_INVALID, "'%s' is no size: write 256MiB or 1GB", value);
	if (transfer->memory_bytes < MEMORY_LEAST)
		return err_set(err, ERR_INVALID, "'%s' is too little: 32MiB is the least", value);
	return 0;
}

int transfer_set_bandwidth(struct storage_transfer *transfer, const char *value, struct err *err)
{
	auto_free char *size =
		text_ends(value, "/s") ? text_copy_n(value, strlen(value) - 2) : text_copy(value);

	if (!text_to_bytes(size, &transfer->bandwidth_bytes_per_second))
		return err_set(err, ERR_INVALID, "'%s' is no rate: write 100MB/s or 12.5MB/s",
			       value);
	if (transfer->bandwidth_bytes_per_second < BANDWIDTH_LEAST)
		return err_set(err, ERR_INVALID,
			       "'%s' is less than 1 kB/s: is the unit missing? Write 100MB/s",
			       value);
	return 0;
}

int transfer_set_connections(struct storage_transfer *transfer, const char *value, struct err *err)
{
	uint64_t count;

	if (!text_to_u64(value, CONNECTIONS_MOST, &count) || count == 0)
		return err_set(err, ERR_INVALID, "'%s' is no number from 1 to %d", value,
			       CONNECTIONS_MOST);
	transfer->connections = (unsigned)count;
	return 0;
}

int transfer_read_environment(struct storage_transfer *transfer, struct err *err)
{
	static const struct {
		const char *name;
		int (*set)(struct storage_transfer *transfer, const char *value, struct err *err);
	} rows[] = {
		{"REPRIEVE_MEMORY", transfer_set_memory},
		{"REPRIEVE_BANDWIDTH", transfer_set_bandwidth},
		{"REPRIEVE_CONNECTIONS", transfer_set_connections},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *value = getenv(rows[i].name);

		if (value && *value && rows[i].set(transfer, value, err) < 0)
			return err_wrap(err, "%s", rows[i].name);
	}
	return 0;
}
