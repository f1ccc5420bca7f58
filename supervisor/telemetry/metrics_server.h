/*
 * --metrics ADDRESS: serves /metrics for Prometheus, and /livez and /readyz for HTTP probes (200 or
 * 503; health_probe.h). Its own threads ask the supervisor through the control socket, as `reprieve
 * status` does, so that the loop never waits for a scrape.
 */
#ifndef METRICS_SERVER_H
#define METRICS_SERVER_H

#include "base/err.h"

#include <stdint.h>

/* PURE. Parses "9090", ":9090", "127.0.0.1:9090" or "[::1]:9090". A port alone means 127.0.0.1;
 * ":PORT" means all addresses, with `host` "". The caller frees *host. ERR_INVALID: not an
 * address. */
int metrics_server_parse_address(const char *address, char **host, uint16_t *port, struct err *err);

struct metrics_server;

/*
 * `address` as above; ":9090" includes IPv6 if the machine has it. `session`:
 * the supervisor's runtime directory, copied. `states`: as in metrics_format(), borrowed.
 * ERR_INVALID: not an address. ERR_EXISTS: the port is in use.
 */
int metrics_server_start(const char *address, const char *session, const char *const *states,
			 struct metrics_server **server, struct err *err);
void metrics_server_stop(struct metrics_server *server); /* NULL is fine */

#endif
