/*
 * For the static build alone: functions that Debian's and Ubuntu's archives refer to, and of whose
 * libraries there is no archive (krb5, p11-kit of GnuTLS, SASL of LDAP), which would drag in more
 * than all the rest (ICU), or which differ between the two (SSH). Nothing of ours leads to them.
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

/* Called as curl starts and ends. */
int libssh2_init(int flags);
void libssh2_exit(void);
int ssh_init(void);
int ssh_finalize(void);

int libssh2_init(int flags)
{
	(void)flags;
	return 0;
}

void libssh2_exit(void)
{
}

int ssh_init(void)
{
	return 0;
}

int ssh_finalize(void)
{
	return 0;
}

/* clang-format off */
#define ABSENT(name) _Noreturn void name(void); _Noreturn void name(void) { absent(#name); }

/* LDAP, which curl speaks and we do not. */
ABSENT(ber_bvfree) ABSENT(ber_free) ABSENT(ber_memfree) ABSENT(ber_sockbuf_add_io)
ABSENT(ldap_abandon_ext) ABSENT(ldap_err2string) ABSENT(ldap_free_urldesc)
ABSENT(ldap_get_attribute_ber) ABSENT(ldap_get_dn_ber) ABSENT(ldap_get_option) ABSENT(ldap_init_fd)
ABSENT(ldap_memfree) ABSENT(ldap_msgfree) ABSENT(ldap_msgtype) ABSENT(ldap_parse_result)
ABSENT(ldap_parse_sasl_bind_result) ABSENT(ldap_pvt_url_scheme2proto) ABSENT(ldap_result)
ABSENT(ldap_sasl_bind) ABSENT(ldap_search_ext) ABSENT(ldap_set_option) ABSENT(ldap_start_tls)
ABSENT(ldap_unbind_ext)
ABSENT(ldap_url_parse)

/* RTMP, likewise. */
ABSENT(RTMP_Alloc) ABSENT(RTMP_Close) ABSENT(RTMP_Connect1) ABSENT(RTMP_ConnectStream)
ABSENT(RTMP_Free) ABSENT(RTMP_Init) ABSENT(RTMP_Read) ABSENT(RTMP_SetBufferMS) ABSENT(RTMP_SetupURL)
ABSENT(RTMP_Write)

/* SSH, likewise. Debian 12's curl is built with libssh2, Ubuntu 24.04's with libssh. */
ABSENT(libssh2_agent_connect) ABSENT(libssh2_agent_disconnect) ABSENT(libssh2_agent_free)
ABSENT(libssh2_agent_get_identity) ABSENT(libssh2_agent_init) ABSENT(libssh2_agent_list_identities)
ABSENT(libssh2_agent_userauth) ABSENT(libssh2_channel_free) ABSENT(libssh2_channel_read_ex)
ABSENT(libssh2_channel_send_eof) ABSENT(libssh2_channel_wait_closed)
ABSENT(libssh2_channel_wait_eof) ABSENT(libssh2_crypto_engine)
ABSENT(libssh2_channel_write_ex) ABSENT(libssh2_hostkey_hash) ABSENT(libssh2_knownhost_add)
ABSENT(libssh2_knownhost_checkp) ABSENT(libssh2_knownhost_del) ABSENT(libssh2_knownhost_free)
ABSENT(libssh2_knownhost_get) ABSENT(libssh2_knownhost_init) ABSENT(libssh2_knownhost_readfile)
ABSENT(libssh2_knownhost_writefile) ABSENT(libssh2_scp_recv2) ABSENT(libssh2_scp_send64)
ABSENT(libssh2_session_abstract) ABSENT(libssh2_session_block_directions)
ABSENT(libssh2_session_callback_set) ABSENT(libssh2_session_callback_set2)
ABSENT(libssh2_session_disconnect_ex) ABSENT(libssh2_session_flag) ABSENT(libssh2_session_free)
ABSENT(libssh2_session_handshake) ABSENT(libssh2_session_hostkey) ABSENT(libssh2_session_init_ex)
ABSENT(libssh2_session_last_errno) ABSENT(libssh2_session_last_error)
ABSENT(libssh2_session_method_pref) ABSENT(libssh2_session_set_blocking)
ABSENT(libssh2_session_set_read_timeout)
ABSENT(libssh2_sftp_close_handle) ABSENT(libssh2_sftp_init) ABSENT(libssh2_sftp_last_error)
ABSENT(libssh2_sftp_mkdir_ex) ABSENT(libssh2_sftp_open_ex) ABSENT(libssh2_sftp_read)
ABSENT(libssh2_sftp_readdir_ex) ABSENT(libssh2_sftp_rename_ex) ABSENT(libssh2_sftp_rmdir_ex)
ABSENT(libssh2_sftp_seek64) ABSENT(libssh2_sftp_shutdown) ABSENT(libssh2_sftp_stat_ex)
ABSENT(libssh2_sftp_statvfs) ABSENT(libssh2_sftp_symlink_ex) ABSENT(libssh2_sftp_unlink_ex)
ABSENT(libssh2_sftp_write) ABSENT(libssh2_userauth_authenticated)
ABSENT(libssh2_userauth_keyboard_interactive_ex) ABSENT(libssh2_userauth_list)
ABSENT(libssh2_userauth_password_ex) ABSENT(libssh2_userauth_publickey_fromfile_ex)
ABSENT(libssh2_version)

