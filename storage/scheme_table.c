#include "scheme_table.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "storage/azure/azure.h"
#include "storage/backend/backend.h"
#include "storage/gcs/gcs.h"
#include "storage/http/http.h"
#include "storage/s3/s3.h"
#include "storage/storage.h"

#include <stdlib.h>
#include <string.h>

static const struct store_ops *const backends[] = {
	&file_store_ops,
	&s3_store_ops,
	&gcs_store_ops,
	&azure_store_ops,
};

static bool has_scheme(const char *url, const char *scheme)
{
	return text_starts(url, scheme) && text_starts(url + strlen(scheme), "://");
}

/* What is written here is mostly a path. */
static void set_unknown_store(const char *url, struct err *err)
{
	auto_free char *path = strchr(url, ':') ? NULL : file_absolute(url);

	if (has_scheme(url, file_store_ops.scheme))
		err_set(err, ERR_INVALID,
			"store %s: a file store is named by an absolute path: file:///DIR", url);
	else if (path)
		err_set(err, ERR_INVALID, "store %s: a directory is named file://%s", url, path);
	else
		err_set(err, ERR_INVALID,
			"store %s: no such kind of store: use file:///DIR, s3://BUCKET, "
			"gs://BUCKET or az://ACCOUNT/CONTAINER",
			url);
}

/* NULL: no store has such a URL. */
static const struct store_ops *find_backend(const char *url, struct err *err)
{
	for (size_t i = 0; i < sizeof(backends) / sizeof(backends[0]); i++)
		if (has_scheme(url, backends[i]->scheme) &&
		    (backends[i] != &file_store_ops || text_starts(url, "file:///")))
			return backends[i];
	set_unknown_store(url, err);
	return NULL;
}

int storage_check_url(const char *url, struct err *err)
{
	return find_backend(url, err) ? 0 : -1;
}

int store_open_unproven(const char *url, bool create, bool read_only, struct store **store,
			struct cancel *cancel, struct err *err)
{
	const struct store_ops *backend = find_backend(url, err);

	if (!backend)
		return -1;
	if (retrying_client_patience_ms(err) < 0)
		return err_wrap(err, "store %s", url);
	return backend->open(url, create, read_only, store, cancel, err);
}

int store_open(const char *url, bool create, bool read_only, struct store **store,
	       struct cancel *cancel, struct err *err)
{
	if (store_open_unproven(url, create, read_only, store, cancel, err) < 0)
		return -1;
	if (!create || read_only || !(*store)->condition ||
	    store_prove(*store, url, cancel, err) == 0)
		return 0;
	store_close(*store);
	*store = NULL;
	return -1;
}
