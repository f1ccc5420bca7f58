/* PURE. Where --metrics is served: "9090", ":9090", "127.0.0.1:9090", "[::1]:9090". */
#ifndef METRICS_ADDRESS_H
#define METRICS_ADDRESS_H

#include "base/err.h"

#include <stdint.h>

/* A port alone is 127.0.0.1's; `host` is "" for every address. The caller frees *host. ERR_INVALID
 * for what is an address on no machine. */
int metrics_server_parse_address(const char *address, char **host, uint16_t *port, struct err *err);

#endif
