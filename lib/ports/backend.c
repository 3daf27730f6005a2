/* SPDX-License-Identifier: Apache-2.0 */
#include "ports/backend.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/options.h"
#include "base/similar.h"
#include "base/uri.h"
#include "ports/context.h"

#define MAX_SCHEME 31

static const cra_backend *find(const cra_context *context, const char *scheme)
{
    for (size_t i = 0; i < context->backends_count; i++) {
        if (strcmp(context->backends[i]->scheme, scheme) == 0)
            return context->backends[i];
    }
    return NULL;
}

static cra_status check_backend(const cra_context *context, const cra_backend *backend, cra_error *err)
{
    if (cra_options_check(backend, sizeof *backend) != CRA_OK || backend->struct_size < sizeof *backend)
        return cra_error_set(err, CRA_INVALID, "backend", "a backend's struct_size %zu is not the one of this version",
                             backend->struct_size);
    if (backend->abi_version != CRA_ABI_VERSION)
        return cra_error_set(err, CRA_INVALID, "backend", "a backend was built for ABI version %u, this is %u",
                             (unsigned)backend->abi_version, CRA_ABI_VERSION);
    if (backend->scheme == NULL || strlen(backend->scheme) > MAX_SCHEME || !cra_uri_is_scheme(backend->scheme))
        return cra_error_set(err, CRA_INVALID, "backend",
                             "a backend's scheme '%.40s' is not of the form [a-z][a-z0-9+]*",
                             backend->scheme != NULL ? backend->scheme : "");
    if (backend->open_catalog == NULL && backend->open_docstore == NULL && backend->open_blobstore == NULL &&
        backend->open_events == NULL)
        return cra_error_set(err, CRA_INVALID, "backend", "backend '%s' opens nothing", backend->scheme);
    if (find(context, backend->scheme) != NULL)
        return cra_error_set(err, CRA_EXISTS, "backend", "scheme '%s' is taken by another backend", backend->scheme);
    return CRA_OK;
}

cra_status cra_backend_register(cra_context *context, const cra_backend *backend, cra_error *err)
{
    const cra_status status = check_backend(context, backend, err);
    if (status != CRA_OK)
        return status;

    cra_backend *copy = cra_memdup(&context->allocator, backend, sizeof *backend);
    if (copy == NULL || cra_array_grow(&context->allocator, (void **)&context->backends, &context->backends_capacity,
                                       context->backends_count + 1, sizeof(cra_backend *)) != CRA_OK) {
        cra_free(&context->allocator, copy);
        return cra_error_set(err, CRA_NOMEM, "backend", "out of memory while registering '%s'", backend->scheme);
    }
    copy->struct_size = sizeof *copy;
    context->backends[context->backends_count++] = copy;
    return CRA_OK;
}

const cra_backend *cra_backend_at(const cra_context *context, size_t index)
{
    return index < context->backends_count ? context->backends[index] : NULL;
}

/* "a, b, c" of the schemes for which `offers` holds (NULL: all), cut where `out` is full. */
static void list_schemes(const cra_context *context, bool (*offers)(const cra_backend *), char *out, size_t size)
{
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; i < context->backends_count && used < size; i++) {
        const cra_backend *backend = context->backends[i];
        if (offers == NULL || offers(backend))
            used += (size_t)snprintf(out + used, size - used, "%s%s", used > 0 ? ", " : "", backend->scheme);
    }
}

static void hint_nearest(const cra_context *context, const char *scheme, cra_error *err)
{
    const char *nearest = NULL;
    size_t best = strlen(scheme) / 3 + 2;

    for (size_t i = 0; i < context->backends_count; i++) {
        const size_t distance = cra_edit_distance(scheme, context->backends[i]->scheme);
        if (distance < best) {
            best = distance;
            nearest = context->backends[i]->scheme;
        }
    }
    if (nearest != NULL)
        cra_error_hint(err, "did you mean '%s:'?", nearest);
}

const cra_backend *cra_backend_for_uri(cra_context *context, const char *uri, cra_error *err)
{
    char known[256];
    const size_t size = cra_uri_scheme_size(uri);

    list_schemes(context, NULL, known, sizeof known);
    if (size == 0) {
        cra_error_set(err, CRA_INVALID, "backend", "a store's URI begins with its scheme, one of: %s", known);
        cra_error_hint(err, "for a path write file:PATH or sqlite:PATH");
        return NULL;
    }

    char scheme[MAX_SCHEME + 1];
    snprintf(scheme, sizeof scheme, "%.*s", size < sizeof scheme ? (int)size : (int)sizeof scheme - 1, uri);
    const cra_backend *backend = size < sizeof scheme ? find(context, scheme) : NULL;
    if (backend == NULL) {
        cra_error_set(err, CRA_INVALID, "backend", "no backend for scheme '%s'; known: %s", scheme, known);
        hint_nearest(context, scheme, err);
    }
    return backend;
}

const cra_backend *cra_backend_for_args(const cra_open_args *args, cra_error *err)
{
    if (args == NULL || cra_options_check(args, sizeof *args) != CRA_OK || args->struct_size < sizeof *args ||
        args->context == NULL || args->uri == NULL || (args->settings_count > 0 && args->settings == NULL)) {
        cra_error_set(err, CRA_INVALID, "backend", "the arguments of an open need struct_size, context and uri");
        return NULL;
    }
    if ((args->flags & ~(unsigned)(CRA_OPEN_CREATE | CRA_OPEN_READ_ONLY)) != 0) {
        cra_error_set(err, CRA_INVALID, "backend", "unknown open flags 0x%x", args->flags);
        return NULL;
    }
    return cra_backend_for_uri(args->context, args->uri, err);
}

cra_status cra_backend_not_offered(const cra_context *context, const cra_backend *backend, const char *port,
                                   bool (*offers)(const cra_backend *backend), cra_error *err)
{
    char known[160];

    list_schemes(context, offers, known, sizeof known);
    cra_error_set(err, CRA_UNSUPPORTED, "backend", "'%s:' does not offer a %s", backend->scheme, port);
    if (known[0] != '\0')
        cra_error_hint(err, "schemes that do: %s", known);
    return CRA_UNSUPPORTED;
}
