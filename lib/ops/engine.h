/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_OPS_ENGINE_H
#define CRA_OPS_ENGINE_H

/* Inside of the engine; only engine.c and engine_check.c look at it. */

#include "ops/engine_internal.h"

/* The settings of one section ("catalog.") as an opener takes them: everything set in it but its URI. */
typedef struct cra_settings {
    cra_setting *items;
    size_t count;
    size_t capacity;
    const cra_allocator *allocator;
} cra_settings;

cra_status cra_settings_collect(const cra_config *config, const char *section, const cra_allocator *allocator,
                                cra_settings *out, cra_error *err);
void cra_settings_cleanup(cra_settings *settings);

/* A URI without user, password and parameters, for people. */
void cra_engine_redact(const char *uri, char *out, size_t size);

#endif
