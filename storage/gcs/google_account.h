/*
 * PURE. What a file of Application Default Credentials says. All texts are borrowed from the JSON
 * object, which holds secrets and must outlive this.
 */
#ifndef GOOGLE_ACCOUNT_H
#define GOOGLE_ACCOUNT_H

#include "base/err.h"

#include <jansson.h>
#include <stdint.h>

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
	/* user */

	/* external: the first two may be NULL */
	const char *client_id, *client_secret, *refresh_token;
	const char *token_url; /* user and external */
	/* external: exactly one of file, url, command and aws_url */
	const char *audience, *subject_type, *file, *url;
	const char *command; /* for /bin/sh */
	int64_t command_ms;  /* that it may take */
	const char *aws_url; /* of AWS's GetCallerIdentity: AWS says who we are */
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

#endif
