/*
 * As much of S3 as the clients of the bench speak, in memory and with as little work as a server
 * can do: what shows is what the clients need. Nothing is checked, neither signatures nor digests:
 * it is for measuring, and for loopback alone.
 *
 *	sink [CERTIFICATE KEY]		prints its port; with these files, in PEM, it speaks TLS
 *	SINK_RATE=BYTES sink ...	carries at most so many bytes in a second, both ways and of
 *all together SINK_EACH=BYTES sink ...	the same for each connection SINK_FAR=MS sink ...
 *answers later by that, and accepts a connection so
 *
 * A thread for each connection. It ends when its standard input does. "DELETE /" forgets
 * everything; "GET /.counts" tells how many requests there were, and the bytes of their bodies.
 */
#include "sink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CONNECTIONS_WAITING 1024
#define HEAD_MOST ((size_t)64 << 10)
#define LARGE ((uint64_t)1 << 20)
#define BODY_MOST ((uint64_t)1 << 40)
#define RATE_PIECE ((size_t)128 << 10)

struct peer {
	int fd;
	SSL *ssl;           /* NULL: plain */
	int64_t free_at_ns; /* when it has carried all that came before */
	char head[HEAD_MOST + 1];
	size_t filled; /* bytes in head: a request's fields, and what came with them */
};

static SSL_CTX *tls;

/* --- memory --- */

uint8_t *body_room(uint64_t size)
{
	uint8_t *room;

	if (size < LARGE) {
		room = malloc(size + 1);
	} else {
		room = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (room == MAP_FAILED)
			room = NULL;
		else
			madvise(room, size, MADV_HUGEPAGE);
	}
	if (!room) {
		fputs("sink: no memory\n", stderr);
		exit(1);
	}
	return room;
}

void body_free(uint8_t *body, uint64_t size)
{
	if (size < LARGE)
		free(body);
	else
		munmap(body, size);
}

/* --- a slow network --- */

