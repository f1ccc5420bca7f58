#include "azure_account.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "storage/http/http.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The emulator's, the same everywhere and no secret: Azurite's manual names them. */
#define EMULATOR_ACCOUNT "devstoreaccount1"
#define EMULATOR_KEY                                                    \
	"Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6t" \
	"q/K1SZFPTOtr/KBHBeksoGMGw=="
#define EMULATOR_ENDPOINT "http://127.0.0.1:10000/" EMULATOR_ACCOUNT

#define CONNECTION "AZURE_STORAGE_CONNECTION_STRING"

struct connection {
	char *account, *key, *sas, *endpoint, *suffix, *protocol, *emulator;
};

static void connection_release(struct connection *connection)
{
	free(connection->account);
	free(connection->key);
	free(connection->sas);
	free(connection->endpoint);
	free(connection->suffix);
	free(connection->protocol);
	free(connection->emulator);
}
AUTO(struct connection, connection_release);

static bool text_is_set(const char *text)
{
	return text && text[0];
}

/* --- the URL --- */

static bool consists_of(const char *text, const char *allowed, size_t least, size_t most)
{
	size_t length = strlen(text);

	return length >= least && length <= most && strspn(text, allowed) == length;
}

static int read_url(const char *url, struct azure_account *account, struct err *err)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-$";
	const char *at = url + strlen("az://");
	size_t length = strcspn(at, "/");

	account->name = text_copy_n(at, length);
	at += length + (at[length] == '/');
	uri_split_prefix(at, &account->container, &account->prefix);
	if (!consists_of(account->name, letters, 3, 63) ||
	    !consists_of(account->container, letters, 3, 63))
		return err_set(err, ERR_INVALID,
			       "store %s: an Azure store is named az://ACCOUNT/CONTAINER/PREFIX, "
			       "with 3 to 63 of a-z 0-9 - for the first two",
			       url);
	if (strpbrk(account->prefix, "?#\\") || strstr(account->prefix, "//"))
		return err_set(err, ERR_INVALID, "store %s: no ? # \\ or // in the prefix", url);
	return 0;
}

/* --- the connection string --- */

static int read_connection(const char *text, struct connection *connection, struct err *err)
{
	const struct {
		const char *name;
		char **value;
	} members[] = {
		{"AccountName", &connection->account},
		{"AccountKey", &connection->key},
		{"SharedAccessSignature", &connection->sas},
		{"BlobEndpoint", &connection->endpoint},
		{"EndpointSuffix", &connection->suffix},
		{"DefaultEndpointsProtocol", &connection->protocol},
		{"UseDevelopmentStorage", &connection->emulator},
	};

	while (*(text += strspn(text, "; \t\r\n"))) {
		size_t length = strcspn(text, ";"), name = strcspn(text, "=");

		if (name >= length)
			return err_set(err, ERR_INVALID,
				       CONNECTION ": a part of it is not NAME=VALUE");
		for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
			if (strlen(members[i].name) != name ||
			    strncasecmp(text, members[i].name, name) != 0)
				continue;
			free(*members[i].value);
			*members[i].value = text_copy_n(text + name + 1, length - name - 1);
		}
		text += length;
	}
	if (text_equal(connection->emulator, "true") && !connection->account)
		connection->account = text_copy(EMULATOR_ACCOUNT);
	return 0;
}

/* --- what follows --- */

static int set_key(struct azure_account *account, const char *key, const char *source,
		   struct err *err)
{
	if (!base64_decode(key, &account->key) || account->key.size == 0)
		return err_set(err, ERR_INVALID, "%s: the account key is not base64", source);
	account->source = source;
	return 0;
}

static int set_sas(struct azure_account *account, const char *sas, const char *source,
		   struct err *err)
{
	sas += strspn(sas, "?&");
	for (const char *at = sas; *at; at++)
		if (*at <= ' ' || *at > '~' || *at == '#')
			return err_set(err, ERR_INVALID,
				       "%s: the shared access signature is not a URL's query",
				       source);
	if (!strstr(sas, "sig="))
		return err_set(err, ERR_INVALID,
			       "%s: the shared access signature has no sig=", source);
	account->sas = text_copy(sas);
	account->source = source;
	return 0;
}

static int set_endpoint(struct azure_account *account, const char *endpoint, struct err *err)
{
	account->endpoint = uri_endpoint(endpoint);
	if (!account->endpoint)
		return err_set(err, ERR_INVALID, "the blob endpoint is no http or https URL");
	return 0;
}

static int choose_endpoint(struct azure_account *account, const struct connection *connection,
			   const struct azure_environment *environment, struct err *err)
{
	auto_free char *built = NULL;

	if (text_is_set(connection->endpoint))
		return set_endpoint(account, connection->endpoint, err);
	if (text_is_set(environment->endpoint))
		return set_endpoint(account, environment->endpoint, err);
	if (strcmp(account->name, EMULATOR_ACCOUNT) == 0 && !text_is_set(connection->suffix))
		return set_endpoint(account, EMULATOR_ENDPOINT, err);
	built = text_format("%s://%s.blob.%s",
			    text_equal(connection->protocol, "http") ? "http" : "https",
			    account->name,
			    text_is_set(connection->suffix) ? connection->suffix
							    : "core.windows.net");
	return set_endpoint(account, built, err);
}

static int choose_secret(struct azure_account *account, const struct connection *connection,
			 const struct azure_environment *environment, struct err *err)
{
	if (text_is_set(connection->key))
		return set_key(account, connection->key, CONNECTION, err);
	if (text_is_set(connection->sas))
		return set_sas(account, connection->sas, CONNECTION, err);
	if (text_is_set(environment->key))
		return set_key(account, environment->key, "AZURE_STORAGE_KEY", err);
	if (text_is_set(environment->sas))
		return set_sas(account, environment->sas, "AZURE_STORAGE_SAS_TOKEN", err);
	if (strcmp(account->name, EMULATOR_ACCOUNT) == 0)
		return set_key(account, EMULATOR_KEY, "the emulator's well-known key", err);
	return 0;
}

/* A secret of another account would only be refused, and with words that do not say why. */
static int check_name(const struct azure_account *account, const char *name, const char *variable,
		      struct err *err)
{
	if (!text_is_set(name) || strcmp(name, account->name) == 0)
		return 0;
	return err_set(err, ERR_INVALID, "%s is for the account %s, but the store's account is %s",
		       variable, name, account->name);
}

int azure_account_read(const char *url, const struct azure_environment *environment,
		       struct azure_account *account, struct err *err)
{
	auto_(connection_release) struct connection connection = {0};

	*account = (struct azure_account){0};
	if (read_url(url, account, err) < 0)
		return -1;
	if (text_is_set(environment->connection) &&
	    read_connection(environment->connection, &connection, err) < 0)
		return -1;
	if (check_name(account, connection.account, CONNECTION, err) < 0 ||
	    check_name(account, environment->account, "AZURE_STORAGE_ACCOUNT", err) < 0)
		return -1;
	if (choose_endpoint(account, &connection, environment, err) < 0)
		return -1;
	return choose_secret(account, &connection, environment, err);
}

void azure_account_release(struct azure_account *account)
{
	free(account->name);
	free(account->container);
	free(account->prefix);
	free(account->endpoint);
	free(account->sas);
	bytes_release(&account->key);
	*account = (struct azure_account){0};
}
