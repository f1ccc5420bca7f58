#include "gang_poke.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* So many are taken from the socket at a time: what else the loop has to do waits for no flood. */
#define TAKEN_AT_ONCE 32

static const unsigned char magic[4] = {'R', 'P', 'K', '1'};

/* --- addresses --- */

static size_t address_size(const union gang_address *address)
{
	return address->any.sa_family == AF_INET6 ? sizeof(address->v6) : sizeof(address->v4);
}

static void format_bytes(const void *bytes, size_t size, char *text)
{
	for (size_t i = 0; i < size; i++)
		snprintf(text + 2 * i, 3, "%02x", ((const unsigned char *)bytes)[i]);
}

void gang_address_format(const union gang_address *address, char text[GANG_ADDRESS_TEXT])
{
	text[0] = '\0';
	if (address->any.sa_family == AF_INET) {
		format_bytes(&address->v4.sin_addr, 4, text);
		format_bytes(&address->v4.sin_port, 2, text + 8);
	} else if (address->any.sa_family == AF_INET6) {
		format_bytes(&address->v6.sin6_addr, 16, text);
		format_bytes(&address->v6.sin6_port, 2, text + 32);
	}
}

static int digit_value(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

static bool parse_bytes(const char *text, size_t size, unsigned char *bytes)
{
	for (size_t i = 0; i < size; i++) {
		int high = digit_value(text[2 * i]), low = digit_value(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		bytes[i] = (unsigned char)(high << 4 | low);
	}
	return true;
}

/* A group or everybody would let one member's datagrams reach machines that have asked for none. */
static bool is_one_machine(const union gang_address *address)
{
	uint32_t v4 = ntohl(address->v4.sin_addr.s_addr);

	if (address->any.sa_family == AF_INET6)
		return address->v6.sin6_port != 0 && address->v6.sin6_addr.s6_addr[0] != 0xff &&
		       !IN6_IS_ADDR_UNSPECIFIED(&address->v6.sin6_addr) &&
		       !IN6_IS_ADDR_V4MAPPED(&address->v6.sin6_addr);
	return address->v4.sin_port != 0 && v4 >> 24 != 0 && v4 >> 28 < 0xe;
}

size_t gang_address_parse(const char *text, union gang_address *address)
{
	unsigned char bytes[18];
	size_t size = strlen(text) / 2;

	*address = (union gang_address){.any.sa_family = AF_UNSPEC};
	if ((size != 6 && size != 18) || strlen(text) % 2 != 0 || !parse_bytes(text, size, bytes))
		return 0;
	if (size == 6) {
		address->v4.sin_family = AF_INET;
		memcpy(&address->v4.sin_addr, bytes, 4);
		memcpy(&address->v4.sin_port, bytes + 4, 2);
	} else {
		address->v6.sin6_family = AF_INET6;
		memcpy(&address->v6.sin6_addr, bytes, 16);
		memcpy(&address->v6.sin6_port, bytes + 16, 2);
	}
	return is_one_machine(address) ? address_size(address) : 0;
}

/* --- datagrams --- */

void gang_poke_encode(uint32_t attempt, const char *nonce, unsigned char bytes[GANG_POKE_SIZE])
{
	uint32_t number = htonl(attempt);

	memcpy(bytes, magic, 4);
	memcpy(bytes + 4, &number, 4);
	memset(bytes + 8, 0, 32);
	memcpy(bytes + 8, nonce, strnlen(nonce, 32));
}

bool gang_poke_is_for(const void *bytes, size_t size, uint32_t attempt, const char *nonce)
{
	unsigned char wanted[GANG_POKE_SIZE];

	gang_poke_encode(attempt, nonce, wanted);
	return nonce[0] && size == GANG_POKE_SIZE && memcmp(bytes, wanted, GANG_POKE_SIZE) == 0;
}

int64_t gang_poke_due_ms(int64_t last_ms, int64_t now_ms)
{
	int64_t next_ms = last_ms + GANG_POKE_EVERY_MS;

	return last_ms > 0 && next_ms > now_ms ? next_ms : now_ms;
}

/* --- the own address --- */

struct peer {
	union gang_address address;
	size_t size; /* 0: it has none */
	char nonce[33];
};

struct gang_poke {
	struct source source;
	char text[GANG_ADDRESS_TEXT];
	uint32_t attempt, members, member;
	struct peer *peers;

	/* NULL: it does not listen. */
	struct loop *loop;
	void (*poked)(void *arg);
	void *arg;
	/* Armed while one that has come, or is to be sent, has to wait. */
	struct timer read_timer, send_timer;
	int64_t read_ms, sent_ms;
};

static bool is_of_others(const union gang_address *address)
{
	if (address->any.sa_family == AF_INET6)
		return !IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr) &&
		       /* It says nothing without the name of a network device. */
		       !IN6_IS_ADDR_LINKLOCAL(&address->v6.sin6_addr);
	return ntohl(address->v4.sin_addr.s_addr) >> 24 != 127;
}

static bool parse_local(const char *text, union gang_address *address)
{
	*address = (union gang_address){.any.sa_family = AF_INET};
	if (inet_pton(AF_INET, text, &address->v4.sin_addr) == 1)
		return true;
	*address = (union gang_address){.any.sa_family = AF_INET6};
	return inet_pton(AF_INET6, text, &address->v6.sin6_addr) == 1;
}

/* The address that a packet to `there` would come from. */
static bool find_source_address(const char *there, union gang_address *address)
{
	union gang_address target;
	socklen_t size = sizeof(*address);
	auto_close int fd = -1;

	if (!parse_local(there, &target))
		return false;
	/* Any port: nothing is sent to it. */
	target.v4.sin_port = htons(9);
	fd = socket(target.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return fd >= 0 && connect(fd, &target.any, (socklen_t)address_size(&target)) == 0 &&
	       getsockname(fd, &address->any, &size) == 0;
}

/* The addresses asked for are of networks for documentation, which nobody has: they go by the
 * default route. */
static union gang_address choose_address(const char *local)
{
	union gang_address address = {.any.sa_family = AF_UNSPEC};

	if ((!parse_local(local, &address) || !is_of_others(&address)) &&
	    (!find_source_address("192.0.2.1", &address) || !is_of_others(&address)) &&
	    (!find_source_address("2001:db8::1", &address) || !is_of_others(&address)))
		parse_local("127.0.0.1", &address);
	if (address.any.sa_family == AF_INET6)
		address.v6.sin6_port = 0;
	else
		address.v4.sin_port = 0;
	return address;
}

/* --- the socket --- */

struct gang_poke *gang_poke_new(const char *local)
{
	union gang_address address = choose_address(local);
	socklen_t size = sizeof(address);
	auto_close int fd =
		socket(address.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct gang_poke *poke;

	if (fd < 0 || bind(fd, &address.any, (socklen_t)address_size(&address)) < 0 ||
	    getsockname(fd, &address.any, &size) < 0) {
		log_debug("no socket for the datagrams of the gang: %s", strerror(errno));
		return NULL;
	}
	poke = memory_new(sizeof(*poke));
	gang_address_format(&address, poke->text);
	poke->source.fd = steal_fd(&fd);
	return poke;
}

const char *gang_poke_address(const struct gang_poke *poke)
{
	return poke ? poke->text : "";
}

void gang_poke_meet(struct gang_poke *poke, const struct gang_claim *claim, uint32_t member)
{
	if (!poke)
		return;
	free(poke->peers);
	poke->attempt = claim->attempt;
	poke->members = claim->members;
	poke->member = member;
	poke->peers = memory_new(claim->members * sizeof(*poke->peers));
	for (uint32_t i = 0; i < claim->members; i++) {
		const char *address = json_string_value(json_array_get(claim->addresses, i));
		const char *nonce = json_string_value(json_array_get(claim->nonces, i));

		poke->peers[i].size =
			gang_address_parse(address ? address : "", &poke->peers[i].address);
		text_set(poke->peers[i].nonce, sizeof(poke->peers[i].nonce), nonce ? nonce : "");
	}
}

static void send_to_all(struct gang_poke *poke)
{
	unsigned char bytes[GANG_POKE_SIZE];

	poke->sent_ms = clock_monotonic_ms();
	for (uint32_t i = 0; i < poke->members; i++) {
		const struct peer *peer = &poke->peers[i];

		if (i == poke->member || peer->size == 0)
			continue;
		gang_poke_encode(poke->attempt, peer->nonce, bytes);
		/* If it cannot be sent, the other one reads the log when it does anyway. */
		(void)sendto(poke->source.fd, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_NOSIGNAL,
			     &peer->address.any, (socklen_t)peer->size);
	}
}

static void on_send_due(struct timer *timer)
{
	send_to_all(container_of(timer, struct gang_poke, send_timer));
}

void gang_poke_all(struct gang_poke *poke)
{
	if (!poke || !poke->peers)
		return;
	if (!poke->loop)
		send_to_all(poke);
	else if (!poke->send_timer.armed)
		loop_arm(poke->loop, &poke->send_timer,
			 gang_poke_due_ms(poke->sent_ms, clock_monotonic_ms()));
}

static void on_read_due(struct timer *timer)
{
	struct gang_poke *poke = container_of(timer, struct gang_poke, read_timer);

	poke->read_ms = clock_monotonic_ms();
	poke->poked(poke->arg);
}

static void on_datagram(struct source *source, uint32_t events)
{
	struct gang_poke *poke = container_of(source, struct gang_poke, source);
	/* One byte more, so that a longer one is not taken for one of this size. */
	unsigned char bytes[GANG_POKE_SIZE + 1];
	const char *nonce = poke->peers[poke->member].nonce;

	(void)events;
	for (int i = 0; i < TAKEN_AT_ONCE; i++) {
		ssize_t size = recv(poke->source.fd, bytes, sizeof(bytes), MSG_DONTWAIT);

		/* The answer to one that was sent in vain is an error too. */
		if (size < 0 && errno != ECONNREFUSED && errno != EHOSTUNREACH &&
		    errno != ENETUNREACH)
			return;
		if (size > 0 && gang_poke_is_for(bytes, (size_t)size, poke->attempt, nonce) &&
		    !poke->read_timer.armed)
			loop_arm(poke->loop, &poke->read_timer,
				 gang_poke_due_ms(poke->read_ms, clock_monotonic_ms()));
	}
}

int gang_poke_listen(struct gang_poke *poke, struct loop *loop, void (*poked)(void *arg), void *arg,
		     struct err *err)
{
	if (!poke || !poke->peers)
		return 0;
	poke->source.ready = on_datagram;
	poke->read_timer.fired = on_read_due;
	poke->send_timer.fired = on_send_due;
	poke->poked = poked;
	poke->arg = arg;
	if (loop_add(loop, &poke->source, EPOLLIN, err) < 0)
		return -1;
	poke->loop = loop;
	return 0;
}

void gang_poke_stop(struct gang_poke *poke)
{
	if (!poke || !poke->loop)
		return;
	/* What was to be sent is sent: it may have been the last word. */
	if (poke->send_timer.armed)
		send_to_all(poke);
	loop_disarm(poke->loop, &poke->send_timer);
	loop_disarm(poke->loop, &poke->read_timer);
	loop_remove(poke->loop, &poke->source);
	poke->loop = NULL;
}

void gang_poke_free(struct gang_poke *poke)
{
	if (!poke)
		return;
	gang_poke_stop(poke);
	close(poke->source.fd);
	free(poke->peers);
	free(poke);
}
