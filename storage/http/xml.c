#include "xml.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <expat.h>
#include <string.h>

enum {
	DEPTH_MOST = 16,
	PATH_MOST = 512,
	TEXT_MOST = 64 * 1024,
};

struct xml_reading {
	XML_Parser parser;
	xml_element_fn element;
	void *arg;
	char path[PATH_MOST];
	size_t depth;
	struct bytes texts[DEPTH_MOST]; /* of each element that is open */
	const char *wrong;
};

static void stop_parsing(struct xml_reading *reading, const char *wrong)
{
	reading->wrong = wrong;
	XML_StopParser(reading->parser, XML_FALSE);
}

static void on_element_begin(void *arg, const char *name, const char **attributes)
{
	struct xml_reading *reading = arg;
	const char *colon = strrchr(name, ':');
	size_t used = strlen(reading->path);

	(void)attributes;
	if (colon)
		name = colon + 1;
	if (reading->depth == DEPTH_MOST || used + 1 + strlen(name) >= PATH_MOST) {
		stop_parsing(reading, "nested too deep");
		return;
	}
	if (used)
		strcat(reading->path, "/");
	strcat(reading->path, name);
	reading->texts[reading->depth].limit = TEXT_MOST;
	reading->texts[reading->depth++].size = 0;
}

static void on_characters(void *arg, const char *text, int length)
{
	struct xml_reading *reading = arg;

	/* After XML_StopParser() a call may still come. */
	if (reading->wrong || reading->depth == 0)
		return;
	/* One byte is kept for the end mark. */
	if (bytes_append(&reading->texts[reading->depth - 1], text, (size_t)length, NULL) < 0 ||
	    bytes_reserve(&reading->texts[reading->depth - 1], 1, NULL) < 0)
		stop_parsing(reading, "a text too long");
}

static void on_element_end(void *arg, const char *name)
{
	struct xml_reading *reading = arg;
	struct bytes *text;
	char *slash;

	(void)name;
	if (reading->wrong || reading->depth == 0)
		return;
	text = &reading->texts[reading->depth - 1];
	if (bytes_append(text, "", 1, NULL) < 0) {
		stop_parsing(reading, "a text too long");
		return;
	}
	if (strspn((const char *)text->data, " \t\r\n") == text->size - 1)
		text->data[0] = '\0';
	reading->element(reading->arg, reading->path, (const char *)text->data);
	reading->depth--;
	slash = strrchr(reading->path, '/');
	*(slash ? slash : reading->path) = '\0';
}

static void refuse_doctype(void *arg, const char *name, const char *system_id,
			   const char *public_id, int internal)
{
	(void)name, (void)system_id, (void)public_id, (void)internal;
	stop_parsing(arg, "a document type declaration");
}

/* Expat 2.9 deprecates the only one that there is before it. */
static unsigned long line_number(XML_Parser parser)
{
#if XML_MAJOR_VERSION > 2 || XML_MINOR_VERSION >= 9
	return XML_GetCurrentLineNumber64(parser);
#else
	return XML_GetCurrentLineNumber(parser);
#endif
}

static int parse_document(struct xml_reading *reading, const char *document, size_t size,
			  struct err *err)
{
	XML_SetUserData(reading->parser, reading);
	XML_SetElementHandler(reading->parser, on_element_begin, on_element_end);
	XML_SetCharacterDataHandler(reading->parser, on_characters);
	XML_SetStartDoctypeDeclHandler(reading->parser, refuse_doctype);
	if (XML_Parse(reading->parser, document, (int)size, XML_TRUE) == XML_STATUS_OK &&
	    !reading->wrong)
		return 0;
	return err_set(err, ERR_CORRUPT, "not the XML that was expected: %s (line %lu)",
		       reading->wrong ? reading->wrong
				      : XML_ErrorString(XML_GetErrorCode(reading->parser)),
		       line_number(reading->parser));
}

int xml_read(const void *document, size_t size, xml_element_fn element, void *arg, struct err *err)
{
	struct xml_reading *reading;
	const char *at = document;
	int result;

	while (size && strchr(" \t\r\n", *at) && *at)
		at++, size--;
	if (size == 0)
		return err_set(err, ERR_CORRUPT, "not the XML that was expected: nothing at all");
	if (size > (size_t)64 << 20)
		return err_set(err, ERR_CORRUPT, "an XML document of %zu bytes", size);
	reading = memory_new(sizeof(*reading));
	reading->parser = XML_ParserCreate(NULL);
	reading->element = element;
	reading->arg = arg;
	result = reading->parser ? parse_document(reading, at, size, err)
				 : err_set(err, ERR_FAILED, "no memory for XML");
	if (reading->parser)
		XML_ParserFree(reading->parser);
	for (size_t i = 0; i < DEPTH_MOST; i++)
		bytes_release(&reading->texts[i]);
	free(reading);
	return result;
}
