/*
 * storage/azure/: Azure Blob Storage, and the tokens of Microsoft Entra. Read azure_store.h
 * first.
 *
 * For the rest of storage/, through this header alone:
 *
 *	azure_store.h		az://ACCOUNT/CONTAINER/PREFIX
 */
#ifndef STORAGE_AZURE_H
#define STORAGE_AZURE_H

#include "azure_store.h"

#endif
