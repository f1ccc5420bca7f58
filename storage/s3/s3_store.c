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
	{STATUS_ANY, "Throttling", 0, CALL_SLOW_DOWN, ERR_RETRY, NULL},
	{STATUS_ANY, "ThrottlingException", 0, CALL_SLOW_DOWN, ERR_RETRY, NULL},
	{STATUS_ANY, "InternalError", 0, CALL_RETRY, ERR_RETRY, NULL},
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
	{STATUS_ANY, "QuotaExceeded", 0, CALL_FAILED, ERR_NO_SPACE, NULL},
	{STATUS_ANY, "XMinioAdminBucketQuotaExceeded", 0, CALL_FAILED, ERR_NO_SPACE, NULL},
	{STATUS_ANY, "InvalidObjectState", 0, CALL_FAILED, ERR_DENIED,
		"the object lies in an archive class: restore it there first"},

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
 * A call is signed again at each try, and follows where the bucket turns out to be: region and host
 * are then remembered for all later ones. Without a region anywhere it begins with us-east-1, whose
 * answer names the right one.
 */

struct s3_store {
	struct http_store http;
	struct aws_settings settings;
	struct aws_chain *chain;
	pthread_mutex_t mutex;     /* holds address.region and `host`, which an answer may change */
	struct s3_address address; /* bucket and prefix never change */
	char *host;                /* NULL: the address's own */
	atomic_bool atomic;        /* s3_server_is_atomic(), by the last answer */
};

static struct s3_store *s3_of(struct store *store)
{
	return (struct s3_store *)store;
}

enum {
	HEADERS_MOST = 32
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
static bool header_applies(const struct call_attempt *attempt, const char *name)
{
	return attempt->call->asked & ASKED_PUT ||
	       text_starts(name, "x-amz-server-side-encryption-customer-") ||
	       strcmp(name, "x-amz-expected-bucket-owner") == 0;
}

static void collect_headers(const struct call_attempt *attempt, const char *host,
			    struct headers *headers)
{
	const struct aws_settings *settings = &s3_of(&attempt->http->store)->settings;

	add_header(headers, "host", host);
	add_header(headers, "x-amz-content-sha256", SIGV4_UNSIGNED);
	if (attempt->credential->session_token)
		add_header(headers, "x-amz-security-token", attempt->credential->session_token);
	if (settings->requester_pays)
		add_header(headers, "x-amz-request-payer", "requester");
	if (attempt->call->asked == ASKED_PUT_IF_ABSENT)
		add_header(headers, "if-none-match", "*");
	if (attempt->call->range)
		add_header(headers, "range", attempt->call->range);
	if (attempt->checksum[0])
		add_header(headers, "x-amz-checksum-crc32c", attempt->checksum);
	for (char **at = settings->headers; *at; at += 2)
		if (header_applies(attempt, at[0]))
			add_header(headers, at[0], at[1]);
}

static void sign_request(const struct call_attempt *attempt, const char *host, const char *path,
			 const char *region, struct call_request *request)
{
	const struct sigv4_identity identity = {
		.access_key = attempt->credential->access_key,
		.secret_key = attempt->credential->secret_key,
		.region = region,
		.service = "s3",
	};
	struct headers headers = {0};
	struct sigv4_signed result;

	collect_headers(attempt, host, &headers);
	sigv4_sign(
		&(struct sigv4_request){
			.method = attempt->method,
			.path = path,
			.query = attempt->call->query,
			.payload_hash = SIGV4_UNSIGNED,
			.headers = headers.items,
			.header_count = headers.count,
		},
		&identity, attempt->now_ms, &result);
	for (size_t i = 0; i < headers.count; i++)
		call_request_add_header(request, "%s: %s", headers.items[i].name,
					headers.items[i].value);
	call_request_add_header(request, "x-amz-date: %s", result.date);
	call_request_add_header(request, "Authorization: %s", result.authorization);
	sigv4_signed_release(&result);
}

/* With the mutex held. */
static char *current_host(const struct s3_store *s3)
{
	return s3->host ? text_copy(s3->host) : s3_address_host(&s3->address);
}

static void s3_prepare(const struct call_attempt *attempt, struct call_request *request)
{
	struct s3_store *s3 = s3_of(&attempt->http->store);
	const char *query = attempt->call->query;
	auto_free char *host = NULL, *path = NULL, *region = NULL, *url = NULL;

	pthread_mutex_lock(&s3->mutex);
	host = current_host(s3);
	path = s3_address_path(&s3->address, attempt->call->key);
	region = text_copy(s3->address.region);
	pthread_mutex_unlock(&s3->mutex);
	url = text_format("%s://%s%s%s%s", s3->address.tls ? "https" : "http", host, path,
			  query[0] ? "?" : "", query);
	call_request_set_url(request, url);
	if (attempt->call->asked & ASKED_PUT)
		call_request_add_header(request, "Content-Type: application/octet-stream");
	sign_request(attempt, host, path, region, request);
}

/* --- judging --- */

static void note_move(struct s3_store *s3, const struct s3_move *move)
{
	pthread_mutex_lock(&s3->mutex);
	if (move->region[0]) {
		free(s3->address.region);
		s3->address.region = text_copy(move->region);
		free(steal(&s3->host));
	}
	if (move->host[0]) {
		free(s3->host);
		s3->host = text_copy(move->host);
	}
	pthread_mutex_unlock(&s3->mutex);
}

static enum call_verdict s3_judge(struct call_attempt *attempt,
				  const struct http_response *response, struct err *err)
{
	struct s3_store *s3 = s3_of(&attempt->http->store);
	const struct s3_reply reply = {
		.status = response->status,
		.region = http_header(response, "x-amz-bucket-region"),
		.location = http_header(response, "location"),
		.etag = http_header(response, "etag"),
		.body = response->body.data,
		.size = response->body.size,
	};
	struct s3_move move;
	enum call_verdict verdict = s3_reply_judge(attempt->call->asked, &reply, &move, err);

	atomic_store(&s3->atomic, s3_server_is_atomic(http_header(response, "server"),
						      http_header(response, "x-amz-request-id")));
	if (verdict == CALL_MOVED)
		note_move(s3, &move);
	return verdict;
}

/* --- the operations --- */

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
	bool look = mode != STORE_UNIQUE && !s3_of(store)->settings.conditional;
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

