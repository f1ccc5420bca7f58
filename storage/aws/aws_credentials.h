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

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "s3_address.h"
#include "storage/http/http.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum aws_ini_kind {
	/* [default], [profile NAME], [services NAME]; other sections are kept
	 * under their own name */
	AWS_INI_CONFIG,
	/* [NAME] */
	AWS_INI_CREDENTIALS,
};

struct aws_ini_setting {
	char *section; /* "profile NAME", "services NAME" */
	char *name;    /* lower case; a nested one is "s3.addressing_style" */
	char *value;
};

struct aws_ini {
	struct aws_ini_setting *items;
	size_t count;
};

/*
 * Adds what a file says. Lines that make no sense are passed over, as AWS's own tools do. Of two
 * equal settings the later one is valid, so read the config first: the credentials file goes before
 * it.
 */
void aws_ini_parse(struct aws_ini *profiles, enum aws_ini_kind kind, const char *text);
void aws_ini_release(struct aws_ini *profiles); /* clears the secrets */
AUTO(struct aws_ini, aws_ini_release);

/* Borrowed; NULL: not there, or empty. `kind` is "profile" or "services". */
const char *aws_ini_get(const struct aws_ini *profiles, const char *kind, const char *section,
			const char *name);
bool aws_ini_has_profile(const struct aws_ini *profiles, const char *profile);

struct aws_settings {
	struct aws_ini profiles;
	char *profile;         /* AWS_PROFILE, else "default" */
	bool profile_is_named; /* by AWS_PROFILE */
	char *region;          /* NULL: nothing says it */
	char *endpoint;        /* of S3; NULL: AWS itself */
	char *sts_endpoint;    /* NULL: by region */
	char *ca_file;         /* whose certificates are trusted; NULL: as base/http.h says */
	enum s3_style style;
	bool checksums;   /* send x-amz-checksum-crc32c with what is put */
	bool conditional; /* the store knows If-None-Match */
	bool requester_pays;
	char **headers; /* REPRIEVE_S3_HEADERS: name, value, name, value, ..., NULL */
};

/* ERR_INVALID names the variable that is wrong; files that are not there are fine, such as cannot
 * be read are not. */
int aws_settings_load(struct aws_settings *settings, struct err *err);
void aws_settings_release(struct aws_settings *settings);

/* PURE. "name: value, name: value" -> as in struct aws_settings; ERR_INVALID for a name that we set
 * ourselves or that is none. */
int aws_settings_headers(const char *text, char ***headers, struct err *err);

struct aws_chain;

/* The settings stay the caller's, and longer than the chain. */
struct aws_chain *aws_chain_new(const struct aws_settings *settings);
void aws_chain_free(struct aws_chain *chain); /* NULL is fine */
AUTO_POINTER(struct aws_chain, aws_chain_free);

/*
 * Whose credentials have access_key and secret_key, and session_token where there is one. Its
 * errors: ERR_DENIED: there are none, with what was looked for; ERR_RETRY: the source does not
 * answer now.
 */
struct credential_cache *aws_chain_credentials(struct aws_chain *chain);

/* Which source it is, "environment", "profile ml (role arn:aws:iam::1:role/x)"; "none yet" before
 * the first success. Returns `text`. */
const char *aws_chain_source(struct aws_chain *chain, char *text, size_t capacity);

/* --- PURE: what the sources answer; `expires_ms` is of the wall clock. No error holds any of it
 * but names of members and a service's own error message. */

/*
 * {"AccessKeyId", "SecretAccessKey", "SessionToken" or "Token", "Expiration"}: metadata services
 * and credential_process. A {"Code", "Message"} with another code than "Success" is ERR_DENIED;
 * anything that is neither ERR_FAILED.
 */
int aws_reply_json(const void *body, size_t size, struct credential *credentials, struct err *err);

/* AssumeRole's and AssumeRoleWithWebIdentity's XML. */
int aws_reply_sts(const void *body, size_t size, struct credential *credentials, struct err *err);

/* What an answer of STS means, which may be an error. */
extern const struct reply_table aws_sts_replies;

/* May credentials be fetched from this URI? Yes by https, and by http from this machine and from
 * the fixed addresses of ECS and EKS. */
bool aws_reply_uri_is_allowed(const char *uri);

#endif
