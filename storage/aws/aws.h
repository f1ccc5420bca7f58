/*
 * storage/aws/: MAP
 *
 * For other folders, through this header alone:
 *
 *	aws_credentials.h       * Credentials of AWS, by the chain that its own tools follow:
 *	                        environment; the profile (keys, an assumed role, web identity, a
 *	                        process); web identity of the environment; the container's endpoint;
 *	                        the instance's metadata
 *	aws_settings.h  * What the environment and AWS's shared files say, read once when a store is
 *	                opened
 *	aws_source.h	c: one source of credentials each, and what they share
 *	s3_address.h    PURE: Where a bucket is: URL, endpoint and region -> host and path of a
 *	                request
 *	sigv4.h	* PURE
 *
 * Of this folder only:
 *
 *	aws_ini.h       PURE: The shared files of AWS, "config" and "credentials": sections, names
 *	                and values
 *	aws_reply_credentials.h	PURE: What sources of credentials answer
 */
#ifndef STORAGE_AWS_H
#define STORAGE_AWS_H

#include "aws_credentials.h"
#include "aws_settings.h"
#include "aws_source.h"
#include "s3_address.h"
#include "sigv4.h"

#endif
