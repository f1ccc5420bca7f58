/*
 * What the fuzz targets share. Each gives bytes to a group of parsers as they might come from
 * outside, and checks what must hold whatever they are; run.sh builds and runs them.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include "base/text.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the program, upon which the fuzzer keeps the input. */
#define CHECK(condition)                                                                       \
	do {                                                                                   \
		if (condition)                                                                 \
			break;                                                                 \
		fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
		abort();                                                                       \
	} while (0)

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The bytes up to a zero, in memory of just that size, so that one step too far is
 * seen. The caller frees. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
	return text_copy_n((const char *)data, size);
}

/* The next line of the input, likewise; "" behind the last. */
static inline char *fuzz_line(const uint8_t **data, size_t *size)
{
	const uint8_t *end = *size ? memchr(*data, '\n', *size) : NULL;
	size_t length = end ? (size_t)(end - *data) : *size;
	char *line = fuzz_text(*data, length);

	*data += length + (end != NULL);
	*size -= length + (end != NULL);
	return line;
}

/* JSON can carry it. */
static inline bool fuzz_is_utf8(const char *text)
{
	json_t *value = json_string(text);

	json_decref(value);
	return value != NULL;
}

/* Nothing in it moves a terminal's cursor or begins a line of its own. */
static inline bool fuzz_is_one_line(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return false;
	return true;
}

#endif
