#include "signature_kinds.h"

#include "base/text.h"

#include <stdlib.h>

/* All but their places in the list. */
static void exchange(struct signature *one, struct signature *other)
{
	struct signature was = *one;

	*one = *other;
	one->next = was.next;
	was.next = other->next;
	*other = was;
}

/* What the kind has been seen with, as if `into` had been it. What was learned of the checkpoint
 * `number` is learned anew. */
static void absorb(struct signature *into, const struct signature *kind, int64_t number)
{
	size_t known = into->count;

	if (kind->newest_number == number)
		return;
	into->names = memory_grow(into->names, known + kind->count, sizeof(*into->names));
	for (size_t i = 0; i < kind->count; i++) {
		struct known_name name = kind->names[i];
		uint32_t age = kind->learned - name.newest;

		if (age >= into->learned ||
		    signature_find_hash(into->names, known, sizeof(*into->names), name.hash))
			continue;
		name.newest = into->learned - age;
		into->names[into->count++] = name;
	}
	if (kind->pause_ms > into->pause_ms)
		into->pause_ms = kind->pause_ms;
	signature_sort_names(into);
}

static void remove_next(struct signature *before)
{
	struct signature *kind = before->next;

	before->next = kind->next;
	free(kind->names);
	free(kind);
}

/* NULL: there are too many, and each was seen more than once. */
static struct signature *add_kind(struct signature *first)
{
	struct signature *last = first, *once = NULL;
	size_t count = 1;

	if (first->count == 0)
		return first;
	for (; last->next; last = last->next) {
		once = !once && last->next->learned == 1 ? last : once;
		count++;
	}
	if (count >= SIGNATURE_KINDS_MOST && !once)
		return NULL;
	if (count >= SIGNATURE_KINDS_MOST)
		remove_next(once);
	for (last = first; last->next;)
		last = last->next;
	last->next = memory_new(sizeof(*last->next));
	last->next->several = true;
	return last->next;
}

struct signature *signature_kind_of(struct signature *first, int64_t number,
				    const struct named_file *files, size_t count)
{
	struct signature *into = first;

	while (!signature_has_any(into, files, count)) {
		if (!into->next)
			return add_kind(first);
		into = into->next;
	}
	for (struct signature *before = into; before->next;) {
		if (!signature_has_any(before->next, files, count)) {
			before = before->next;
			continue;
		}
		if (before->next->learned > into->learned)
			exchange(into, before->next);
		absorb(into, before->next, number);
		remove_next(before);
	}
	return into;
}
