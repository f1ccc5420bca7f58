/*
 * PURE. Azure's SharedKey: the text that is signed, and the header. The layout is Microsoft's
 * "Authorize with Shared Key"; all parts are taken as they go out on the wire, so that both sides
 * see the same.
 */
#ifndef AZURE_SHARED_KEY_H
#define AZURE_SHARED_KEY_H

#include "base/text.h"

struct azure_shared_key_request {
	const char *method;
	const char *account;
	/* "/container/blob"; with "/account" in front where the endpoint has it */
	const char *path;
	/* "comp=list&prefix=a%2Fb"; "" for none */
	const char *query;
	/* "Name: value", ended by NULL, with x-ms-date among them */
	const char *const *headers;
	size_t content_length;
};

/* The caller frees. */
char *azure_shared_key_text(const struct azure_shared_key_request *request);

/* "SharedKey account:signature", with the key as bytes. The caller frees. */
char *azure_shared_key_sign(const struct azure_shared_key_request *request,
			    const struct bytes *key);

#endif
