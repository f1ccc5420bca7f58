/* Strings, numbers, durations and byte buffers, by tables. */
#include "base/text.h"

#include "base/cleanup.h"

#include "unit.h"

#include <stdlib.h>
#include <string.h>

static void test_numbers(void **state)
{
	static const struct {
		const char *text;
		uint64_t most;
		bool good;
		uint64_t value;
	} rows[] = {
		{"0", 10, true, 0},
		{"10", 10, true, 10},
		{"007", 10, true, 7},
		{"18446744073709551615", UINT64_MAX, true, UINT64_MAX},
		{"11", 10, false, 0},
		{"18446744073709551616", UINT64_MAX, false, 0},
		{"", 10, false, 0},
		{" 1", 10, false, 0},
		{"1 ", 10, false, 0},
		{"+1", 10, false, 0},
		{"-1", UINT64_MAX, false, 0},
		{"0x1", 10, false, 0},
		{"1.0", 10, false, 0},
		{NULL, 10, false, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t value = 99;

		assert_int_equal(text_to_u64(rows[i].text, rows[i].most, &value), rows[i].good);
		assert_true(value == (rows[i].good ? rows[i].value : 99));
	}
}

static void test_durations(void **state)
{
	static const struct {
		const char *text;
		int64_t milliseconds; /* -1: refused */
	} rows[] = {
		{"90", 90000},   {"90s", 90000},   {"15m", 900000}, {"15min", 900000},
		{"2h", 7200000}, {"1d", 86400000}, {"500ms", 500},  {"1.5s", 1500},
		{".5", 500},     {"0", 0},         {"", -1},        {"s", -1},
		{"-1s", -1},     {"+1", -1},       {"1 s", -1},     {"1w", -1},
		{"ten", -1},     {"1s2", -1},      {"1e300d", -1},  {".", -1},
		{"inf", -1},     {"nan", -1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t value = -1;

		assert_int_equal(text_to_duration_ms(rows[i].text, &value),
				 rows[i].milliseconds >= 0);
		assert_true(value == rows[i].milliseconds);
	}
	assert_false(text_to_duration_ms(NULL, &(int64_t){0}));
}

static void test_sizes_for_people(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} rows[] = {
		{0, "0 B"},
		{1023, "1023 B"},
		{1024, "1.0 KiB"},
		{1536, "1.5 KiB"},
		{100 << 20, "100 MiB"},
		{(uint64_t)3 << 30, "3.0 GiB"},
		{UINT64_MAX, "16384 PiB"},
	};
	char buffer[32];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(text_bytes(rows[i].bytes, buffer, sizeof(buffer)),
				    rows[i].text);
}

static void test_sizes(void **state)
{
	static const struct {
		const char *text;
		bool right;
		uint64_t bytes;
	} rows[] = {
		{"0", true, 0},
		{"4096", true, 4096},
		{"4096B", true, 4096},
		{"40GB", true, 40000000000},
		{"40G", true, 40000000000},
		{"40GiB", true, 40ull << 30},
		{"1.5 MiB", true, 3 << 19},
		{"1kB", true, 1000},
		{"1K", true, 1000},
		{"1KiB", true, 1024},
		{"2TB", true, 2000000000000},
		{"", false, 0},
		{"GB", false, 0},
		{"-1GB", false, 0},
		{"40GBs", false, 0},
		{"40XB", false, 0},
		{"40iB", false, 0},
		{"40  GB", false, 0},
		{"99999PB", false, 0},
		{"1e400", false, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t bytes = 0;

		if (text_to_bytes(rows[i].text, &bytes) != rows[i].right || bytes != rows[i].bytes)
			fail_msg("\"%s\": %llu", rows[i].text, (unsigned long long)bytes);
	}
	assert_false(text_to_bytes(NULL, &(uint64_t){0}));
}

static void test_durations_for_people(void **state)
{
	static const struct {
		int64_t milliseconds;
		const char *text;
	} rows[] = {
		{-5, "0 s"},     {0, "0 ms"},           {999, "999 ms"},        {1200, "1.2 s"},
		{59999, "59 s"}, {83200, "1 min 23 s"}, {7260000, "2 h 1 min"},
	};
	char buffer[32];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(text_duration(rows[i].milliseconds, buffer, sizeof(buffer)),
				    rows[i].text);
}

static void test_hex_there_and_back(void **state)
{
	const uint8_t bytes[] = {0x00, 0x7f, 0xff, 0xa5};
	uint8_t back[4] = {0};
	char hex[9];

	(void)state;
	text_hex(bytes, sizeof(bytes), hex);
	assert_string_equal(hex, "007fffa5");
	assert_true(text_unhex(hex, back, sizeof(back)));
	assert_memory_equal(back, bytes, sizeof(bytes));
	assert_false(text_unhex("007fffa", back, 4));
	assert_false(text_unhex("007fffa500", back, 4));
	assert_false(text_unhex("007fffg5", back, 4));
	assert_false(text_unhex("007FFFA5", back, 4));
}

static void test_a_path_that_climbs(void **state)
{
	static const char *const climb[] = {"..", "../a", "a/..", "a/../b", "/..", "a/...//.."};
	static const char *const stay[] = {"",    "a",   "a/b",       ".", "...",
					   "a..", "..a", "a/..b/c..", "/a"};

	(void)state;
	for (size_t i = 0; i < sizeof(climb) / sizeof(climb[0]); i++)
		assert_true(text_path_climbs(climb[i]));
	for (size_t i = 0; i < sizeof(stay) / sizeof(stay[0]); i++)
		assert_false(text_path_climbs(stay[i]));
}

static void test_comparing_and_copying(void **state)
{
	auto_free char *copy = text_copy_n("abcdef", 3);
	auto_free char *made = text_format("%s-%06d", copy, 12);
	char small[4];

	(void)state;
	assert_string_equal(made, "abc-000012");
	assert_true(text_matches("one\ntwo\n", "^two$"));
	assert_false(text_matches("one\ntwo\n", "one.two|one[^x]two"));
	assert_false(text_matches("(", "("));
	assert_string_equal(text_last_part("a/b.c"), "b.c");
	assert_string_equal(text_last_part("b.c"), "b.c");
	assert_string_equal(text_last_part("a/"), "");
	assert_true(text_equal("a", "a") && text_equal(NULL, NULL));
	assert_false(text_equal("a", NULL) || text_equal(NULL, "a") || text_equal("a", "b"));
	assert_true(text_starts("file:///x", "file://") && !text_starts("fil", "file"));
	assert_true(text_ends("a.npz", ".npz") && !text_ends("npz", ".npz"));
	assert_true(text_is_one_of("b", (const char *const[]){"a", "b", NULL}));
	assert_false(text_is_one_of("c", (const char *const[]){"a", "b", NULL}));
	assert_false(text_is_one_of(NULL, (const char *const[]){"a", NULL}));
	text_set(small, sizeof(small), "too long");
	assert_string_equal(small, "too");
	text_set(small, sizeof(small), NULL);
	assert_string_equal(small, "");
	/* Never half of a character. */
	text_set(small, sizeof(small), "ab\xc3\xa9");
	assert_string_equal(small, "ab");
	text_set(small, sizeof(small), "\xe2\x82\xac");
	assert_string_equal(small, "\xe2\x82\xac");
	text_set(small, sizeof(small), "\xf0\x9f\x98\x80");
	assert_string_equal(small, "");
}

static void test_what_is_too_long_keeps_both_ends(void **state)
{
	static const struct {
		size_t capacity;
		const char *source, *fit;
	} rows[] = {
		{8, "", ""},
		{8, "sevenup", "sevenup"},
		{8, "12345678", "12...78"},
		{9, "123456789", "123...89"},
		{12, "/a/b/c/d: reason", "/a/b...ason"},
		{8, "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", "\xc3\xa9...\xc3\xa9"},
		{9, "a\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", "a\xc3\xa9...\xc3\xa9"},
		{10, "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac",
		 "\xe2\x82\xac...\xe2\x82\xac"},
	};
	char fit[16];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		text_elide(fit, rows[i].capacity, rows[i].source);
		assert_string_equal(fit, rows[i].fit);
		assert_true(strlen(fit) < rows[i].capacity);
	}
}

static void test_what_others_say_is_made_fit_for_json_and_a_line(void **state)
{
	static const struct {
		const char *text, *utf8, *line;
	} rows[] = {
		{"", "", ""},
		{"a\nb\x7f", "a\nb\x7f", "a b "},
		{"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
		 "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
		{"caf\xe9", "caf?", "caf?"},
		{"\x80z", "?z", "?z"},
		{"\xc0\xaf", "??", "??"},
		{"\xe0\x80\xaf", "???", "???"},
		{"\xed\xa0\x80", "???", "???"},
		{"\xf4\x90\x80\x80", "????", "????"},
		{"\xf0\x8f\xbf\xbf", "????", "????"},
		{"a\xe2\x82", "a??", "a??"},
		{"\xff\xfe", "??", "??"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_free char *utf8 = text_copy(rows[i].text), *line = text_copy(rows[i].text);

		text_to_utf8(utf8);
		assert_string_equal(utf8, rows[i].utf8);
		text_to_line(line);
		assert_string_equal(line, rows[i].line);
	}
}

static void test_what_a_terminal_obeys_is_replaced(void **state)
{
	static const struct {
		const char *text, *shown;
	} rows[] = {
		// clang-format off
		{"", ""},
		{"/a b/c-\xc3\xa9\xe2\x82\xac~", "/a b/c-\xc3\xa9\xe2\x82\xac~"},
		{"two\nlines\r\t", "two?lines??"},
		{"\033[2J\177", "?[2J?"},
		{"\xc2\x9b"
		 "2J\xc2\x80\xc2\x9f\xc2\xa0",
			"??2J????\xc2\xa0"},
		{"\xff\x9b\xc2", "???"},
		// clang-format on
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_free char *text = text_copy(rows[i].text);

		text_to_printable(text);
		assert_string_equal(text, rows[i].shown);
	}
}

static void test_buffer_grows_and_keeps_its_limit(void **state)
{
	auto_(bytes_release) struct bytes bytes = {.limit = 1000};
	struct err err = {0};

	(void)state;
	for (int i = 0; i < 100; i++)
		assert_int_equal(bytes_append(&bytes, "0123456789", 10, &err), 0);
	assert_int_equal(bytes.size, 1000);
	assert_memory_equal(bytes.data + 990, "0123456789", 10);
	assert_int_equal(bytes_append(&bytes, "x", 1, &err), -1);
	assert_int_equal(err.kind, ERR_FAILED);
	assert_int_equal(bytes.size, 1000);
	assert_int_equal(bytes_append(&bytes, NULL, 0, &err), 0);
	assert_int_equal(bytes_reserve(&bytes, SIZE_MAX, &err), -1);
	bytes_release(&bytes);
	assert_int_equal(bytes.size, 0);
	assert_int_equal(bytes.limit, 1000);
	assert_int_equal(bytes_format(&bytes, &err, "%s=%d", "step", 42), 0);
	assert_int_equal(bytes.size, 7);
	assert_memory_equal(bytes.data, "step=42", 7);
}

static void test_environment(void **state)
{
	(void)state;
	setenv("REPRIEVE_TEST_TEXT", "x", 1);
	assert_string_equal(text_from_environment("REPRIEVE_TEST_TEXT"), "x");
	setenv("REPRIEVE_TEST_TEXT", "", 1);
	assert_null(text_from_environment("REPRIEVE_TEST_TEXT"));
	unsetenv("REPRIEVE_TEST_TEXT");
	assert_null(text_from_environment("REPRIEVE_TEST_TEXT"));
}

/* A shell itself says what it takes the word for. */
static void test_a_word_of_a_command(void **state)
{
	static const char *const rows[][2] = {
		{"/home/ada/checkpoints", "/home/ada/checkpoints"},
		{"s3://bucket/runs", "s3://bucket/runs"},
		{"", "''"},
		{"ck q", "'ck q'"},
		{"it's b", "'it'\\''s b'"},
		{"$(touch x)", "'$(touch x)'"},
		{"~ada", "'~ada'"},
		{"h\xC3\xA9", "'h\xC3\xA9'"},
		{"a\nb'c", "$'a\\012b\\047c'"},
		{"\xFF 1", "$'\\377\\0401'"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_free char *word = text_shell_word(rows[i][0]);
		auto_free char *command = text_format("printf %%s. %s", word);
		char back[64] = "";
		/* dash does not know $'...' */
		FILE *shell;

		assert_string_equal(word, rows[i][1]);
		setenv("REPRIEVE_TEST_TEXT", command, 1);
		shell = popen("exec bash -c \"$REPRIEVE_TEST_TEXT\"", "r");
		assert_non_null(shell);
		back[fread(back, 1, sizeof(back) - 1, shell)] = '\0';
		assert_int_equal(pclose(shell), 0);
		assert_int_equal(strlen(back), strlen(rows[i][0]) + 1);
		assert_memory_equal(back, rows[i][0], strlen(rows[i][0]));
	}
	unsetenv("REPRIEVE_TEST_TEXT");
}

static void test_a_line_of_markup(void **state)
{
	auto_free char *line = text_escape_markup("<b>\"a\" & b\n\x01\xff");

	(void)state;
	assert_string_equal(line, "&lt;b&gt;&quot;a&quot; &amp; b  ?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_a_word_of_a_command),
		cmocka_unit_test(test_a_line_of_markup),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_durations),
		cmocka_unit_test(test_sizes_for_people),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_durations_for_people),
		cmocka_unit_test(test_hex_there_and_back),
		cmocka_unit_test(test_a_path_that_climbs),
		cmocka_unit_test(test_comparing_and_copying),
		cmocka_unit_test(test_what_others_say_is_made_fit_for_json_and_a_line),
		cmocka_unit_test(test_what_is_too_long_keeps_both_ends),
		cmocka_unit_test(test_what_a_terminal_obeys_is_replaced),
		cmocka_unit_test(test_buffer_grows_and_keeps_its_limit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
