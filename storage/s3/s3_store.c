/*
 * s3://: Amazon S3 and what speaks its protocol. An object is one PUT; the if-absent is
 * "If-None-Match: *".
 */
#include "s3.h"

#include "base/cleanup.h"
#include "base/fault.h"
#include "base/text.h"
#include "storage/aws/aws.h"
#include "storage/http/http.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a reply of S3 means: a table for store_reply_judge(), and where a bucket is that is
 * elsewhere. */

#define EXPIRED "the credentials have expired"
#define SET_CLOCK "set the clock of this machine"
#define SET_REGION "set AWS_REGION to the bucket's region"
#define LACKS "this store lacks something that is needed"
#define OTHERWISE                                                                  \
	"use another one, or accept that two machines could take one place, with " \
	"REPRIEVE_S3_CONDITIONAL=off"
#define NO_IF_ABSENT "this store refuses \"If-None-Match: *\": " OTHERWISE
#define PERHAPS_NO_IF_ABSENT "if it is \"If-None-Match: *\" that this store refuses, " OTHERWISE
#define SHORTER "the object is shorter than it was"
#define NO_ETAG "without an ETag, " CALL_FOREIGN_REPLY

// clang-format off
static const struct reply_row rows[] = {
	{412, NULL, ASKED_PUT_IF_ABSENT, CALL_FAILED, ERR_EXISTS, "it is there already"},
	{STATUS_ANY, "NotImplemented", ASKED_PUT_IF_ABSENT, CALL_FAILED, ERR_UNFIT, NO_IF_ABSENT},
	{501, NULL, ASKED_PUT_IF_ABSENT, CALL_FAILED, ERR_UNFIT, NO_IF_ABSENT},
	{400, "InvalidArgument", ASKED_PUT_IF_ABSENT, CALL_FAILED, ERR_UNFIT, PERHAPS_NO_IF_ABSENT},
	{404, "NoSuchKey", ASKED_REMOVE, CALL_DONE, ERR_NONE, NULL},
	{416, NULL, ASKED_GET_REST, CALL_DONE, ERR_NONE, NULL},

	/* A code counts more than the status: S3 sends errors with 200 too. Codes are listed in
	 * "Error responses" of the Amazon S3 API Reference; some are other makers'. */
	{STATUS_ANY, "NoSuchKey", 0, CALL_FAILED, ERR_NOT_FOUND, NULL},
	{STATUS_ANY, "NoSuchBucket", 0, CALL_FAILED, ERR_INVALID,
		"make the bucket, or correct its name"},
	{STATUS_ANY, "PreconditionFailed", 0, CALL_FAILED, ERR_FAILED, NULL},
	{STATUS_ANY, "ConditionalRequestConflict", 0, CALL_RETRY, ERR_RETRY, NULL},
	{STATUS_ANY, "OperationAborted", 0, CALL_RETRY, ERR_RETRY, NULL},
	{STATUS_ANY, "AccessDenied", ASKED_LIST, CALL_FAILED, ERR_DENIED,
		"allow s3:ListBucket on the bucket"},
	/* S3 does not tell a caller that may not list what is missing. */
	{STATUS_ANY, "AccessDenied", ASKED_GET, CALL_FAILED, ERR_DENIED,
		"without the permission s3:ListBucket S3 says so also where an object is missing: "
		"allow it, and s3:GetObject"},
	{STATUS_ANY, "AccessDenied", 0, CALL_FAILED, ERR_DENIED,
		"check the policies of the identity and of the bucket"},
	{STATUS_ANY, "SignatureDoesNotMatch", 0, CALL_FAILED, ERR_DENIED,
		"the secret key does not belong to the access key, or a proxy changes requests"},
	{STATUS_ANY, "ExpiredToken", 0, CALL_REFRESH, ERR_DENIED, EXPIRED},
	{STATUS_ANY, "ExpiredTokenException", 0, CALL_REFRESH, ERR_DENIED, EXPIRED},
	{STATUS_ANY, "TokenRefreshRequired", 0, CALL_REFRESH, ERR_DENIED, EXPIRED},
	{STATUS_ANY, "InvalidToken", 0, CALL_REFRESH, ERR_DENIED, NULL},
	{STATUS_ANY, "InvalidAccessKeyId", 0, CALL_REFRESH, ERR_DENIED,
		"there is no such access key here"},
	{STATUS_ANY, "RequestTimeTooSkewed", 0, CALL_SKEWED, ERR_DENIED, SET_CLOCK},
	{STATUS_ANY, "RequestExpired", 0, CALL_SKEWED, ERR_DENIED, SET_CLOCK},
	{STATUS_ANY, "SlowDown", 0, CALL_SLOW_DOWN, ERR_RETRY, NULL},
	{STATUS_ANY, "ServiceUnavailable", 0, CALL_SLOW_DOWN, ERR_RETRY, NULL},
	{STATUS_ANY, "TooManyRequests", 0, CALL_SLOW_DOWN, ERR_RETRY, NULL},
	{STATUS_ANY, "Throttling", 0, CALL_SLOW_DOWN, ERR_RETRY, NULL},
	{STATUS_ANY, "ThrottlingException", 0, CALL_SLOW_DOWN, ERR_RETRY, NULL},
	{STATUS_ANY, "RequestLimitExceeded", 0, CALL_SLOW_DOWN, ERR_RETRY, NULL},
	{STATUS_ANY, "InternalError", 0, CALL_RETRY, ERR_RETRY, NULL},
	{STATUS_ANY, "InternalErrors", 0, CALL_RETRY, ERR_RETRY, NULL},
	{STATUS_ANY, "RequestTimeout", 0, CALL_RETRY, ERR_RETRY, NULL},
	{STATUS_ANY, "PriorRequestNotComplete", 0, CALL_RETRY, ERR_RETRY, NULL},
	{STATUS_ANY, "BadDigest", 0, CALL_RETRY, ERR_RETRY, "the bytes were changed on their way"},
	{STATUS_ANY, "XAmzContentChecksumMismatch", 0, CALL_RETRY, ERR_RETRY,
		"the bytes were changed on their way"},
	{STATUS_ANY, "IncompleteBody", 0, CALL_RETRY, ERR_RETRY, NULL},
	{STATUS_ANY, "PermanentRedirect", 0, CALL_MOVED, ERR_INVALID,
		"the bucket is in another region"},
	{STATUS_ANY, "TemporaryRedirect", 0, CALL_MOVED, ERR_RETRY, NULL},
	{STATUS_ANY, "AuthorizationHeaderMalformed", 0, CALL_MOVED, ERR_INVALID, SET_REGION},
	{STATUS_ANY, "IllegalLocationConstraintException", 0, CALL_MOVED, ERR_INVALID, SET_REGION},
	{STATUS_ANY, "InvalidRange", 0, CALL_FAILED, ERR_CORRUPT, SHORTER},
	{STATUS_ANY, "QuotaExceeded", 0, CALL_FAILED, ERR_NO_SPACE, NULL},
	{STATUS_ANY, "XMinioStorageFull", 0, CALL_FAILED, ERR_NO_SPACE, NULL},
	{STATUS_ANY, "XMinioAdminBucketQuotaExceeded", 0, CALL_FAILED, ERR_NO_SPACE, NULL},
	{STATUS_ANY, "InvalidObjectState", 0, CALL_FAILED, ERR_DENIED,
		"the object lies in an archive class: restore it there first"},
	{STATUS_ANY, "NotImplemented", 0, CALL_FAILED, ERR_INVALID, LACKS},

	/* Success, unless the body says otherwise or another server has answered. "PutObject" and
	 * "GetObject" of the API Reference have an ETag; whoever reads a list finds out. */
	{STATUS_GOOD, NULL, CAME_ERROR, CALL_FAILED, ERR_FAILED, NULL},
	{STATUS_GOOD, NULL, ASKED_PUT | CAME_UNMARKED, CALL_RETRY, ERR_RETRY, NO_ETAG},
	{STATUS_GOOD, NULL, ASKED_PUT | CAME_PAGE, CALL_RETRY, ERR_RETRY, CALL_FOREIGN_REPLY},
	{STATUS_GOOD, NULL, ASKED_GET | CAME_UNMARKED, CALL_RETRY, ERR_RETRY, NO_ETAG},
	{STATUS_GOOD, NULL, ASKED_REMOVE | CAME_PAGE, CALL_RETRY, ERR_RETRY, CALL_FOREIGN_REPLY},
	{200, NULL, 0, CALL_DONE, ERR_NONE, NULL},
	{204, NULL, 0, CALL_DONE, ERR_NONE, NULL},
	{206, NULL, 0, CALL_DONE, ERR_NONE, NULL},

	{STATUS_ELSEWHERE, NULL, 0, CALL_MOVED, ERR_INVALID, NULL},
	{401, NULL, 0, CALL_REFRESH, ERR_DENIED, NULL},
	{403, NULL, 0, CALL_FAILED, ERR_DENIED, NULL},
	{404, NULL, 0, CALL_FAILED, ERR_FAILED,
		"it does not say what is missing: is the endpoint right?"},
	{408, NULL, 0, CALL_RETRY, ERR_RETRY, NULL},
	{409, NULL, 0, CALL_RETRY, ERR_RETRY, NULL},
	{416, NULL, 0, CALL_FAILED, ERR_CORRUPT, SHORTER},
	{429, NULL, 0, CALL_SLOW_DOWN, ERR_RETRY, NULL},
	{501, NULL, 0, CALL_FAILED, ERR_INVALID, LACKS},
	{503, NULL, 0, CALL_SLOW_DOWN, ERR_RETRY, NULL},
	{507, NULL, 0, CALL_FAILED, ERR_NO_SPACE, NULL},
	{STATUS_FAULT, NULL, 0, CALL_RETRY, ERR_RETRY, NULL},
	{STATUS_ANY, NULL, 0, CALL_FAILED, ERR_FAILED, NULL},
};

