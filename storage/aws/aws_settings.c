#include "aws_settings.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
	HEADERS_MOST = 16,
	FILE_MOST = 1 << 20
};

/* A variable that is empty is not set. */
/* --- the files --- */

static int read_file(struct aws_settings *settings, enum aws_ini_kind kind, const char *name,
		     const char *below_home, struct err *err)
{
	const char *asked = text_from_environment(name), *home = text_from_environment("HOME");
	auto_free char *path = asked  ? text_copy(asked)
			       : home ? text_format("%s/.aws/%s", home, below_home)
				      : NULL;
	struct bytes text = {.limit = FILE_MOST};
	struct err own = {0};

	if (!path)
		return 0;
	if (file_read(path, &text, &own) < 0 || bytes_append(&text, "", 1, &own) < 0) {
		bytes_release(&text);
		if (own.kind == ERR_NOT_FOUND)
			return 0;
		return err_set(err, ERR_INVALID, "AWS's settings: %s", own.text);
	}
	aws_ini_parse(&settings->profiles, kind, (const char *)text.data);
	explicit_bzero(text.data, text.size);
	bytes_release(&text);
	return 0;
}

static const char *profile_setting(const struct aws_settings *settings, const char *name)
{
	return aws_ini_get(&settings->profiles, "profile", settings->profile, name);
}

/* --- one setting after the other --- */

static const char *find_endpoint(const struct aws_settings *settings, const char *service)
{
	const char *ignore = text_from_environment("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS");
	const char *services = profile_setting(settings, "services"), *found = NULL;
	auto_free char *own = text_format("AWS_ENDPOINT_URL_%s", service);
	auto_free char *nested = text_format("%s.endpoint_url", service);

	if (ignore && strcasecmp(ignore, "true") == 0)
		return NULL;
	for (char *at = nested; *at != '.'; at++)
		*at = (char)tolower((unsigned char)*at);
	found = text_from_environment(own);
	if (!found)
		found = text_from_environment("AWS_ENDPOINT_URL");
	if (!found && services)
		found = aws_ini_get(&settings->profiles, "services", services, nested);
	return found ? found : profile_setting(settings, "endpoint_url");
}

static int read_address_style(struct aws_settings *settings, struct err *err)
{
	const char *asked = text_from_environment("REPRIEVE_S3_ADDRESSING");

	if (!asked)
		asked = profile_setting(settings, "s3.addressing_style");
	settings->style = S3_STYLE_AUTO;
	if (!asked || strcmp(asked, "auto") == 0)
		return 0;
	if (strcmp(asked, "path") == 0)
		settings->style = S3_STYLE_PATH;
	else if (strcmp(asked, "virtual") == 0)
		settings->style = S3_STYLE_VIRTUAL;
	else
		return err_set(err, ERR_INVALID,
			       "REPRIEVE_S3_ADDRESSING (or addressing_style) is \"%.60s\": it is "
			       "auto, path or virtual",
			       asked);
	return 0;
}

static int read_switch(const char *name, bool *on, struct err *err)
{
	const char *value = text_from_environment(name);

	*on = true;
	if (!value || strcmp(value, "on") == 0)
		return 0;
	*on = false;
	if (strcmp(value, "off") == 0)
		return 0;
	return err_set(err, ERR_INVALID, "%s is \"%.60s\": it is on or off", name, value);
}

static int read_checksums(struct aws_settings *settings, struct err *err)
{
	const char *asked = text_from_environment("AWS_REQUEST_CHECKSUM_CALCULATION");

	if (!asked)
		asked = profile_setting(settings, "request_checksum_calculation");
	if (read_switch("REPRIEVE_S3_CHECKSUM", &settings->checksums, err) < 0)
		return -1;
	/* None of our requests requires one. */
	if (asked && strcasecmp(asked, "when_required") == 0)
		settings->checksums = false;
	return 0;
}

static int read_requester_pays(struct aws_settings *settings, struct err *err)
{
	const char *payer = text_from_environment("AWS_REQUEST_PAYER");

	settings->requester_pays = payer && strcasecmp(payer, "requester") == 0;
	if (!payer || settings->requester_pays)
		return 0;
	return err_set(err, ERR_INVALID, "AWS_REQUEST_PAYER is \"%.60s\": it is requester", payer);
}

/* --- headers of the user's --- */

static void headers_free(char **headers)
{
	for (char **at = headers; at && *at; at++)
		free(*at);
	free(headers);
}
AUTO_POINTER(char *, headers_free);

