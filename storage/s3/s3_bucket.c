#include "s3_bucket.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "storage/aws/aws.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	HEADERS_MOST = 32
};

/* A call with what its tries have to remember. */
struct call_attempt {
	struct s3_bucket *bucket;
	const struct store_call *call;
	/* Of the body, for x-amz-checksum-crc32c; "": none. */
	char checksum[CRC32C_TEXT];
	/* Of the last try. */
	struct aws_credentials used;
};

/* --- preparing --- */

struct headers {
	struct sigv4_header items[HEADERS_MOST];
	size_t count;
};

static void add_header(struct headers *headers, const char *name, const char *value)
{
	if (headers->count == HEADERS_MOST)
		abort(); /* settings allow 16 */
	headers->items[headers->count++] = (struct sigv4_header){name, value};
}

/* Encryption with the customer's own key and the expected owner concern every request; the others
 * what is put. */
static bool header_applies(const struct call_attempt *call_attempt, const char *name)
{
	return call_attempt->call->asked & ASKED_PUT ||
	       text_starts(name, "x-amz-server-side-encryption-customer-") ||
	       strcmp(name, "x-amz-expected-bucket-owner") == 0;
}

static void collect_headers(const struct call_attempt *call_attempt, const char *host,
			    struct headers *headers)
{
	const struct aws_settings *settings = &call_attempt->bucket->settings;

	add_header(headers, "host", host);
	add_header(headers, "x-amz-content-sha256", SIGV4_UNSIGNED);
	if (call_attempt->used.session_token)
		add_header(headers, "x-amz-security-token", call_attempt->used.session_token);
	if (settings->requester_pays)
		add_header(headers, "x-amz-request-payer", "requester");
	if (call_attempt->call->asked == ASKED_PUT_IF_ABSENT)
		add_header(headers, "if-none-match", "*");
	if (call_attempt->call->range)
		add_header(headers, "range", call_attempt->call->range);
	if (call_attempt->checksum[0])
		add_header(headers, "x-amz-checksum-crc32c", call_attempt->checksum);
	for (char **at = settings->headers; *at; at += 2)
		if (header_applies(call_attempt, at[0]))
			add_header(headers, at[0], at[1]);
}

static void sign_request(const struct call_attempt *call_attempt, const char *host,
			 const char *path, const char *region, int64_t now_ms,
			 struct call_request *request)
{
	const struct sigv4_identity identity = {
		.access_key = call_attempt->used.access_key,
		.secret_key = call_attempt->used.secret_key,
		.region = region,
		.service = "s3",
	};
	struct headers headers = {0};
	struct sigv4_signed result;

	collect_headers(call_attempt, host, &headers);
	sigv4_sign(
		&(struct sigv4_request){
			.method = store_call_method(call_attempt->call),
			.path = path,
			.query = call_attempt->call->query,
			.payload_hash = SIGV4_UNSIGNED,
			.headers = headers.items,
			.header_count = headers.count,
		},
		&identity, now_ms, &result);
	for (size_t i = 0; i < headers.count; i++)
		call_request_add_header(request, "%s: %s", headers.items[i].name,
					headers.items[i].value);
	call_request_add_header(request, "x-amz-date: %s", result.date);
	call_request_add_header(request, "Authorization: %s", result.authorization);
	sigv4_signed_release(&result);
}

static int prepare_request(void *arg, const struct call_try *attempt, struct call_request *request,
			   struct cancel *cancel, struct err *err)
{
	struct call_attempt *call_attempt = arg;
	struct s3_bucket *bucket = call_attempt->bucket;
	const struct aws_credentials *refused = attempt->refresh ? &call_attempt->used : NULL;
	auto_free char *host = NULL, *path = NULL, *region = NULL, *url = NULL;
	struct aws_credentials credentials;

