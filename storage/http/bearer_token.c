#include "bearer_token.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

void *bearer_token_copy(const void *text)
{
	return text_copy(text);
}

bool bearer_token_equal(const void *a, const void *b)
{
	return text_equal(a, b);
}

void bearer_token_free(void *text)
{
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
}

bool bearer_token_is_valid(const char *text)
{
	if (!text || !text[0])
		return false;
	for (; *text; text++)
		if (*text <= ' ' || *text > '~')
			return false;
	return true;
}
