#include "source_list.h"

#include "base/text.h"

#include <string.h>

#define COMMAND "command:"

bool source_list_next(char **list, struct source_choice *choice)
{
	char *item, *colon;

	if (!*list)
		return false;
	while (**list == ' ')
		(*list)++;
	if (text_starts(*list, COMMAND)) {
		*choice = (struct source_choice){"command", *list + strlen(COMMAND)};
		(*list)[strlen(COMMAND) - 1] = '\0';
		*list = NULL;
		return true;
	}
	item = strsep(list, ",");
	colon = strchr(item, ':');
	if (colon)
		*colon++ = '\0';
	*choice = (struct source_choice){item, colon ? colon : ""};
	return true;
}
