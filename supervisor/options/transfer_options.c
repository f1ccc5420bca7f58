#include "transfer_options.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <string.h>

#define MEMORY_LEAST (32 << 20) /* storage: less is not kept to */
#define BANDWIDTH_LEAST 1000    /* less is a forgotten unit */
#define CONNECTIONS_MOST 64

/* "100MB/s", or without the "/s". */
static int set_bandwidth(void *options, const char *value, struct err *err)
{
	auto_free char *size =
		text_ends(value, "/s") ? text_copy_n(value, strlen(value) - 2) : text_copy(value);
	uint64_t *rate = &((struct storage_transfer *)options)->bandwidth_bytes_per_second;

	if (!text_to_bytes(size, rate))
		return err_set(err, ERR_INVALID, "invalid rate '%s': write 100MB/s or 12.5MB/s",
			       value);
	if (*rate < BANDWIDTH_LEAST)
		return err_set(err, ERR_INVALID,
			       "'%s' is less than 1 kB/s: is the unit missing? Write 100MB/s",
			       value);
	return 0;
}

// clang-format off
const struct option_row transfer_rows[] = {
	{"memory", 0, "SIZE", "REPRIEVE_MEMORY",
		"how much memory the content on its way may take (default: 256MiB)",
		OPTION_SIZE(struct storage_transfer, memory_bytes), .least = MEMORY_LEAST},
	{"connections", 0, "N", "REPRIEVE_CONNECTIONS",
		"how many at once (default: 8 to send and 16 to read; file://: one per processor)",
		OPTION_NUMBER(struct storage_transfer, connections), .least = 1,
		.most = CONNECTIONS_MOST},
	{0},
};

const struct option_row bandwidth_rows[] = {
	{"bandwidth", 0, "RATE", "REPRIEVE_BANDWIDTH",
		"send no faster than that, as 100MB/s; not after a notice (default: no limit)",
		.set = set_bandwidth},
	{0},
};
// clang-format on
