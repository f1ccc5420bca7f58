/*
 * storage/azure/: MAP
 *
 * For other folders, through this header alone:
 *
 *	azure_store.h	Azure Blob Storage: az://ACCOUNT/CONTAINER/PREFIX
 *
 * Of this folder only:
 *
 *	azure_account.h		PURE: which account, container and endpoint, and which secret is
 *				for it
 *	azure_blob_reply.h	PURE: what a reply means: the table
 *	azure_container.h	a container as calls see it: account, credentials, connections
 *	azure_credentials.h	tokens of Microsoft Entra: a secret, a workload or a managed
 *				identity
 *	azure_listing.h		PURE: one page of List Blobs
 *	azure_shared_key.h	PURE: SharedKey: the text that is signed, and the header
 */
#ifndef STORAGE_AZURE_H
#define STORAGE_AZURE_H

#include "azure_store.h"

#endif
