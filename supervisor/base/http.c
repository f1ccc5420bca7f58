#include "base/http.h"

#include "base/clock.h"
#include "base/library.h"

#include <ctype.h>
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/x509_vfy.h>
#include <pthread.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

enum {
	CONNECT_TIMEOUT_MS = 10000,
	IDLE_CONNECTIONS = 4,
	FIELDS_LIMIT = 64 * 1024,
	STALL_BYTES_PER_SECOND = 1024,
	/* With curl's defaults of 16 and 64 KiB, most time is spent in system calls (curl issue
	 * 2888). */
	BUFFER_SIZE = 512 * 1024,
};

// clang-format off
#define CURL_FUNCTIONS(F) \
	F(curl_easy_cleanup) F(curl_easy_getinfo) F(curl_easy_init) F(curl_easy_reset) \
	F(curl_easy_setopt) F(curl_easy_strerror) F(curl_global_init) F(curl_multi_add_handle) \
	F(curl_multi_cleanup) F(curl_multi_info_read) F(curl_multi_init) F(curl_multi_perform) \
	F(curl_multi_poll) F(curl_multi_remove_handle) F(curl_multi_setopt) \
	F(curl_multi_strerror) F(curl_slist_append) F(curl_slist_free_all)
// clang-format on
LIBRARY(curl, "libcurl.so.4", "libcurl4", CURL_FUNCTIONS);

struct http {
	CURLM *multi; /* owns the connections, so they outlive the easy handle's reset */
	CURL *easy;
	curl_socket_t socket; /* of the newest connection; CURL_SOCKET_BAD: it is closed */
};

/* One request under way, for curl's callbacks. */
struct exchange {
	CURL *easy;
	const struct http_request *request;
	struct http_response *response;
	size_t sent;
	struct err *err;
	bool failed; /* one of our callbacks has filled `err` */
};

static pthread_once_t curl_set_up = PTHREAD_ONCE_INIT;
static CURLcode curl_set_up_result;

static void set_up_curl(void)
{
	curl_set_up_result = curl_global_init(CURL_GLOBAL_DEFAULT);
}

int http_new(struct http **result, struct err *err)
{
	struct http *http;

	if (library_open(&curl, err) < 0)
		return -1;
	pthread_once(&curl_set_up, set_up_curl);
	if (curl_set_up_result != CURLE_OK)
		return err_set(err, ERR_FAILED, "libcurl: %s",
			       curl_easy_strerror(curl_set_up_result));
	http = memory_new(sizeof(*http));
	http->socket = CURL_SOCKET_BAD;
	http->multi = curl_multi_init();
	http->easy = curl_easy_init();
	if (!http->multi || !http->easy) {
		http_free(http);
		return err_set(err, ERR_FAILED, "libcurl gives no handle");
	}
	curl_multi_setopt(http->multi, CURLMOPT_MAXCONNECTS, (long)IDLE_CONNECTIONS);
	*result = http;
	return 0;
}

void http_free(struct http *http)
{
	if (!http)
		return;
	curl_easy_cleanup(http->easy);
	curl_multi_cleanup(http->multi);
	free(http);
}

void http_response_release(struct http_response *response)
{
	bytes_release(&response->body);
	bytes_release(&response->fields);
}

/* Fields are stored as "name\0value\0", the name in lower case. */
const char *http_header(const struct http_response *response, const char *name)
{
	const char *at = (const char *)response->fields.data;
	const char *end = at ? at + response->fields.size : at;

	while (at < end) {
		const char *value = at + strlen(at) + 1;

		if (strcasecmp(at, name) == 0)
			return value;
		at = value + strlen(value) + 1;
	}
	return NULL;
}

static size_t abort_transfer(struct exchange *exchange)
{
	exchange->failed = true;
	return 0; /* fewer bytes than given: curl ends the transfer */
}

static size_t receive_field(char *data, size_t size, size_t count, void *arg)
{
	struct exchange *exchange = arg;
	struct bytes *fields = &exchange->response->fields;
	size_t length = size * count, name = 0, value, end = length;

	/* A new status line: the fields so far belong to "100 Continue". */
	if (length >= 5 && memcmp(data, "HTTP/", 5) == 0) {
		fields->size = 0;
		return length;
	}
	while (name < length && data[name] != ':')
		name++;
	if (name == length)
		return length;
	for (value = name + 1; value < end && isspace((unsigned char)data[value]); value++)
		;
	while (end > value && isspace((unsigned char)data[end - 1]))
		end--;
	if (memchr(data, '\0', length))
		return length;
	if (bytes_append(fields, data, name, exchange->err) < 0 ||
	    bytes_append(fields, "", 1, exchange->err) < 0 ||
	    bytes_append(fields, data + value, end - value, exchange->err) < 0 ||
	    bytes_append(fields, "", 1, exchange->err) < 0)
		return abort_transfer(exchange);
	return length;
}

