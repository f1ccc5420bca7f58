/* PURE. What keeping bytes costs per month: an estimate from list prices of storage alone, without
 * requests and traffic. */
#ifndef STORAGE_PRICE_H
#define STORAGE_PRICE_H

#include "options/options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * USD per GB-month, as the clouds bill it (2^30 bytes), by the URL's scheme; 0: none. S3 Standard
 * in us-east-1 0.023 (aws.amazon.com/s3/pricing), Standard in a US region 0.020
 * (cloud.google.com/storage/pricing), Blob hot LRS in East US 0.018
 * (azure.microsoft.com/pricing/details/storage/blobs).
 */
double storage_price_of(const char *url);

/* "0.023" -> 0.023; false for what is no price. */
bool storage_price_parse(const char *text, double *price);

double storage_price_per_month(uint64_t bytes, double price);
/* "$12.34", "$0.0004": two digits that matter; returns `buffer`. */
const char *storage_price_format(double dollars, char *buffer, size_t capacity);

/* --price per GB and month: a double. */
extern const struct option_row price_rows[];

#endif
