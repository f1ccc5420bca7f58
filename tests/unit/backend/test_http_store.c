/* What the stores over HTTP share, where no server is needed. */
#include "storage/backend/http_store.h"

#include "unit.h"

#include <stdio.h>

static struct retrying_client_statistics known;

void __wrap_retrying_client_statistics(struct retrying_client *remote,
				       struct retrying_client_statistics *statistics);
void __wrap_retrying_client_statistics(struct retrying_client *remote,
				       struct retrying_client_statistics *statistics)
{
	assert_null(remote);
	*statistics = known;
}

/* As the client has seen it in the answers so far. */
static void test_what_is_known_of_the_store(void **state)
{
	struct http_store http = {0};

	(void)state;
	for (int seen = 0; seen < 2; seen++) {
		struct store_health health = {0};

		known = (struct retrying_client_statistics){
			.clock_seen = seen,
			.clock_ms = -2500,
		};
		http_store_read_health(&http.store, &health);
		assert_int_equal(health.skew_known, seen);
		assert_int_equal(health.skew_ms, -2500);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_known_of_the_store),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
