/*
 * --metrics ADDRESS: /metrics for Prometheus, and /livez and /readyz for probes over HTTP (200 or
 * 503; health_probe.h). It asks the supervisor as `reprieve status` does, on its own threads, so
 * that the loop knows nothing of it.
 */
#ifndef METRICS_SERVER_H
#define METRICS_SERVER_H

#include "base/err.h"

#include <stdint.h>

/* PURE. "9090", ":9090", "127.0.0.1:9090", "[::1]:9090". A port alone is 127.0.0.1's; `host` is ""
 * for every address. The caller frees *host. ERR_INVALID for what is an address on no machine. */
int metrics_server_parse_address(const char *address, char **host, uint16_t *port, struct err *err);

struct metrics_server;

/*
 * `address` as above; ":9090" is every address's, of IPv6 where there is one too. `session` is the
 * supervisor's directory, copied; `states` are those of metrics_format(), borrowed. ERR_INVALID for
 * an address that is none, ERR_EXISTS for a port in use.
 */
int metrics_server_start(const char *address, const char *session, const char *const *states,
			 struct metrics_server **server, struct err *err);
void metrics_server_stop(struct metrics_server *server); /* NULL is fine */

#endif
