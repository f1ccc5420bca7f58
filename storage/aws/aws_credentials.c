#include "aws_credentials.h"

#include "base/digest.h"
#include "base/err.h"
#include "base/file.h"
#include "base/instance_metadata.h"
#include "base/json.h"
#include "base/program.h"
#include "base/text.h"
#include "s3_address.h"
#include "sigv4.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

/* The shared files of AWS, "config" and "credentials": sections, names and values. */

/* Where the reading stands. */
struct ini_parser {
	struct aws_ini *profiles;
	enum aws_ini_kind kind;
	char *section; /* NULL: before the first, or in one to be passed over */
	char *parent;  /* of nested settings: the last name without a value */
};

static char *copy_trimmed(const char *text, size_t length)
{
	while (length && isspace((unsigned char)text[0]))
		text++, length--;
	while (length && isspace((unsigned char)text[length - 1]))
		length--;
	return text_copy_n(text, length);
}

/* Copies the text in lower case, trimmed. */
static char *copy_lower(const char *text, size_t length)
{
	char *copy = copy_trimmed(text, length);

	for (char *at = copy; *at; at++)
		*at = (char)tolower((unsigned char)*at);
	return copy;
}

/* "[profile my name]" -> "profile my name"; quotes around a name are dropped; NULL: not for us. */
static char *section_name(enum aws_ini_kind kind, const char *line)
{
	const char *end = strchr(line, ']');
	auto_free char *inner = end ? copy_trimmed(line + 1, (size_t)(end - line - 1)) : NULL;
	auto_free char *name = NULL;
	size_t word;

	if (!inner || !inner[0])
		return NULL;
	if (kind == AWS_INI_CREDENTIALS || strcmp(inner, "default") == 0)
		return text_format("profile %s", inner);
	word = strcspn(inner, " \t");
	if (!inner[word])
		return NULL;
	name = copy_trimmed(inner + word, strlen(inner + word));
	if (strlen(name) >= 2 && (name[0] == '"' || name[0] == '\'') &&
	    name[strlen(name) - 1] == name[0]) {
		name[strlen(name) - 1] = '\0';
		return text_format("%.*s %s", (int)word, inner, name + 1);
	}
	return text_format("%.*s %s", (int)word, inner, name);
}

/* " # ..." and " ; ..." behind a value are comments; without the blank they belong to it. */
static size_t value_length(const char *value)
{
	for (size_t i = 0; value[i]; i++)
		if (i && (value[i] == '#' || value[i] == ';') &&
		    isspace((unsigned char)value[i - 1]))
			return i;
	return strlen(value);
}

static void add_setting(struct ini_parser *reading, const char *line, const char *equals)
{
	struct aws_ini *profiles = reading->profiles;
	bool nested = isspace((unsigned char)line[0]) && reading->parent;
	auto_free char *name = copy_lower(line, (size_t)(equals - line));
	auto_free char *value = copy_trimmed(equals + 1, value_length(equals + 1));

	if (!nested) {
		free(steal(&reading->parent));
		if (!value[0])
			reading->parent = text_copy(name);
	}
	profiles->items =
		memory_grow(profiles->items, profiles->count + 1, sizeof(*profiles->items));
	profiles->items[profiles->count++] = (struct aws_ini_setting){
		.section = text_copy(reading->section),
		.name = nested ? text_format("%s.%s", reading->parent, name) : steal(&name),
		.value = steal(&value),
	};
}

static void read_line(struct ini_parser *reading, const char *line)
{
	const char *first = line + strspn(line, " \t\r");
	const char *equals = strchr(line, '=');

	if (!*first || *first == '#' || *first == ';')
		return;
	if (*line == '[') {
		free(reading->section);
		free(steal(&reading->parent));
		reading->section = section_name(reading->kind, line);
	} else if (reading->section && equals && equals > first) {
		add_setting(reading, line, equals);
	}
}

void aws_ini_parse(struct aws_ini *profiles, enum aws_ini_kind kind, const char *text)
{
	struct ini_parser reading = {.profiles = profiles, .kind = kind};

	while (*text) {
		size_t length = strcspn(text, "\n");
		char *line = text_copy_n(text, length);

		read_line(&reading, line);
		explicit_bzero(line, length);
		free(line);
		text += length;
		text += *text == '\n';
	}
	free(reading.section);
	free(reading.parent);
}

void aws_ini_release(struct aws_ini *profiles)
{
	for (size_t i = 0; i < profiles->count; i++) {
		explicit_bzero(profiles->items[i].value, strlen(profiles->items[i].value));
		free(profiles->items[i].section);
		free(profiles->items[i].name);
		free(profiles->items[i].value);
	}
	free(profiles->items);
	*profiles = (struct aws_ini){0};
}

