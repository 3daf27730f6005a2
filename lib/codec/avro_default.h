/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_CODEC_AVRO_DEFAULT_H
#define CRA_CODEC_AVRO_DEFAULT_H

#include <crawlarchive/codec.h>

#include "codec/avro_schema.h"

/* Evaluate a field's default: the BSON type, and the bytes behind an element's name appended to `out`.
 * @return CRA_CORRUPT where the JSON is no value of the type, CRA_NOMEM */
CRA_MUST_CHECK cra_status cra_avro_default(const cra_avro_node *node, const char *json, const cra_avro_options *options,
                                           uint8_t *type, cra_buf *out, cra_error *err);

#endif
