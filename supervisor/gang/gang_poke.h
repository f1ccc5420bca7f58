/*
 * A datagram that says "read the log": whoever has appended an event sends one to every other
 * member, which then knows of it at once. It carries nothing else and is answered by nothing: what
 * counts is the log, which is read without it too. So one that is lost, late or forged changes only
 * when that is.
 *
 * Each member has a UDP socket, bound before it joins. Its address is in its join, and so in the
 * claim, for all. A datagram shows the attempt and the nonce of the member that it is for, which
 * stand in the claim as well. For the rest a member is as quick as the store lets it be.
 */
#ifndef GANG_POKE_H
#define GANG_POKE_H

#include "base/loop.h"
#include "storage/storage.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- PURE --- */

#define GANG_POKE_SIZE 40
/* By datagrams the log is read once in so long, and they are sent to all once in so long. */
#define GANG_POKE_EVERY_MS 200

union gang_address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* As hexadecimal digits: the address and its port. "" for what is neither IPv4 nor IPv6. */
void gang_address_format(const union gang_address *address, char text[GANG_ADDRESS_TEXT]);
/* The size for sendto(); 0: it is none, or nobody can be there (port 0, a group, everybody). */
size_t gang_address_parse(const char *text, union gang_address *address);

void gang_poke_encode(uint32_t attempt, const char *nonce, unsigned char bytes[GANG_POKE_SIZE]);
/* Whether these bytes are for the member of that nonce, in that attempt. */
bool gang_poke_is_for(const void *bytes, size_t size, uint32_t attempt, const char *nonce);

/* When what comes at `now_ms` is to be done, if it was done at `last_ms` (0: never). */
int64_t gang_poke_due_ms(int64_t last_ms, int64_t now_ms);

/* --- the socket --- */

struct gang_poke;

/* Binds a socket to a free port of `local` (the address from which the store is reached; "" or of
 * this machine alone: the address that the default route has, else that of this machine alone). No
 * packet is sent. NULL: it cannot be done, and nobody is poked. */
struct gang_poke *gang_poke_new(const char *local);
/* For the join. */
const char *gang_poke_address(const struct gang_poke *poke);

/* Takes over from the claim where each member is. */
void gang_poke_meet(struct gang_poke *poke, const struct gang_claim *claim, uint32_t member);
/* Sends to all of the claim but this member. Does not block. NULL is fine. */
void gang_poke_all(struct gang_poke *poke);

/* From now on the loop calls `poked(arg)` when one has come, and what is sent is limited. */
int gang_poke_listen(struct gang_poke *poke, struct loop *loop, void (*poked)(void *arg), void *arg,
		     struct err *err);
void gang_poke_stop(struct gang_poke *poke);
/* NULL is fine. */
void gang_poke_free(struct gang_poke *poke);

#endif
