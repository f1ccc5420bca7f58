#include "job_transfer.h"

#include "base/text.h"

#include <string.h>

char *transfer_pack_key(const struct transfer *transfer, const char *key)
{
	return text_format("jobs/%s/%s", transfer->job, key);
}

char *transfer_aside_key(const struct transfer *transfer, const char *key)
{
	return text_format("jobs/%s/damaged/%s", transfer->job, key + strlen("packs/"));
}
