/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRAWLARCHIVE_ROUTE_H
#define CRAWLARCHIVE_ROUTE_H

/** @file route.h
 * Run id to storage location: the boundary that writer and reader share.
 */

#include <crawlarchive/run.h>

CRA_BEGIN_DECLS

/** Compare two run ids as routes do: both integers of any length by value, both ObjectIds by value, else as
 *  bytes. @return <0, 0, >0 */
CRA_EXPORT int cra_route_compare(const char *a, const char *b);

/** Where a run's archive is or would be written. */
typedef struct cra_route {
    size_t struct_size;
    const char *uri;      /**< of the run's folder */
    const char *store;    /**< URI of the store (the route's `uri`) */
    const char *name;     /**< "until 184000", "default", "stored": why */
} cra_route;
typedef cra_status (*cra_route_visit_fn)(void *user, const cra_route *route);

/** Tell `visit` the location of one run: the stored one, else the route's. */
CRA_EXPORT cra_status cra_route_of(cra_engine *engine, const char *report, const char *run, cra_route_visit_fn visit,
                                   void *user, cra_error *err);
/** Append the list of routes as JSON, for other writers: {"version":1,"template":…,"routes":[{"until","uri"},…]}. */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_route_export(cra_engine *engine, cra_buf *out, cra_error *err);

CRA_END_DECLS

#endif
