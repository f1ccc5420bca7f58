/*
 * Strings and byte buffers on the heap. Small allocations that fail end the process with a message
 * (Linux overcommits: it does not happen before the kernel kills somebody anyway); buffers whose
 * size comes from outside have a limit instead.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "base/err.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* malloc, zeroed, never NULL. */
void *memory_new(size_t size);
/* reallocarray, never NULL; new space is not cleared. */
void *memory_grow(void *memory, size_t count, size_t size);

/* The caller frees. */
char *text_copy(const char *text);
char *text_copy_n(const char *text, size_t length);
char *text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *text_format_list(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

/* Of an environment variable; NULL where it is unset or empty. Borrowed from the environment. */
const char *text_from_environment(const char *name);

bool text_equal(const char *a, const char *b);
bool text_starts(const char *text, const char *prefix);
bool text_ends(const char *text, const char *suffix);

/* Copies with truncation, between characters, and always terminates. */
void text_set(char *target, size_t capacity, const char *source);

/* Copies, leaving out the middle ("...") of what is too long: a path is known by both its ends, and
 * a reason stands behind it. `capacity` is at least 8. */
void text_elide(char *target, size_t capacity, const char *source);

/* In place: each byte that is no UTF-8, which JSON cannot carry, becomes '?'. */
void text_to_utf8(char *text);
/* The same, and each control character a blank: for words of others that a person is shown. */
void text_to_line(char *text);
/* In place: each control character, those of Latin-1 too, and each byte that is no UTF-8 becomes
 * '?': no terminal obeys it. */
void text_to_printable(char *text);

/* Whole text as an unsigned decimal number not above `most`; false for anything else (sign, space,
 * empty, overflow). */
bool text_to_u64(const char *text, uint64_t most, uint64_t *value);

/* "90", "90s", "15m", "2h", "1d", "500ms" -> milliseconds; a bare number is seconds; fractions
 * allowed ("1.5s"). */
bool text_to_duration_ms(const char *text, int64_t *milliseconds);

/* "40GB", "1.5 GiB", "512M" (as MB), "4096" -> bytes; false for anything else. */
bool text_to_bytes(const char *text, uint64_t *bytes);

/* 1536 -> "1.5 KiB"; returns `buffer`. */
const char *text_bytes(uint64_t bytes, char *buffer, size_t capacity);
/* 83200 -> "1 min 23 s", 1200 -> "1.2 s"; returns `buffer`. */
const char *text_duration(int64_t milliseconds, char *buffer, size_t capacity);

void text_hex(const uint8_t *bytes, size_t count, char *target /* 2 * count + 1 */);
bool text_unhex(const char *hex, uint8_t *bytes, size_t count);

/* A growing buffer of bytes. Zero-initialised is empty. `limit` 0 means 1 GiB. */
struct bytes {
	uint8_t *data;
	size_t size;
	size_t capacity;
	size_t limit;
};

/* Makes room for `more` bytes behind the ones there. ERR_FAILED past the
 * limit or without memory. */
int bytes_reserve(struct bytes *bytes, size_t more, struct err *err);
int bytes_append(struct bytes *bytes, const void *data, size_t size, struct err *err);
int bytes_format(struct bytes *bytes, struct err *err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Frees and empties. */
void bytes_release(struct bytes *bytes);

static inline void cleanup_bytes_release(struct bytes *bytes)
{
	bytes_release(bytes);
}

#endif