	http_store_release(&s3->http);
	aws_chain_free(s3->chain);
	aws_settings_release(&s3->settings);
	s3_address_release(&s3->address);
	free(s3->host);
	pthread_mutex_destroy(&s3->mutex);
	free(s3);
}

static int s3_open(const char *url, bool create, bool read_only, struct store **store,
		   struct cancel *cancel, struct err *err)
{
	static const struct http_store_ops ops = {NULL, s3_prepare, s3_judge, s3_add_page_query,
						  bucket_listing_read};
	struct s3_store *s3;
	struct aws_settings *settings;

	(void)create, (void)read_only;
	if (cancel_check(cancel, err) < 0)
		return -1;
	s3 = memory_new(sizeof(*s3));
	settings = &s3->settings;
	pthread_mutex_init(&s3->mutex, NULL);
	if (aws_settings_load(settings, err) < 0 ||
	    s3_address_init(&s3->address, url, settings->endpoint,
			    settings->region ? settings->region : "us-east-1", settings->style,
			    err) < 0) {
		s3_close(&s3->http.store);
		return err_wrap(err, "store %s", url);
	}
	s3->chain = aws_chain_new(settings);
	s3->http = (struct http_store){
		.store.ops = &s3_store_ops,
		.ops = &ops,
		.prefix = s3->address.prefix,
		.place = text_format("s3://%s/", s3->address.bucket),
		.client = retrying_client_new(0, settings->ca_file, "AWS_CA_BUNDLE"),
		.credentials = aws_chain_credentials(s3->chain),
		.checksums = settings->checksums,
	};
	if (settings->conditional) {
		s3->http.store.condition = "\"If-None-Match: *\"";
		s3->http.store.advice =
			"use another store, or accept that with REPRIEVE_S3_CONDITIONAL=off";
	}
	*store = &s3->http.store;
	return 0;
}

/* --- for people --- */

/* "https://bucket.s3.eu-west-1.amazonaws.com, region eu-west-1": where requests go now. */
static void s3_describe(struct store *store, char *text, size_t capacity)
{
	struct s3_store *s3 = s3_of(store);
	auto_free char *host = NULL;
	char source[256];

	aws_chain_source(s3->chain, source, sizeof(source));
	pthread_mutex_lock(&s3->mutex);
	host = current_host(s3);
	snprintf(text, capacity, "%s://%s, region %s, credentials: %s",
		 s3->address.tls ? "https" : "http", host, s3->address.region, source);
	pthread_mutex_unlock(&s3->mutex);
}

static void s3_read_health(struct store *store, struct store_health *health)
{
	http_store_read_health(store, health);
	health->in_the_clear = s3_address_is_in_the_clear(&s3_of(store)->address);
	health->if_absent_guessed = !s3_of(store)->settings.conditional;
	health->if_absent_unproven =
		s3_of(store)->settings.endpoint && !atomic_load(&s3_of(store)->atomic);
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
