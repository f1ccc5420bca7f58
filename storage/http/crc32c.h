/* PURE. CRC-32C (Castagnoli), which S3 and Google check on arrival. Uses the processor's
 * instruction if there is one. */
#ifndef CRC32C_H
#define CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc32c(const void *data, size_t size);
/* The same without that instruction; for the tests. */
uint32_t crc32c_by_table(const void *data, size_t size);

/* Four bytes, big-endian, in base64, as both services expect it in a header. Returns `text`. */
#define CRC32C_TEXT 9
const char *crc32c_text(uint32_t crc, char text[CRC32C_TEXT]);

#endif
