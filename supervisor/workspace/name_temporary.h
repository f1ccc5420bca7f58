/* PRIVATE. PURE. What marks a name as temporary: ".tmp", "tmp-", "~" and the like. */
#ifndef NAME_TEMPORARY_H
#define NAME_TEMPORARY_H

#include "name_fields.h"

/* Takes such marks off the begin and the end of the name, and notes that they were there. To be
 * called with nothing but the name and its length set. */
void name_temporary_strip(struct name_fields *fields);

#endif