// clang-format on

const struct reply_table s3_replies = {rows, sizeof(rows) / sizeof(*rows), 0};

static void parse_location(const char *location, struct s3_move *move)
{
	const char *host = strstr(location, "://");
	size_t length;

	if (!host)
		return;
	host += 3;
	length = strcspn(host, "/?#");
	if (length && length < sizeof(move->host) && !memchr(host, '@', length))
		text_set(move->host, length + 1, host);
}

/* False where the reply does not say where to. */
static bool read_move(const struct s3_reply *reply, const char *region, struct s3_move *move)
{
	if (reply->region && s3_address_is_region(reply->region))
		text_set(move->region, sizeof(move->region), reply->region);
	else if (s3_address_is_region(region))
		text_set(move->region, sizeof(move->region), region);
	/* A new bucket, whose name the DNS does not know yet everywhere: to another host with the
	 * same request. */
	if (reply->status == 307 && reply->location)
		parse_location(reply->location, move);
	return move->region[0] || move->host[0];
}

enum call_verdict s3_reply_judge(unsigned asked, const struct s3_reply *reply, struct s3_move *move,
				 struct err *err)
{
	struct store_reply store_reply = {.status = reply->status,
					  .facts = asked | (reply->etag ? 0 : CAME_UNMARKED)};
	enum call_verdict verdict;