/* Set by us; another value would break the signature or the if-absent. */
static bool is_reserved_header(const char *name)
{
	static const char *const ours[] = {
		"host",
		"authorization",
		"content-length",
		"range",
		"if-none-match",
		"if-match",
		"expect",
		"x-amz-date",
		"x-amz-content-sha256",
		"x-amz-security-token",
		"x-amz-checksum-crc32c",
		"x-amz-request-payer",
		"transfer-encoding",
		"connection",
	};

	for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++)
		if (strcmp(ours[i], name) == 0)
			return true;
	return false;
}

/* Without the blanks at both ends; changes `text`. */
static char *trim_blanks(char *text)
{
	char *end = text + strlen(text);

	while (end > text && isspace((unsigned char)end[-1]))
		*--end = '\0';
	return text + strspn(text, " \t");
}

static bool is_header_name(const char *name)
{
	return name[0] && !name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-")];
}

static int add_header(char **headers, size_t count, const char *item, size_t length,
		      struct err *err)
{
	auto_free char *text = text_copy_n(item, length);
	char *colon = strchr(text, ':'), *name, *value;

	if (!colon)
		return err_set(err, ERR_INVALID,
			       "REPRIEVE_S3_HEADERS: \"%.60s\" is not NAME: VALUE", text);
	*colon = '\0';
	name = trim_blanks(text);
	value = trim_blanks(colon + 1);
	for (char *at = name; *at; at++)
		*at = (char)tolower((unsigned char)*at);
	if (!is_header_name(name) || is_reserved_header(name))
		return err_set(err, ERR_INVALID,
			       "REPRIEVE_S3_HEADERS: \"%.60s\" cannot be set there", name);
	for (const char *at = value; *at; at++)
		if (iscntrl((unsigned char)*at))
			return err_set(err, ERR_INVALID,
				       "REPRIEVE_S3_HEADERS: a control character in the value of "
				       "%.60s",
				       name);
	headers[count] = text_copy(name);
	headers[count + 1] = text_copy(value);
	return 0;
}

int aws_settings_headers(const char *text, char ***result, struct err *err)
{
	auto_(headers_free) char **headers = memory_new((2 * HEADERS_MOST + 1) * sizeof(*headers));
	size_t count = 0;

	while (text && *text) {
		size_t length = strcspn(text, ",");

		if (strspn(text, " \t") < length) {
			if (count == 2 * HEADERS_MOST)
				return err_set(err, ERR_INVALID,
					       "REPRIEVE_S3_HEADERS: more than %d", HEADERS_MOST);
			if (add_header(headers, count, text, length, err) < 0)
				return -1;
			count += 2;
		}
		text += length;
		text += *text == ',';
	}
	*result = steal(&headers);
	return 0;
}

/* --- all of it --- */

static char *copy_or_null(const char *text)
{
	return text ? text_copy(text) : NULL;
}

static void read_profile_name(struct aws_settings *settings)
{
	const char *asked = text_from_environment("AWS_PROFILE");

	settings->profile_is_named = asked != NULL;
	settings->profile = text_copy(asked ? asked : "default");
}

static void read_endpoints(struct aws_settings *settings)
{
	const char *region = text_from_environment("AWS_REGION"),
		   *bundle = text_from_environment("AWS_CA_BUNDLE");

	if (!region)
		region = text_from_environment("AWS_DEFAULT_REGION");
	if (!region)
		region = profile_setting(settings, "region");
	settings->region = copy_or_null(region);
	settings->endpoint = copy_or_null(find_endpoint(settings, "S3"));
	settings->sts_endpoint = copy_or_null(find_endpoint(settings, "STS"));
	settings->ca_file = copy_or_null(bundle ? bundle : profile_setting(settings, "ca_bundle"));
}

int aws_settings_load(struct aws_settings *settings, struct err *err)
{
	*settings = (struct aws_settings){0};
	read_profile_name(settings);
	if (read_file(settings, AWS_INI_CONFIG, "AWS_CONFIG_FILE", "config", err) == 0 &&
	    read_file(settings, AWS_INI_CREDENTIALS, "AWS_SHARED_CREDENTIALS_FILE", "credentials",
		      err) == 0 &&
	    read_address_style(settings, err) == 0 && read_checksums(settings, err) == 0 &&
	    read_switch("REPRIEVE_S3_CONDITIONAL", &settings->conditional, err) == 0 &&
	    read_requester_pays(settings, err) == 0 &&
	    aws_settings_headers(text_from_environment("REPRIEVE_S3_HEADERS"), &settings->headers,
				 err) == 0) {
		read_endpoints(settings);
		return 0;
	}
	aws_settings_release(settings);
	return -1;
}

void aws_settings_release(struct aws_settings *settings)
{
	aws_ini_release(&settings->profiles);
	free(settings->profile);
	free(settings->region);
	free(settings->endpoint);
	free(settings->sts_endpoint);
	free(settings->ca_file);
	headers_free(settings->headers);
	*settings = (struct aws_settings){0};
}
