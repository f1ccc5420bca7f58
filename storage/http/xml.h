/*
 * PURE. The one door to expat: a small document in memory as a series of elements. Prefixes of
 * namespaces are dropped. Bounded in depth, in the length of a name and of a text; a document type
 * declaration is refused (nobody who speaks S3 or Azure sends one, and it is what entity bombs are
 * made of).
 */
#ifndef XML_H
#define XML_H

#include "base/err.h"

#include <stddef.h>

/*
 * At the end of each element: its path ("Error/Code") and the text directly in it, without blanks
 * at both ends of a text that is nothing else, as sent otherwise. Both are valid during the call
 * alone.
 */
typedef void (*xml_element_fn)(void *arg, const char *path, const char *text);

/* Blanks before the document are skipped: S3 sends them to keep a connection alive. ERR_CORRUPT for
 * what is no such document; some calls may have been made by then. */
int xml_read(const void *document, size_t size, xml_element_fn element, void *arg, struct err *err);

#endif
