#include "base/digest.h"

#include <openssl/evp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static EVP_MD *sha256;
static pthread_once_t sha256_fetched = PTHREAD_ONCE_INIT;

/* EVP_sha256() looks the algorithm up under a lock at every use. Fetched once, no thread waits. */
static void fetch_sha256(void)
{
	sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
}

void digest_sha256(const void *data, size_t size, uint8_t digest[DIGEST_SIZE])
{
	pthread_once(&sha256_fetched, fetch_sha256);
	/* It fails only without memory, or without SHA-256 in the library. Then the process must
	 * end, because a wrong digest would be worse. */
	if (!sha256 || EVP_Digest(data, size, digest, NULL, sha256, NULL) != 1) {
		fputs("reprieve: SHA-256 is not available\n", stderr);
		abort();
	}
}
