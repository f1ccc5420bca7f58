/*
 * PURE. The one use of expat: reads a small document in memory as a series of elements. Drops the
 * prefixes of namespaces. Depth, names and texts are bounded. A document type declaration is
 * refused: S3 and Azure send none, and entity bombs need one.
 */
#ifndef XML_H
#define XML_H

#include "base/err.h"

#include <stddef.h>

/*
 * Called at the end of each element with its path ("Error/Code") and the text directly in it, as
 * sent, but without blanks at both ends if the element has no other content. Both are valid only
 * during the call.
 */
typedef void (*xml_element_fn)(void *arg, const char *path, const char *text);

/* Skips blanks before the document, which S3 sends to keep a connection alive. ERR_CORRUPT: not
 * such a document; some calls may have been made before. */
int xml_read(const void *document, size_t size, xml_element_fn element, void *arg, struct err *err);

#endif
