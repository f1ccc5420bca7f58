/*
 * PURE. Removes the secrets whose form tells that they are some, wherever they stand in a text: the
 * password before the host of a URL, its signatures and keys, the paths of webhooks, the values of
 * JSON members with a secret's name, and tokens that begin as those of well-known services do.
 */
#ifndef SECRET_TEXT_H
#define SECRET_TEXT_H

#define SECRET_MASK "***"

/* The text with "***" for each. A second time changes nothing. The caller frees. */
char *secret_text_mask(const char *text);

#endif
