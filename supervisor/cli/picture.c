#include "picture.h"

#include "base/cleanup.h"
#include "base/line_wrap.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static volatile sig_atomic_t was_continued;

static void on_continued(int signal)
{
	(void)signal;
	was_continued = 1;
}

static bool measure_terminal(struct picture *picture)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col < 2 || size.ws_row == 0)
		return false;
	picture->columns = size.ws_col;
	picture->rows = size.ws_row;
	return true;
}

struct picture picture_new(void)
{
	const struct sigaction noticing = {.sa_handler = on_continued, .sa_flags = SA_RESTART};
	const char *terminal = text_from_environment("TERM");
	struct picture picture = {0};

	picture.possible = terminal && !text_equal(terminal, "dumb") && isatty(STDOUT_FILENO) &&
			   measure_terminal(&picture);
	if (picture.possible)
		sigaction(SIGCONT, &noticing, NULL);
	return picture;
}

/* Puts the cursor where the first line is to be. */
static void go_to_top(struct picture *picture, struct bytes *output)
{
	unsigned columns = picture->columns, rows = picture->rows;

	(void)measure_terminal(picture);
	if (was_continued)
		picture->lines = 0;
	was_continued = 0;
	/* The terminal may have broken the lines anew: nobody knows where the first one is. */
	if (picture->lines > 0 && (columns != picture->columns || rows != picture->rows))
		bytes_format(output, NULL, "\x1b[H\x1b[2J");
	else if (picture->lines > 0)
		bytes_format(output, NULL, "\r\x1b[%uA", picture->lines);
	picture->lines = 0;
}

/* In one write, so that whoever ends us leaves the cursor below it. */
static void write_output(const struct bytes *output)
{
	fwrite(output->data, 1, output->size, stdout);
	fflush(stdout);
}

void picture_draw(struct picture *picture, const struct bytes *text)
{
	auto_(bytes_release) struct bytes output = {0};
	auto_free char *copy = text_copy_n((const char *)text->data, text->size);
	char *rest = copy, *line;

	go_to_top(picture, &output);
	while ((line = strsep(&rest, "\n")) && rest) {
		auto_(bytes_release) struct bytes broken = {0};
		/* One less than it is wide, because it wraps after the last one. */
		unsigned lines = line_wrap(line, picture->columns - 1, 0, "\x1b[K\n", &broken);

		if (picture->lines + lines >= picture->rows)
			break;
		picture->lines += lines;
		bytes_append(&output, broken.data, broken.size, NULL);
	}
	bytes_format(&output, NULL, "\x1b[J");
	write_output(&output);
}

void picture_replace(struct picture *picture, const char *line)
{
	auto_(bytes_release) struct bytes output = {0};

	go_to_top(picture, &output);
	line_wrap(line, picture->columns - 1, 4, "\x1b[K\n", &output);
	bytes_format(&output, NULL, "\x1b[J");
	write_output(&output);
}
