/*
 * storage/aws/: the address of a bucket, the credentials of AWS and the signing of requests, for
 * storage/s3 and for Google's AWS accounts. Read aws_credentials.h first.
 *
 * For the rest of storage/, through this header alone:
 *
 *	aws_credentials.h	credentials by AWS's own chain, renewed before they expire
 *	s3_address.h		PURE: URL, endpoint and region -> host and path
 *	sigv4.h			PURE: Signature Version 4
 */
#ifndef STORAGE_AWS_H
#define STORAGE_AWS_H

#include "aws_credentials.h"
#include "s3_address.h"
#include "sigv4.h"

#endif
