/* The signer against the official test suite (tests/vectors/sigv4): canonical request, string to
 * sign, signature, header. */
#include "storage/aws/sigv4.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/json.h"
#include "base/walk.h"
#include "storage/http/uri.h"

#include "unit.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define HEADERS_MOST 16

struct vector {
	char *text; /* request.txt, cut up in place */
	char *method, *target, *body;
	struct sigv4_header headers[HEADERS_MOST];
	size_t header_count;
};

static char *read_text(const char *folder, const char *name)
{
	auto_free char *path = text_format("%s/%s", folder, name);
	struct bytes text = {0};
	struct err err = {0};

	if (file_read(path, &text, &err) < 0)
		fail_msg("%s", err.text);
	bytes_append(&text, "", 1, NULL);
	return (char *)text.data;
}

/* Ends the line at `text` and returns the next one. A line that begins with a
 * blank goes on with the one before. */
static char *cut_line(char *text)
{
	char *end = text + strcspn(text, "\n");

	while (end[0] && end[1] == ' ')
		end += 1 + strcspn(end + 1, "\n");
	if (!*end)
		return end;
	*end = '\0';
	return end + 1;
}

static void parse_vector(struct vector *vector, const char *folder)
{
	char *at, *line;

	*vector = (struct vector){.text = read_text(folder, "request.txt")};
	line = vector->text;
	at = cut_line(line);
	vector->method = line;
	vector->target = strchr(line, ' ') + 1;
	vector->target[-1] = '\0';
	*strrchr(vector->target, ' ') = '\0';
	while (*at && *at != '\n') {
		line = at;
		at = cut_line(at);
		assert_true(vector->header_count < HEADERS_MOST);
		vector->headers[vector->header_count].name = line;
		line = strchr(line, ':');
		*line = '\0';
		for (char *c = line; c > vector->headers[vector->header_count].name; c--)
			c[-1] = (char)tolower((unsigned char)c[-1]);
		vector->headers[vector->header_count++].value = line + 1;
	}
	vector->body = *at ? at + 1 : at;
}

static void add_header(struct vector *vector, const char *name, const char *value)
{
	assert_true(vector->header_count < HEADERS_MOST);
	vector->headers[vector->header_count++] = (struct sigv4_header){name, value};
}

/* Encodes what the suite leaves raw. */
static char *encode_query(char *query)
{
	struct bytes out = {0};

	for (char *pair = strtok(query, "&"); pair; pair = strtok(NULL, "&")) {
		size_t name = strcspn(pair, "=");
		auto_free char *plain_name = uri_decode(pair, name);
		auto_free char *plain =
			pair[name] ? uri_decode(pair + name + 1, strlen(pair + name + 1))
				   : text_copy("");

		uri_add(&out, plain_name, plain);
	}
	bytes_append(&out, "", 1, NULL);
	return (char *)out.data;
}

/* False where only the normalising of other services, a query in another order, or a header that
 * is there twice would lead to the expected request: we send none of them. */
static bool vector_applies(const char *folder, const struct vector *vector, const char *path,
			   const char *query)
{
	auto_free char *canonical = read_text(folder, "header-canonical-request.txt");
	auto_free char *start = text_format("%s\n%s\n%s\n", vector->method, path, query);

	for (size_t i = 1; i < vector->header_count; i++)
		for (size_t j = 0; j < i; j++)
			if (strcmp(vector->headers[i].name, vector->headers[j].name) == 0)
				return false;
	return text_starts(canonical, start);
}

static void check_text(const char *folder, const char *name, const struct bytes *is)
{
	auto_free char *expected = read_text(folder, name);

	if (strlen(expected) != is->size || memcmp(expected, is->data, is->size) != 0)
		fail_msg("%s/%s: expected\n%s\nis\n%.*s", folder, name, expected, (int)is->size,
			 (const char *)is->data);
}

static void check_header(const char *folder, const struct sigv4_signed *result)
{
	auto_free char *expected = read_text(folder, "header-signed-request.txt");
	auto_free char *line = text_format("\nAuthorization:%s\n", result->authorization);

	if (!strstr(expected, line))
		fail_msg("%s: not in the signed request: %s", folder, line);
}

