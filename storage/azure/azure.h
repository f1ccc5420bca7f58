/*
 * storage/azure/: MAP
 *
 * For other folders, through this header alone:
 *
 *	azure_store.h	Azure Blob Storage: az://ACCOUNT/CONTAINER/PREFIX
 *
 * Of this folder only:
 *
 *	azure_account.h	* PURE
 *	azure_container.h	* A container as calls see it: account, credentials, connections
 *	azure_credentials.h     * Tokens of Microsoft Entra for Azure Storage, where there is
 *	                        neither a key nor a shared access signature: a client secret, a
 *	                        workload identity (federated token file), App Service's or the
 *	                        virtual machine's managed identity, whichever the environment speaks
 *	                        of first
 *	azure_listing.h	PURE: One page of Azure's List Blobs
 *	azure_reply_error.h	PURE: What an answer of Azure Blob Storage means
 *	azure_shared_key.h	* PURE
 */
#ifndef STORAGE_AZURE_H
#define STORAGE_AZURE_H

#include "azure_store.h"

#endif
