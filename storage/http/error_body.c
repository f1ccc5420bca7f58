#include "error_body.h"

#include "base/text.h"
#include "xml.h"

#include <string.h>

static void read_element(void *arg, const char *path, const char *text)
{
	struct error_body *error = arg;

	if (strcmp(path, "Error/Code") == 0)
		text_set(error->code, sizeof(error->code), text);
	else if (strcmp(path, "Error/Message") == 0)
		text_set(error->message, sizeof(error->message), text);
}

void error_body_read(const void *body, size_t size, struct error_body *error)
{
	*error = (struct error_body){0};
	if (xml_read(body, size, read_element, error, NULL) < 0)
		*error = (struct error_body){0};
	/* Azure's go on with a request id and the time. */
	error->message[strcspn(error->message, "\r\n")] = '\0';
	text_to_line(error->code);
	text_to_line(error->message);
}
