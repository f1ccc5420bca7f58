/* PRIVATE to storage/: which store is behind a URL. A new store is one folder and one row of the
 * table in scheme_table.c. */
#ifndef SCHEME_TABLE_H
#define SCHEME_TABLE_H

#include "storage/backend/backend.h"

/*
 * Picks the store by the URL's scheme and opens it. Blocks. `create` makes what is missing;
 * `read_only` leaves everything as it is. ERR_INVALID names the URL and the schemes that there are.
 * The caller closes *store with store_close().
 */
int store_open(const char *url, bool create, bool read_only, struct store **store,
	       struct cancel *cancel, struct err *err);
/* The same without the proof that the store keeps its promise: store_prove() follows, before
 * anything is put, if (*store)->condition. */
int store_open_unproven(const char *url, bool create, bool read_only, struct store **store,
			struct cancel *cancel, struct err *err);

#endif
