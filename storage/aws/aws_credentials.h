/*
 * Credentials of AWS, by the chain that its own tools follow: environment; the profile (keys, an
 * assumed role, web identity, a process); web identity of the environment; the container's
 * endpoint; the instance's metadata. The first that is set up is the source, for good. Shared by
 * all threads of a store: fetched ahead of their expiry, by one thread while the others go on with
 * what there is; when that fails, the last good ones are kept, even past their time, for the other
 * side is the judge. Nothing here puts a secret into an error or a log, and freed memory is
 * cleared.
 */
#ifndef AWS_CREDENTIALS_H
#define AWS_CREDENTIALS_H

#include "aws_settings.h"
#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/clock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct aws_credentials {
	char *access_key;
	char *secret_key;
	char *session_token; /* NULL: none */
	int64_t expires_ms;  /* wall clock; CLOCK_NEVER */
};
void aws_credentials_release(struct aws_credentials *credentials);
AUTO(struct aws_credentials, aws_credentials_release);
void aws_credentials_copy(struct aws_credentials *target, const struct aws_credentials *source);

struct aws_chain;

/* The settings stay the caller's, and longer than the chain. */
struct aws_chain *aws_chain_new(const struct aws_settings *settings);
void aws_chain_free(struct aws_chain *chain); /* NULL is fine */
AUTO_POINTER(struct aws_chain, aws_chain_free);

/*
 * Fills `credentials`; the caller releases them. `refused`: the access key whose credentials the
 * other side just called expired, or NULL: others are then fetched whatever their expiry says, if
 * another thread has not done so yet. ERR_DENIED: there are none, with what was looked for;
 * ERR_RETRY: the source does not answer now.
 */
int aws_chain_get(struct aws_chain *chain, const struct aws_credentials *refused,
		  struct aws_credentials *credentials, struct cancel *cancel, struct err *err);

/* Which source it is, "environment", "profile ml (role arn:aws:iam::1:role/x)"; "none yet" before
 * the first success. Returns `text`. */
const char *aws_chain_source(struct aws_chain *chain, char *text, size_t capacity);

#endif
