#include "scheme_table.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "storage/azure/azure.h"
#include "storage/backend/backend.h"
#include "storage/gcs/gcs.h"
#include "storage/http/http.h"
#include "storage/s3/s3.h"
#include "storage/storage.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

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

/* "." or ".." and what may follow. */
static bool begins_with_dots(const char *path)
{
	size_t dots = strspn(path, ".");

	return (dots == 1 || dots == 2) && (path[dots] == '/' || path[dots] == '\0');
}

/* "../runs" in /w/src: /w/runs. RFC 8089 has "localhost" for this machine. */
static char *file_url(const char *path, const char *here, const char *home)
{
	auto_free char *place = text_copy(here ? here : "");

	if (path[0] == '/')
		return text_format("file://%s", path);
	if (text_starts(path, "~/"))
		return home ? text_format("file://%s%s", home, path + 1) : NULL;
	if (text_starts(path, "localhost/"))
		return text_format("file://%s", path + strlen("localhost"));
	/* What a shell would have replaced, or another user's home directory. */
	if (!*path || !here || *path == '~' || *path == '$')
		return NULL;
	for (; begins_with_dots(path); path += strspn(path, "/")) {
		char *last = strrchr(place, '/');

		if (path[1] == '.' && last)
			*last = '\0';
		path += strspn(path, ".");
	}
	return text_format("file://%s%s%s", text_equal(place, "/") ? "" : place,
			   *path || !*place ? "/" : "", path);
}

char *store_url_meant(const char *url, const char *here, const char *home)
{
	const char *colon = strchr(url, ':'), *rest = colon ? colon + 1 : url;
	size_t length = colon ? (size_t)(colon - url) : 0;

	if (!colon)
		return file_url(url, here, home);
	for (size_t i = 0; i < sizeof(backends) / sizeof(backends[0]); i++) {
		const char *scheme = backends[i]->scheme;
		bool of_files = backends[i] == &file_store_ops;

		if (strlen(scheme) != length || strncasecmp(url, scheme, length) != 0)
			continue;
		if (of_files)
			return file_url(text_starts(rest, "//") ? rest + 2 : rest, here, home);
		rest += strspn(rest, "/");
		return *rest ? text_format("%s://%s", scheme, rest) : NULL;
	}
	return NULL;
}

/* What is written here is mostly a path, or has a slash too few: the error says it as it would do.
 */
static void set_unknown_store(const char *url, struct err *err)
{
	auto_free char *here = getcwd(NULL, 0);
	const char *home = getenv("HOME");
	auto_free char *meant = store_url_meant(url, here, home && home[0] == '/' ? home : NULL);

	if (has_scheme(url, file_store_ops.scheme))
		err_set(err, ERR_INVALID, "store %s: a file store is named by an absolute path: %s",
			url, meant ? meant : "file:///DIR");
	else if (meant && text_starts(meant, "file:"))
		err_set(err, ERR_INVALID, "store %s: a directory is named %s", url, meant);
	else if (meant)
		err_set(err, ERR_INVALID, "store %s: no such kind of store: write %s", url, meant);
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
