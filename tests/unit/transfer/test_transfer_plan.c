/* The pure parts of moving content: the plan, the reserve, the limit, the spans. */
#include "storage/format/pack.h"
#include "storage/transfer/fetching.h"
#include "storage/transfer/job_transfer.h"

#include "base/clock.h"

#include "unit.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
#define MIB ((uint64_t)1 << 20)
#define EXTRA (PACK_CAPACITY - PACK_TARGET)

static void test_plans(void **state)
{
	static const struct {
		const char *name;
		struct transfer_plan_facts facts;
		unsigned readers, uploaders, fetchers;
		size_t pack_mib, span_mib;
	} rows[] = {
		// clang-format off
		{"two processors, remote", {.processors = 2, .remote = true}, 2, 24, 16, 8, 32},
		{"two processors, local", {.processors = 2}, 2, 2, 2, 16, 4},
		{"a large machine, remote", {.processors = 64, .remote = true}, 10, 24, 16, 8, 32},
		{"a large machine, local", {.processors = 64}, 10, 64, 32, 8, 4},
		{"few connections", {.processors = 4, .connections = 2, .remote = true}, 4, 2, 2,
			16, 32},
		{"many connections", {.processors = 4, .connections = 99, .remote = true}, 4, 64,
			32, 8, 32},
		{"much memory", {.processors = 16, .memory = 2048 * MIB, .remote = true}, 16, 24, 16,
			16, 32},
		{"hardly any memory", {.processors = 8, .memory = 1, .remote = true}, 1, 24, 4, 8,
			32},
		{"a limit", {.processors = 2, .bandwidth = 1000000, .remote = true}, 2, 24, 16, 8,
			32},
		// clang-format on
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		uint64_t memory = rows[i].facts.memory ? rows[i].facts.memory : 256 * MIB;
		struct transfer_plan plan;

		transfer_plan(&rows[i].facts, &plan);
		if (plan.readers != rows[i].readers || plan.uploaders != rows[i].uploaders ||
		    plan.fetchers != rows[i].fetchers ||
		    plan.pack_target != rows[i].pack_mib * MIB ||
		    plan.span != rows[i].span_mib * MIB ||
		    (plan.uploaders_first < plan.uploaders) !=
			    (rows[i].facts.remote && !rows[i].facts.connections))
			fail_msg("%s: %u readers, %u uploaders, %u fetchers, packs of %zu, spans "
				 "of %zu",
				 rows[i].name, plan.readers, plan.uploaders, plan.fetchers,
				 plan.pack_target, plan.span);
		assert_true(plan.buffers >= 2);
		if (memory < 32 * MIB)
			memory = 32 * MIB;
		if (plan.buffers * (plan.pack_target + EXTRA) + plan.readers * CHUNK_SIZE >
			    memory ||
		    2 * plan.fetchers * CHUNK_SIZE > memory)
			fail_msg("%s: more memory than allowed", rows[i].name);
	}
}

/* Half as many more, for as long as all together become faster. */
static void test_connections_are_added(void **state)
{
	static const struct {
		const char *name;
		/* What each of so many connections carries, and all of them; bytes in a
		 * millisecond. */
		uint64_t each, all;
		unsigned connections;
	} rows[] = {
		{"a link of 100 MB/s", 60000, 100000, 12},
		{"600 MB/s", 60000, 600000, 18},
		{"as many as there are", 60000, 9000000, 24},
	};
	const struct transfer_plan plan = {.uploaders_first = 8, .uploaders = 24};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct upload_growth growth = {0};
		int64_t now_ms = 1000;

		upload_growth_begin(&growth, &plan, now_ms);
		for (int round = 0; round < 10; round++) {
			unsigned packs = growth.connections;
			uint64_t rate = packs * rows[i].each, bytes = 8 * MIB;

			now_ms += (int64_t)(packs * bytes /
					    (rate < rows[i].all ? rate : rows[i].all));
			while (packs-- > 0)
				upload_growth_add(&growth, &plan, bytes, now_ms);
		}
		if (growth.connections != rows[i].connections)
			fail_msg("%s: %u", rows[i].name, growth.connections);
	}
}

