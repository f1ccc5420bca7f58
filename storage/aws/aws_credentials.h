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
#include "storage/http/http.h"

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

/* The region of the machine that we are on, by its metadata service; the caller frees. Blocks for
 * seconds at most; errors as above. */
int aws_instance_region(char **region, struct cancel *cancel, struct err *err);

/* --- PURE: what the sources answer. No error holds any of it but names of members and a service's
 * own error message. */

/*
 * {"AccessKeyId", "SecretAccessKey", "SessionToken" or "Token", "Expiration"}: metadata services
 * and credential_process. A {"Code", "Message"} with another code than "Success" is ERR_DENIED;
 * anything that is neither ERR_FAILED.
 */
int aws_reply_json(const void *body, size_t size, struct aws_credentials *credentials,
		   struct err *err);

/* AssumeRole's and AssumeRoleWithWebIdentity's XML. */
int aws_reply_sts(const void *body, size_t size, struct aws_credentials *credentials,
		  struct err *err);

/* Judges an answer of STS, which may be an error. */
enum call_verdict aws_reply_judge_sts(int status, const void *body, size_t size, struct err *err);

/* May credentials be fetched from this URI? Yes by https, and by http from this machine and from
 * the fixed addresses of ECS and EKS. */
bool aws_reply_uri_is_allowed(const char *uri);

#endif
