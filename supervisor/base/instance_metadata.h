/*
 * The metadata service of a cloud's instance, as its programs ask it: where it is, the header that
 * it wants, AWS's token, one small request without a proxy. For notices and for credentials alike.
 *
 * WHERE: what the environment names, else the well-known address. A name without a scheme is http;
 * trailing slashes are cut. The vendors' own variables count as in their own tools.
 *
 * AWS: AWS_EC2_METADATA_SERVICE_ENDPOINT, a whole URL, overrules ..._ENDPOINT_MODE=IPv6, which is
 * read in any case of letters; any other mode is IPv4. (AWS SDKs and Tools Reference Guide, "IMDS
 * client".)
 *
 * Google: GCE_METADATA_HOST, else the older GCE_METADATA_ROOT, else GCE_METADATA_IP. The default is
 * the address: away from Google, the name may take the resolver half a minute.
 * (google-auth-library-python, google/auth/compute_engine/_metadata.py.)
 *
 * Azure: no variable of Azure's moves the whole service, so REPRIEVE_AZURE_METADATA_ENDPOINT does
 * that for notices. Tokens alone have AZURE_POD_IDENTITY_AUTHORITY_HOST: what answers there knows
 * nothing of scheduled events, and a rehearsal of those knows nothing of tokens. Hence two
 * services. (azure-sdk-for-python, ImdsCredential.)
 *
 * Alibaba and Tencent: REPRIEVE_<CLOUD>_METADATA_ENDPOINT.
 *
 * AWS's SWITCHES (same guide): AWS_EC2_METADATA_DISABLED=true asks nothing,
 * AWS_EC2_METADATA_V1_DISABLED=true asks nothing without a token, AWS_METADATA_SERVICE_TIMEOUT is
 * for one request.
 *
 * THE TOKEN (IMDSv2) is renewed at half its life, and once for a request that refuses it. Where a
 * PUT answers 403, 404 or 405, the service is so old that it has none, and credentials are asked
 * for without one unless that is disabled (the SDKs' rule). They are not after a PUT that timed
 * out: that is a container behind a hop limit of 1. Notices may be, where the answer proves to be
 * EC2's: aws_access_decide() in cloud/.
 */
#ifndef BASE_INSTANCE_METADATA_H
#define BASE_INSTANCE_METADATA_H

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/http.h"

#include <stdbool.h>
#include <stdint.h>

enum metadata_service {
	METADATA_AWS,
	METADATA_GOOGLE,
	METADATA_AZURE,
	/* For tokens alone. */
	METADATA_AZURE_IDENTITY,
	METADATA_ALIBABA,
	METADATA_TENCENT,
	/* ECS's and EKS's endpoint of credentials: wherever the caller says, without a token of its
	 * own. */
	METADATA_AWS_CONTAINER,
	METADATA_SERVICES,
};

enum {
	METADATA_TOKEN_MOST = 1024
};

struct metadata_endpoint {
	/* Without a slash at its end. */
	char url[160];
	/* By the environment; else it is the well-known one. */
	bool is_named;
};

/* Reads the environment. */
void instance_metadata_endpoint(enum metadata_service service, struct metadata_endpoint *endpoint);

struct metadata_aws_settings {
	bool is_disabled, allows_tokenless;
	/* Of one request: at least 100, by default 2000. */
	int64_t timeout_ms;
};

/* Reads the environment. */
void instance_metadata_aws_settings(struct metadata_aws_settings *settings);

/* "Metadata-Flavor: Google"; NULL where a service wants none. */
const char *instance_metadata_header(enum metadata_service service);

/* A client, for one thread. Between requests the caller may change timeout_ms. */
struct instance_metadata {
	enum metadata_service service;
	/* As metadata_endpoint has it. */
	char endpoint[256];
	/* Of one request; for the connection at most a second of it. */
	int64_t timeout_ms;
	/* How often to ask when nobody answers, or with 429 or 5xx. */
	unsigned tries;
	struct http *http;
	/* What was answered last. status 0: nothing. */
	struct http_response response;
	/* "": none. */
	char token_header[METADATA_TOKEN_MOST + 40];
	/* monotonic: when to ask for the next token */
	int64_t refresh_ms;
};

/* Makes no request. To be closed, also after a failure. `endpoint` is copied. */
int instance_metadata_open(struct instance_metadata *client, enum metadata_service service,
			   const char *endpoint, int64_t timeout_ms, struct err *err);
void instance_metadata_close(struct instance_metadata *client);
AUTO(struct instance_metadata, instance_metadata_close);

/*
 * One request, the answer in `response` whatever its status. Blocks for timeout_ms (times tries).
 * `header` NULL: the service's own, if any; `body` NULL: none. The error kinds are
 * http_perform()'s; ERR_RETRY also for 429 or 5xx after several tries.
 */
int instance_metadata_send(struct instance_metadata *client, const char *method, const char *path,
			   const char *header, const char *body, struct cancel *cancel,
			   struct err *err);

/*
 * A GET, on AWS and Alibaba with the token where there is one: renewed ahead of time, and once when
 * it is refused. ERR_RETRY also for a token that is required and not given.
 */
int instance_metadata_get(struct instance_metadata *client, const char *path, struct cancel *cancel,
			  struct err *err);

/*
 * Asks for a token. -1: none came, and the old one stays, for it may still be good; `response`
 * tells what was answered. ERR_DENIED for an answer that is no token.
 */
int instance_metadata_renew_token(struct instance_metadata *client, struct cancel *cancel,
				  struct err *err);

/* On AWS's answer to a request for a token. */
#define INSTANCE_METADATA_TTL "X-Aws-Ec2-Metadata-Token-Ttl-Seconds"

/* PURE. The token in a body, without white space around it. False for what may not stand in a
 * header, and for a page or a document of something else. */
bool instance_metadata_read_token(const char *body, size_t size, char token[METADATA_TOKEN_MOST]);

#endif