/* 1, 0 or -1, as struct http_sink says. */
static int offer_to_sink(struct exchange *exchange, const char *data, size_t size)
{
	struct http_response *response = exchange->response;
	long status = 0;
	int taken;

	if (!response->sink)
		return 0;
	curl_easy_getinfo(exchange->easy, CURLINFO_RESPONSE_CODE, &status);
	response->status = (int)status;
	taken = response->sink->take(response->sink->arg, response, data, size, exchange->err);
	if (taken > 0)
		response->sunk += size;
	return taken;
}

static size_t receive_body(char *data, size_t size, size_t count, void *arg)
{
	struct exchange *exchange = arg;
	int taken = offer_to_sink(exchange, data, size * count);

	if (taken > 0)
		return size * count;
	if (taken < 0)
		return abort_transfer(exchange);
	if (bytes_append(&exchange->response->body, data, size * count, exchange->err) < 0) {
		err_wrap(exchange->err, "the answer is too long");
		return abort_transfer(exchange);
	}
	return size * count;
}

static size_t send_body(char *target, size_t size, size_t count, void *arg)
{
	struct exchange *exchange = arg;
	size_t left = exchange->request->body_size - exchange->sent;
	size_t piece = size * count < left ? size * count : left;

	if (piece)
		memcpy(target, (const char *)exchange->request->body + exchange->sent, piece);
	exchange->sent += piece;
	return piece;
}

static int seek_body(void *arg, curl_off_t offset, int origin)
{
	struct exchange *exchange = arg;

	if (origin != SEEK_SET || offset < 0 || (size_t)offset > exchange->request->body_size)
		return CURL_SEEKFUNC_FAIL;
	exchange->sent = (size_t)offset;
	return CURL_SEEKFUNC_OK;
}

static void set_limits(CURL *easy, const struct http_request *request)
{
	int64_t connect =
		request->connect_timeout_ms ? request->connect_timeout_ms : CONNECT_TIMEOUT_MS;

	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)connect);
	if (request->timeout_ms)
		curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)request->timeout_ms);
	if (request->stall_timeout_ms) {
		curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, (long)STALL_BYTES_PER_SECOND);
		curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME,
				 (long)((request->stall_timeout_ms + 999) / 1000));
	}
}

static void set_connection(CURL *easy, const struct http_request *request)
{
	/* If all threads took the first of a service's many addresses, that one would be a
	 * bottleneck. */
	curl_easy_setopt(easy, CURLOPT_DNS_SHUFFLE_ADDRESSES, 1L);
	if (request->idle_timeout_ms)
		curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN,
				 (long)((request->idle_timeout_ms + 999) / 1000));
	if (request->fresh) {
		curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
		curl_easy_setopt(easy, CURLOPT_DNS_CACHE_TIMEOUT, 0L);
	}
}

/* libcurl opens sockets without close-on-exec, so a job that is started now would inherit them. */
static int note_opened_socket(void *arg, curl_socket_t fd, curlsocktype purpose)
{
	struct http *http = arg;

	(void)purpose;
	(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	http->socket = fd;
	return CURL_SOCKOPT_OK;
}

static int close_socket(void *arg, curl_socket_t fd)
{
	struct http *http = arg;

	if (http->socket == fd)
		http->socket = CURL_SOCKET_BAD;
	return close(fd);
}

static void set_general_options(struct http *http, const struct http_request *request)
{
	CURL *easy = http->easy;

	/* Where openssl.cnf allows less, curl would speak it. */
	curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, note_opened_socket);
	curl_easy_setopt(easy, CURLOPT_SOCKOPTDATA, http);
	curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
	curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, http);
	curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, (long)BUFFER_SIZE);
	curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, (long)BUFFER_SIZE);
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
	curl_easy_setopt(easy, CURLOPT_USERAGENT, "reprieve");
#if LIBCURL_VERSION_NUM >= 0x075500
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
#else
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
	if (request->no_proxy) {
		curl_easy_setopt(easy, CURLOPT_PROXY, "");
		curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
	}
}

static void set_method(CURL *easy, const struct http_request *request)
{
	const char *method = request->method ? request->method : "GET";

	if (strcmp(method, "HEAD") == 0) {
		curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
		return;
	}
	/* As an upload of 0 bytes it sends "Content-Length: 0", which a PUT or POST without a body
	 * needs. */
	if (request->body_size || strcmp(method, "PUT") == 0 || strcmp(method, "POST") == 0) {
		curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
		curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)request->body_size);
	}
	curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method);
}

