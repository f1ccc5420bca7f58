#include "labels.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static size_t name_length(const char *text)
{
	size_t length = 0;

	if (isdigit((unsigned char)text[0]))
		return 0;
	while (isalnum((unsigned char)text[length]) || text[length] == '_')
		length++;
	return length;
}

/* Prometheus rejects a whole scrape if a sample has a label twice. Its own target labels (job,
 * instance) would replace ours. */
static bool is_reserved(const char *name, size_t length)
{
	static const char *const reserved[] = {"run", "state", "source", "job", "instance"};

	if (length >= 2 && name[0] == '_' && name[1] == '_')
		return true;
	for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
		if (strlen(reserved[i]) == length && memcmp(reserved[i], name, length) == 0)
			return true;
	return false;
}

int labels_check(const char *text, struct err *err)
{
	for (const char *item = text; item; item = strchr(item, ',')) {
		size_t length;

		item += item != text;
		length = name_length(item);
		if (length == 0 || item[length] != '=')
			return err_set(err, ERR_INVALID,
				       "'%s': expected NAME=VALUE, such as team=nlp; a name has "
				       "letters, digits and '_'",
				       item);
		if (is_reserved(item, length))
			return err_set(
				err, ERR_INVALID,
				"label '%.*s' is reserved for the metrics or for Prometheus (run, "
				"state, source, job, instance, __*): choose another name, such as "
				"my_%.*s",
				(int)length, item, (int)length, item);
	}
	return 0;
}

json_t *labels_json(const char *const *texts, size_t count)
{
	json_t *labels = json_object();

	for (size_t i = 0; i < count; i++) {
		for (const char *item = texts[i]; item; item = strchr(item, ',')) {
			size_t length, value_length;

			item += item != texts[i];
			length = name_length(item);
			value_length = strcspn(item + length + 1, ",");
			auto_free char *name = text_copy_n(item, length);
			auto_free char *value = text_copy_n(item + length + 1, value_length);
			json_t *json = json_string(value);

			json_object_set_new(labels, name, json ? json : json_string("(not UTF-8)"));
		}
	}
	return labels;
}
