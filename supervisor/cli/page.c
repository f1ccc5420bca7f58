#include "page.h"

#include "base/log.h"
#include "cli.h"
#include "status_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROW_PX 62  /* of a bar with its label */
#define AXIS_PX 28 /* above the bars */
#define SVG_WIDTH_PX 900
#define TICKS_MOST 4

#define LEGEND_PX 52 /* two rows */
#define LEGEND_COLUMNS 4

/* What overlaps lies in lanes: the job's own time is the bar, an upload a strip below it, and the
 * time of a notice a frame around both. */
static const struct phase_row {
	const char *name;
	int top, height;
} phase_rows[PHASE_KINDS] = {
	[PHASE_TRAINING] = {"training", 22, 18},  [PHASE_RESTORING] = {"restoring", 22, 18},
	[PHASE_SAVING] = {"saving", 22, 18},      [PHASE_LOST] = {"lost", 22, 18},
	[PHASE_UPLOADING] = {"uploading", 42, 6}, [PHASE_WAITING] = {"waiting", 29, 4},
	[PHASE_NOTICE] = {"notice", 19, 32},
};

/* --- a section --- */

void page_add_phase(struct page_bar *bar, enum page_phase_kind kind, int64_t from_ms, int64_t to_ms)
{
	if (from_ms < 0)
		from_ms = 0;
	if (to_ms <= from_ms)
		return;
	bar->phases = memory_grow(bar->phases, bar->count + 1, sizeof(*bar->phases));
	bar->phases[bar->count++] = (struct page_phase){kind, from_ms, to_ms};
}

struct page_bar *page_add_bar(struct page_section *section)
{
	section->bars = memory_grow(section->bars, section->bar_count + 1, sizeof(*section->bars));
	section->bars[section->bar_count] = (struct page_bar){.count = 0};
	return &section->bars[section->bar_count++];
}

void page_add_figure(struct page_section *section, const char *key, const char *name,
		     const char *value)
{
	auto_free char *escaped = text_escape_markup(value);

	if (*value)
		bytes_format(&section->figures, NULL,
			     "<div><dt>%s</dt><dd class=\"%s\">%s</dd></div>", name, key, escaped);
}

void page_add_row(struct page_section *section, json_t *row)
{
	for (const struct page_column *column = section->columns; column->head; column++) {
		section->cells = memory_grow(section->cells, section->cell_count + 1,
					     sizeof(*section->cells));
		section->cells[section->cell_count++] = json_fill(column->cell, row);
	}
}

void page_section_release(struct page_section *section)
{
	for (size_t i = 0; i < section->bar_count; i++)
		free(section->bars[i].phases);
	free(section->bars);
	for (size_t i = 0; i < section->cell_count; i++)
		free(section->cells[i]);
	free(section->cells);
	bytes_release(&section->figures);
	*section = (struct page_section){.bar_count = 0};
}

/* --- the chart --- */

/* The time between two lines of the axis: round, and at most TICKS_MOST of them fit. */
static int64_t tick_length(int64_t axis_ms)
{
	static const int64_t seconds[] = {1,   2,   5,    10,   15,   30,    60,    120,   300,
					  600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400};
	const size_t count = sizeof(seconds) / sizeof(seconds[0]);

	for (size_t i = 0; i < count; i++)
		if (axis_ms / (seconds[i] * 1000) <= TICKS_MOST)
			return seconds[i] * 1000;
	return (axis_ms / 86400000 / TICKS_MOST + 1) * 86400000;
}

static double percent(int64_t ms, int64_t axis_ms)
{
	return 100 * (double)ms / (double)axis_ms;
}

static void draw_axis(struct bytes *out, int64_t axis_ms, int top, int bottom)
{
	int64_t step_ms = tick_length(axis_ms);
	char length[32];

	for (int64_t at = 0; at <= axis_ms; at += step_ms) {
		double x = percent(at, axis_ms);

		bytes_format(out, NULL,
			     "<line class=\"grid\" x1=\"%.3f%%\" x2=\"%.3f%%\" y1=\"%d\" "
			     "y2=\"%d\"/><text class=\"tick\" x=\"%.3f%%\" y=\"%d\" "
			     "text-anchor=\"%s\">%s</text>\n",
			     x, x, top + AXIS_PX - 8, bottom, x, top + 14,
			     at == 0  ? "start"
			     : x > 96 ? "end"
				      : "middle",
			     at == 0 ? "0" : text_duration(at, length, sizeof(length)));
	}
}

