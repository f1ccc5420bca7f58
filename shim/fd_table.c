#include "fd_table.h"

_Atomic unsigned tracked_words[TRACKED_MOST / TRACKED_BITS];

/* No word from here on was ever set: keeps close_range(3, ~0u) and fork cheap. */
static _Atomic unsigned words_used;

bool tracked_add(int fd)
{
	unsigned word = (unsigned)fd / TRACKED_BITS, bit = (unsigned)fd % TRACKED_BITS;
	unsigned used = atomic_load(&words_used);

	if ((unsigned)fd >= TRACKED_MOST)
		return false;
	while (used <= word && !atomic_compare_exchange_weak(&words_used, &used, word + 1)) {
	}
	atomic_fetch_or(&tracked_words[word], 1u << bit);
	return true;
}

bool tracked_remove(int fd)
{
	unsigned bit;

	if ((unsigned)fd >= TRACKED_MOST)
		return false;
	bit = 1u << ((unsigned)fd % TRACKED_BITS);
	return atomic_fetch_and(&tracked_words[fd / TRACKED_BITS], ~bit) & bit;
}

int tracked_next(unsigned from, unsigned last)
{
	unsigned used = atomic_load(&words_used);

	for (unsigned word = from / TRACKED_BITS; word < used; word++) {
		unsigned bits = atomic_load(&tracked_words[word]);

		if (word == from / TRACKED_BITS)
			bits &= ~0u << (from % TRACKED_BITS);
		if (bits) {
			unsigned fd = word * TRACKED_BITS + (unsigned)__builtin_ctz(bits);
			return fd <= last ? (int)fd : -1;
		}
	}
	return -1;
}

void tracked_clear(void)
{
	unsigned used = atomic_exchange(&words_used, 0);

	for (unsigned word = 0; word < used; word++)
		atomic_store(&tracked_words[word], 0);
}