static uint64_t rate, rate_each; /* bytes per second; 0: as they come */
static int64_t far_ns;
static pthread_mutex_t rate_mutex = PTHREAD_MUTEX_INITIALIZER;
static int64_t free_at_ns; /* when the network has carried all that came before */

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void wait_until(int64_t end)
{
	struct timespec until = {.tv_sec = end / 1000000000, .tv_nsec = end % 1000000000};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static int64_t carry(int64_t *free_at, uint64_t bytes_per_second, size_t size)
{
	int64_t now = now_ns();

	if (bytes_per_second)
		*free_at = (*free_at > now ? *free_at : now) +
			   (int64_t)((double)size * 1e9 / (double)bytes_per_second);
	return *free_at;
}

static void wait_for_network(struct peer *peer, size_t size)
{
	int64_t end = carry(&peer->free_at_ns, rate_each, size), all;

	pthread_mutex_lock(&rate_mutex);
	all = carry(&free_at_ns, rate, size);
	pthread_mutex_unlock(&rate_mutex);
	if (rate || rate_each)
		wait_until(end > all ? end : all);
}

/* How much is carried in one go. */
static size_t piece_of(size_t size)
{
	size_t most = rate || rate_each ? RATE_PIECE : 1 << 30;

	return size < most ? size : most;
}

/* --- bytes --- */

bool peer_send(struct peer *peer, const void *data, size_t size)
{
	const char *next = data;

	while (size > 0) {
		size_t piece = piece_of(size);
		ssize_t sent = peer->ssl ? SSL_write(peer->ssl, next, (int)piece)
					 : send(peer->fd, next, piece, MSG_NOSIGNAL);

		if (sent < 0 && !peer->ssl && errno == EINTR)
			continue;
		if (sent <= 0)
			return false;
		wait_for_network(peer, (size_t)sent);
		next += sent;
		size -= (size_t)sent;
	}
	return true;
}

static size_t receive(struct peer *peer, void *room, size_t size)
{
	for (;;) {
		size_t piece = piece_of(size);
		ssize_t got = peer->ssl ? SSL_read(peer->ssl, room, (int)piece)
					: recv(peer->fd, room, piece, 0);

		if (got < 0 && !peer->ssl && errno == EINTR)
			continue;
		if (got > 0)
			wait_for_network(peer, (size_t)got);
		return got > 0 ? (size_t)got : 0;
	}
}

/* --- HTTP --- */

void decode(const char *text, size_t length, char *target, size_t capacity)
{
	size_t used = 0;

	for (size_t i = 0; i < length && used + 1 < capacity; i++) {
		unsigned byte;

		if (text[i] == '%' && i + 2 < length && sscanf(text + i + 1, "%2x", &byte) == 1) {
			target[used++] = (char)byte;
			i += 2;
		} else {
			target[used++] = text[i];
		}
	}
	target[used] = '\0';
}

static bool read_first_line(const char *line, struct request *request)
{
	const char *target = strchr(line, ' '), *end, *query;
	size_t length;

	if (!target || target - line >= (int)sizeof(request->method))
		return false;
	memcpy(request->method, line, (size_t)(target - line));
	end = strchr(++target, ' ');
	if (!end || *target != '/')
		return false;
	query = memchr(target, '?', (size_t)(end - target));
	decode(target + 1, (size_t)((query ? query : end) - target - 1), request->path,
	       sizeof(request->path));
	length = query ? (size_t)(end - query - 1) : 0;
	if (length >= sizeof(request->query))
		return false;
	memcpy(request->query, query ? query + 1 : "", length);
	return true;
}

static void read_field(const char *line, struct request *request)
{
	unsigned long long first, last;
	int got;

	if (strncasecmp(line, "content-length:", 15) == 0)
		request->body_size = strtoull(line + 15, NULL, 10);
	else if (strncasecmp(line, "if-none-match:", 14) == 0)
		request->if_absent = true;
	else if (strncasecmp(line, "expect:", 7) == 0)
		request->expects = true;
	else if (strncasecmp(line, "connection: close", 17) == 0)
		request->close = true;
	else if (strncasecmp(line, "x-amz-content-sha256: STREAMING-", 32) == 0)
		request->streaming = true;
	else if (strncasecmp(line, "range:", 6) == 0) {
		got = sscanf(line + 6, " bytes=%llu-%llu", &first, &last);
		request->ranged = got >= 1;
		request->range_first = got >= 1 ? first : 0;
		request->range_last = got == 2 ? last : UINT64_MAX;
	}
}

/* Up to the empty line; what came behind it stays in peer->head. */
static bool read_head(struct peer *peer, struct request *request)
{
	char *end, *line;
	size_t head;

	for (;;) {
		size_t got;

		peer->head[peer->filled] = '\0';
		end = strstr(peer->head, "\r\n\r\n");
		if (end)
			break;
		if (peer->filled == HEAD_MOST)
			return false;
		got = receive(peer, peer->head + peer->filled, HEAD_MOST - peer->filled);
		if (got == 0)
			return false;
		peer->filled += got;
	}
	head = (size_t)(end + 4 - peer->head);
	end[2] = '\0';
	*request = (struct request){0};
	line = peer->head;
	for (char *next; (next = strstr(line, "\r\n")); line = next + 2) {
		*next = '\0';
		if (line != peer->head)
			read_field(line, request);
		else if (!read_first_line(line, request))
			return false;
	}
	peer->filled -= head;
	memmove(peer->head, peer->head + head, peer->filled);
	return request->body_size < BODY_MOST;
}

static bool read_body(struct peer *peer, struct request *request)
{
	static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
	uint64_t done = peer->filled < request->body_size ? peer->filled : request->body_size;

	if (request->body_size == 0)
		return true;
	if (request->expects && done == 0 && !peer_send(peer, go_on, sizeof(go_on) - 1))
		return false;
	request->body = body_room(request->body_size);
	memcpy(request->body, peer->head, done);
	peer->filled -= done;
	memmove(peer->head, peer->head + done, peer->filled);
	while (done < request->body_size) {
		size_t got = receive(peer, request->body + done, request->body_size - done);

		if (got == 0) {
			body_free(request->body, request->body_size);
			return false;
		}
		done += got;
	}
	return true;
}

static void *converse(void *arg)
{
	struct peer *peer = arg;
	struct request request;
	bool more;

	wait_until(now_ns() + (peer->ssl ? 2 : 1) * far_ns);
	more = !peer->ssl || SSL_accept(peer->ssl) == 1;
	while (more && read_head(peer, &request) && read_body(peer, &request)) {
		wait_until(now_ns() + far_ns);
		more = objects_answer(peer, &request) && !request.close;
	}
	if (peer->ssl)
		SSL_free(peer->ssl);
	ERR_clear_error();
	close(peer->fd);
	free(peer);
	return NULL;
}

/* --- the server --- */

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void set_up_tls(const char *certificate, const char *key)
{
	tls = SSL_CTX_new(TLS_server_method());
	if (tls && SSL_CTX_use_certificate_chain_file(tls, certificate) == 1 &&
	    SSL_CTX_use_PrivateKey_file(tls, key, SSL_FILETYPE_PEM) == 1)
		return;
	fprintf(stderr, "sink: %s and %s are no certificate and its key\n", certificate, key);
	exit(1);
}

static int listen_on_loopback(void)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) < 0 ||
	    listen(fd, CONNECTIONS_WAITING) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &size) < 0)
		fail("sink: listen");
	printf("%d\n", ntohs(address.sin_port));
	fflush(stdout);
	return fd;
}

static void *wait_for_end(void *arg)
{
	char byte;

	(void)arg;
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	exit(0);
}

static void start(void *(*run)(void *), void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, arg) != 0)
		fail("sink: thread");
	pthread_detach(thread);
}

static uint64_t setting(const char *name)
{
	const char *value = getenv(name);

	return value ? strtoull(value, NULL, 10) : 0;
}

int main(int argc, char **argv)
{
	int listener;

	signal(SIGPIPE, SIG_IGN);
	rate = setting("SINK_RATE");
	rate_each = setting("SINK_EACH");
	far_ns = (int64_t)setting("SINK_FAR") * 1000000;
	if (argc == 3)
		set_up_tls(argv[1], argv[2]);
	listener = listen_on_loopback();
	start(wait_for_end, NULL);
	for (;;) {
		int fd = accept(listener, NULL, NULL), one = 1;
		struct peer *peer;

		if (fd < 0)
			continue;
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		peer = calloc(1, sizeof(*peer));
		if (!peer)
			fail("sink: memory");
		peer->fd = fd;
		if (tls && (peer->ssl = SSL_new(tls)))
			SSL_set_fd(peer->ssl, fd);
		start(converse, peer);
	}
}
