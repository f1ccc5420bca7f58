#include "name_temporary.h"

#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Other bytes than ASCII are letters of some language. */
static bool is_letter(char byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
	       (unsigned char)byte >= 0x80;
}

static void strip_temporary_prefix(struct name_fields *fields)
{
	static const char *const words[] = {"tmp", "temp", "temporary", "incomplete"};
	size_t at = fields->begin;

	/* Not the "__" of "__0_0.distcp". */
	if (fields->end > at + 1 && (fields->name[at] == '.' || fields->name[at] == '~'))
		fields->begin = ++at;
	fields->temporary = at > 0;
	if (fields->end > at + 1 && fields->name[at] == '_' && fields->name[at + 1] != '_')
		at++;
	for (size_t i = 0; i < COUNT_OF(words); i++) {
		size_t behind = at + strlen(words[i]);

		/* "tmp.12345" has the number of a process. */
		if (name_fields_starts_with(fields, at, words[i]) && behind + 1 < fields->end &&
		    strchr("-_", fields->name[behind])) {
			fields->begin = behind + 1;
			fields->temporary = fields->unfinished = true;
			return;
		}
	}
}

static bool is_temporary_mark(const struct name_fields *fields, size_t at)
{
	static const struct {
		const char *mark;
		char may_follow; /* 'x': anything; '-': no letter; '$': nothing */
	} marks[] = {{".tmp", 'x'},        {"-tmp", '-'},
		     {"_tmp", '-'},        {".temp", '-'},
		     {".partial", '-'},    {".incomplete", '-'},
		     {".inprogress", '-'}, {".orbax-checkpoint-tmp", 'x'},
		     {".part", '$'},       {"~", '$'}};

	for (size_t i = 0; i < COUNT_OF(marks); i++) {
		size_t end = at + strlen(marks[i].mark);

		if (name_fields_starts_with(fields, at, marks[i].mark) &&
		    (end == fields->end || marks[i].may_follow == 'x' ||
		     (marks[i].may_follow == '-' && !is_letter(fields->name[end]))))
			return true;
	}
	return false;
}

static void strip_temporary_suffix(struct name_fields *fields)
{
	for (size_t at = fields->begin + 1; at < fields->end; at++)
		if (is_temporary_mark(fields, at)) {
			fields->unfinished |= fields->name[at] != '~';
			fields->end = at;
			fields->temporary = true;
		}
}

void name_temporary_strip(struct name_fields *fields)
{
	strip_temporary_prefix(fields);
	strip_temporary_suffix(fields);
}
