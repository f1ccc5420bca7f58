/* PRIVATE. PURE. What a word in a name says of the number beside it. Words are not terminated, and
 * their case does not matter. */
#ifndef NAME_WORDS_H
#define NAME_WORDS_H

#include "name_fields.h"

#include <stdbool.h>
#include <stddef.h>

/* "globalstep" before a number; "steps" behind one. COUNT_NONE: it is no such word. */
enum count_rank name_word_rank_before(const char *word, size_t length);
enum count_rank name_word_rank_behind(const char *word, size_t length);
/* The number is that of one of several at the same time, or of a version: "rank", "fold", "v". */
bool name_word_is_part(const char *word, size_t length);
/* It is a measured one: "loss". */
bool name_word_is_metric(const char *word, size_t length);

#endif
