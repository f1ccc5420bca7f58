/* PURE. gs://BUCKET[/PREFIX], and whose endpoint. */
#ifndef GCS_ADDRESS_H
#define GCS_ADDRESS_H

#include "base/cleanup.h"
#include "base/err.h"

#include <stdbool.h>

/* NULL or "" where not set. */
struct gcs_environment {
	const char *emulator; /* STORAGE_EMULATOR_HOST: no token */
	const char *endpoint; /* CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE, as gcloud has it */
};

struct gcs_address {
	char *bucket;
	char *prefix;   /* "" or "a/b/" */
	char *endpoint; /* without a slash at its end */
	bool anonymous;
};

/* ERR_INVALID says what is wrong. Release it in any case. */
int gcs_address_read(const char *url, const struct gcs_environment *environment,
		     struct gcs_address *address, struct err *err);
void gcs_address_release(struct gcs_address *address);
AUTO(struct gcs_address, gcs_address_release);

#endif
