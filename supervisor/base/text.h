/*
 * Strings and byte buffers on the heap. If a small allocation fails, the process ends with a
 * message: Linux overcommits, so the kernel would kill a process before that happens. Buffers whose
 * size comes from outside have a limit and return an error.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "base/cleanup.h"
#include "base/err.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed memory, never NULL. */
void *memory_new(size_t size);
/* reallocarray(3), never NULL; new space is not cleared. */
void *memory_grow(void *memory, size_t count, size_t size);

/* The caller frees. */
char *text_copy(const char *text);
char *text_copy_n(const char *text, size_t length);
char *text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* At the end of a text on the heap, or of none (NULL), which is replaced. */
void text_append(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *text_format_list(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

/* Of an environment variable; NULL where it is unset or empty. Borrowed from the environment. */
const char *text_from_environment(const char *name);

bool text_equal(const char *a, const char *b);
bool text_starts(const char *text, const char *prefix);
bool text_ends(const char *text, const char *suffix);
/* `words` ends with NULL. */
bool text_is_one_of(const char *text, const char *const *words);

/* Does the POSIX extended regular expression match somewhere? `^`, `$`, `.` and `[^x]` stop at the
 * ends of lines. */
bool text_matches(const char *text, const char *pattern);
/* Of a path: what is behind its last slash; all of it if it has none. */
const char *text_last_part(const char *path);
/* Is one of its parts ".."? */
bool text_path_climbs(const char *path);

/* Copies, truncates between UTF-8 characters, and always terminates. */
void text_set(char *target, size_t capacity, const char *source);

/* Copies, and replaces the middle of a text that is too long by "...": both ends of a path identify
 * it, and an error's cause is at the end. `capacity` is at least 8. */
void text_elide(char *target, size_t capacity, const char *source);

/* In place: replaces each byte that is not UTF-8, which JSON does not allow, by '?'. */
void text_to_utf8(char *text);
/* The same, and each control character by a blank: for text from outside that people read. */
void text_to_line(char *text);
/* In place: replaces each control character, also those of Latin-1, and each byte that is not UTF-8
 * by
 * '?', so that it cannot control a terminal. */
void text_to_printable(char *text);

/* As a line of XML or HTML, also between quotes: neither has control characters, not even escaped
 * ones. The caller frees. */
char *text_escape_markup(const char *text);

/* As one word of a command that people paste into a shell: as it is where a shell takes all of it
 * literally, else in quotes; what cannot be shown is escaped as $'\\n' (bash, zsh, POSIX 2024). The
 * caller frees. */
char *text_shell_word(const char *text);

/* Parses the whole text as a decimal number from 0 to `most`; false for anything else (sign, space,
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

/* A growing buffer of bytes. Zero-initialised is empty. `limit` 0 means 1 GiB; `overflowed`: it was
 * in the way. */
struct bytes {
	uint8_t *data;
	size_t size;
	size_t capacity;
	size_t limit;
	bool overflowed;
};

/* Makes room for `more` bytes at the end. ERR_FAILED: beyond the limit, or no memory. */
int bytes_reserve(struct bytes *bytes, size_t more, struct err *err);
int bytes_append(struct bytes *bytes, const void *data, size_t size, struct err *err);
int bytes_format(struct bytes *bytes, struct err *err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Frees and empties. */
void bytes_release(struct bytes *bytes);
AUTO(struct bytes, bytes_release);

#endif
