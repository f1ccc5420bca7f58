/*
 * Google's Application Default Credentials: the file that GOOGLE_APPLICATION_CREDENTIALS names,
 * else what gcloud left, else the metadata server. Yields bearer tokens, kept and renewed as
 * token_endpoint.h says.
 */
#ifndef GOOGLE_CREDENTIALS_H
#define GOOGLE_CREDENTIALS_H

#include "base/cancel.h"
#include "base/err.h"
#include "base/instance_metadata.h"
#include "storage/http/http.h"

#include <jansson.h>
#include <stdint.h>

struct google_credentials;

/* Reads the environment and the file; makes no request. What is signed carries the time of
 * `client`, which stays the caller's. ERR_INVALID or ERR_DENIED name the file. */
int google_credentials_new(struct retrying_client *client, struct google_credentials **credentials,
			   struct err *err);
void google_credentials_free(struct google_credentials *credentials); /* NULL is fine */

/* Where the tokens come from, in words and without secrets. Borrowed. */
const char *google_credentials_source(const struct google_credentials *credentials);

/* Whose credentials have `text`, a bearer token. */
struct credential_cache *google_credentials_tokens(struct google_credentials *credentials);

/* --- PURE: what the file says. All texts are borrowed from the JSON object, which holds secrets
 * and must outlive this. --- */

enum google_account_kind {
	GOOGLE_SERVICE_ACCOUNT, /* its private key signs */
	GOOGLE_USER,            /* a person who logged in with gcloud: a refresh token */
	GOOGLE_EXTERNAL,        /* another issuer's token, exchanged */
	GOOGLE_IMPERSONATED,    /* one of the above, which may act as a service account */
};

struct google_account {
	enum google_account_kind kind;
	/* service account */
	const char *email, *key_pem, *key_id; /* key_id may be NULL */
	/* user; external, where the first two may be NULL */
	const char *client_id, *client_secret, *refresh_token;
	const char *token_url; /* user and external */
	/* external: one of file and url */
	const char *audience, *subject_type, *file, *url;
	json_t *url_headers; /* an object, or NULL */
	/* the member that holds the subject token; NULL: the text is the token */
	const char *subject_field;
	/* external, where not NULL; impersonated */
	const char *impersonation_url;
	json_t *delegates;          /* an array, or NULL */
	int64_t impersonation_life; /* seconds */
	/* impersonated */
	json_t *source; /* read with google_account_read() too */
};

/* ERR_INVALID says which member is missing, or what is not supported; never a
 * value that could be secret. */
int google_account_read(json_t *object, struct google_account *account, struct err *err);

/* The subject token in what a file or URL holds. ERR_FAILED where it is not there.
 * The caller frees. */
int google_account_subject(const struct google_account *account, const void *text, size_t size,
			   char **token, struct err *err);

/* --- one request for a token of each kind: they block; errors as token_endpoint.h says, without
 * secrets --- */

/* `wall_ms`: Google's clock as far as known, for what is signed. */
int google_token_exchange_account(const struct google_account *account, int64_t wall_ms,
				  struct credential *token, struct cancel *cancel, struct err *err);

/* The token of another issuer, from a file or a URL; fetched again at every call: on Kubernetes the
 * file is replaced every hour or so. The caller frees. */
int google_subject_token_get(const struct google_account *account, char **subject,
			     struct cancel *cancel, struct err *err);

/* The account of the machine, pod or function. */
int google_token_exchange_machine(const struct metadata_endpoint *endpoint,
				  struct credential *token, struct cancel *cancel, struct err *err);

/* `key_pem` is PKCS#8 or PKCS#1 without a passphrase; `key_id` may be NULL. ERR_INVALID for a key
 * that is none. The caller frees. */
int jwt_sign(const char *key_pem, const char *key_id, json_t *claims, char **token,
	     struct err *err);

#endif
