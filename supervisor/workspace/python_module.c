#include "python_module.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <string.h>

static char *module_path(const char *module, const char *end)
{
	char *path = text_format("%s%s", module, end);

	for (size_t i = 0; i < strlen(module); i++)
		if (path[i] == '.')
			path[i] = '/';
	return path;
}

char *python_module_file(const char *module)
{
	return module_path(module, ".py");
}

char *python_module_package(const char *module)
{
	return module_path(module, "/__main__.py");
}