static void check_signed(const char *folder, struct vector *vector, json_t *context,
			 const char *path, const char *query)
{
	json_t *credentials = json_object_get(context, "credentials");
	const char *token = json_text_or(credentials, "token", NULL);
	struct sigv4_identity identity = {
		.access_key = json_text_or(credentials, "access_key_id", ""),
		.secret_key = json_text_or(credentials, "secret_access_key", ""),
		.region = json_text_or(context, "region", ""),
		.service = json_text_or(context, "service", ""),
	};
	uint8_t digest[DIGEST_SIZE];
	char hash[2 * DIGEST_SIZE + 1];
	struct sigv4_signed result;
	struct bytes signature = {0};
	int64_t now_ms;

	digest_sha256(vector->body, strlen(vector->body), digest);
	text_hex(digest, sizeof(digest), hash);
	if (token && !json_true_or(context, "omit_session_token", false))
		add_header(vector, "x-amz-security-token", token);
	if (json_true_or(context, "sign_body", false))
		add_header(vector, "x-amz-content-sha256", hash);
	assert_true(datetime_parse(json_text_or(context, "timestamp", ""), &now_ms));
	sigv4_sign(
		&(struct sigv4_request){
			.method = vector->method,
			.path = path,
			.query = query,
			.payload_hash = hash,
			.headers = vector->headers,
			.header_count = vector->header_count,
		},
		&identity, now_ms, &result);
	check_text(folder, "header-canonical-request.txt", &result.canonical);
	check_text(folder, "header-string-to-sign.txt", &result.to_sign);
	bytes_append(&signature, result.signature, 64, NULL);
	check_text(folder, "header-signature.txt", &signature);
	check_header(folder, &result);
	bytes_release(&signature);
	sigv4_signed_release(&result);
}

static bool check_vector(const char *folder)
{
	auto_free char *text = read_text(folder, "context.json");
	auto_json json_t *context = json_parse(text, strlen(text), NULL);
	auto_free char *path = NULL, *query = NULL;
	struct vector vector;
	char *mark;
	bool applies;

	assert_non_null(context);
	parse_vector(&vector, folder);
	mark = strchr(vector.target, '?');
	if (mark)
		*mark = '\0';
	path = uri_encode(vector.target, true);
	query = mark ? encode_query(mark + 1) : text_copy("");
	applies = vector_applies(folder, &vector, path, query);
	if (applies)
		check_signed(folder, &vector, context, path, query);
	free(vector.text);
	return applies;
}

static void test_official_suite(void **state)
{
	auto_(walk_close) struct walk walk = {0};
	unsigned checked = 0, others = 0;

	(void)state;
	assert_int_equal(walk_open(&walk, SIGV4_VECTORS, 0), 0);
	while (walk_next(&walk)) {
		auto_free char *folder = text_format("%s/%s", SIGV4_VECTORS, walk.name);

		if (walk.name[0] == '.' || !file_is_directory(folder))
			continue;
		if (check_vector(folder))
			checked++;
		else
			others++;
	}
	assert_int_equal(checked + others, 38);
	assert_int_equal(others, 10);
}

static void test_header_order(void **state)
{
	const struct sigv4_header headers[] = {{"x-amz-meta-a-b", "1"},
					       {"x-amz-meta-a", " 2\t 3 "},
					       {"host", "h"}};
	const struct sigv4_identity identity = {"A", "S", "r", "s3"};
	static const char expected[] =
		"PUT\n/k\n\nhost:h\nx-amz-date:19700101T000000Z\nx-amz-meta-a:2 3\n"
		"x-amz-meta-a-b:1\n\nhost;x-amz-date;x-amz-meta-a;x-amz-meta-a-b\n"
		"UNSIGNED-PAYLOAD";
	struct sigv4_signed result;

	(void)state;
	sigv4_sign(&(struct sigv4_request){"PUT", "/k", "", SIGV4_UNSIGNED, headers, 3}, &identity,
		   0, &result);
	assert_int_equal(result.canonical.size, strlen(expected));
	assert_memory_equal(result.canonical.data, expected, strlen(expected));
	sigv4_signed_release(&result);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_official_suite),
		cmocka_unit_test(test_header_order),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