static void draw_phase(struct bytes *out, const struct page_phase *phase, int64_t axis_ms, int top)
{
	const struct phase_row *row = &phase_rows[phase->kind];
	char length[32];

	bytes_format(out, NULL,
		     "<rect class=\"%s\" x=\"%.3f%%\" y=\"%d\" width=\"%.3f%%\" height=\"%d\">"
		     "<title>%s: %s</title></rect>\n",
		     row->name, percent(phase->from_ms, axis_ms), top + row->top,
		     percent(phase->to_ms - phase->from_ms, axis_ms), row->height, row->name,
		     text_duration(phase->to_ms - phase->from_ms, length, sizeof(length)));
}

/* Of thousands of short phases of one kind only those that a pixel tells apart are drawn. */
static void draw_phases(struct bytes *out, const struct page_bar *bar, int64_t axis_ms, int top)
{
	for (int kind = 0; kind < PHASE_KINDS; kind++) {
		int64_t from_ms = INT64_MIN / 2;

		for (size_t i = 0; i < bar->count; i++) {
			const struct page_phase *phase = &bar->phases[i];

			if ((int)phase->kind != kind ||
			    phase->to_ms - from_ms < axis_ms / SVG_WIDTH_PX)
				continue;
			from_ms = phase->to_ms;
			draw_phase(out, phase, axis_ms, top);
		}
	}
}

static int chart_height(const struct page_section *section)
{
	return LEGEND_PX + AXIS_PX + (int)section->bar_count * ROW_PX;
}

static void draw_legend(struct bytes *out, const bool *has)
{
	int drawn = 0;

	for (int kind = 0; kind < PHASE_KINDS; kind++) {
		int x = drawn % LEGEND_COLUMNS * (100 / LEGEND_COLUMNS);
		int y = drawn / LEGEND_COLUMNS * (LEGEND_PX / 2) + 2;

		if (!has[kind])
			continue;
		bytes_format(out, NULL,
			     "<svg x=\"%d%%\" y=\"%d\" overflow=\"visible\"><rect class=\"%s\" "
			     "x=\"1\" y=\"1\" width=\"12\" height=\"12\"/><text x=\"19\" "
			     "y=\"12\">%s</text></svg>\n",
			     x, y, phase_rows[kind].name, phase_rows[kind].name);
		drawn++;
	}
}

static void draw_chart(struct bytes *out, const struct page_section *section)
{
	bool has[PHASE_KINDS] = {false};
	int64_t axis_ms = 1;

	for (size_t i = 0; i < section->bar_count; i++)
		for (size_t j = 0; j < section->bars[i].count; j++) {
			const struct page_phase *phase = &section->bars[i].phases[j];

			has[phase->kind] = true;
			if (phase->to_ms > axis_ms)
				axis_ms = phase->to_ms;
		}
	draw_legend(out, has);
	draw_axis(out, axis_ms, LEGEND_PX, chart_height(section));
	for (size_t i = 0; i < section->bar_count; i++) {
		const struct page_bar *bar = &section->bars[i];
		int row = LEGEND_PX + AXIS_PX + (int)i * ROW_PX;
		auto_free char *label = text_escape_markup(bar->label);

		bytes_format(out, NULL, "<text x=\"0\" y=\"%d\">%s</text>\n", row + 14, label);
		draw_phases(out, bar, axis_ms, row);
	}
}

/* What is written ends with a null byte. */
static char *take_text(struct bytes *out)
{
	bytes_append(out, "", 1, NULL);
	return (char *)out->data;
}

