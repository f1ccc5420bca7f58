/* Credentials of the environment. */
#include "aws_source.h"

#include "base/text.h"

#include <stdlib.h>

static bool environment_is_set_up(const struct aws_settings *settings)
{
	(void)settings;
	return text_from_environment("AWS_ACCESS_KEY_ID") ||
	       text_from_environment("AWS_SECRET_ACCESS_KEY");
}

static int environment_fetch(const struct aws_settings *settings,
			     struct aws_credentials *credentials, char *source_text,
			     size_t source_text_size, struct cancel *cancel, struct err *err)
{
	const char *access = text_from_environment("AWS_ACCESS_KEY_ID");
	const char *secret = text_from_environment("AWS_SECRET_ACCESS_KEY");
	const char *token = text_from_environment("AWS_SESSION_TOKEN");

	(void)settings, (void)cancel;
	if (!access || !secret)
		return err_set(err, ERR_INVALID, "%s is set, but not %s",
			       access ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY",
			       access ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID");
	if (!token)
		token = text_from_environment("AWS_SECURITY_TOKEN"); /* the older name */
	*credentials = (struct aws_credentials){
		.access_key = text_copy(access),
		.secret_key = text_copy(secret),
		.session_token = token ? text_copy(token) : NULL,
		/* Whatever AWS_CREDENTIAL_EXPIRATION says, there will be no others. */
		.expires_ms = CLOCK_NEVER,
	};
	text_set(source_text, source_text_size, "environment (AWS_ACCESS_KEY_ID)");
	return 0;
}

const struct aws_source aws_source_environment = {
	.name = "environment",
	.is_set_up = environment_is_set_up,
	.fetch = environment_fetch,
};
