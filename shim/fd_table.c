#include "fd_table.h"

_Atomic unsigned fd_table_words[FD_TABLE_MOST / FD_TABLE_WORD_BITS];

/* A write to it has failed. Of use only together with the bit above. */
static _Atomic unsigned failed_words[FD_TABLE_MOST / FD_TABLE_WORD_BITS];

/* No word from here on was ever set: keeps close_range(3, ~0u) and fork() cheap. */
static _Atomic unsigned words_used;

bool fd_table_add(int fd)
{
	unsigned word = (unsigned)fd / FD_TABLE_WORD_BITS, bit = (unsigned)fd % FD_TABLE_WORD_BITS;
	unsigned used = atomic_load(&words_used);

	if ((unsigned)fd >= FD_TABLE_MOST)
		return false;
	while (used <= word && !atomic_compare_exchange_weak(&words_used, &used, word + 1)) {
	}
	atomic_fetch_and(&failed_words[word], ~(1u << bit));
	atomic_fetch_or(&fd_table_words[word], 1u << bit);
	return true;
}

void fd_table_note_failure(int fd)
{
	if ((unsigned)fd < FD_TABLE_MOST)
		atomic_fetch_or(&failed_words[fd / FD_TABLE_WORD_BITS],
				1u << ((unsigned)fd % FD_TABLE_WORD_BITS));
}

bool fd_table_has_failed(int fd)
{
	return (unsigned)fd < FD_TABLE_MOST &&
	       (atomic_load(&failed_words[fd / FD_TABLE_WORD_BITS]) >>
			((unsigned)fd % FD_TABLE_WORD_BITS) &
		1);
}

bool fd_table_remove(int fd)
{
	unsigned bit;

	if ((unsigned)fd >= FD_TABLE_MOST)
		return false;
	bit = 1u << ((unsigned)fd % FD_TABLE_WORD_BITS);
	return atomic_fetch_and(&fd_table_words[fd / FD_TABLE_WORD_BITS], ~bit) & bit;
}

int fd_table_next(unsigned from, unsigned last)
{
	unsigned used = atomic_load(&words_used);

	for (unsigned word = from / FD_TABLE_WORD_BITS; word < used; word++) {
		unsigned bits = atomic_load(&fd_table_words[word]);

		if (word == from / FD_TABLE_WORD_BITS)
			bits &= ~0u << (from % FD_TABLE_WORD_BITS);
		if (bits) {
			unsigned fd = word * FD_TABLE_WORD_BITS + (unsigned)__builtin_ctz(bits);
			return fd <= last ? (int)fd : -1;
		}
	}
	return -1;
}

void fd_table_clear(void)
{
	unsigned used = atomic_exchange(&words_used, 0);

	for (unsigned word = 0; word < used; word++)
		atomic_store(&fd_table_words[word], 0);
}
