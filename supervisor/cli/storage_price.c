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

static int set_price(void *price, const char *value, struct err *err)
{
	if (!storage_price_parse(value, price))
		return err_set(err, ERR_INVALID,
			       "invalid price '%s': write USD per GB and month, as 0.023", value);
	return 0;
}

const struct option_row price_rows[] = {
	{"price", 0, "USD", NULL, "per GB and month (default: the list price on s3, gs and az)",
	 .set = set_price},
	{0},
};
