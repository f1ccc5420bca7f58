/*
 * A page for a browser: sections of figures, a chart of bars over time, and a table. It is
 * one HTML file with the chart as SVG inside, without scripts and without anything from elsewhere;
 * it follows the reader's light or dark theme, and prints. The chart alone is an SVG file.
 */
#ifndef PAGE_H
#define PAGE_H

#include "base/cleanup.h"
#include "base/text.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* In the order in which they are drawn upon each other. */
enum page_phase_kind {
	PHASE_TRAINING,
	PHASE_RESTORING,
	PHASE_LOST,
	PHASE_SAVING,
	PHASE_UPLOADING,
	PHASE_WAITING,
	PHASE_NOTICE, /* from the notice to the deadline */
	PHASE_KINDS
};

struct page_phase {
	enum page_phase_kind kind;
	int64_t from_ms, to_ms; /* on the axis of the section, which begins at 0 */
};

struct page_bar {
	char label[200];
	struct page_phase *phases; /* owned */
	size_t count;
};

/* Of a table: `cell` is a template of a row (status_text.h). */
struct page_column {
	const char *head, *cell;
};

/* All zero is an empty one. */
struct page_section {
	char title[300];
	char note[700];       /* below the figures; "": none */
	struct bytes figures; /* owned; as HTML */
	struct page_bar *bars;
	size_t bar_count;
	const struct page_column *columns; /* of the table; an empty one behind the last */
	char **cells;                      /* row after row */
	size_t cell_count;
};

/* A phase of no length is left out; one that begins before 0 is cut. */
void page_add_phase(struct page_bar *bar, enum page_phase_kind kind, int64_t from_ms,
		    int64_t to_ms);
/* Valid until the next bar is added. */
struct page_bar *page_add_bar(struct page_section *section);
/* `key` is its class in the page. Ignored if the value is empty. */
void page_add_figure(struct page_section *section, const char *key, const char *name,
		     const char *value);
void page_add_row(struct page_section *section, json_t *row);
void page_section_release(struct page_section *section);
AUTO(struct page_section, page_section_release);

/* The whole file; the caller frees. */
char *page_html(const char *title, const char *subtitle, const struct page_section *sections,
		size_t count);
char *page_svg(const struct page_section *section);

/* Prints the table alone, as text: each column is as wide as what is in it. */
void page_print_table(const struct page_section *section);
/* The same of all these rows. */
void page_print_rows(const struct page_column *columns, json_t *rows);

#endif
