/* PRIVATE to storage/: one source of credentials each, and what they share. */
#ifndef AWS_SOURCE_H
#define AWS_SOURCE_H

#include "aws_credentials.h"
#include "aws_settings.h"

/*
 * Fills `credentials`, and `told` with what the user should read of where they come from. Blocks
 * for some seconds at most. ERR_RETRY: the source does not answer now; ERR_DENIED: it refuses;
 * ERR_INVALID: it is set up wrongly.
 */
struct aws_source {
	const char *name;
	bool (*is_set_up)(const struct aws_settings *settings);
	int (*fetch)(const struct aws_settings *settings, struct aws_credentials *credentials,
		     char *source_text, size_t source_text_size, struct cancel *cancel,
		     struct err *err);
};

extern const struct aws_source aws_source_environment;
extern const struct aws_source aws_source_profile;
extern const struct aws_source aws_source_web_identity;
extern const struct aws_source aws_source_container;
extern const struct aws_source aws_source_instance;

/* --- what profiles put together from --- */

struct aws_role {
	const char *arn;
	const char *session;     /* NULL: made up */
	const char *external_id; /* NULL: none */
	const char *duration;    /* seconds; NULL: the service's default */
	const char *token_file;  /* for web identity */
};

/* Asks STS for the role, as `by` (signed). */
int aws_sts_assume(const struct aws_settings *settings, const struct aws_role *role,
		   const struct aws_credentials *by, struct aws_credentials *credentials,
		   struct cancel *cancel, struct err *err);
/* The same with the token in role->token_file, which is read anew each time. */
int aws_sts_web_identity(const struct aws_settings *settings, const struct aws_role *role,
			 struct aws_credentials *credentials, struct cancel *cancel,
			 struct err *err);

/* Of the machine that we are on, by its metadata service; the caller frees. Blocks for seconds at
 * most; errors as a source's. */
int aws_instance_region(char **region, struct cancel *cancel, struct err *err);

/* Runs the command with /bin/sh, and reads what it prints. What it says on stderr goes to ours. */
int aws_source_process_run(const char *command, struct aws_credentials *credentials,
			   struct cancel *cancel, struct err *err);

#endif
