/* PURE. SHA-256 of data in memory. Thread-safe. */
#ifndef BASE_DIGEST_H
#define BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#define DIGEST_SIZE 32

void digest_sha256(const void *data, size_t size, uint8_t digest[DIGEST_SIZE]);

#endif
