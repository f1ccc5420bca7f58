/* Whoever reports a fault, or asks whether two programs read each other's stores, needs these. */
#include "cli.h"
#include "storage/storage.h"

#include <stdio.h>

/* In commit.c, which the build writes. */
extern const char version_commit[];

void version_print(void)
{
	int store, manifest;

	storage_format_versions(&store, &manifest);
	printf("reprieve " REPRIEVE_VERSION "\n"
	       "store format %d, manifests of version %d\n"
	       "commit %s\n",
	       store, manifest, version_commit);
}
