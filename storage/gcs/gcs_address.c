#include "gcs_address.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "storage/http/http.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ENDPOINT "https://storage.googleapis.com"

static bool text_is_set(const char *text)
{
	return text && text[0];
}

static int read_url(const char *url, struct gcs_address *address, struct err *err)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-_.";
	size_t length;

	uri_split_prefix(url + strlen("gs://"), &address->bucket, &address->prefix);
	length = strlen(address->bucket);
	if (length < 3 || length > 222 || strspn(address->bucket, letters) != length ||
	    !strchr(letters, address->bucket[0]) || address->bucket[0] == '.')
		return err_set(err, ERR_INVALID,
			       "store %s: a Google Cloud Storage store is named gs://BUCKET/PREFIX",
			       url);
	if (strpbrk(address->prefix, "?#\\") || strstr(address->prefix, "//"))
		return err_set(err, ERR_INVALID, "store %s: no ? # \\ or // in the prefix", url);
	return 0;
}

static int set_endpoint(struct gcs_address *address, const char *endpoint, const char *variable,
			struct err *err)
{
	bool has_scheme = strncasecmp(endpoint, "http://", 7) == 0 ||
			  strncasecmp(endpoint, "https://", 8) == 0;
	/* Some client libraries take the emulator's host without a scheme. */
	auto_free char *whole = text_format("%s%s", has_scheme ? "" : "http://", endpoint);

	address->endpoint = uri_endpoint(whole);
	if (!address->endpoint || (!has_scheme && strstr(endpoint, "://")))
		return err_set(err, ERR_INVALID, "%s is no http or https URL", variable);
	return 0;
}

int gcs_address_read(const char *url, const struct gcs_environment *environment,
		     struct gcs_address *address, struct err *err)
{
	*address = (struct gcs_address){0};
	if (read_url(url, address, err) < 0)
		return -1;
	if (text_is_set(environment->emulator)) {
		address->anonymous = true;
		return set_endpoint(address, environment->emulator, "STORAGE_EMULATOR_HOST", err);
	}
	if (!text_is_set(environment->endpoint)) {
		address->endpoint = text_copy(ENDPOINT);
		return 0;
	}
	if (set_endpoint(address, environment->endpoint, "CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE",
			 err) < 0)
		return -1;
	if (!uri_is_confidential(address->endpoint))
		return err_set(err, ERR_INVALID,
			       "CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE: no token is sent over "
			       "plain http");
	return 0;
}

void gcs_address_release(struct gcs_address *address)
{
	free(address->bucket);
	free(address->prefix);
	free(address->endpoint);
	*address = (struct gcs_address){0};
}