	*move = (struct s3_move){0};
	/* What is not quite XML may still name its code. */
	store_reply_read_body(&store_reply, reply->body, reply->size, false);
	verdict = store_reply_judge(&s3_replies, &store_reply, err);
	if (verdict == CALL_MOVED && !read_move(reply, store_reply.region, move))
		return CALL_FAILED;
	return verdict;
}

/* Ceph names itself by its requests alone: tx, a number, the time, the instance and the zone. */
bool s3_server_is_atomic(const char *server, const char *request_id)
{
	static const char *const known[] = {"AmazonS3", "MinIO", "SeaweedFS", "cloudflare"};
	char zone;

	for (size_t i = 0; server && i < sizeof(known) / sizeof(*known); i++)
		if (text_starts(server, known[i]))
			return true;
	return request_id && sscanf(request_id, "tx%*[^-]-%*[^-]-%*[^-]-%c", &zone) == 1;
}

/*
 * A bucket as calls see it: address, credentials, connections. A call is signed anew at each try,
 * and follows where the bucket turns out to be: region and host are then remembered for all later
 * ones. Without a region anywhere it begins with us-east-1, whose answer names the right one.
 */

struct s3_bucket {
	struct aws_settings settings;
	struct aws_chain *chain;
	struct retrying_client *client;
	pthread_mutex_t mutex;     /* holds address.region and `host`, which an answer may change */
	struct s3_address address; /* bucket and prefix never change */
	char *host;                /* NULL: the address's own */
	atomic_bool atomic;        /* s3_server_is_atomic(), by the last answer */
};

static void s3_bucket_release(struct s3_bucket *bucket);

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

	atomic_store(&call_attempt->bucket->atomic,
		     s3_server_is_atomic(http_header(response, "server"),
					 http_header(response, "x-amz-request-id")));
	if (verdict == CALL_MOVED)
		note_move(call_attempt->bucket, &move);
	return verdict;
}

/* Thread-safe. The kinds of errors are those of s3_replies; the sentence begins with method and
 * object. */
