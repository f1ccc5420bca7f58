#include "secret_names.h"

#include <string.h>
#include <strings.h>

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static bool equal_ignoring_case(const char *name, size_t length, const char *word)
{
	return length == strlen(word) && strncasecmp(name, word, length) == 0;
}

static bool ends_in_ignoring_case(const char *name, size_t length, const char *end)
{
	size_t size = strlen(end);

	return length >= size && strncasecmp(name + length - size, end, size) == 0;
}

static bool is_listed(const char *name, size_t length, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (equal_ignoring_case(name, length, words[i]))
			return true;
	return false;
}

/* "auth" of "--proxy-auth". */
static size_t last_part_length(const char *name, size_t length)
{
	size_t part = 0;

	while (part < length && !strchr("-_.+", name[length - part - 1]))
		part++;
	return part;
}

bool secret_name(const char *name, size_t length)
{
	static const char *const ends[] = {"token",      "secret",    "passwd",    "passphrase",
					   "apikey",     "_key",      "-key",      ".key",
					   "accountkey", "accesskey", "secretkey", "privatekey"};
	static const char *const parts[] =
		{"auth",  "pat",    "credential",    "credentials",
		 "creds", "pwd",    "pass",          "bearer",
		 "jwt",   "cookie", "authorization", "sharedaccesssignature"};
	size_t part = last_part_length(name, length), dashes = strspn(name, "-+");

	if (equal_ignoring_case(name, length, "sig"))
		return true;
	for (size_t i = 0; i < COUNT(ends); i++)
		if (length >= dashes + 5 && ends_in_ignoring_case(name, length, ends[i]))
			return true;
	for (size_t i = 8; i <= length; i++)
		if (ends_in_ignoring_case(name, i, "password"))
			return true;
	if (length == 3 && strncmp(name, "PWD", 3) == 0)
		return false;
	return is_listed(name + length - part, part, parts, COUNT(parts));
}

bool secret_header(const char *name, size_t length)
{
	static const char *const headers[] = {"authorization", "proxy-authorization", "cookie",
					      "set-cookie"};

	return is_listed(name, length, headers, COUNT(headers)) || secret_name(name, length);
}

bool secret_parameter(const char *name, size_t length)
{
	static const char *const parameters[] =
		{"sig", "signature", "x-amz-signature", "x-goog-signature", "key", "code"};

	return is_listed(name, length, parameters, COUNT(parameters)) || secret_name(name, length);
}
