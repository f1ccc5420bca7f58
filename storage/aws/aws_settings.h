/*
 * What the environment and AWS's shared files say, read once when a store is opened. AWS's own
 * names work as they do elsewhere: AWS_PROFILE, AWS_CONFIG_FILE, AWS_SHARED_CREDENTIALS_FILE,
 * AWS_REGION, AWS_DEFAULT_REGION, AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, AWS_ENDPOINT_URL_STS,
 * AWS_IGNORE_CONFIGURED_ENDPOINT_URLS, AWS_REQUEST_CHECKSUM_CALCULATION, AWS_CA_BUNDLE, and in a
 * profile region, endpoint_url, services, s3.addressing_style, request_checksum_calculation,
 * ca_bundle. And further:
 *
 *	AWS_REQUEST_PAYER=requester	our account pays for requests to another's bucket
 *	REPRIEVE_S3_ADDRESSING		auto, path or virtual
 *	REPRIEVE_S3_CHECKSUM=off        no x-amz-checksum-crc32c with what is put: for stores that
 *	                                refuse it
 *	REPRIEVE_S3_HEADERS             "name: value, name: value": signed, sent with every put;
 *	                                those of the customer's encryption key and of the expected
 *	                                bucket owner with every request
 *	REPRIEVE_S3_CONDITIONAL=off     for stores that ignore If-None-Match: it is looked first,
 *	                                then put. Two machines that put the same name at the same
 *	                                instant then both believe that it is theirs, so that two
 *	                                attempts of a job may get one number; run one machine at a
 *	                                time
 */
#ifndef AWS_SETTINGS_H
#define AWS_SETTINGS_H

#include "aws_ini.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "s3_address.h"

#include <stdbool.h>
#include <stddef.h>

struct aws_settings {
	struct aws_ini profiles;
	char *profile;         /* AWS_PROFILE, else "default" */
	bool profile_is_named; /* by AWS_PROFILE */
	char *region;          /* NULL: nothing says it */
	char *endpoint;        /* of S3; NULL: AWS itself */
	char *sts_endpoint;    /* NULL: by region */
	char *ca_file;         /* whose certificates are trusted; NULL: as base/http.h says */
	enum s3_style style;
	bool checksums;   /* send x-amz-checksum-crc32c with what is put */
	bool conditional; /* the store knows If-None-Match */
	bool requester_pays;
	char **headers; /* REPRIEVE_S3_HEADERS: name, value, name, value, ..., NULL */
};

/* ERR_INVALID names the variable that is wrong; files that are not there are fine, such as cannot
 * be read are not. */
int aws_settings_load(struct aws_settings *settings, struct err *err);
void aws_settings_release(struct aws_settings *settings);
AUTO(struct aws_settings, aws_settings_release);

/* PURE. "name: value, name: value" -> as in struct aws_settings; ERR_INVALID for a name that we set
 * ourselves or that is none. */
int aws_settings_headers(const char *text, char ***headers, struct err *err);

#endif
