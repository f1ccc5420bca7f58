/* One request to a running supervisor, and its reply. */
#ifndef CONTROL_CLIENT_H
#define CONTROL_CLIENT_H

#include "base/err.h"

#include <jansson.h>

/*
 * Sends {"do": `what`} to the supervisor of the session in `directory`. Blocks for `patience_ms` at
 * most. The caller owns *answer. Errors are those of control_socket_call(), and ERR_FAILED: the
 * supervisor exited before it replied; ERR_RETRY: it runs but refuses, as with too many clients.
 */
int control_client_query(const char *directory, const char *what, int64_t patience_ms,
			 json_t **answer, struct err *err);

#endif
