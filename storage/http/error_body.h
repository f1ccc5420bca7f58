/* PURE. The <Error> document that Google Cloud Storage and Azure Blob
 * Storage send with a refusal. */
#ifndef ERROR_BODY_H
#define ERROR_BODY_H

#include <stddef.h>

struct error_body {
	char code[64];     /* "" where the body says none; without control characters */
	char message[200]; /* the first line, without control characters */
};

void error_body_read(const void *body, size_t size, struct error_body *error);

#endif
