/*
 * For the static build alone: functions that Debian's and Ubuntu's archives refer to, and of whose
 * libraries there is no archive (krb5, p11-kit of GnuTLS, SASL of LDAP), which would drag in more
 * than all the rest (ICU), or which differ between the two (SSH). Nothing of ours leads to them.
 * absent.txt lists them.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

/* What CMakeLists.txt makes of each name calls it. */
_Noreturn void absent(const char *name);
_Noreturn void absent(const char *name)
{
	fprintf(stderr, "reprieve: %s is not in the static build\n", name);
	abort();
}

/* Of expat; in the C library since 2.36 only. */
void arc4random_buf(void *buffer, size_t size);
void arc4random_buf(void *buffer, size_t size)
{
	uint8_t *at = buffer;

	while (size > 0) {
		ssize_t got = getrandom(at, size, 0);

		if (got < 0 && errno != EINTR)
			abort();
		at += got > 0 ? got : 0;
		size -= got > 0 ? (size_t)got : 0;
	}
}

/* Called at the start of a server, and as curl starts and ends; of no consequence there. */
#define NOTHING(name)     \
	int name(void);   \
	int name(void)    \
	{                 \
		return 0; \
	}
NOTHING(gnutls_global_init)
NOTHING(gnutls_global_deinit)
NOTHING(libssh2_init)
NOTHING(libssh2_exit)
NOTHING(ssh_init)
NOTHING(ssh_finalize)

extern const void *const GSS_C_NT_HOSTBASED_SERVICE;
const void *const GSS_C_NT_HOSTBASED_SERVICE = NULL;
