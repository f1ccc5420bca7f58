/* PURE. What sources of credentials answer. No error holds any of it but names of members and a
 * service's own error message. */
#ifndef AWS_REPLY_CREDENTIALS_H
#define AWS_REPLY_CREDENTIALS_H

#include "aws_credentials.h"
#include "storage/http/http.h"

/*
 * {"AccessKeyId", "SecretAccessKey", "SessionToken" or "Token", "Expiration"}: metadata services
 * and credential_process. A {"Code", "Message"} with another code than "Success" is ERR_DENIED;
 * anything that is neither ERR_FAILED.
 */
int aws_reply_json(const void *body, size_t size, struct aws_credentials *credentials,
		   struct err *err);

/* AssumeRole's and AssumeRoleWithWebIdentity's XML. */
int aws_reply_sts(const void *body, size_t size, struct aws_credentials *credentials,
		  struct err *err);

/* What to make of an answer of STS that may be an error. */
enum call_verdict aws_reply_judge_sts(int status, const void *body, size_t size, struct err *err);

/* Whether credentials may be fetched from there: https, or http to this machine or to the fixed
 * addresses of ECS and EKS. */
bool aws_reply_uri_is_allowed(const char *uri);

#endif
