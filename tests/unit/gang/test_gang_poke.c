/* The datagrams that say "read the log". */
#include "base/clock.h"
#include "gang/gang_poke.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define OWN "0123456789abcdef0123456789abcdef"
#define OTHER "fedcba9876543210fedcba9876543210"

/* --- addresses --- */

static void an_address_is_read_as_written(void **state)
{
	static const char *const texts[] = {
		"7f00000104d2",
		"0a0102030035",
		"20010db800000000000000000000000104d2",
	};
	union gang_address address;
	char again[GANG_ADDRESS_TEXT];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_true(gang_address_parse(texts[i], &address) > 0);
		gang_address_format(&address, again);
		assert_string_equal(again, texts[i]);
	}
	assert_int_equal(gang_address_parse("7f00000104d2", &address), sizeof(address.v4));
	assert_int_equal(address.any.sa_family, AF_INET);
	assert_int_equal(ntohs(address.v4.sin_port), 1234);
	assert_int_equal(ntohl(address.v4.sin_addr.s_addr), INADDR_LOOPBACK);
}

static void what_is_no_machine_is_no_address(void **state)
{
	static const char *const texts[] = {
		"",
		"7f00000104d",
		"7f00000104d2a",
		"7f00000104d20000",
		"7F00000104d2",
		"7f0000010 d2",
		/* No port. */
		"7f0000010000",
		"20010db80000000000000000000000010000",
		/* Nobody, a group, everybody. */
		"0000000004d2",
		"e000000104d2",
		"ffffffff04d2",
		"0000000000000000000000000000000004d2",
		"ff02000000000000000000000000000104d2",
		/* IPv4 in other clothes. */
		"00000000000000000000ffffe000000104d2",
	};
	union gang_address address;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (gang_address_parse(texts[i], &address) != 0)
			fail_msg("%s", texts[i]);
}

static void what_is_no_internet_address_has_no_text(void **state)
{
	union gang_address address = {.any.sa_family = AF_UNIX};
	char text[GANG_ADDRESS_TEXT];

	(void)state;
	gang_address_format(&address, text);
	assert_string_equal(text, "");
}

/* --- datagrams --- */

static void a_datagram_is_for_one_member_of_one_attempt(void **state)
{
	unsigned char bytes[GANG_POKE_SIZE + 1] = {0};

	(void)state;
	gang_poke_encode(7, OWN, bytes);
	assert_true(gang_poke_is_for(bytes, GANG_POKE_SIZE, 7, OWN));
	assert_false(gang_poke_is_for(bytes, GANG_POKE_SIZE, 8, OWN));
	assert_false(gang_poke_is_for(bytes, GANG_POKE_SIZE, 7, OTHER));
	assert_false(gang_poke_is_for(bytes, GANG_POKE_SIZE - 1, 7, OWN));
	assert_false(gang_poke_is_for(bytes, GANG_POKE_SIZE + 1, 7, OWN));
	for (size_t i = 0; i < GANG_POKE_SIZE; i++) {
		bytes[i] ^= 1;
		assert_false(gang_poke_is_for(bytes, GANG_POKE_SIZE, 7, OWN));
		bytes[i] ^= 1;
	}
}

/* A member that the claim does not name is for nobody to wake. */
static void none_is_for_who_has_no_nonce(void **state)
{
	unsigned char bytes[GANG_POKE_SIZE];

	(void)state;
	gang_poke_encode(7, "", bytes);
	assert_false(gang_poke_is_for(bytes, GANG_POKE_SIZE, 7, ""));
}

static void they_are_limited(void **state)
{
	(void)state;
	assert_true(gang_poke_due_ms(0, 5000) == 5000);
	assert_true(gang_poke_due_ms(5000, 5000) == 5000 + GANG_POKE_EVERY_MS);
	assert_true(gang_poke_due_ms(5000, 5001) == 5000 + GANG_POKE_EVERY_MS);
	assert_true(gang_poke_due_ms(5000, 5000 + GANG_POKE_EVERY_MS) == 5000 + GANG_POKE_EVERY_MS);
	assert_true(gang_poke_due_ms(5000, 9000) == 9000);
}

/* --- the socket --- */

struct listener {
	struct loop loop;
	struct gang_poke *sender;
	struct timer timer;
	int poked;
	int64_t first_ms, last_ms;
};

static void on_poked(void *arg)
{
	struct listener *listener = arg;

	listener->last_ms = clock_monotonic_ms();
	if (listener->poked++ == 0)
		listener->first_ms = listener->last_ms;
	else
		loop_stop(&listener->loop);
}

static struct gang_claim claim_of(const struct gang_poke *first, const struct gang_poke *second)
{
	return (struct gang_claim){
		.attempt = 7,
		.members = 3,
		.nonces = json_pack("[s, s, s]", OWN, OTHER, "no address"),
		.addresses = json_pack("[s, s, i]", gang_poke_address(first),
				       gang_poke_address(second), 5),
	};
}

