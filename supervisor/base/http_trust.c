#include "base/http_trust.h"

#include "base/text.h"

#include <openssl/x509_vfy.h>
#include <stdlib.h>

/* libcurl reads no variables. These are those of curl(1), in its order (section ENVIRONMENT). */
void http_trust_set(CURL *easy, const struct http_request *request)
{
	const char *file = request->ca_file, *directory = NULL;

	if (!file)
		file = text_from_environment("CURL_CA_BUNDLE");
	if (!file) {
		file = text_from_environment("SSL_CERT_FILE");
		directory = text_from_environment("SSL_CERT_DIR");
	}
	if (file)
		curl_easy_setopt(easy, CURLOPT_CAINFO, file);
	if (directory)
		curl_easy_setopt(easy, CURLOPT_CAPATH, directory);
}

/* Another file of certificates helps only if the issuer is unknown, not for a wrong name or date.
 */
static bool is_unknown_issuer(CURL *easy)
{
	long verified = X509_V_OK;

	curl_easy_getinfo(easy, CURLINFO_SSL_VERIFYRESULT, &verified);
	switch (verified) {
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
	case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
	case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
	case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
		return true;
	default:
		return false;
	}
}

int http_trust_fail(CURL *easy, const struct http_request *request, CURLcode result,
		    const char *words, struct err *err)
{
	const char *own = request->ca_variable ? request->ca_variable : "";
	const char *comma = request->ca_variable ? ", " : "";

	if (result == CURLE_SSL_CACERT_BADFILE)
		return err_set(err, ERR_DENIED, "%s (%s%sCURL_CA_BUNDLE or SSL_CERT_FILE names it)",
			       words, own, comma);
	if (is_unknown_issuer(easy))
		return err_set(err, ERR_DENIED,
			       "%s (if the CA is your own, name its file in %s%sCURL_CA_BUNDLE or "
			       "SSL_CERT_FILE)",
			       words, own, comma);
	return err_set(err, ERR_DENIED, "%s", words);
}