const char *aws_ini_get(const struct aws_ini *profiles, const char *kind, const char *section,
			const char *name)
{
	auto_free char *full = text_format("%s %s", kind, section);

	for (size_t i = profiles->count; i > 0; i--) {
		const struct aws_ini_setting *setting = &profiles->items[i - 1];

		if (strcmp(setting->section, full) == 0 && strcmp(setting->name, name) == 0)
			return setting->value[0] ? setting->value : NULL;
	}
	return NULL;
}

bool aws_ini_has_profile(const struct aws_ini *profiles, const char *profile)
{
	auto_free char *full = text_format("profile %s", profile);

	for (size_t i = 0; i < profiles->count; i++)
		if (strcmp(profiles->items[i].section, full) == 0)
			return true;
	return false;
}

/*
 * What the environment and AWS's shared files say, read once when a store is opened. AWS's own
 * names work as they do elsewhere: AWS_PROFILE, AWS_CONFIG_FILE, AWS_SHARED_CREDENTIALS_FILE,
 * AWS_REGION, AWS_DEFAULT_REGION, AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, AWS_ENDPOINT_URL_STS,
 * AWS_IGNORE_CONFIGURED_ENDPOINT_URLS, AWS_REQUEST_CHECKSUM_CALCULATION, AWS_CA_BUNDLE, and in a
 * profile region, endpoint_url, services, s3.addressing_style, request_checksum_calculation,
 * ca_bundle. And further:
 *
 *	AWS_REQUEST_PAYER=requester	our account pays for requests to another's bucket
 *	REPRIEVE_S3_ADDRESSING		auto, path or virtual
 *	REPRIEVE_S3_CHECKSUM=off        no x-amz-checksum-crc32c with what is put: for stores that
 *	                                refuse it
 *	REPRIEVE_S3_HEADERS             "name: value, name: value": signed, sent with every put;
 *	                                those of the customer's encryption key and of the expected
 *	                                bucket owner with every request
 *	REPRIEVE_S3_CONDITIONAL=off     for stores that ignore If-None-Match: it is looked first,
 *	                                then put. Two machines that put the same name at the same
 *	                                instant then both believe that it is theirs, so that two
 *	                                attempts of a job may get one number; run one machine at a
 *	                                time
 */

void aws_settings_release(struct aws_settings *settings);
AUTO(struct aws_settings, aws_settings_release);

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
	auto_free char *lower = copy_lower(service, strlen(service));
	auto_free char *nested = text_format("%s.endpoint_url", lower);

	if (ignore && strcasecmp(ignore, "true") == 0)
		return NULL;
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
		NULL,
	};

	return text_is_one_of(name, ours);
}

static bool is_header_name(const char *name)
{
	return name[0] && !name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-")];
}

static int add_header(char **headers, size_t count, const char *item, size_t length,
		      struct err *err)
{
	const char *colon = memchr(item, ':', length), *behind;
	auto_free char *name = NULL, *value = NULL;

	if (!colon)
		return err_set(err, ERR_INVALID, "REPRIEVE_S3_HEADERS: \"%.*s\" is not NAME: VALUE",
			       length < 60 ? (int)length : 60, item);
	behind = colon + 1;
	name = copy_lower(item, (size_t)(colon - item));
	value = copy_trimmed(behind, length - (size_t)(behind - item));
	if (!is_header_name(name) || is_reserved_header(name))
		return err_set(err, ERR_INVALID,
			       "REPRIEVE_S3_HEADERS: \"%.60s\" cannot be set there", name);
	for (const char *at = value; *at; at++)
		if (iscntrl((unsigned char)*at))
			return err_set(err, ERR_INVALID,
				       "REPRIEVE_S3_HEADERS: a control character in the value of "
				       "%.60s",
				       name);
	headers[count] = steal(&name);
	headers[count + 1] = steal(&value);
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
	const char *profile = text_from_environment("AWS_PROFILE");

	*settings = (struct aws_settings){0};
	settings->profile = text_copy(profile ? profile : "default");
	settings->profile_is_named = profile != NULL;
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

enum {
	REPLY_MOST = 256 * 1024,
	TOKEN_MOST = 64 * 1024,
	PROFILES_MOST = 8, /* from one source_profile to the next */
	METADATA_TRIES = 3,
	CONTAINER_TIMEOUT_MS = 2000,
	PROCESS_TIMEOUT_MS = 60 * 1000,
	STS_PATIENCE_MS = 8000,

