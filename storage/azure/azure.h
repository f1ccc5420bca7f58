/*
 * storage/azure/: Azure Blob Storage, and the tokens of Microsoft Entra. Read azure_container.h
 * first.
 *
 * For the rest of storage/, through this header alone:
 *
 *	azure_store.h		az://ACCOUNT/CONTAINER/PREFIX
 *
 * Of this folder only:
 *
 *	azure_account.h		PURE: account, container, endpoint and secrets
 *	azure_container.h	sends authorized requests to one container
 *	azure_credentials.h	tokens of Microsoft Entra
 *	azure_blob_reply.h	PURE: what a reply means
 *	azure_listing.h		PURE: one page of List Blobs
 *	azure_shared_key.h	PURE: the signature with the account's key
 */
#ifndef STORAGE_AZURE_H
#define STORAGE_AZURE_H

#include "azure_store.h"

#endif