	if (aws_chain_get(bucket->chain, refused, &credentials, cancel, err) < 0)
		return err_wrap(err, "credentials");
	aws_credentials_release(&call_attempt->used);
	call_attempt->used = credentials;
	pthread_mutex_lock(&bucket->mutex);
	host = bucket->host ? text_copy(bucket->host) : s3_address_host(&bucket->address);
	path = s3_address_path(&bucket->address, call_attempt->call->key);
	region = text_copy(bucket->address.region);
	pthread_mutex_unlock(&bucket->mutex);
	url = text_format("%s://%s%s%s%s", bucket->address.tls ? "https" : "http", host, path,
			  call_attempt->call->query[0] ? "?" : "", call_attempt->call->query);
	call_request_set_url(request, url);
	if (call_attempt->call->asked & ASKED_PUT)
		call_request_add_header(request, "Content-Type: application/octet-stream");
	sign_request(call_attempt, host, path, region, attempt->now_ms, request);
	return 0;
}

/* --- judging --- */

static void note_move(struct s3_bucket *bucket, const struct s3_move *move)
{
	pthread_mutex_lock(&bucket->mutex);
	if (move->region[0]) {
		free(bucket->address.region);
		bucket->address.region = text_copy(move->region);
		free(steal(&bucket->host));
	}
	if (move->host[0]) {
		free(bucket->host);
		bucket->host = text_copy(move->host);
	}
	pthread_mutex_unlock(&bucket->mutex);
}

static enum call_verdict judge_response(void *arg, const struct http_response *response,
					struct err *err)
{
	struct call_attempt *call_attempt = arg;
	const struct s3_reply reply = {
		.status = response->status,
		.region = http_header(response, "x-amz-bucket-region"),
		.location = http_header(response, "location"),
		.etag = http_header(response, "etag"),
		.body = response->body.data,
		.size = response->body.size,
	};
	struct s3_move move;
	enum call_verdict verdict = s3_reply_judge(call_attempt->call->asked, &reply, &move, err);

	if (verdict == CALL_MOVED)
		note_move(call_attempt->bucket, &move);
	return verdict;
}

int s3_bucket_perform(struct s3_bucket *bucket, const struct store_call *call,
		      struct http_response *response, struct cancel *cancel, struct err *err)
{
	struct call_attempt call_attempt = {.bucket = bucket, .call = call};
	const struct retried_call retried =
		store_call_retried(call, &call_attempt, prepare_request, judge_response);
	int result;

	if (call->asked & ASKED_PUT && bucket->settings.checksums)
		crc32c_text(crc32c(call->body, call->body_size), call_attempt.checksum);
	result = retrying_client_perform(bucket->client, &retried, response, cancel, err);
	aws_credentials_release(&call_attempt.used);
	if (result == 0)
		return 0;
	return err_wrap(err, "%s s3://%s/%s%s", retried.method, bucket->address.bucket,
			call->key ? bucket->address.prefix : "", call->key ? call->key : "");
}

/* --- the whole of it --- */

int s3_bucket_init(struct s3_bucket *bucket, const char *url, struct err *err)
{
	*bucket = (struct s3_bucket){0};
	pthread_mutex_init(&bucket->mutex, NULL);
	if (aws_settings_load(&bucket->settings, err) < 0 ||
	    s3_address_init(&bucket->address, url, bucket->settings.endpoint,
			    bucket->settings.region ? bucket->settings.region : "us-east-1",
			    bucket->settings.style, err) < 0) {
		s3_bucket_release(bucket);
		return -1;
	}
	bucket->chain = aws_chain_new(&bucket->settings);
	bucket->client = retrying_client_new(
		&(struct retrying_client_options){.ca_file = bucket->settings.ca_file,
						  .ca_variable = "AWS_CA_BUNDLE"});
	return 0;
}

void s3_bucket_release(struct s3_bucket *bucket)
{
	retrying_client_free(bucket->client);
	aws_chain_free(bucket->chain);
	aws_settings_release(&bucket->settings);
	s3_address_release(&bucket->address);
	free(bucket->host);
	pthread_mutex_destroy(&bucket->mutex);
}

void s3_bucket_describe(struct s3_bucket *bucket, char *text, size_t capacity)
{
	auto_free char *host = NULL;

	pthread_mutex_lock(&bucket->mutex);
	host = bucket->host ? text_copy(bucket->host) : s3_address_host(&bucket->address);
	snprintf(text, capacity, "%s://%s, region %s", bucket->address.tls ? "https" : "http", host,
		 bucket->address.region);
	pthread_mutex_unlock(&bucket->mutex);
}
