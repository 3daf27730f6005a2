/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_PORTS_BACKEND_H
#define CRA_PORTS_BACKEND_H

/* The registry of backends inside a context. */

#include <crawlarchive/sys/backend.h>

/* The backend of the URI's scheme, valid for the context's life.
 * @return NULL with CRA_INVALID: no scheme, or an unknown one (the message lists the known, the hint names the
 * nearest). The URI itself is never quoted: it may hold a password. */
const cra_backend *cra_backend_for_uri(cra_context *context, const char *uri, cra_error *err);

/* What every opener of a port checks first: args, their struct_size, context and URI; then the backend.
 * @return NULL with CRA_INVALID */
const cra_backend *cra_backend_for_args(const cra_open_args *args, cra_error *err);

/* The failure of a backend that does not offer `port` ("catalog", …) under its scheme: CRA_UNSUPPORTED; the hint
 * lists the schemes that do. `offers` tells whether a backend does. */
cra_status cra_backend_not_offered(const cra_context *context, const cra_backend *backend, const char *port,
                                   bool (*offers)(const cra_backend *backend), cra_error *err);

#endif
