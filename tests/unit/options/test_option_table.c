/* The parser of all verbs: what a row takes, what stands behind the options, what is said of
 * mistakes. */
#include "options/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define WORDS 8

struct colour {
	const char *name;
	bool warm;
};

struct painting {
	bool wet;
	const char *title;
	uint16_t width;
	unsigned copies;
	int64_t year;
	uint64_t size;
	int64_t dries_ms;
	enum {
		FRAME_NONE,
		FRAME_OAK,
		FRAME_GOLD
	} frame;
	bool landscape;
	unsigned stains;
	struct colour colour;
};

static int add_stain(void *painting, const char *value, struct err *err)
{
	if (strcmp(value, "red") == 0)
		return err_set(err, ERR_INVALID, "not in red");
	((struct painting *)painting)->stains++;
	return 0;
}

// clang-format off
static const struct option_row painting_rows[] = {
	{"wet", 'w', NULL, "PAINT_WET", "still wet", OPTION_FLAG(struct painting, wet)},
	{"title", 't', "TITLE", "PAINT_TITLE", "its name",
		OPTION_TEXT(struct painting, title), .least = 1},
	{"width", 0, "N", NULL, "in pixels",
		OPTION_NUMBER(struct painting, width), .least = 1, .most = 9000},
	{"copies", 0, "N", NULL, "how many",
		OPTION_NUMBER(struct painting, copies), .most = UINT32_MAX},
	{"year", 0, "YEAR", "PAINT_YEAR", "of its making", OPTION_NUMBER(struct painting, year)},
	{"size", 0, "SIZE", NULL, "of the file",
		OPTION_SIZE(struct painting, size), .least = 1 << 20,
		.most = 64 << 20},
	{"dries", 0, "DURATION", NULL, "a text that is so long that it has to go on in the next "
		"line, and in one more, because nobody reads what stands beyond the eightieth "
		"column",
		OPTION_DURATION(struct painting, dries_ms), .least = 1500},
	{"frame", 0, "FRAME", NULL, "around it", OPTION_CHOICE(struct painting, frame),
		.choices = "none oak gold"},
	{"landscape", 0, "USE", NULL, "on or off", OPTION_CHOICE(struct painting, landscape),
		.choices = "off on"},
	{"stain", 's', "COLOUR", NULL, "a stain", .set = add_stain},
	{0},
};

static const struct option_row colour_rows[] = {
	{"colour", 0, "NAME", "PAINT_COLOUR", "of the ground", OPTION_TEXT(struct colour, name)},
	{"warm", 0, NULL, NULL, "a warm one", OPTION_FLAG(struct colour, warm)},
	{0},
};

static const struct help_row exits[] = {{"0", "painted"}, {0}};

static const struct option_group groups[] = {
	OPTION_GROUP("Painting", painting_rows, 0),
	OPTION_GROUP("Other", colour_rows, offsetof(struct painting, colour)),
	{0},
};

static const struct verb paint = {.name = "paint", .summary = "paint it", .examples =
	"reprieve paint wall",
	.arguments = "WHAT [WHERE]",
		.arguments_least = 1, .arguments_most = 2, .groups = groups, .exits = exits};
static const struct verb guide = {.name = "guide", .summary = "run it", .examples =
	"reprieve guide -- ls",
	.arguments = "-- COMMAND",
		.arguments_least = 1, .takes_command = true, .groups = groups, .exits = exits};
// clang-format on

static char **arguments;

static enum option_result parse(const struct verb *verb, const char *const *words,
				struct painting *painting, struct err *err)
{
	/* Static, because what is parsed borrows from it. */
	static char texts[WORDS + 2][64];
	static char *argv[WORDS + 2];
	int argc = 1;

	strcpy(texts[0], verb->name);
	argv[0] = texts[0];
	for (; argc <= WORDS && words[argc - 1]; argc++)
		argv[argc] = strcpy(texts[argc], words[argc - 1]);
	argv[argc] = NULL;
	*painting = (struct painting){0};
	if (option_table_read_environment(verb, painting, err) < 0)
		return OPTION_FAILED;
	return option_table_read_arguments(verb, argc, argv, painting, &arguments, err);
}

static void test_each_kind(void **state)
{
	const char *const first[WORDS] = {"-w",   "-t",       "Sea",        "--width=9000",
					  "wall", "--copies", "4294967295", "--year=1888"};
	const char *const second[WORDS] = {"wall",         "--size=2MiB",    "--dries", "2m",
					   "--frame=gold", "--landscape=on", "-sblue",  "--warm"};
	struct painting painting;
	struct err err;

	(void)state;
	assert_int_equal(parse(&paint, first, &painting, &err), OPTION_PARSED);
	assert_true(painting.wet);
	assert_string_equal(painting.title, "Sea");
	assert_int_equal(painting.width, 9000);
	assert_int_equal(painting.copies, UINT32_MAX);
	assert_int_equal(painting.year, 1888);
	assert_int_equal(painting.size, 0);
	assert_string_equal(arguments[0], "wall");
	assert_null(arguments[1]);
	assert_int_equal(parse(&paint, second, &painting, &err), OPTION_PARSED);
	assert_int_equal(painting.size, 2 << 20);
	assert_int_equal(painting.dries_ms, 120000);
	assert_int_equal(painting.frame, FRAME_GOLD);
	assert_true(painting.landscape);
	assert_int_equal(painting.stains, 1);
	assert_true(painting.colour.warm);
}

