/* The profile as a source: keys, a role on top of another profile or of another source, web
 * identity, a process. */
#include "aws_source.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <string.h>

enum {
	DEPTH_MOST = 8
};

/* One fetch: the files as they are now. */
struct lookup {
	const struct aws_settings *settings;
	struct cancel *cancel;
	int depth;
};

static const char *profile_value(const struct lookup *lookup, const char *profile, const char *name)
{
	return aws_ini_get(&lookup->settings->profiles, "profile", profile, name);
}

static int credentials_from_keys(const struct lookup *lookup, const char *profile,
				 struct aws_credentials *credentials, struct err *err)
{
	const char *access = profile_value(lookup, profile, "aws_access_key_id");
	const char *secret = profile_value(lookup, profile, "aws_secret_access_key");
	const char *token = profile_value(lookup, profile, "aws_session_token");

	if (!access || !secret)
		return err_set(err, ERR_INVALID, "%s is missing",
			       access ? "aws_secret_access_key" : "aws_access_key_id");
	*credentials = (struct aws_credentials){
		.access_key = text_copy(access),
		.secret_key = text_copy(secret),
		.session_token = token ? text_copy(token) : NULL,
		.expires_ms = CLOCK_NEVER,
	};
	return 0;
}

static int credentials_from_profile(struct lookup *lookup, const char *profile,
				    struct aws_credentials *credentials, struct err *err);

static int credentials_from_source(const struct lookup *lookup, const char *name,
				   struct aws_credentials *credentials, struct err *err)
{
	static const struct {
		const char *name;
		const struct aws_source *source;
	} others[] = {
		{"Environment", &aws_source_environment},
		{"EcsContainer", &aws_source_container},
		{"Ec2InstanceMetadata", &aws_source_instance},
	};
	char source_text[128];

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		if (strcmp(others[i].name, name) != 0)
			continue;
		if (!others[i].source->is_set_up(lookup->settings))
			return err_set(err, ERR_INVALID, "credential_source %s is not set up",
				       name);
		return others[i].source->fetch(lookup->settings, credentials, source_text,
					       sizeof(source_text), lookup->cancel, err);
	}
	return err_set(err, ERR_INVALID, "credential_source %.60s is unknown", name);
}

static int credentials_from_role(struct lookup *lookup, const char *profile,
				 struct aws_credentials *credentials, struct err *err)
{
	const struct aws_role role = {
		.arn = profile_value(lookup, profile, "role_arn"),
		.session = profile_value(lookup, profile, "role_session_name"),
		.external_id = profile_value(lookup, profile, "external_id"),
		.duration = profile_value(lookup, profile, "duration_seconds"),
		.token_file = profile_value(lookup, profile, "web_identity_token_file"),
	};
	const char *by_profile = profile_value(lookup, profile, "source_profile");
	const char *by_source = profile_value(lookup, profile, "credential_source");
	auto_(aws_credentials_release) struct aws_credentials by = {0};
	int result;

	if (role.token_file)
		return aws_sts_web_identity(lookup->settings, &role, credentials, lookup->cancel,
					    err);
	/* A profile may name itself: then its own keys are meant. */
	if (by_profile && strcmp(by_profile, profile) == 0)
		result = credentials_from_keys(lookup, profile, &by, err);
	else if (by_profile)
		result = credentials_from_profile(lookup, by_profile, &by, err);
	else if (by_source)
		result = credentials_from_source(lookup, by_source, &by, err);
	else
		result = err_set(err, ERR_INVALID,
				 "role_arn needs a source_profile, a credential_source or a "
				 "web_identity_token_file");
	if (result < 0)
		return -1;
	return aws_sts_assume(lookup->settings, &role, &by, credentials, lookup->cancel, err);
}

static int credentials_from_profile(struct lookup *lookup, const char *profile,
				    struct aws_credentials *credentials, struct err *err)
{
	const char *process = profile_value(lookup, profile, "credential_process");
	int result;

	if (lookup->depth++ == DEPTH_MOST)
		return err_set(err, ERR_INVALID, "profile %s: source_profile goes in circles",
			       profile);
	if (!aws_ini_has_profile(&lookup->settings->profiles, profile))
		return err_set(err, ERR_INVALID, "there is no profile \"%.100s\"", profile);
	if (profile_value(lookup, profile, "role_arn"))
		result = credentials_from_role(lookup, profile, credentials, err);
	else if (profile_value(lookup, profile, "aws_access_key_id"))
		result = credentials_from_keys(lookup, profile, credentials, err);
	else if (process)
		result = aws_source_process_run(process, credentials, lookup->cancel, err);
	else if (profile_value(lookup, profile, "sso_account_id") ||
		 profile_value(lookup, profile, "login_session"))
		result = err_set(err, ERR_INVALID,
				 "single sign-on works by way of: credential_process = aws "
				 "configure export-credentials --profile %.60s --format process",
				 profile);
	else
		result = err_set(err, ERR_INVALID, "it holds no credentials");
	return result < 0 ? err_wrap(err, "profile %.100s", profile) : 0;
}

/* --- the source --- */

static bool profile_is_set_up(const struct aws_settings *settings)
{
	static const char *const any[] = {"role_arn", "aws_access_key_id", "credential_process",
					  "sso_account_id", "login_session"};

	if (settings->profile_is_named)
		return true;
	for (size_t i = 0; i < sizeof(any) / sizeof(*any); i++)
		if (aws_ini_get(&settings->profiles, "profile", settings->profile, any[i]))
			return true;
	return false;
}

static int profile_fetch(const struct aws_settings *settings, struct aws_credentials *credentials,
			 char *source_text, size_t source_text_size, struct cancel *cancel,
			 struct err *err)
{
	/* Others write these files while we run: with a new session, a rotated key. */
	struct aws_settings now;
	struct lookup lookup = {.settings = &now, .cancel = cancel};
	auto_free char *words = NULL;
	const char *role;
	int result;

	if (aws_settings_load(&now, err) < 0)
		return -1;
	role = profile_value(&lookup, settings->profile, "role_arn");
	words = role ? text_format("profile %s (role %s)", settings->profile, role)
		     : text_format("profile %s", settings->profile);
	text_set(source_text, source_text_size, words);
	result = credentials_from_profile(&lookup, settings->profile, credentials, err);
	aws_settings_release(&now);
	return result;
}

const struct aws_source aws_source_profile = {
	.name = "profile",
	.is_set_up = profile_is_set_up,
	.fetch = profile_fetch,
};
