#include "storage_price.h"

#include "base/text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

double storage_price_of(const char *url)
{
	static const struct {
		const char *scheme;
		double price;
	} rows[] = {{"s3://", 0.023}, {"gs://", 0.020}, {"az://", 0.018}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (text_starts(url, rows[i].scheme))
			return rows[i].price;
	return 0;
}

bool storage_price_parse(const char *text, double *price)
{
	char *end;

	if (!isdigit((unsigned char)text[0]))
		return false;
	*price = strtod(text, &end);
	return *end == '\0' && isfinite(*price);
}

double storage_price_per_month(uint64_t bytes, double price)
{
	return (double)bytes / (double)(1 << 30) * price;
}

const char *storage_price_format(double dollars, char *buffer, size_t capacity)
{
	int digits = 2;

	if (dollars > 0 && dollars < 0.01)
		digits = dollars < 0.0001 ? 6 : 4;
	snprintf(buffer, capacity, "$%.*f", digits, dollars);
	return buffer;
}
