/*
 * A container as calls see it: account, credentials, connections. A call is signed, or given its
 * token, anew at each try.
 */
#ifndef AZURE_CONTAINER_H
#define AZURE_CONTAINER_H

#include "azure_account.h"
#include "azure_credentials.h"
#include "storage/http/http.h"

struct azure_container {
	struct azure_account account;
	const char *path; /* of the endpoint, within it: "", or "/devstoreaccount1" */
	struct azure_credentials *credentials; /* NULL with a key or a shared access signature */
	struct retrying_client *remote;
};

struct azure_call {
	const char *method;
	const char *key;        /* below the prefix; NULL: the container itself */
	const char *query;      /* encoded, without the shared access signature; NULL: none */
	const char *headers[3]; /* besides those that all have; ended by NULL */
	const void *body;       /* NULL: none */
	size_t body_size;
	bool if_absent;         /* one of the headers says so */
	bool past_end_is_empty; /* 416 is an answer like others */
	/* Reads a good answer; when it fails, the call is made again. NULL: nothing to read. */
	int (*read)(void *arg, const struct http_response *response, struct err *err);
	void *arg;
};

/* By the URL and the environment's variables, which azure_account.h and azure_credentials.h
 * tell. ERR_INVALID. */
int azure_container_init(struct azure_container *container, const char *url, struct err *err);
void azure_container_release(struct azure_container *container); /* when no call is under way */

/* Thread-safe. The kinds of errors are those of azure_reply_error.h; the sentence begins with the
 * account and the path in it. */
int azure_container_perform(struct azure_container *container, const struct azure_call *call,
			    struct http_response *response, struct cancel *cancel, struct err *err);

#endif
