#include "cli/costs.h"

#include "base/cleanup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no '%s' in\n%s", part, text);
}

static size_t count_of(const char *text, const char *part)
{
	size_t count = 0;

	for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
		count++;
	return count;
}

#define EVENT(seconds, rest)                                                                \
	"{\"time\":\"2026-11-21T08:00:" seconds ".000Z\",\"monotonic_ms\":9" seconds "000," \
	"\"event\":" rest "}\n"
static const char preempted[] = EVENT("00", "\"started\"")
	EVENT("02", "\"restored\",\"seconds\":1.5") EVENT("02", "\"launched\"")
		EVENT("20", "\"notice\",\"kind\":\"stop\",\"seconds_left\":30")
			EVENT("21", "\"saving\"") EVENT("23", "\"checkpoint_complete\"")
				EVENT("25", "\"durable\",\"seconds\":2") EVENT("26", "\"stopping\"")
					EVENT("27", "\"child_exited\"")
						EVENT("27", "\"ended\",\"lost\":3,\"kept\":21");

static void test_the_phases_of_a_ledger(void **state)
{
	static const struct page_phase expected[] = {
		{PHASE_RESTORING, 500, 2000},    {PHASE_SAVING, 21000, 23000},
		{PHASE_UPLOADING, 23000, 25000}, {PHASE_TRAINING, 2000, 27000},
		{PHASE_LOST, 23000, 26000},      {PHASE_NOTICE, 20000, 50000},
	};
	const struct attempt_summary past = {.number = 1, .ended = true, .outcome = "preempted"};
	const struct bytes ledger = {.data = (uint8_t *)preempted, .size = strlen(preempted)};
	struct attempt_costs costs = {0};

	(void)state;
	attempt_costs_read(&costs, &past, "", false, &ledger);
	assert_int_equal(costs.to_ms - costs.from_ms, 27000);
	assert_int_equal(costs.bar.count, sizeof(expected) / sizeof(expected[0]));
	for (size_t i = 0; i < costs.bar.count; i++) {
		const struct page_phase *phase = &costs.bar.phases[i];

		if (phase->kind != expected[i].kind ||
		    phase->from_ms - costs.from_ms != expected[i].from_ms ||
		    phase->to_ms - costs.from_ms != expected[i].to_ms)
			fail_msg("phase %zu: kind %d, %lld to %lld", i, phase->kind,
				 (long long)(phase->from_ms - costs.from_ms),
				 (long long)(phase->to_ms - costs.from_ms));
	}
	free(costs.bar.phases);
}

/* Two attempts of ten and twenty seconds, with an hour between them. */
static void fill(struct page_section *section, const char *job, const struct report_prices *prices)
{
	static struct attempt_costs accounts[] = {
		{.number = 1,
		 .started = "2026-11-21T08:00:00Z",
		 .host = "<node>",
		 .machines = 1,
		 .outcome = "preempted",
		 .source = "gcp",
		 .notice_seconds = 30,
		 .ran_ms = 10000,
		 .lost_ms = 2000,
		 .kept_ms = 8000,
		 .interrupted = true,
		 .loses = true},
		{.number = 2,
		 .started = "2026-11-21T09:00:10Z",
		 .host = "b",
		 .machines = 3,
		 .outcome = "finished",
		 .notice_seconds = -1,
		 .ran_ms = 20000,
		 .kept_ms = 20000},
	};

	for (size_t i = 0; i < 2; i++) {
		struct attempt_costs *costs = &accounts[i];

		costs->bar = (struct page_bar){.count = 0};
		costs->from_ms = i == 0 ? 1000000000 : 1003610000;
		costs->to_ms = costs->from_ms + costs->ran_ms;
		page_add_phase(&costs->bar, PHASE_TRAINING, costs->from_ms, costs->to_ms);
	}
	attempt_costs_fill_page(section, job, accounts, 2, prices);
	for (size_t i = 0; i < 2; i++)
		free(accounts[i].bar.phases);
}

static void test_figures_table_and_chart(void **state)
{
	static const char *const parts[] = {
		"<dd class=\"goodput\">97.1 %</dd>", /* 8 + 3 * 20 of 10 + 3 * 20 s */
		"<dd class=\"goodput-without\">85.7 %</dd>",
		"<dd class=\"kept\">28 s</dd>",
		"<dd class=\"lost\">2.0 s</dd>",
		"<dd class=\"preemptions\">1</dd>",
		"<dd class=\"cost\">$70.00</dd>",
		"<dd class=\"cost-without\">$136.00</dd>",
		"<td>2</td><td>2026-11-21T09:00:10</td><td>b+2</td>",
		"<td>gcp, 30 s</td><td>0</td><td>2.0 s</td>",
		"1: ran 10 s, preempted, lost 2.0 s</text>",
		"job a&lt;script&gt;&amp;&quot;",
		"&lt;node&gt;",
		"prefers-color-scheme:dark",
		"@media print",
	};
	struct report_prices prices = {3600, 7200};
	auto_(page_section_release) struct page_section section = {.bar_count = 0};
	auto_free char *page = NULL;

	(void)state;
	fill(&section, "a<script>&\"", &prices);
	page = page_html("title", "file:///a<b>", &section, 1);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		assert_has(page, parts[i]);
	assert_null(strstr(page, "<script"));
	assert_null(strstr(page, "http"));
	assert_int_equal(count_of(page, "<tr>"), 3);
}

/* The wait of an hour takes a quarter of what the attempts have run. */
static void test_a_long_wait_is_drawn_shorter(void **state)
{
	struct report_prices prices = {0};
	auto_(page_section_release) struct page_section section = {.bar_count = 0};
	auto_free char *chart = NULL;

	(void)state;
	fill(&section, "a", &prices);
	assert_int_equal(section.bars[1].phases[0].kind, PHASE_WAITING);
	assert_int_equal(section.bars[1].phases[0].from_ms, 10000);
	assert_int_equal(section.bars[1].phases[0].to_ms, 17501);
	assert_int_equal(section.bars[1].phases[1].to_ms, 37501);
	chart = page_svg(&section);
	assert_true(text_starts(chart, "<svg xmlns=\"http://www.w3.org/2000/svg\""));
	assert_has(chart, "<rect class=\"training\" x=\"0.000%\" y=\"102\" width=\"26.666%\"");
	assert_has(chart, ">waiting</text>");
}

static void test_many_short_phases_are_drawn_once(void **state)
{
	auto_(page_section_release) struct page_section section = {.bar_count = 0};
	auto_free char *chart = NULL;
	struct page_bar *bar = page_add_bar(&section);

	(void)state;
	page_add_phase(bar, PHASE_TRAINING, 0, 100000000);
	for (int i = 0; i < 100000; i++)
		page_add_phase(bar, PHASE_UPLOADING, i * 1000, i * 1000 + 10);
	page_add_phase(bar, PHASE_SAVING, 5, 5);
	page_add_phase(bar, PHASE_SAVING, -5, 0);
	assert_int_equal(bar->count, 100001);
	chart = page_svg(&section);
	assert_in_range(count_of(chart, "<rect class=\"uploading\""), 2, 1000);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_phases_of_a_ledger),
		cmocka_unit_test(test_figures_table_and_chart),
		cmocka_unit_test(test_a_long_wait_is_drawn_shorter),
		cmocka_unit_test(test_many_short_phases_are_drawn_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