static void test_the_next_request(void **state)
{
	static const struct {
		size_t fetchers, span_mib;
		uint64_t left_mib, next_mib;
	} rows[] = {
		{16, 32, 100000, 32}, {16, 32, 1024, 32}, {16, 32, 512, 16},
		{16, 32, 255, 8},     {16, 32, 1, 8},     {16, 32, 0, 8},
		{2, 32, 64, 16},      {2, 4, 1000, 4},    {2, 4, 0, 4},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct transfer_plan plan = {.fetchers = (unsigned)rows[i].fetchers,
					     .span = rows[i].span_mib * MIB};

		assert_int_equal(transfer_plan_span(&plan, rows[i].left_mib * MIB),
				 rows[i].next_mib * MIB);
	}
}

static void test_the_reserve(void **state)
{
	static const struct {
		int64_t left_ms;
		bool remote;
		int64_t reserve_ms;
	} rows[] = {
		{CLOCK_NEVER, true, 0}, {120000, true, 2000}, {30000, true, 2000},
		{5000, true, 1000},     {0, true, 0},         {30000, false, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_int_equal(transfer_plan_reserve_ms(rows[i].left_ms, rows[i].remote),
				 rows[i].reserve_ms);
}

static void test_a_limit(void **state)
{
	struct rate_limit none = {0}, rate = {.bytes_per_second = 1000};
	int64_t now = 5000000;

	(void)state;
	assert_int_equal(rate_limit_consume(&none, UINT32_MAX, now), 0);
	/* A second's worth was saved up; what goes beyond is waited for by the next. */
	assert_int_equal(rate_limit_consume(&rate, 500, now), 0);
	assert_int_equal(rate_limit_consume(&rate, 2500, now), 0);
	assert_int_equal(rate_limit_consume(&rate, 1000, now), 2000);
	assert_int_equal(rate_limit_consume(&rate, 1, now + 1000), 2000);
	/* A long pause saves up no more than a second. */
	assert_int_equal(rate_limit_consume(&rate, 3000, now + 3600000), 0);
	assert_int_equal(rate_limit_consume(&rate, 1, now + 3600000), 2000);
}

static void test_spans(void **state)
{
	static const struct {
		const char *name;
		struct pack_range extents[4];
		size_t count, most, reach, size;
	} rows[] = {
		// clang-format off
		{"one", {{0, 8, 100}}, 1, 10, 1, 100},
		{"neighbours", {{0, 8, 100}, {0, 108, 100}, {0, 208, 50}}, 3, 1000, 3, 250},
		{"up to the limit", {{0, 8, 100}, {0, 108, 100}, {0, 208, 50}}, 3, 249, 2, 200},
		{"another pack", {{0, 8, 100}, {1, 108, 100}}, 2, 1000, 1, 100},
		{"a small gap", {{0, 8, 100}, {0, 108 + RANGE_GAP_MOST, 10}}, 2, 1 << 20, 2,
			110 + RANGE_GAP_MOST},
		{"a large gap", {{0, 8, 100}, {0, 109 + RANGE_GAP_MOST, 10}}, 2, 1 << 20, 1, 100},
		{"the same place twice", {{0, 8, 100}, {0, 8, 100}, {0, 108, 1}}, 3, 1000, 3, 101},
		{"a large one alone", {{0, 8, 100}, {0, 8, 200}}, 2, 50, 1, 100},
		{"at the end of all numbers", {{0, UINT32_MAX - 1, 100}, {0, UINT32_MAX, 1}}, 2,
			1000, 2, 100},
		// clang-format on
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		size_t reach = range_coalesce_count(rows[i].extents, rows[i].count, rows[i].most);

		if (reach != rows[i].reach ||
		    range_coalesce_size(rows[i].extents, reach) != rows[i].size)
			fail_msg("%s: %zu, %zu bytes", rows[i].name, reach,
				 range_coalesce_size(rows[i].extents, reach));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plans),
		cmocka_unit_test(test_connections_are_added),
		cmocka_unit_test(test_the_next_request),
		cmocka_unit_test(test_the_reserve),
		cmocka_unit_test(test_a_limit),
		cmocka_unit_test(test_spans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
