/*
 * For the static build alone: functions that Debian's archives refer to, and of whose libraries there is no archive (krb5, p11-kit of
 * GnuTLS, SASL of LDAP) or which would drag in more than all the rest (ICU). Nothing of ours leads to them.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

_Noreturn static void absent(const char *name)
{
	fprintf(stderr, "reprieve: %s is not in the static build\n", name);
	abort();
}

/* Of expat; in the C library since 2.36 only. */
void arc4random_buf(void *buffer, size_t size);
void arc4random_buf(void *buffer, size_t size)
{
	uint8_t *at = buffer;

	while (size > 0) {
		ssize_t got = getrandom(at, size, 0);

		if (got < 0 && errno != EINTR)
			abort();
		at += got > 0 ? got : 0;
		size -= got > 0 ? (size_t)got : 0;
	}
}

/* Called at the start of a server, and of no consequence there. */
int gnutls_global_init(void);
void gnutls_global_deinit(void);
extern const void *const GSS_C_NT_HOSTBASED_SERVICE;

int gnutls_global_init(void)
{
	return 0;
}

void gnutls_global_deinit(void)
{
}

const void *const GSS_C_NT_HOSTBASED_SERVICE = NULL;

/* clang-format off */
#define ABSENT(name) _Noreturn void name(void); _Noreturn void name(void) { absent(#name); }

/* LDAP, which curl speaks and we do not. */
ABSENT(ber_bvfree) ABSENT(ber_free) ABSENT(ber_memfree) ABSENT(ber_sockbuf_add_io) ABSENT(ldap_abandon_ext)
ABSENT(ldap_err2string) ABSENT(ldap_free_urldesc) ABSENT(ldap_get_attribute_ber) ABSENT(ldap_get_dn_ber)
ABSENT(ldap_get_option) ABSENT(ldap_init_fd) ABSENT(ldap_memfree) ABSENT(ldap_msgfree) ABSENT(ldap_msgtype)
ABSENT(ldap_parse_result) ABSENT(ldap_parse_sasl_bind_result) ABSENT(ldap_pvt_url_scheme2proto) ABSENT(ldap_result)
ABSENT(ldap_sasl_bind) ABSENT(ldap_search_ext) ABSENT(ldap_set_option) ABSENT(ldap_start_tls) ABSENT(ldap_unbind_ext)
ABSENT(ldap_url_parse)

/* RTMP, likewise. */
ABSENT(RTMP_Alloc) ABSENT(RTMP_Close) ABSENT(RTMP_Connect1) ABSENT(RTMP_ConnectStream) ABSENT(RTMP_Free)
ABSENT(RTMP_Init) ABSENT(RTMP_Read) ABSENT(RTMP_SetBufferMS) ABSENT(RTMP_SetupURL) ABSENT(RTMP_Write)

/* Kerberos, for proxies and servers that want it. */
ABSENT(gss_delete_sec_context) ABSENT(gss_display_name) ABSENT(gss_display_status) ABSENT(gss_import_name)
ABSENT(gss_init_sec_context) ABSENT(gss_inquire_context) ABSENT(gss_release_buffer) ABSENT(gss_release_name)
ABSENT(gss_unwrap) ABSENT(gss_wrap)

/* TLS of libmicrohttpd: our servers listen on this machine and for Prometheus, in the clear. */
ABSENT(gnutls_alpn_set_protocols) ABSENT(gnutls_bye) ABSENT(gnutls_certificate_allocate_credentials)
ABSENT(gnutls_certificate_free_credentials) ABSENT(gnutls_certificate_server_set_request)
ABSENT(gnutls_certificate_set_dh_params) ABSENT(gnutls_certificate_set_retrieve_function2)
ABSENT(gnutls_certificate_set_retrieve_function3) ABSENT(gnutls_certificate_set_x509_key_mem)
ABSENT(gnutls_certificate_set_x509_key_mem2) ABSENT(gnutls_certificate_set_x509_trust_mem) ABSENT(gnutls_cipher_get)
ABSENT(gnutls_credentials_set) ABSENT(gnutls_deinit) ABSENT(gnutls_dh_params_deinit)
ABSENT(gnutls_dh_params_import_pkcs3) ABSENT(gnutls_dh_params_init) ABSENT(gnutls_handshake) ABSENT(gnutls_init)
ABSENT(gnutls_malloc) ABSENT(gnutls_priority_deinit) ABSENT(gnutls_priority_init) ABSENT(gnutls_priority_set)
ABSENT(gnutls_protocol_get_version) ABSENT(gnutls_psk_allocate_server_credentials)
ABSENT(gnutls_psk_free_server_credentials) ABSENT(gnutls_psk_set_server_credentials_function)
ABSENT(gnutls_record_check_pending) ABSENT(gnutls_record_get_direction) ABSENT(gnutls_record_recv)
ABSENT(gnutls_record_send) ABSENT(gnutls_session_get_ptr) ABSENT(gnutls_session_set_ptr) ABSENT(gnutls_strerror)
ABSENT(gnutls_transport_set_int2)

/* ICU, for libxml2's character sets, for libarchive's xar. Its names end in its version. */
#ifdef ICU_VERSION
#define ICU_JOINED(name, version) ABSENT(name##_##version)
#define ICU_OF(name, version) ICU_JOINED(name, version)
#define ICU_ABSENT(name) ICU_OF(name, ICU_VERSION)
ICU_ABSENT(UCNV_FROM_U_CALLBACK_STOP) ICU_ABSENT(UCNV_TO_U_CALLBACK_STOP) ICU_ABSENT(ucnv_close)
ICU_ABSENT(ucnv_convertEx) ICU_ABSENT(ucnv_open) ICU_ABSENT(ucnv_setFromUCallBack) ICU_ABSENT(ucnv_setToUCallBack)
#endif
	/* clang-format on */
