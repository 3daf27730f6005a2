/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_CORE_ROUTE_H
#define CRA_CORE_ROUTE_H

/* The list of routes: which store keeps the runs up to each boundary. */

#include <crawlarchive/route.h>

/* One route: runs up to and including `until` live in `uri`; an open route (`until` NULL) takes the rest. */
typedef struct cra_route_entry {
    char *until;
    char *uri;
} cra_route_entry;

typedef struct cra_route_list {
    cra_route_entry *entries;
    size_t count;
    size_t capacity;
    const cra_allocator *allocator;
} cra_route_list;

void cra_route_list_init(cra_route_list *list, const cra_allocator *allocator);
void cra_route_list_cleanup(cra_route_list *list);
/* Append a route; texts are copied, `until` may be NULL. @return CRA_NOMEM, the list is then unchanged */
CRA_MUST_CHECK cra_status cra_route_list_add(cra_route_list *list, const char *until, const char *uri);
/* Boundaries of one kind, strictly ascending, and the last route, and only it, open.
 * @return CRA_INVALID naming the boundary */
CRA_MUST_CHECK cra_status cra_route_list_check(const cra_route_list *list, cra_error *err);
/* Index of the route of a run in a checked list. */
size_t cra_route_list_choose(const cra_route_list *list, const char *run);

/* Append the configured routes (archive.routes, or archive.uri as one open route) to an initialised list.
 * @return CRA_INVALID where the list is out of order or there is none, CRA_NOMEM */
CRA_MUST_CHECK cra_status cra_config_routes(const cra_config *config, cra_route_list *list, cra_error *err);

#endif
