/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOG_STORE_H
#define LOG_STORE_H

#include <crawlarchive/sys/backend.h>

/* The backend of scheme `log:`; hand it to cra_backend_register(). */
extern const cra_backend log_store_backend;

#endif