	NOT_SET_UP = 1
};

/* One fetch. */
struct fetch {
	const struct aws_settings *settings;
	struct credential *credentials;
	struct cancel *cancel;
	struct err *err;
	int profiles;   /* asked so far */
	char text[256]; /* where they come from, for the user */
};

/* --- what the sources answer --- */

static void set_printable(char *target, size_t capacity, const char *text)
{
	text_set(target, capacity, text);
	text_to_line(target);
}

static int fill_credentials(const char *access, const char *secret, const char *token,
			    const char *expiration, struct credential *credentials, struct err *err)
{
	int64_t expires_ms = CLOCK_NEVER;

	if (!bearer_token_is_valid(access) || !bearer_token_is_valid(secret))
		return err_set(err, ERR_FAILED, "the answer holds no credentials");
	if (token && token[0] && !bearer_token_is_valid(token))
		return err_set(err, ERR_FAILED, "the answer holds a session token that is none");
	if (expiration && expiration[0] && !datetime_parse(expiration, &expires_ms))
		return err_set(err, ERR_FAILED, "the answer holds an expiration that is no time");
	*credentials = (struct credential){
		.access_key = text_copy(access),
		.secret_key = text_copy(secret),
		.session_token = token && token[0] ? text_copy(token) : NULL,
		.expires_ms = expires_ms,
	};
	return 0;
}

int aws_reply_json(const void *body, size_t size, struct credential *credentials, struct err *err)
{
	auto_json json_t *object = json_parse(body, size, NULL);
	const char *code, *token;

	if (!json_is_object(object))
		return err_set(err, ERR_FAILED, "the answer is no JSON object");
	code = json_text_or(object, "Code", "Success");
	if (strcasecmp(code, "Success") != 0) {
		char said[256];

		set_printable(said, sizeof(said), json_text_or(object, "Message", ""));
		return err_set(err, ERR_DENIED, "%.60s: %s", code, said);
	}
	token = json_text_or(object, "SessionToken", NULL);
	return fill_credentials(json_text_or(object, "AccessKeyId", NULL),
				json_text_or(object, "SecretAccessKey", NULL),
				token ? token : json_text_or(object, "Token", NULL),
				json_text_or(object, "Expiration", NULL), credentials, err);
}

/* --- STS --- */

struct sts_reply {
	char *access, *secret, *token, *expiration;
};

static void sts_reply_release(struct sts_reply *sts)
{
	secret_free(sts->access);
	secret_free(sts->secret);
	secret_free(sts->token);
	secret_free(sts->expiration);
}
AUTO(struct sts_reply, sts_reply_release);

static void replace_secret(char **target, const char *text)
{
	secret_free(*target);
	*target = text_copy(text);
}

/* The first elements are called after the action: only the end of the path is looked at. */
static void read_element(void *arg, const char *path, const char *text)
{
	struct sts_reply *sts = arg;

	if (text_ends(path, "/Credentials/AccessKeyId"))
		replace_secret(&sts->access, text);
	else if (text_ends(path, "/Credentials/SecretAccessKey"))
		replace_secret(&sts->secret, text);
	else if (text_ends(path, "/Credentials/SessionToken"))
		replace_secret(&sts->token, text);
	else if (text_ends(path, "/Credentials/Expiration"))
		replace_secret(&sts->expiration, text);
}

int aws_reply_sts(const void *body, size_t size, struct credential *credentials, struct err *err)
{
	auto_(sts_reply_release) struct sts_reply sts = {0};

	if (xml_read(body, size, read_element, &sts, err) < 0)
		return -1;
	return fill_credentials(sts.access, sts.secret, sts.token, sts.expiration, credentials,
				err);
}

// clang-format off
static const struct reply_row sts_rows[] = {
	{200, NULL, 0, CALL_DONE, ERR_NONE, NULL},
	{STATUS_ANY, "RequestExpired", 0, CALL_SKEWED, ERR_DENIED, NULL},
	{STATUS_ANY, "RequestTimeTooSkewed", 0, CALL_SKEWED, ERR_DENIED, NULL},
	/* STS has no code of its own for a wrong clock. */
	{STATUS_ANY, "SignatureDoesNotMatch", SENT_SKEWED, CALL_SKEWED, ERR_DENIED, NULL},
	{STATUS_ANY, "Throttling", 0, CALL_SLOW_DOWN, ERR_RETRY, NULL},
	{STATUS_ANY, "IDPCommunicationError", 0, CALL_RETRY, ERR_RETRY, NULL},
	{408, NULL, 0, CALL_RETRY, ERR_RETRY, NULL},
	{429, NULL, 0, CALL_SLOW_DOWN, ERR_RETRY, NULL},
	{STATUS_FAULT, NULL, 0, CALL_RETRY, ERR_RETRY, NULL},
	{STATUS_ANY, NULL, 0, CALL_FAILED, ERR_DENIED, NULL},
};
// clang-format on

const struct reply_table aws_sts_replies = {sts_rows, sizeof(sts_rows) / sizeof(*sts_rows),
					    5 * 60 * 1000};

/* --- the container's endpoint --- */

bool aws_reply_uri_is_allowed(const char *uri)
{
	static const char *const fixed[] = {"169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"};
	const char *host = uri + strlen("http://");
	size_t length;

	if (!uri_is_absolute(uri) || uri_is_confidential(uri))
		return uri_is_absolute(uri);
	/* "http://169.254.170.2@elsewhere/" */
	if (strncasecmp(uri, "http://", 7) != 0 || memchr(host, '@', strcspn(host, "/?#")))
		return false;
	length = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":/?#");
	for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed); i++)
		if (length == strlen(fixed[i]) && strncasecmp(host, fixed[i], length) == 0)
			return true;
	return false;
}

