/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_CODEC_AVRO_RESOLVE_H
#define CRA_CODEC_AVRO_RESOLVE_H

/* Which of a reader's types and fields take a writer's: the specification's rules of schema resolution. */

#include "codec/avro_schema.h"

/* 2: the same type; 1: promotable; 0: not at all. Neither may be a union. */
int cra_avro_resolves(const cra_avro_node *w, const cra_avro_node *r);
/* The branch of a reader's union that takes the writer's type; NULL where none does. */
const cra_avro_node *cra_avro_reader_branch(const cra_avro_node *w, const cra_avro_node *r);
/* The reader's field that takes a writer's field of that name: by name, then by alias; NULL where none does. */
const cra_avro_field *cra_avro_reader_field(const cra_avro_node *r, const char *name);
/* Whether the writer has a field that the reader's `field` takes. */
bool cra_avro_writer_has(const cra_avro_node *w, const cra_avro_node *r, const cra_avro_field *field);

#endif
