#include "metrics_address.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <netdb.h>
#include <stdlib.h>
#include <string.h>

static bool is_numeric(const char *host)
{
	const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST};
	struct addrinfo *info;

	if (getaddrinfo(host, NULL, &hints, &info) != 0)
		return false;
	freeaddrinfo(info);
	return true;
}

int metrics_server_parse_address(const char *address, char **host, uint16_t *port, struct err *err)
{
	const char *colon = strrchr(address, ':'), *digits = colon ? colon + 1 : address;
	size_t length = colon ? (size_t)(colon - address) : 0;
	bool bracketed = length >= 2 && address[0] == '[' && address[length - 1] == ']';
	auto_free char *found = !colon      ? text_copy("127.0.0.1")
				: bracketed ? text_copy_n(address + 1, length - 2)
					    : text_copy_n(address, length);
	uint64_t number;

	*host = NULL;
	/* Without brackets nobody knows which colon is the port's. */
	if (!text_to_u64(digits, UINT16_MAX, &number) ||
	    (!bracketed && memchr(address, ':', length)) || (*found && !is_numeric(found)))
		return err_set(err, ERR_INVALID,
			       "'%s' is no address: write 9090, :9090, 127.0.0.1:9090 or "
			       "[::1]:9090",
			       address);
	*port = (uint16_t)number;
	*host = steal(&found);
	return 0;
}
