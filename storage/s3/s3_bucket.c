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
struct trying {
	struct s3_bucket *bucket;
	const struct s3_call *call;
	struct aws_credentials used; /* of the last try */
};

/* --- preparing --- */

struct headers {
	struct sigv4_header items[HEADERS_MOST];
	size_t count;
};

static void add(struct headers *headers, const char *name, const char *value)
{
	if (headers->count == HEADERS_MOST)
		abort(); /* settings allow 16 */
	headers->items[headers->count++] = (struct sigv4_header){name, value};
}

static bool is_put(const struct s3_call *call)
{
	return call->operation == S3_PUT || call->operation == S3_PUT_IF_ABSENT;
}

/* Encryption with the customer's own key and the expected owner concern every request; the others what is put. */
static bool goes_along(const struct trying *trying, const char *name)
{
	return is_put(trying->call) ||
	       text_starts(name, "x-amz-server-side-encryption-customer-") ||
	       strcmp(name, "x-amz-expected-bucket-owner") == 0;
}

static void collect_headers(const struct trying *trying, const char *host, struct headers *headers)
{
	const struct aws_settings *settings = &trying->bucket->settings;

	add(headers, "host", host);
	add(headers, "x-amz-content-sha256", SIGV4_UNSIGNED);
	if (trying->used.session_token)
		add(headers, "x-amz-security-token", trying->used.session_token);
	if (settings->requester_pays)
		add(headers, "x-amz-request-payer", "requester");
	if (trying->call->operation == S3_PUT_IF_ABSENT)
		add(headers, "if-none-match", "*");
	if (trying->call->range)
		add(headers, "range", trying->call->range);
	if (trying->call->checksum)
		add(headers, "x-amz-checksum-crc32c", trying->call->checksum);
	for (char **at = settings->headers; *at; at += 2)
		if (goes_along(trying, at[0]))
			add(headers, at[0], at[1]);
}

static void sign(const struct trying *trying, const char *host, const char *path,
	const char *region, int64_t now_ms, struct remote_request *request)
{
	const struct sigv4_identity identity = {
		.access_key = trying->used.access_key,
		.secret_key = trying->used.secret_key,
		.region = region,
		.service = "s3",
	};
	struct headers headers = {0};
	struct sigv4_signed result;

	collect_headers(trying, host, &headers);
	sigv4_sign(
		&(struct sigv4_request){
			.method = trying->call->method,
			.path = path,
			.query = trying->call->query,
			.payload_hash = SIGV4_UNSIGNED,
			.headers = headers.items,
			.header_count = headers.count,
		},
		&identity, now_ms, &result);
	for (size_t i = 0; i < headers.count; i++)
		remote_add_header(request, "%s: %s", headers.items[i].name, headers.items[i].value);
	remote_add_header(request, "x-amz-date: %s", result.date);
	remote_add_header(request, "Authorization: %s", result.authorization);
	sigv4_signed_release(&result);
}

static int prepare(void *arg, const struct remote_try *attempt, struct remote_request *request,
	struct cancel *cancel, struct err *err)
{
	struct trying *trying = arg;
	struct s3_bucket *bucket = trying->bucket;
	const struct aws_credentials *refused = attempt->refresh ? &trying->used : NULL;
	auto_free char *host = NULL, *path = NULL, *region = NULL, *url = NULL;
	struct aws_credentials credentials;

	if (aws_chain_get(bucket->chain, refused, &credentials, cancel, err) < 0)
		return err_wrap(err, "credentials");
	aws_credentials_release(&trying->used);
	trying->used = credentials;
	pthread_mutex_lock(&bucket->mutex);
	host = bucket->host ? text_copy(bucket->host) : s3_address_host(&bucket->address);
	path = s3_address_path(&bucket->address, trying->call->key);
	region = text_copy(bucket->address.region);
	pthread_mutex_unlock(&bucket->mutex);
	url = text_format("%s://%s%s%s%s", bucket->address.tls ? "https" : "http", host, path,
		trying->call->query[0] ? "?" : "", trying->call->query);
	remote_set_url(request, url);
	if (is_put(trying->call))
		remote_add_header(request, "Content-Type: application/octet-stream");
	sign(trying, host, path, region, attempt->now_ms, request);
	return 0;
}

/* --- judging --- */

static void note_move(struct s3_bucket *bucket, const struct s3_move *move)
{
	pthread_mutex_lock(&bucket->mutex);
	if (move->region[0]) {
		free(bucket->address.region);
		bucket->address.region = text_copy(move->region);
		free(take(&bucket->host));
	}
	if (move->host[0]) {
		free(bucket->host);
		bucket->host = text_copy(move->host);
	}
	pthread_mutex_unlock(&bucket->mutex);
}

static enum remote_verdict judge(void *arg, const struct http_response *response, struct err *err)
{
	struct trying *trying = arg;
	const struct s3_answer answer = {
		.status = response->status,
		.region = http_header(response, "x-amz-bucket-region"),
		.location = http_header(response, "location"),
		.etag = http_header(response, "etag"),
		.body = response->body.data,
		.size = response->body.size,
	};
	struct s3_move move;
	enum remote_verdict verdict = s3_reply_judge(trying->call->operation, &answer, &move, err);

	if (verdict == REMOTE_MOVED)
		note_move(trying->bucket, &move);
	/* What makes no sense is asked for again. */
	if (verdict == REMOTE_DONE && trying->call->read &&
		trying->call->read(trying->call->arg, response, err) < 0) {
		if (err)
			err->kind = ERR_RETRY;
		return REMOTE_RETRY;
	}
	return verdict;
}

int s3_bucket_perform(struct s3_bucket *bucket, const struct s3_call *call,
	struct http_response *response, struct cancel *cancel, struct err *err)
{
	struct trying trying = {.bucket = bucket, .call = call};
	const struct remote_call remote = {
		.method = call->method,
		.body = call->body,
		.body_size = call->body_size,
		.arg = &trying,
		.prepare = prepare,
		.judge = judge,
	};
	int result = remote_perform(bucket->remote, &remote, response, cancel, err);

	aws_credentials_release(&trying.used);
	if (result == 0)
		return 0;
	return err_wrap(err, "%s s3://%s/%s%s", call->method, bucket->address.bucket,
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
	bucket->remote = remote_new(&(struct remote_options){
		.ca_file = bucket->settings.ca_file, .ca_variable = "AWS_CA_BUNDLE"});
	return 0;
}

void s3_bucket_release(struct s3_bucket *bucket)
{
	remote_free(bucket->remote);
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
