#include "job_transfer.h"

#include "base/text.h"

char *transfer_pack_key(const struct transfer *transfer, const char *key)
{
	return text_format("jobs/%s/%s", transfer->job, key);
}
