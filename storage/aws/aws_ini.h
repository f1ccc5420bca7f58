/* PURE. The shared files of AWS, "config" and "credentials": sections, names and values. */
#ifndef AWS_INI_H
#define AWS_INI_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>

enum aws_ini_kind {
	/* [default], [profile NAME], [services NAME]; other sections are kept
	 * under their own name */
	AWS_INI_CONFIG,
	/* [NAME] */
	AWS_INI_CREDENTIALS,
};

struct aws_ini_setting {
	char *section; /* "profile NAME", "services NAME" */
	char *name;    /* lower case; a nested one is "s3.addressing_style" */
	char *value;
};

struct aws_ini {
	struct aws_ini_setting *items;
	size_t count;
};

/*
 * Adds what a file says. Lines that make no sense are passed over, as AWS's own tools do. Of two
 * equal settings the later one is valid, so read the config first: the credentials file goes before
 * it.
 */
void aws_ini_parse(struct aws_ini *profiles, enum aws_ini_kind kind, const char *text);
void aws_ini_release(struct aws_ini *profiles); /* clears the secrets */
AUTO(struct aws_ini, aws_ini_release);

/* Borrowed; NULL: not there, or empty. `kind` is "profile" or "services". */
const char *aws_ini_get(const struct aws_ini *profiles, const char *kind, const char *section,
			const char *name);
bool aws_ini_has_profile(const struct aws_ini *profiles, const char *profile);

#endif