static int set_headers(CURL *easy, const struct http_request *request, struct curl_slist **list)
{
	bool expects = false;

	for (const char *const *header = request->headers; header && *header; header++) {
		struct curl_slist *longer = curl_slist_append(*list, *header);

		if (!longer)
			return -1;
		*list = longer;
		expects = expects || strncasecmp(*header, "Expect:", 7) == 0;
	}
	/* Disabled, because curl waits up to a second for servers that ignore "Expect:
	 * 100-continue". */
	if (!expects) {
		struct curl_slist *longer = curl_slist_append(*list, "Expect:");

		if (!longer)
			return -1;
		*list = longer;
	}
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, *list);
	return 0;
}

static void set_callbacks(CURL *easy, struct exchange *exchange)
{
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, receive_field);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, exchange);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, receive_body);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, exchange);
	curl_easy_setopt(easy, CURLOPT_READFUNCTION, send_body);
	curl_easy_setopt(easy, CURLOPT_READDATA, exchange);
	curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, seek_body);
	curl_easy_setopt(easy, CURLOPT_SEEKDATA, exchange);
}

static int poll_timeout(struct cancel *cancel)
{
	int64_t left = cancel_left_ms(cancel);

	/* curl returns earlier if one of its own timers is due. */
	return left > INT_MAX ? INT_MAX : (int)left;
}

/*
 * Many servers send the head of an answer and its body in two writes and leave Nagle's algorithm on
 * (Ceph's do by default), so that the second waits for our acknowledgement of the first, which the
 * kernel delays by 40 ms. It falls back to that after each packet that is sent.
 */
static void acknowledge_at_once(const struct http *http)
{
	int on = 1;

	if (http->socket != CURL_SOCKET_BAD)
		(void)setsockopt(http->socket, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof(on));
}

/* Runs the transfer to its end; *result is curl's result. */
static int drive_transfer(struct http *http, struct cancel *cancel, CURLcode *result,
			  struct err *err)
{
	for (;;) {
		int running = 0, queued;
		struct curl_waitfd wake = {
			.fd = cancel ? cancel->fd : -1,
			.events = CURL_WAIT_POLLIN,
		};
		CURLMcode code = curl_multi_perform(http->multi, &running);
		CURLMsg *message;

		if (code != CURLM_OK)
			return err_set(err, ERR_FAILED, "libcurl: %s", curl_multi_strerror(code));
		while ((message = curl_multi_info_read(http->multi, &queued))) {
			if (message->msg == CURLMSG_DONE) {
				*result = message->data.result;
				return 0;
			}
		}
		if (cancel_check(cancel, err) < 0)
			return -1;
		acknowledge_at_once(http);
		curl_multi_poll(http->multi, &wake, cancel ? 1 : 0, poll_timeout(cancel), NULL);
	}
}

/* libcurl reads no variables. These are those of curl(1), in its order (section ENVIRONMENT). */
static void trust_certificates(CURL *easy, const struct http_request *request)
{
	const char *file = request->ca_file, *directory = NULL;

	if (!file)
		file = text_from_environment("CURL_CA_BUNDLE");
	if (!file) {
		file = text_from_environment("SSL_CERT_FILE");
		directory = text_from_environment("SSL_CERT_DIR");
	}
	if (file)
		curl_easy_setopt(easy, CURLOPT_CAINFO, file);
	if (directory)
		curl_easy_setopt(easy, CURLOPT_CAPATH, directory);
}

/* Another file of certificates helps only if the issuer is unknown, not for a wrong name or date.
 */
static bool is_unknown_issuer(CURL *easy)
{
	long verified = X509_V_OK;

	curl_easy_getinfo(easy, CURLINFO_SSL_VERIFYRESULT, &verified);
	switch (verified) {
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
	case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
	case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
	case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
		return true;
	default:
		return false;
	}
}

/* Returns -1 and ERR_DENIED, with curl's `words` and, if a file would help, the variables that name
 * one. */
static int set_trust_error(CURL *easy, const struct http_request *request, CURLcode result,
			   const char *words, struct err *err)
{
	const char *own = request->ca_variable ? request->ca_variable : "";
	const char *comma = request->ca_variable ? ", " : "";

	if (result == CURLE_SSL_CACERT_BADFILE)
		return err_set(err, ERR_DENIED, "%s (%s%sCURL_CA_BUNDLE or SSL_CERT_FILE names it)",
			       words, own, comma);
	if (is_unknown_issuer(easy))
		return err_set(err, ERR_DENIED,
			       "%s (if the CA is your own, name its file in %s%sCURL_CA_BUNDLE or "
			       "SSL_CERT_FILE)",
			       words, own, comma);
	return err_set(err, ERR_DENIED, "%s", words);
}

