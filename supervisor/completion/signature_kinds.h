/* PURE. The list of kinds whose names have numbers in one directory (struct signature, `several`),
 * and what signature.c and this share. */
#ifndef SIGNATURE_KINDS_H
#define SIGNATURE_KINDS_H

#include "signature.h"

/* As many kinds in one list: of more, one that was seen once is forgotten. */
#define SIGNATURE_KINDS_MOST 8

/* The one that has names in common with the files, all of those that have in one; or a new one. */
struct signature *signature_kind_of(struct signature *first, int64_t number,
				    const struct named_file *files, size_t count);

/* --- signature.c --- */

/* Of files or of known names, sorted by their hashes; NULL: it is not among them. */
void *signature_find_hash(const void *items, size_t count, size_t size, uint64_t hash);
bool signature_has_any(const struct signature *kind, const struct named_file *files, size_t count);
/* And counts which are expected. */
void signature_sort_names(struct signature *signature);

#endif