static int s3_bucket_perform(struct s3_bucket *bucket, const struct store_call *call,
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

/* ERR_INVALID: URL or settings. */
static int s3_bucket_init(struct s3_bucket *bucket, const char *url, struct err *err)
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

static void s3_bucket_release(struct s3_bucket *bucket)
{
	retrying_client_free(bucket->client);
	aws_chain_free(bucket->chain);
	aws_settings_release(&bucket->settings);
	s3_address_release(&bucket->address);
	free(bucket->host);
	pthread_mutex_destroy(&bucket->mutex);
}

/* "https://bucket.s3.eu-west-1.amazonaws.com, region eu-west-1": where requests go now. */
static void s3_bucket_describe(struct s3_bucket *bucket, char *text, size_t capacity)
{
	auto_free char *host = NULL;

	pthread_mutex_lock(&bucket->mutex);
	host = bucket->host ? text_copy(bucket->host) : s3_address_host(&bucket->address);
	snprintf(text, capacity, "%s://%s, region %s", bucket->address.tls ? "https" : "http", host,
		 bucket->address.region);
	pthread_mutex_unlock(&bucket->mutex);
}

struct s3_store {
	struct http_store http;
	struct s3_bucket bucket;
};

static struct s3_store *s3_of(struct store *store)
{
	return (struct s3_store *)store;
}

/* --- the operations --- */

static int s3_perform(struct store *store, const struct store_call *call,
		      struct http_response *response, struct cancel *cancel, struct err *err)
{
	return s3_bucket_perform(&s3_of(store)->bucket, call, response, cancel, err);
}

/* For a store without if-absent, when the user has accepted that: whoever looks and puts at the
 * same instant as another also wins. */
static int put_after_looking(struct store *store, const char *key, const void *data, size_t size,
			     bool once, struct cancel *cancel, struct err *err)
{
	auto_(bytes_release) struct bytes there = {0};
	struct err seen = {0};

	if (http_store_get(store, key, 0, STORE_TO_END, &there, cancel, &seen) == 0)
		return err_set(err, ERR_EXISTS, "%s: it is there already", key);
	if (seen.kind == ERR_NOT_FOUND)
		return http_store_put_object(store, key, data, size, ASKED_PUT, once, cancel, err);
	if (err)
		*err = seen;
	return -1;
}

static int s3_put(struct store *store, const char *key, const void *data, size_t size,
		  enum store_put_mode mode, struct cancel *cancel, struct err *err)
{
	bool look = mode != STORE_UNIQUE && !s3_of(store)->bucket.settings.conditional;
	int result;

	fault_point("before_s3_put");
	if (look)
		result = put_after_looking(store, key, data, size, mode == STORE_IF_ABSENT_ONCE,
					   cancel, err);
	else
		result = http_store_put(store, key, data, size, mode, cancel, err);
	fault_point("after_s3_put");
	return result;
}

/* In sorted order, which is how it is signed. */
static void s3_add_page_query(struct bytes *query, const char *prefix, enum store_depth depth,
			      const char *token)
{
	if (token)
		uri_add(query, "continuation-token", token);
	if (depth == STORE_LEVEL)
		uri_add(query, "delimiter", "/");
	uri_add(query, "encoding-type", "url");
	uri_add(query, "list-type", "2");
	uri_add(query, "prefix", prefix);
}

/* --- opening --- */

static void s3_close(struct store *store)
{
	struct s3_store *s3 = s3_of(store);

	s3_bucket_release(&s3->bucket);
	free(s3);
}

static int s3_open(const char *url, bool create, bool read_only, struct store **store,
		   struct cancel *cancel, struct err *err)
{
	static const struct http_store_ops ops = {s3_perform, s3_add_page_query,
						  bucket_listing_read};
	struct s3_store *s3;

	(void)create, (void)read_only;
	if (cancel_check(cancel, err) < 0)
		return -1;
	s3 = memory_new(sizeof(*s3));
	if (s3_bucket_init(&s3->bucket, url, err) < 0) {
		free(s3);
		return err_wrap(err, "store %s", url);
	}
	s3->http = (struct http_store){{.ops = &s3_store_ops},
				       &ops,
				       s3->bucket.address.prefix,
				       s3->bucket.client};
	if (s3->bucket.settings.conditional) {
		s3->http.store.condition = "\"If-None-Match: *\"";
		s3->http.store.advice =
			"use another store, or accept that with REPRIEVE_S3_CONDITIONAL=off";
	}
	*store = &s3->http.store;
	return 0;
}

/* --- for people --- */

static void s3_describe(struct store *store, char *text, size_t capacity)
{
	struct s3_bucket *bucket = &s3_of(store)->bucket;
	char source[256];

	s3_bucket_describe(bucket, text, capacity);
	aws_chain_source(bucket->chain, source, sizeof(source));
	text_set(text + strlen(text), capacity - strlen(text), ", credentials: ");
	text_set(text + strlen(text), capacity - strlen(text), source);
}

static void s3_read_health(struct store *store, struct store_health *health)
{
	http_store_read_health(store, health);
	health->in_the_clear = s3_address_is_in_the_clear(&s3_of(store)->bucket.address);
	health->if_absent_guessed = !s3_of(store)->bucket.settings.conditional;
	health->if_absent_unproven = s3_of(store)->bucket.settings.endpoint &&
				     !atomic_load(&s3_of(store)->bucket.atomic);
}

const struct store_ops s3_store_ops = {
	.scheme = "s3",
	.open = s3_open,
	.close = s3_close,
	.put = s3_put,
	.get = http_store_get,
	.read = http_store_read,
	.list = http_store_list,
	.remove = http_store_remove,
	.describe = s3_describe,
	.read_health = s3_read_health,
};
