/* The profile as a source: keys, a role on top of another profile or of another source, web identity, a process. */
#include "aws_source.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <string.h>

enum {
	DEPTH_MOST = 8
};

/* One fetch: the files as they are now. */
struct looking {
	const struct aws_settings *settings;
	struct cancel *cancel;
	int depth;
};

static const char *get(const struct looking *looking, const char *profile, const char *name)
{
	return aws_profile_get(&looking->settings->profiles, "profile", profile, name);
}

static int from_keys(const struct looking *looking, const char *profile,
	struct aws_credentials *credentials, struct err *err)
{
	const char *access = get(looking, profile, "aws_access_key_id");
	const char *secret = get(looking, profile, "aws_secret_access_key");
	const char *token = get(looking, profile, "aws_session_token");

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

static int from_profile(struct looking *looking, const char *profile,
	struct aws_credentials *credentials, struct err *err);

static int from_other_source(const struct looking *looking, const char *name,
	struct aws_credentials *credentials, struct err *err)
{
	static const struct {
		const char *name;
		const struct aws_source *source;
	} others[] = {
		{"Environment", &aws_environment_source},
		{"EcsContainer", &aws_container_source},
		{"Ec2InstanceMetadata", &aws_instance_source},
	};
	char told[128];

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		if (strcmp(others[i].name, name) != 0)
			continue;
		if (!others[i].source->is_set_up(looking->settings))
			return err_set(
				err, ERR_INVALID, "credential_source %s is not set up", name);
		return others[i].source->fetch(
			looking->settings, credentials, told, sizeof(told), looking->cancel, err);
	}
	return err_set(err, ERR_INVALID, "credential_source %.60s is unknown", name);
}

static int from_role(struct looking *looking, const char *profile,
	struct aws_credentials *credentials, struct err *err)
{
	const struct aws_role role = {
		.arn = get(looking, profile, "role_arn"),
		.session = get(looking, profile, "role_session_name"),
		.external_id = get(looking, profile, "external_id"),
		.duration = get(looking, profile, "duration_seconds"),
		.token_file = get(looking, profile, "web_identity_token_file"),
	};
	const char *by_profile = get(looking, profile, "source_profile");
	const char *by_source = get(looking, profile, "credential_source");
	auto_(aws_credentials_release) struct aws_credentials by = {0};
	int result;

	if (role.token_file)
		return aws_sts_web_identity(
			looking->settings, &role, credentials, looking->cancel, err);
	/* A profile may name itself: then its own keys are meant. */
	if (by_profile && strcmp(by_profile, profile) == 0)
		result = from_keys(looking, profile, &by, err);
	else if (by_profile)
		result = from_profile(looking, by_profile, &by, err);
	else if (by_source)
		result = from_other_source(looking, by_source, &by, err);
	else
		result = err_set(err, ERR_INVALID,
			"role_arn needs a source_profile, a credential_source or a "
			"web_identity_token_file");
	if (result < 0)
		return -1;
	return aws_sts_assume(looking->settings, &role, &by, credentials, looking->cancel, err);
}

static int from_profile(struct looking *looking, const char *profile,
	struct aws_credentials *credentials, struct err *err)
{
	const char *process = get(looking, profile, "credential_process");
	int result;

	if (looking->depth++ == DEPTH_MOST)
		return err_set(
			err, ERR_INVALID, "profile %s: source_profile goes in circles", profile);
	if (!aws_profile_exists(&looking->settings->profiles, profile))
		return err_set(err, ERR_INVALID, "there is no profile \"%.100s\"", profile);
	if (get(looking, profile, "role_arn"))
		result = from_role(looking, profile, credentials, err);
	else if (get(looking, profile, "aws_access_key_id"))
		result = from_keys(looking, profile, credentials, err);
	else if (process)
		result = aws_process_run(process, credentials, looking->cancel, err);
	else if (get(looking, profile, "sso_account_id") || get(looking, profile, "login_session"))
		result = err_set(err, ERR_INVALID,
			"single sign-on works by way of: credential_process = aws configure "
			"export-credentials --profile %.60s --format process",
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

	if (settings->profile_is_asked)
		return true;
	for (size_t i = 0; i < sizeof(any) / sizeof(*any); i++)
		if (aws_profile_get(&settings->profiles, "profile", settings->profile, any[i]))
			return true;
	return false;
}

static int profile_fetch(const struct aws_settings *settings, struct aws_credentials *credentials,
	char *told, size_t told_size, struct cancel *cancel, struct err *err)
{
	/* Others write these files while we run: with a new session, a rotated key. */
	struct aws_settings now;
	struct looking looking = {.settings = &now, .cancel = cancel};
	auto_free char *words = NULL;
	const char *role;
	int result;

	if (aws_settings_load(&now, err) < 0)
		return -1;
	role = get(&looking, settings->profile, "role_arn");
	words = role ? text_format("profile %s (role %s)", settings->profile, role)
		     : text_format("profile %s", settings->profile);
	text_set(told, told_size, words);
	result = from_profile(&looking, settings->profile, credentials, err);
	aws_settings_release(&now);
	return result;
}

const struct aws_source aws_profile_source = {
	.name = "profile",
	.is_set_up = profile_is_set_up,
	.fetch = profile_fetch,
};