static void send_by_hand(const char *to, const void *bytes, size_t size)
{
	union gang_address address;
	size_t length = gang_address_parse(to, &address);
	int fd = socket(address.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0 && length > 0);
	assert_int_equal(sendto(fd, bytes, size, 0, &address.any, (socklen_t)length), size);
	close(fd);
}

/* The stranger's come before, on the same way, and wake nobody. */
static void one_reaches_the_other_and_a_stranger_nobody(void **state)
{
	struct gang_poke *first = gang_poke_new("127.0.0.1"), *second = gang_poke_new("");
	struct gang_claim claim = claim_of(first, second);
	struct listener listener = {0};
	unsigned char bytes[GANG_POKE_SIZE + 1] = {0};

	(void)state;
	assert_non_null(first);
	assert_non_null(second);
	assert_int_equal(loop_init(&listener.loop, NULL), 0);
	gang_poke_meet(first, &claim, 0);
	gang_poke_meet(second, &claim, 1);
	assert_int_equal(gang_poke_listen(second, &listener.loop, on_poked, &listener, NULL), 0);
	send_by_hand(gang_poke_address(second), "hello", 5);
	send_by_hand(gang_poke_address(second), bytes, 0);
	gang_poke_encode(7, OWN, bytes);
	send_by_hand(gang_poke_address(second), bytes, GANG_POKE_SIZE);
	gang_poke_encode(7, OTHER, bytes);
	send_by_hand(gang_poke_address(second), bytes, GANG_POKE_SIZE + 1);
	listener.poked = 1;
	gang_poke_all(first);
	assert_int_equal(loop_run(&listener.loop, NULL), 0);
	assert_int_equal(listener.poked, 2);
	gang_poke_free(second);
	gang_poke_free(first);
	gang_claim_release(&claim);
	loop_release(&listener.loop);
}

/* Two at once lead to one reading, and what comes then to one more, not before its time. */
static void on_sent_again(struct timer *timer)
{
	struct listener *listener = container_of(timer, struct listener, timer);

	if (listener->poked == 1)
		gang_poke_all(listener->sender);
	loop_arm(&listener->loop, timer, clock_monotonic_ms() + 1);
}

static void a_flood_leads_to_one_reading_in_a_while(void **state)
{
	struct gang_poke *first = gang_poke_new("127.0.0.1");
	struct gang_poke *second = gang_poke_new("127.0.0.1");
	struct gang_claim claim = claim_of(first, second);
	struct listener listener = {.sender = first};

	(void)state;
	assert_int_equal(loop_init(&listener.loop, NULL), 0);
	gang_poke_meet(first, &claim, 0);
	gang_poke_meet(second, &claim, 1);
	assert_int_equal(gang_poke_listen(second, &listener.loop, on_poked, &listener, NULL), 0);
	gang_poke_all(first);
	gang_poke_all(first);
	listener.timer.fired = on_sent_again;
	loop_arm(&listener.loop, &listener.timer, clock_monotonic_ms());
	assert_int_equal(loop_run(&listener.loop, NULL), 0);
	assert_int_equal(listener.poked, 2);
	assert_true(listener.last_ms - listener.first_ms >= GANG_POKE_EVERY_MS);
	loop_disarm(&listener.loop, &listener.timer);
	gang_poke_free(second);
	gang_poke_free(first);
	gang_claim_release(&claim);
	loop_release(&listener.loop);
}

/* No socket, no claim: nothing happens. */
static void without_a_socket_nothing_is_sent(void **state)
{
	struct gang_poke *poke = gang_poke_new("127.0.0.1");

	(void)state;
	assert_string_equal(gang_poke_address(NULL), "");
	gang_poke_all(NULL);
	gang_poke_stop(NULL);
	gang_poke_meet(NULL, &(struct gang_claim){.members = 2}, 0);
	assert_int_equal(gang_poke_listen(NULL, NULL, NULL, NULL, NULL), 0);
	gang_poke_all(poke);
	assert_int_equal(gang_poke_listen(poke, NULL, NULL, NULL, NULL), 0);
	gang_poke_free(poke);
	gang_poke_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_is_read_as_written),
		cmocka_unit_test(what_is_no_machine_is_no_address),
		cmocka_unit_test(what_is_no_internet_address_has_no_text),
		cmocka_unit_test(a_datagram_is_for_one_member_of_one_attempt),
		cmocka_unit_test(none_is_for_who_has_no_nonce),
		cmocka_unit_test(they_are_limited),
		cmocka_unit_test(one_reaches_the_other_and_a_stranger_nobody),
		cmocka_unit_test(a_flood_leads_to_one_reading_in_a_while),
		cmocka_unit_test(without_a_socket_nothing_is_sent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
