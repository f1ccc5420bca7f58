/* Some lines at the end of a terminal (standard output) that are drawn over, as often as one likes.
 * They are broken where it is too narrow for them, and end where it is too low. */
#ifndef PICTURE_H
#define PICTURE_H

#include "base/text.h"

#include <stdbool.h>

struct picture {
	bool possible;  /* it is a terminal that can do that, and says how large it is */
	unsigned lines; /* that are shown; the cursor is below the last one */
	unsigned columns, rows;
};

/* From now on, being continued after Ctrl-Z is noticed: then it is drawn below what came meanwhile.
 */
struct picture picture_new(void);
/* `text`: printable lines. */
void picture_draw(struct picture *picture, const struct bytes *text);
/* Replaces the picture by this line, which stays. */
void picture_replace(struct picture *picture, const char *line);

#endif