/* --- the environment --- */

static int credentials_from_keys(struct fetch *fetch, const char *access, const char *secret,
				 const char *token)
{
	/* Whatever AWS_CREDENTIAL_EXPIRATION says, there will be no others. */
	*fetch->credentials = (struct credential){
		.access_key = text_copy(access),
		.secret_key = text_copy(secret),
		.session_token = token ? text_copy(token) : NULL,
		.expires_ms = CLOCK_NEVER,
	};
	return 0;
}

static int fetch_from_environment(struct fetch *fetch)
{
	const char *access = text_from_environment("AWS_ACCESS_KEY_ID");
	const char *secret = text_from_environment("AWS_SECRET_ACCESS_KEY");
	const char *token = text_from_environment("AWS_SESSION_TOKEN");

	if (!access && !secret)
		return NOT_SET_UP;
	if (!access || !secret)
		return err_set(fetch->err, ERR_INVALID, "%s is set, but not %s",
			       access ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY",
			       access ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID");
	text_set(fetch->text, sizeof(fetch->text), "environment (AWS_ACCESS_KEY_ID)");
	return credentials_from_keys(fetch, access, secret,
				     token ? token : text_from_environment("AWS_SECURITY_TOKEN"));
}

/* --- the container's endpoint: ECS, EKS Pod Identity --- */

static int read_metadata(struct fetch *fetch, const struct http_response *response)
{
	if (response->status != 200)
		return err_set(fetch->err, ERR_DENIED, "it answers %d", response->status);
	return aws_reply_json(response->body.data, response->body.size, fetch->credentials,
			      fetch->err);
}

/* *header stays NULL where there is no token; the file is read anew each time, for it is
 * replaced while we run. */
static int container_authorization(char **header, struct err *err)
{
	const char *path = text_from_environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
	const char *text = text_from_environment("AWS_CONTAINER_AUTHORIZATION_TOKEN");
	auto_(bytes_release) struct bytes token = {.limit = TOKEN_MOST};

	if (path) {
		if (file_read(path, &token, err) < 0 || bytes_append(&token, "", 1, err) < 0)
			return -1;
		text = (const char *)token.data;
	}
	if (!text)
		return 0;
	/* It would become another header. */
	if (text[strcspn(text, "\r\n")])
		return err_set(err, ERR_INVALID, "the authorization token holds a line's end");
	*header = text_format("Authorization: %s", text);
	return 0;
}

static int ask_container(struct fetch *fetch, const char *url)
{
	auto_free char *header = NULL;
	auto_(instance_metadata_close) struct instance_metadata client = {0};

	if (container_authorization(&header, fetch->err) < 0 ||
	    instance_metadata_open(&client, METADATA_AWS_CONTAINER, "", CONTAINER_TIMEOUT_MS,
				   fetch->err) < 0)
		return -1;
	client.tries = METADATA_TRIES;
	if (instance_metadata_send(&client, "GET", url, header, NULL, fetch->cancel, fetch->err) <
	    0)
		return -1;
	return read_metadata(fetch, &client.response);
}

static int fetch_from_container(struct fetch *fetch)
{
	const char *relative = text_from_environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
	const char *full = text_from_environment("AWS_CONTAINER_CREDENTIALS_FULL_URI");
	auto_free char *url = relative ? text_format("http://169.254.170.2%s", relative)
				       : text_copy(full ? full : "");

	if (!url[0])
		return NOT_SET_UP;
	text_set(fetch->text, sizeof(fetch->text), "container");
	if (!aws_reply_uri_is_allowed(url))
		return err_set(fetch->err, ERR_INVALID,
			       "AWS_CONTAINER_CREDENTIALS_FULL_URI: https, or http to this machine "
			       "or container platform only");
	if (ask_container(fetch, url) < 0)
		return err_wrap(fetch->err, "the container's credentials endpoint");
	return 0;
}

/* --- the instance's metadata service: IMDSv2 --- */

#define ROLES_PATH "/latest/meta-data/iam/security-credentials/"

/* Leaves the client without a token where the service is so old that it has none. */
static int open_instance(struct instance_metadata *client, struct cancel *cancel, struct err *err)
{
	struct metadata_aws_settings switches;
	struct metadata_endpoint endpoint;
	struct err own = {0};
	int status;

	instance_metadata_aws_settings(&switches);
	instance_metadata_endpoint(METADATA_AWS, &endpoint);
	if (instance_metadata_open(client, METADATA_AWS, endpoint.url, switches.timeout_ms, err) <
	    0)
		return -1;
	client->tries = METADATA_TRIES;
	if (instance_metadata_renew_token(client, cancel, &own) == 0)
		return 0;
	status = client->response.status;
	if (switches.allows_tokenless && (status == 403 || status == 404 || status == 405))
		return 0;
	return err_set(err, own.kind, "%s", own.text);
}

/* The name of the instance's role: the first line there. The caller frees. */
static int get_role(struct instance_metadata *client, char **role, struct cancel *cancel,
		    struct err *err)
{
	const struct bytes *body = &client->response.body;
	int status;

	if (instance_metadata_get(client, ROLES_PATH, cancel, err) < 0)
		return -1;
	status = client->response.status;
	if (status == 404)
		return err_set(err, ERR_DENIED, "the instance has no role");
	if (status != 200)
		return err_set(err, ERR_DENIED, "it answers %d", status);
	*role = text_copy_n(body->size ? (const char *)body->data : "", body->size);
	(*role)[strcspn(*role, "\r\n")] = '\0';
	return **role ? 0 : err_set(err, ERR_FAILED, "it answers with nothing");
}

static int ask_instance(struct fetch *fetch)
{
	auto_(instance_metadata_close) struct instance_metadata client = {0};
	auto_free char *role = NULL, *path = NULL;

	/* The role may be another than last time. */
	if (open_instance(&client, fetch->cancel, fetch->err) < 0 ||
	    get_role(&client, &role, fetch->cancel, fetch->err) < 0)
		return -1;
	path = text_format(ROLES_PATH "%s", role);
	snprintf(fetch->text, sizeof(fetch->text), "instance (role %.100s)", role);
	if (instance_metadata_get(&client, path, fetch->cancel, fetch->err) < 0)
		return -1;
	return read_metadata(fetch, &client.response);
}

static int fetch_from_instance(struct fetch *fetch)
{
	struct metadata_aws_settings switches;

	instance_metadata_aws_settings(&switches);
	if (switches.is_disabled)
		return NOT_SET_UP;
	if (ask_instance(fetch) < 0)
		return err_wrap(fetch->err, "no AWS credentials: set AWS_ACCESS_KEY_ID and "
					    "AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or use a role; "
					    "metadata service");
	return 0;
}

/* --- roles, from the Security Token Service: for other credentials (signed), or for the token of a
 * cluster or another identity provider --- */

#define CONTENT_TYPE "application/x-www-form-urlencoded; charset=utf-8"

struct aws_role {
	const char *arn;
	const char *session;     /* NULL: made up */
	const char *external_id; /* NULL: none */
	const char *duration;    /* seconds; NULL: the service's default */
	const char *token_file;  /* web identity, where `by` is NULL */
	const struct credential *by;
};

struct sts_call {
	const char *endpoint, *region;
	int64_t now_ms; /* of the last try */
	const struct bytes *form;
	const struct credential *by; /* NULL: unsigned */
};

/* A form with a token in it does not stay in memory. */
static void form_release(struct bytes *form)
{
	if (form->data)
		explicit_bzero(form->data, form->capacity);
	bytes_release(form);
}
AUTO(struct bytes, form_release);

static void sign_request(const struct sts_call *call, struct call_request *request)
{
	const char *host = strstr(call->endpoint, "://") + 3;
	auto_free char *authority = text_copy_n(host, strcspn(host, "/"));
	const struct sigv4_identity identity = {call->by->access_key, call->by->secret_key,
						call->region, "sts"};
	const struct sigv4_header headers[] = {
		{"host", authority},
		{"content-type", CONTENT_TYPE},
		{"x-amz-security-token", call->by->session_token},
	};
	uint8_t digest[DIGEST_SIZE];
	char hash[2 * DIGEST_SIZE + 1];
	struct sigv4_signed result;

	digest_sha256(call->form->data, call->form->size, digest);
	text_hex(digest, sizeof(digest), hash);
	sigv4_sign(&(struct sigv4_request){"POST", "/", "", hash, headers,
					   call->by->session_token ? 3 : 2},
		   &identity, call->now_ms, &result);
	call_request_add_header(request, "Host: %s", authority);
	call_request_add_header(request, "x-amz-date: %s", result.date);
	call_request_add_header(request, "Authorization: %s", result.authorization);
	if (call->by->session_token)
		call_request_add_header(request, "x-amz-security-token: %s",
					call->by->session_token);
	sigv4_signed_release(&result);
}

static int prepare_request(void *arg, int64_t now_ms, struct call_request *request,
			   struct cancel *cancel, struct err *err)
{
	struct sts_call *call = arg;

	(void)cancel, (void)err;
	call->now_ms = now_ms;
	call_request_set_url(request, call->endpoint);
	call_request_add_header(request, "Content-Type: " CONTENT_TYPE);
	if (call->by)
		sign_request(call, request);
	return 0;
}

static enum call_verdict judge_response(void *arg, const struct http_response *response,
					struct err *err)
{
	const struct sts_call *call = arg;
	struct store_reply reply;

	store_reply_read(&reply, response, 0, call->now_ms);
	return store_reply_judge(&aws_sts_replies, &reply, err);
}

static char *sts_endpoint_url(const struct aws_settings *settings, const char *region)
{
	auto_free char *endpoint = NULL;

	if (!settings->sts_endpoint)
		return text_format("https://sts.%s.amazonaws.com%s/", region,
				   text_starts(region, "cn-") ? ".cn" : "");
	endpoint = text_copy(settings->sts_endpoint);
	while (text_ends(endpoint, "/"))
		endpoint[strlen(endpoint) - 1] = '\0';
	return text_format("%s/", endpoint);
}

static int call_sts(struct fetch *fetch, const struct bytes *form, const struct credential *by)
{
	const struct aws_settings *settings = fetch->settings;
	const char *region = settings->region ? settings->region : "us-east-1";
	auto_free char *endpoint = sts_endpoint_url(settings, region);
	struct sts_call sts = {endpoint, region, 0, form, by};
	const struct retried_call call = {
		.method = "POST",
		.body = form->data,
		.body_size = form->size,
		.arg = &sts,
		.prepare = prepare_request,
		.judge = judge_response,
	};
	auto_(retrying_client_free) struct retrying_client *remote =
		retrying_client_new(STS_PATIENCE_MS, settings->ca_file, "AWS_CA_BUNDLE");
	auto_(http_response_release) struct http_response response = {.body.limit = REPLY_MOST};
	int result;

	if (!s3_address_is_region(region) || !strstr(endpoint, "://") ||
	    !uri_is_confidential(endpoint))
		return err_set(fetch->err, ERR_INVALID,
			       "STS: a region and an endpoint that is https:// (or on this "
			       "machine) are needed");
	result = retrying_client_perform(remote, &call, &response, fetch->cancel, fetch->err);
	if (result == 0)
		result = aws_reply_sts(response.body.data, response.body.size, fetch->credentials,
				       fetch->err);
	if (response.body.data)
		explicit_bzero(response.body.data, response.body.size);
	return result < 0 ? err_wrap(fetch->err, "STS at %s", endpoint) : 0;
}

/* A session's name stands in AWS's audit trail: the machine's name tells most there. */
static char *session_name(const struct aws_role *role)
{
	char host[65] = "";
	char *name;

	if (role->session)
		return text_copy(role->session);
	if (gethostname(host, sizeof(host) - 1) < 0)
		host[0] = '\0';
	name = text_format("reprieve-%.50s", host);
	for (char *at = name; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr("=,.@-", *at))
			*at = '-';
	return name;
}

static int assume_role(struct fetch *fetch, const struct aws_role *role)
{
	auto_(form_release) struct bytes form = {0};
	auto_(secret_free) char *token = NULL;
	auto_free char *session = session_name(role);

	if (!role->by && bearer_token_read_file(role->token_file, &token, fetch->err) < 0)
		return err_wrap(fetch->err, "web identity token");
	uri_add(&form, "Action", role->by ? "AssumeRole" : "AssumeRoleWithWebIdentity");
	uri_add(&form, "Version", "2011-06-15");
	uri_add(&form, "RoleArn", role->arn);
	uri_add(&form, "RoleSessionName", session);
	if (role->duration)
		uri_add(&form, "DurationSeconds", role->duration);
	if (role->by && role->external_id)
		uri_add(&form, "ExternalId", role->external_id);
	if (!role->by)
		uri_add(&form, "WebIdentityToken", token);
	if (call_sts(fetch, &form, role->by) < 0)
		return err_wrap(fetch->err, "role %s", role->arn);
	return 0;
}

/* As EKS sets it up. */
static int fetch_with_web_identity(struct fetch *fetch)
{
	const struct aws_role role = {
		.arn = text_from_environment("AWS_ROLE_ARN"),
		.session = text_from_environment("AWS_ROLE_SESSION_NAME"),
		.token_file = text_from_environment("AWS_WEB_IDENTITY_TOKEN_FILE"),
	};
	if (!role.arn || !role.token_file)
		return NOT_SET_UP;
	snprintf(fetch->text, sizeof(fetch->text), "web identity (role %s)", role.arn);
	return assume_role(fetch, &role);
}

/* --- credential_process: with it, single sign-on and any vault can be a source --- */

static int fetch_from_process(struct fetch *fetch, const char *command)
{
	char *const argv[] = {(char *)"/bin/sh", (char *)"-c", (char *)command, NULL};
	const struct program program = {
		.argv = argv,
		.timeout_ms = PROCESS_TIMEOUT_MS,
		.cancel = fetch->cancel,
	};
	auto_(bytes_release) struct bytes output = {.limit = TOKEN_MOST};
	int status, result = program_run(&program, &output, &status, fetch->err);

	if (result == 0 && status != 0)
		result = err_set(fetch->err, ERR_DENIED, "it failed (%s %d)",
				 WIFEXITED(status) ? "exit code" : "signal",
				 WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
	if (result == 0)
		result = aws_reply_json(output.data, output.size, fetch->credentials, fetch->err);
	if (output.data)
		explicit_bzero(output.data, output.size);
	/* The command itself may hold a secret. */
	return result < 0 ? err_wrap(fetch->err, "credential_process") : 0;
}

/* --- the profile: keys, a role on top of another profile or source, a process --- */

static const char *profile_value(const struct fetch *fetch, const char *profile, const char *name)
{
	return aws_ini_get(&fetch->settings->profiles, "profile", profile, name);
}

static int fetch_profile_keys(struct fetch *fetch, const char *profile)
{
	const char *access = profile_value(fetch, profile, "aws_access_key_id");
	const char *secret = profile_value(fetch, profile, "aws_secret_access_key");

	if (!access || !secret)
		return err_set(fetch->err, ERR_INVALID, "%s is missing",
			       access ? "aws_secret_access_key" : "aws_access_key_id");
	return credentials_from_keys(fetch, access, secret,
				     profile_value(fetch, profile, "aws_session_token"));
}

static int fetch_profile(struct fetch *fetch, const char *profile);

static int fetch_profile_role(struct fetch *fetch, const char *profile)
{
	const char *by_profile = profile_value(fetch, profile, "source_profile");
	auto_(credential_clear) struct credential by = {0};
	struct aws_role role = {
		.arn = profile_value(fetch, profile, "role_arn"),
		.session = profile_value(fetch, profile, "role_session_name"),
		.external_id = profile_value(fetch, profile, "external_id"),
		.duration = profile_value(fetch, profile, "duration_seconds"),
		.token_file = profile_value(fetch, profile, "web_identity_token_file"),
	};
	struct fetch source = *fetch;
	int result;

	if (role.token_file)
		return assume_role(fetch, &role);
	role.by = source.credentials = &by;
	/* A profile may name itself: then its own keys are meant. */
	if (by_profile && strcmp(by_profile, profile) == 0)
		result = fetch_profile_keys(&source, profile);
	else if (by_profile)
		result = fetch_profile(&source, by_profile);
	else
		result = err_set(fetch->err, ERR_INVALID,
				 "role_arn needs a source_profile or a web_identity_token_file");
	return result < 0 ? -1 : assume_role(fetch, &role);
}

static int fetch_profile(struct fetch *fetch, const char *profile)
{
	const char *process = profile_value(fetch, profile, "credential_process");
	int result;

	if (fetch->profiles++ == PROFILES_MOST)
		return err_set(fetch->err, ERR_INVALID,
			       "profile %s: source_profile goes in circles", profile);
	if (!aws_ini_has_profile(&fetch->settings->profiles, profile))
		return err_set(fetch->err, ERR_INVALID, "there is no profile \"%.100s\"", profile);
	if (profile_value(fetch, profile, "role_arn"))
		result = fetch_profile_role(fetch, profile);
	else if (profile_value(fetch, profile, "aws_access_key_id"))
		result = fetch_profile_keys(fetch, profile);
	else if (process)
		result = fetch_from_process(fetch, process);
	else if (profile_value(fetch, profile, "sso_account_id") ||
		 profile_value(fetch, profile, "login_session"))
		result = err_set(fetch->err, ERR_INVALID,
				 "single sign-on works by way of: credential_process = aws "
				 "configure export-credentials --profile %.60s --format process",
				 profile);
	else
		result = err_set(fetch->err, ERR_INVALID, "it holds no credentials");
	return result < 0 ? err_wrap(fetch->err, "profile %.100s", profile) : 0;
}

static int fetch_from_profile(struct fetch *fetch)
{
	static const char *const any[] = {"role_arn", "aws_access_key_id", "credential_process",
					  "sso_account_id", "login_session"};
	const char *name = fetch->settings->profile, *role;
	bool is_set_up = fetch->settings->profile_is_named;
	/* Others write these files while we run: with a new session, a rotated key. */
	auto_(aws_settings_release) struct aws_settings now = {0};
	struct fetch fresh = *fetch;
	for (size_t i = 0; i < sizeof(any) / sizeof(*any); i++)
		is_set_up = is_set_up || profile_value(fetch, name, any[i]);
	if (!is_set_up)
		return NOT_SET_UP;
	if (aws_settings_load(&now, fetch->err) < 0)
		return -1;
	fresh.settings = &now;
	role = profile_value(&fresh, name, "role_arn");
	snprintf(fetch->text, sizeof(fetch->text), role ? "profile %s (role %s)" : "profile %s",
		 name, role);
	return fetch_profile(&fresh, name);
}

/* --- the chain --- */

static int (*const sources[])(struct fetch *fetch) = {
	fetch_from_environment, fetch_from_profile,  fetch_with_web_identity,
	fetch_from_container,   fetch_from_instance,
};

enum {
	SOURCES = sizeof(sources) / sizeof(*sources)
};

struct aws_chain {
	const struct aws_settings *settings;
	struct credential_cache cache;
	size_t source; /* changed during a fetch alone; SOURCES: none has given any yet */
	/* Holds what aws_chain_source() reads beside a fetch. */
	pthread_mutex_t mutex;
	char text[256];
};

static int fetch_first(struct fetch *fetch, size_t *source)
{
	for (*source = 0; *source < SOURCES; ++*source) {
		int result = sources[*source](fetch);

		if (result != NOT_SET_UP)
			return result;
	}
	return err_set(fetch->err, ERR_DENIED,
		       "there are none: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a "
		       "profile");
}

static int fetch_credentials(void *arg, struct credential *fresh, struct cancel *cancel,
			     struct err *err)
{
	struct aws_chain *chain = arg;
	struct fetch fetch = {chain->settings, fresh, cancel, err, 0, ""};
	size_t source = chain->source;

	if ((source < SOURCES ? sources[source](&fetch) : fetch_first(&fetch, &source)) != 0)
		return err_wrap(err, "credentials");
	if (fresh->expires_ms != CLOCK_NEVER)
		fresh->expires_ms = clock_from_wall_ms(fresh->expires_ms);
	pthread_mutex_lock(&chain->mutex);
	chain->source = source;
	text_set(chain->text, sizeof(chain->text), fetch.text);
	pthread_mutex_unlock(&chain->mutex);
	return 0;
}

static const struct credential_source credential_source = {
	.fetch = fetch_credentials,
	/* A metadata service has the next ones some minutes before. */
	.refresh_ahead_ms = 15 * 60 * 1000,
	.rest_ms = 60 * 1000,
};

struct aws_chain *aws_chain_new(const struct aws_settings *settings)
{
	struct aws_chain *chain = memory_new(sizeof(*chain));

	chain->settings = settings;
	chain->source = SOURCES;
	credential_cache_init(&chain->cache, &credential_source, chain);
	pthread_mutex_init(&chain->mutex, NULL);
	return chain;
}

void aws_chain_free(struct aws_chain *chain)
{
	if (!chain)
		return;
	credential_cache_release(&chain->cache);
	pthread_mutex_destroy(&chain->mutex);
	free(chain);
}

struct credential_cache *aws_chain_credentials(struct aws_chain *chain)
{
	return &chain->cache;
}

const char *aws_chain_source(struct aws_chain *chain, char *text, size_t capacity)
{
	pthread_mutex_lock(&chain->mutex);
	text_set(text, capacity, chain->source < SOURCES ? chain->text : "none yet");
	pthread_mutex_unlock(&chain->mutex);
	return text;
}