static void test_the_environment_comes_first(void **state)
{
	const char *const words[WORDS] = {"wall", "--title", "Land"};
	struct painting painting;
	struct err err;

	(void)state;
	setenv("PAINT_TITLE", "Sea", 1);
	setenv("PAINT_WET", "yes", 1);
	setenv("PAINT_COLOUR", "blue", 1);
	setenv("PAINT_YEAR", "", 1);
	assert_int_equal(parse(&paint, words, &painting, &err), OPTION_PARSED);
	assert_string_equal(painting.title, "Land");
	assert_true(painting.wet);
	assert_string_equal(painting.colour.name, "blue");
	setenv("PAINT_YEAR", "last", 1);
	assert_int_equal(parse(&paint, words, &painting, &err), OPTION_FAILED);
	assert_string_equal(err.text, "PAINT_YEAR: invalid value 'last': write a number");
	unsetenv("PAINT_TITLE");
	unsetenv("PAINT_WET");
	unsetenv("PAINT_COLOUR");
	unsetenv("PAINT_YEAR");
}

static void test_another_verbs_variables(void **state)
{
	static const struct option_group deaf[] =
		{{.title = "Other", .rows = painting_rows, .no_environment = true}, {0}};
	const char *const words[WORDS] = {"wall"};
	struct verb verb = paint;
	struct painting painting;
	struct err err;

	(void)state;
	verb.groups = deaf;
	setenv("PAINT_YEAR", "last", 1);
	assert_int_equal(parse(&verb, words, &painting, &err), OPTION_PARSED);
	unsetenv("PAINT_YEAR");
}

static void test_refusals(void **state)
{
	static const struct {
		const char *words[WORDS + 1];
		const char *says;
	} rows[] = {
		// clang-format off
		{{0}, "missing argument: reprieve paint WHAT [WHERE]"},
		{{"a", "b", "c"}, "unexpected argument: 'c': see `reprieve paint --help`"},
		{{"a", "--", "-b", "c"}, "unexpected argument: 'c': see `reprieve paint --help`"},
		{{"a", ""}, "an argument is empty: reprieve paint WHAT [WHERE]"},
		{{"--no"},
			"unknown option '--no': it is `reprieve paint WHAT [WHERE]`, and the "
			"options that `reprieve paint --help` shows"},
		{{"-x"},
			"unknown option '-x': it is `reprieve paint WHAT [WHERE]`, and the "
			"options that `reprieve paint --help` shows"},
		{{"-wx"},
			"unknown option '-x': it is `reprieve paint WHAT [WHERE]`, and the "
			"options that `reprieve paint --help` shows"},
		{{"--titel", "x"}, "unknown option '--titel' (is --title meant?): see `reprieve paint --help`"},
		{{"--widht=3"}, "unknown option '--widht=3' (is --width meant?): see `reprieve paint --help`"},
		{{"--wet=1"}, "option '--wet=1' takes no value: see `reprieve paint --help`"},
		{{"a", "--title"}, "option '--title' needs a value: see `reprieve paint --help`"},
		{{"a", "-t"}, "option '-t' needs a value: see `reprieve paint --help`"},
		{{"--title", "--", "a"}, "option '--title' needs a value: see `reprieve paint "
			"--help`"},
		{{"--title", "", "a"}, "--title: the value is empty: write TITLE"},
		{{"--width=0", "a"}, "--width: invalid value '0': write 1 or more"},
		{{"--width=9001", "a"}, "--width: invalid value '9001': write 9000 or less"},
		{{"--copies=4294967296", "a"}, "--copies: invalid value '4294967296': write "
			"4294967295 or less"},
		{{"--year=-1", "a"}, "--year: invalid value '-1': write a number"},
		{{"--size=big", "a"}, "--size: invalid value 'big': write 256MiB or 1GB"},
		{{"--size=1k", "a"}, "--size: invalid value '1k': write 1.0 MiB or more"},
		{{"--size=65MiB", "a"}, "--size: invalid value '65MiB': write 64 MiB or less"},
		{{"--dries=soon", "a"}, "--dries: invalid value 'soon': write 30, 90s, 15m or "
			"2h"},
		{{"--dries=1499ms", "a"}, "--dries: invalid value '1499ms': write 1.5 s or more"},
		{{"--frame=pine", "a"}, "--frame: invalid value 'pine': write none, oak or gold"},
		{{"--frame=", "a"}, "--frame: invalid value '': write none, oak or gold"},
		{{"--landscape=maybe", "a"}, "--landscape: invalid value 'maybe': write off or on"},
		{{"-s", "red", "a"}, "--stain: not in red"},
		// clang-format on
	};
	struct painting painting;
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(parse(&paint, rows[i].words, &painting, &err), OPTION_FAILED);
		assert_int_equal(err.kind, ERR_INVALID);
		assert_string_equal(err.text, rows[i].says);
	}
}

/* Its options are not ours. */
static void test_a_command(void **state)
{
	const char *const words[WORDS] = {"--wet", "--", "ls", "--year", "-x"};
	const char *const plain[WORDS] = {"--wet", "ls", "--year", "-x"};
	const char *const none[WORDS] = {"--wet", "--"};
	struct painting painting;
	struct err err;

	(void)state;
	assert_int_equal(parse(&guide, words, &painting, &err), OPTION_PARSED);
	assert_string_equal(arguments[0], "ls");
	assert_string_equal(arguments[2], "-x");
	assert_int_equal(parse(&guide, plain, &painting, &err), OPTION_PARSED);
	assert_string_equal(arguments[1], "--year");
	assert_int_equal(painting.year, 0);
	assert_int_equal(parse(&guide, none, &painting, &err), OPTION_FAILED);
	assert_string_equal(err.text,
			    "missing command: write it last, as in `reprieve guide -- COMMAND`");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_kind),
		cmocka_unit_test(test_the_environment_comes_first),
		cmocka_unit_test(test_another_verbs_variables),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_a_command),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