/* What helps where one side speaks TLS and the other does not; "": that is not what happened.
 * OpenSSL has no other word for a plain answer; a server of TLS ends what it cannot read. */
static const char *scheme_advice(CURL *easy, CURLcode result, const char *words)
{
	curl_off_t received = 0;
	long port = 0;
	char *url = "";

	curl_easy_getinfo(easy, CURLINFO_SIZE_DOWNLOAD_T, &received);
	curl_easy_getinfo(easy, CURLINFO_PRIMARY_PORT, &port);
	curl_easy_getinfo(easy, CURLINFO_EFFECTIVE_URL, &url);
	if (result == CURLE_SSL_CONNECT_ERROR && strstr(words, "wrong version number"))
		return "; that server speaks http: write http:// in its endpoint";
	if ((result == CURLE_GOT_NOTHING || result == CURLE_RECV_ERROR) && received == 0 &&
	    port != 80 && text_starts(url, "http://"))
		return "; if that server speaks https, write https:// in its endpoint";
	return "";
}

static int set_transfer_error(struct http *http, const struct http_request *request,
			      CURLcode result, const char *said, struct err *err)
{
	const char *words = said[0] ? said : curl_easy_strerror(result);
	enum err_kind kind = ERR_RETRY;
	long os = 0;

	if (result == CURLE_PEER_FAILED_VERIFICATION || result == CURLE_SSL_CACERT_BADFILE)
		return set_trust_error(http->easy, request, result, words, err);

	curl_easy_getinfo(http->easy, CURLINFO_OS_ERRNO, &os);
	if (result == CURLE_OPERATION_TIMEDOUT)
		os = ETIMEDOUT;
	if (result == CURLE_URL_MALFORMAT || result == CURLE_UNSUPPORTED_PROTOCOL)
		kind = ERR_INVALID;
	if (result == CURLE_OUT_OF_MEMORY)
		kind = ERR_FAILED;
	err_set(err, kind, "%s%s", words, scheme_advice(http->easy, result, words));
	if (err)
		err->os = (int)os;
	return -1;
}

static int run_transfer(struct http *http, struct exchange *exchange, struct cancel *cancel)
{
	char said[CURL_ERROR_SIZE] = "";
	CURLcode result = CURLE_OK;
	CURLMcode added;
	int driven;

	curl_easy_setopt(http->easy, CURLOPT_ERRORBUFFER, said);
	added = curl_multi_add_handle(http->multi, http->easy);
	if (added != CURLM_OK)
		return err_set(exchange->err, ERR_FAILED, "libcurl: %s",
			       curl_multi_strerror(added));
	driven = drive_transfer(http, cancel, &result, exchange->err);
#if LIBCURL_VERSION_NUM >= 0x075700
	/* Do not wait for a resolver thread that hangs in getaddrinfo(). */
	if (driven < 0)
		curl_easy_setopt(http->easy, CURLOPT_QUICK_EXIT, 1L);
#endif
	exchange->response->arrived_ms = clock_monotonic_ms();
	if (driven == 0) {
		long status = 0;

		curl_easy_getinfo(http->easy, CURLINFO_RESPONSE_CODE, &status);
		exchange->response->status = (int)status;
		if (exchange->failed)
			driven = -1;
		else if (result != CURLE_OK)
			driven = set_transfer_error(http, exchange->request, result, said,
						    exchange->err);
	}
	curl_multi_remove_handle(http->multi, http->easy);
	curl_easy_setopt(http->easy, CURLOPT_ERRORBUFFER, NULL);
	return driven;
}

int http_perform(struct http *http, const struct http_request *request,
		 struct http_response *response, struct cancel *cancel, struct err *err)
{
	struct exchange exchange = {http->easy, request, response, .err = err};
	struct curl_slist *headers = NULL;
	int done = -1;

	response->status = 0;
	response->sunk = 0;
	response->body.size = 0;
	response->fields.size = 0;
	response->fields.limit = FIELDS_LIMIT;
	if (cancel_check(cancel, err) < 0)
		return -1;
	curl_easy_reset(http->easy);
	curl_easy_setopt(http->easy, CURLOPT_URL, request->url);
	set_general_options(http, request);
	set_limits(http->easy, request);
	set_connection(http->easy, request);
	trust_certificates(http->easy, request);
	set_method(http->easy, request);
	set_callbacks(http->easy, &exchange);
	if (set_headers(http->easy, request, &headers) < 0)
		err_set(err, ERR_FAILED, "no memory for headers");
	else
		done = run_transfer(http, &exchange, cancel);
	curl_easy_setopt(http->easy, CURLOPT_HTTPHEADER, NULL);
	curl_slist_free_all(headers);
	return done;
}