ABSENT(sftp_async_read) ABSENT(sftp_async_read_begin) ABSENT(sftp_attributes_free)
ABSENT(sftp_canonicalize_path) ABSENT(sftp_close) ABSENT(sftp_closedir) ABSENT(sftp_dir_eof)
ABSENT(sftp_file_set_nonblocking) ABSENT(sftp_free) ABSENT(sftp_fstat) ABSENT(sftp_get_error)
ABSENT(sftp_init) ABSENT(sftp_lstat) ABSENT(sftp_mkdir) ABSENT(sftp_new) ABSENT(sftp_open)
ABSENT(sftp_opendir) ABSENT(sftp_readdir) ABSENT(sftp_readlink) ABSENT(sftp_rename)
ABSENT(sftp_rmdir) ABSENT(sftp_seek64) ABSENT(sftp_setstat) ABSENT(sftp_stat) ABSENT(sftp_statvfs)
ABSENT(sftp_statvfs_free) ABSENT(sftp_symlink) ABSENT(sftp_unlink) ABSENT(sftp_write)
ABSENT(ssh_clean_pubkey_hash) ABSENT(ssh_connect) ABSENT(ssh_disconnect) ABSENT(ssh_free)
ABSENT(ssh_get_error) ABSENT(ssh_get_error_code) ABSENT(ssh_get_poll_flags)
ABSENT(ssh_get_publickey_hash) ABSENT(ssh_get_server_publickey) ABSENT(ssh_key_free)
ABSENT(ssh_key_type) ABSENT(ssh_knownhosts_entry_free) ABSENT(ssh_new)
ABSENT(ssh_options_parse_config) ABSENT(ssh_options_set) ABSENT(ssh_pki_export_pubkey_base64)
ABSENT(ssh_pki_import_privkey_file) ABSENT(ssh_pki_import_pubkey_file) ABSENT(ssh_scp_close)
ABSENT(ssh_scp_free) ABSENT(ssh_scp_init) ABSENT(ssh_scp_new) ABSENT(ssh_scp_pull_request)
ABSENT(ssh_scp_push_file) ABSENT(ssh_scp_read) ABSENT(ssh_scp_request_get_size)
ABSENT(ssh_scp_write) ABSENT(ssh_session_get_known_hosts_entry)
ABSENT(ssh_session_update_known_hosts) ABSENT(ssh_set_blocking) ABSENT(ssh_string_free_char)
ABSENT(ssh_userauth_gssapi) ABSENT(ssh_userauth_kbdint) ABSENT(ssh_userauth_kbdint_getnprompts)
ABSENT(ssh_userauth_kbdint_setanswer) ABSENT(ssh_userauth_list) ABSENT(ssh_userauth_none)
ABSENT(ssh_userauth_password) ABSENT(ssh_userauth_publickey) ABSENT(ssh_userauth_publickey_auto)
ABSENT(ssh_userauth_try_publickey) ABSENT(ssh_version)

/* Kerberos, for proxies and servers that want it. */
ABSENT(gss_delete_sec_context) ABSENT(gss_display_name) ABSENT(gss_display_status)
ABSENT(gss_import_name) ABSENT(gss_init_sec_context) ABSENT(gss_inquire_context)
ABSENT(gss_release_buffer) ABSENT(gss_release_name) ABSENT(gss_unwrap) ABSENT(gss_wrap)

/* TLS of libmicrohttpd: our servers listen on this machine and for Prometheus, in the clear. */
ABSENT(gnutls_alpn_set_protocols) ABSENT(gnutls_bye) ABSENT(gnutls_certificate_allocate_credentials)
ABSENT(gnutls_certificate_free_credentials) ABSENT(gnutls_certificate_server_set_request)
ABSENT(gnutls_certificate_set_dh_params) ABSENT(gnutls_certificate_set_retrieve_function2)
ABSENT(gnutls_certificate_set_retrieve_function3) ABSENT(gnutls_certificate_set_x509_key_mem)
ABSENT(gnutls_certificate_set_x509_key_mem2) ABSENT(gnutls_certificate_set_x509_trust_mem)
ABSENT(gnutls_cipher_get)
ABSENT(gnutls_credentials_set) ABSENT(gnutls_deinit) ABSENT(gnutls_dh_params_deinit)
ABSENT(gnutls_dh_params_import_pkcs3) ABSENT(gnutls_dh_params_init) ABSENT(gnutls_handshake)
ABSENT(gnutls_init)
ABSENT(gnutls_malloc) ABSENT(gnutls_priority_deinit) ABSENT(gnutls_priority_init)
ABSENT(gnutls_priority_init2) ABSENT(gnutls_priority_set)
ABSENT(gnutls_protocol_get_version) ABSENT(gnutls_psk_allocate_server_credentials)
ABSENT(gnutls_psk_free_server_credentials) ABSENT(gnutls_psk_set_server_credentials_function)
ABSENT(gnutls_record_check_pending) ABSENT(gnutls_record_get_direction) ABSENT(gnutls_record_recv)
ABSENT(gnutls_record_send) ABSENT(gnutls_session_get_ptr) ABSENT(gnutls_session_set_ptr)
ABSENT(gnutls_strerror)
ABSENT(gnutls_transport_set_int2)

/* ICU, for libxml2's character sets, for libarchive's xar. Its names end in its version. */
#ifdef ICU_VERSION
#define ICU_JOINED(name, version) ABSENT(name##_##version)
#define ICU_OF(name, version) ICU_JOINED(name, version)
#define ICU_ABSENT(name) ICU_OF(name, ICU_VERSION)
ICU_ABSENT(UCNV_FROM_U_CALLBACK_STOP) ICU_ABSENT(UCNV_TO_U_CALLBACK_STOP) ICU_ABSENT(ucnv_close)
ICU_ABSENT(ucnv_convertEx) ICU_ABSENT(ucnv_open) ICU_ABSENT(ucnv_setFromUCallBack)
ICU_ABSENT(ucnv_setToUCallBack)
#endif
	/* clang-format on */