char *page_svg(const struct page_section *section)
{
	auto_free char *title = text_escape_markup(section->title);
	int height = chart_height(section) + 20;
	struct bytes out = {0};

	bytes_format(&out, NULL,
		     "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		     "viewBox=\"0 0 %d %d\"><title>%s</title>\n<style>%s</style>\n"
		     "<rect width=\"100%%\" height=\"100%%\" fill=\"var(--paper)\"/>\n"
		     "<svg x=\"12\" y=\"10\" width=\"%d\" overflow=\"visible\">\n",
		     SVG_WIDTH_PX, height, SVG_WIDTH_PX, height, title, embedded_style_begin,
		     SVG_WIDTH_PX - 24);
	draw_chart(&out, section);
	bytes_format(&out, NULL, "</svg></svg>\n");
	return take_text(&out);
}

/* --- the page --- */

static void write_table(struct bytes *out, const struct page_section *section)
{
	size_t columns = 0;

	bytes_format(out, NULL, "<div class=\"table\"><table><thead><tr>");
	for (; section->columns[columns].head; columns++)
		bytes_format(out, NULL, "<th>%s</th>", section->columns[columns].head);
	bytes_format(out, NULL, "</tr></thead><tbody>\n");
	for (size_t i = 0; columns > 0 && i < section->cell_count; i++) {
		auto_free char *cell = text_escape_markup(section->cells[i]);

		bytes_format(out, NULL, "%s<td>%s</td>%s", i % columns == 0 ? "<tr>" : "", cell,
			     (i + 1) % columns == 0 ? "</tr>\n" : "");
	}
	bytes_format(out, NULL, "</tbody></table></div>\n");
}

static void write_section(struct bytes *out, const struct page_section *section)
{
	auto_free char *title = text_escape_markup(section->title);
	auto_free char *note = text_escape_markup(section->note);

	bytes_format(out, NULL, "<section><h2>%s</h2>\n<dl class=\"figures\">%.*s</dl>\n", title,
		     (int)section->figures.size, (const char *)section->figures.data);
	if (note[0])
		bytes_format(out, NULL, "<p class=\"note\">%s</p>\n", note);
	if (section->bar_count > 0) {
		bytes_format(out, NULL,
			     "<svg class=\"chart\" width=\"100%%\" height=\"%d\" role=\"img\" "
			     "aria-label=\"%s over time\">\n",
			     chart_height(section), title);
		draw_chart(out, section);
		bytes_format(out, NULL, "</svg>\n");
	}
	if (section->columns)
		write_table(out, section);
	bytes_format(out, NULL, "</section>\n");
}

char *page_html(const char *title, const char *subtitle, const struct page_section *sections,
		size_t count)
{
	auto_free char *escaped = text_escape_markup(title);
	auto_free char *below = text_escape_markup(subtitle);
	struct bytes out = {0};

	bytes_format(&out, NULL,
		     "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
		     "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
		     "<meta name=\"color-scheme\" content=\"light dark\"><title>%s</title>\n"
		     "<style>%s</style></head>\n<body><h1>%s</h1><p class=\"sub\">%s</p>\n",
		     escaped, embedded_style_begin, escaped, below);
	for (size_t i = 0; i < count; i++)
		write_section(&out, &sections[i]);
	bytes_format(&out, NULL, "</body></html>\n");
	return take_text(&out);
}

void page_print_table(const struct page_section *section)
{
	size_t columns = 0, width[16] = {0};

	for (; section->columns[columns].head; columns++)
		width[columns] = strlen(section->columns[columns].head);
	for (size_t i = 0; columns > 0 && i < section->cell_count; i++)
		if (strlen(section->cells[i]) > width[i % columns])
			width[i % columns] = strlen(section->cells[i]);
	for (size_t i = 0; columns > 0 && i < columns + section->cell_count; i++) {
		const char *cell =
			i < columns ? section->columns[i].head : section->cells[i - columns];

		if ((i + 1) % columns == 0)
			terminal_line_print("%s", cell);
		else
			terminal_print("%-*s  ", (int)width[i % columns], cell);
	}
}

void page_print_rows(const struct page_column *columns, json_t *rows)
{
	auto_(page_section_release) struct page_section section = {.columns = columns};
	json_t *row;
	size_t i;

	json_array_foreach(rows, i, row) page_add_row(&section, row);
	page_print_table(&section);
}
