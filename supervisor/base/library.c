#include "base/library.h"

#include <dlfcn.h>
#include <pthread.h>

static int find_functions(struct library *library, struct err *err)
{
	void *handle = dlopen(library->file, RTLD_NOW);

	for (size_t i = 0; handle && i < library->count; i++) {
		*library->symbols[i].function = dlsym(handle, library->symbols[i].name);
		if (!*library->symbols[i].function)
			handle = NULL;
	}
	if (!handle)
		return err_set(err, ERR_FAILED, "%s (install the package %s)", dlerror(),
			       library->package);
	library->open = true;
	return 0;
}

int library_open(struct library *library, struct err *err)
{
	static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
	int result = 0;

	pthread_mutex_lock(&opening);
	if (library->file && !library->open)
		result = find_functions(library, err);
	pthread_mutex_unlock(&opening);
	return result;
}
