#include "aws_reply_credentials.h"

#include "base/cleanup.h"
#include "base/datetime.h"
#include "base/json.h"
#include "base/text.h"
#include "storage/http/http.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

static void set_printable(char *target, size_t capacity, const char *text)
{
	text_set(target, capacity, text);
	text_to_line(target);
}

/* They go into headers. */
static bool is_header_safe(const char *text)
{
	for (const char *at = text; *at; at++)
		if (*at <= ' ' || *at > '~')
			return false;
	return text[0] != '\0';
}

static int fill_credentials(const char *access, const char *secret, const char *token,
			    const char *expiration, struct aws_credentials *credentials,
			    struct err *err)
{
	int64_t expires_ms = CLOCK_NEVER;

	if (!access || !secret || !is_header_safe(access) || !is_header_safe(secret))
		return err_set(err, ERR_FAILED, "the answer holds no credentials");
	if (token && token[0] && !is_header_safe(token))
		return err_set(err, ERR_FAILED, "the answer holds a session token that is none");
	if (expiration && expiration[0] && !datetime_parse(expiration, &expires_ms))
		return err_set(err, ERR_FAILED, "the answer holds an expiration that is no time");
	*credentials = (struct aws_credentials){
		.access_key = text_copy(access),
		.secret_key = text_copy(secret),
		.session_token = token && token[0] ? text_copy(token) : NULL,
		.expires_ms = expires_ms,
	};
	return 0;
}

int aws_reply_json(const void *body, size_t size, struct aws_credentials *credentials,
		   struct err *err)
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
	char code[64], message[256];
};

static void free_secret(char *text)
{
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
}

static void sts_reply_release(struct sts_reply *sts)
{
	free(sts->access);
	free_secret(sts->secret);
	free_secret(sts->token);
	free(sts->expiration);
}
AUTO(struct sts_reply, sts_reply_release);

static void replace_secret(char **target, const char *text)
{
	free_secret(*target);
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
	else if (text_ends(path, "Error/Code"))
		set_printable(sts->code, sizeof(sts->code), text);
	else if (text_ends(path, "Error/Message"))
		set_printable(sts->message, sizeof(sts->message), text);
}

int aws_reply_sts(const void *body, size_t size, struct aws_credentials *credentials,
		  struct err *err)
{
	auto_(sts_reply_release) struct sts_reply sts = {0};

	if (xml_read(body, size, read_element, &sts, err) < 0)
		return -1;
	return fill_credentials(sts.access, sts.secret, sts.token, sts.expiration, credentials,
				err);
}

enum call_verdict aws_reply_judge_sts(int status, const void *body, size_t size, struct err *err)
{
	static const char *const passing[] = {"IDPCommunicationError", "InternalFailure",
					      "InternalError", "ServiceUnavailable"};
	static const char *const skewed[] = {"RequestExpired", "RequestTimeTooSkewed"};
	auto_(sts_reply_release) struct sts_reply sts = {0};
	bool again = status >= 500 || status == 408;

	if (status == 200)
		return CALL_DONE;
	if (size)
		xml_read(body, size, read_element, &sts, NULL);
	for (size_t i = 0; i < sizeof(passing) / sizeof(*passing); i++)
		again = again || strcmp(sts.code, passing[i]) == 0;
	err_set(err, again ? ERR_RETRY : ERR_DENIED, "%d %s%s%s", status, sts.code,
		sts.message[0] ? ": " : "", sts.message);
	for (size_t i = 0; i < sizeof(skewed) / sizeof(*skewed); i++)
		if (strcmp(sts.code, skewed[i]) == 0)
			return CALL_SKEWED;
	/* "Signature expired", "Signature not yet current": STS has no code of its
	 * own for a wrong clock. */
	if (strcmp(sts.code, "SignatureDoesNotMatch") == 0 &&
	    strncmp(sts.message, "Signature ", 10) == 0)
		return CALL_SKEWED;
	if (status == 429 || strcmp(sts.code, "Throttling") == 0) {
		if (err)
			err->kind = ERR_RETRY;
		return CALL_SLOW_DOWN;
	}
	return again ? CALL_RETRY : CALL_FAILED;
}

/* --- the container's endpoint --- */

bool aws_reply_uri_is_allowed(const char *uri)
{
	static const char *const fixed[] = {"localhost", "[::1]", "169.254.170.2", "169.254.170.23",
					    "[fd00:ec2::23]"};
	const char *host;
	size_t length;
	struct in_addr address;
	char text[64];

	for (const char *at = uri; *at; at++)
		if (*at <= ' ' || *at > '~')
			return false;
	if (strncasecmp(uri, "https://", 8) == 0)
		return uri[8] != '\0';
	if (strncasecmp(uri, "http://", 7) != 0)
		return false;
	host = uri + 7;
	/* "http://169.254.170.2@elsewhere/" */
	if (memchr(host, '@', strcspn(host, "/?#")))
		return false;
	length = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":/?#");
	if (length >= sizeof(text))
		return false;
	text_set(text, length + 1, host);
	for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed); i++)
		if (strcasecmp(text, fixed[i]) == 0)
			return true;
	return inet_pton(AF_INET, text, &address) == 1 && ntohl(address.s_addr) >> 24 == 127;
}
