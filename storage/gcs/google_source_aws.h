/*
 * AWS as the other issuer of a Google external account: the subject token is a request to AWS that
 * says who signed it, ready to be sent. Google's token service sends it, and so learns who we are
 * (google.auth.aws; "Configure Workload Identity Federation with AWS").
 */
#ifndef GOOGLE_SOURCE_AWS_H
#define GOOGLE_SOURCE_AWS_H

#include "base/cancel.h"
#include "base/err.h"
#include "storage/aws/aws.h"

#include <stdint.h>

/*
 * By the credentials that AWS's own chain finds (aws_credentials.h). `url`: of GetCallerIdentity,
 * with "{region}" in it or not; the region is that of AWS's settings, else the instance's. Blocks
 * for seconds at most. The caller frees the token, which is as good as a secret for minutes. Errors
 * as aws_chain_get() has them; ERR_INVALID for a URL that is none.
 */
int google_source_aws_subject(const char *url, const char *audience, int64_t wall_ms, char **token,
			      struct cancel *cancel, struct err *err);

/* --- PURE --- */

/* The same once all is known; NULL for a region or URL that is none. */
char *google_source_aws_sign(const char *url, const char *audience, const char *region,
			     const struct aws_credentials *credentials, int64_t wall_ms);

#endif
