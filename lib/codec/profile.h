/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_CODEC_PROFILE_H
#define CRA_CODEC_PROFILE_H

/* How BSON lies in the Avro files we write: the agreement between infer/encode and decode.
 *
 * A schema is marked by the property "cra.profile" of its root record; the file header repeats it as metadata
 * under the same key, for people. Only the schema counts.
 *
 * `raw`:   record with one field `bson: bytes`, a whole document.
 *
 * `typed`: record whose fields are the document's elements in order. Key: the field's "cra.name" where present,
 *          else its name. Every field of a document record is a union ["null", T…] with default null; null is
 *          an ABSENT element (never a BSON null). Array items are T, or a union of T… without null.
 *          The field `_raw` of the root (its branch is bytes with "cra.type": "raw") is null, or holds the whole
 *          document; then all other fields are null and to be ignored.
 *
 *   BSON            Avro                                              "cra.type"
 *   double          double (all bits kept)                            -
 *   string          string (well-formed UTF-8; NUL is legal)          -
 *   document        record of nullable fields, as the root            -
 *   document        map of string, always empty: seen only empty      -
 *   document        record {bson: bytes}: opaque, too wide or deep    "document"
 *   array           array                                             -
 *   array           record {bson: bytes}: opaque, too deep            "array"
 *   binary, 0       bytes                                             -
 *   binary, other   record {subtype: int, data: bytes}                "binary"
 *   undefined       enum of one symbol                                "undefined"
 *   ObjectId        fixed(12)                                         "objectid"
 *   bool            boolean                                           -
 *   date            long, logicalType timestamp-millis                -
 *   date            record {date: long timestamp-millis}, where the   "date"
 *                   same union holds int64, too
 *   null            enum of one symbol                                "null"
 *   regex           record {pattern: string, options: string}         "regex"
 *   DBPointer       record {ref: string, id: fixed(12)}               "dbpointer"
 *   code            record {code: string}                             "code"
 *   symbol          record {symbol: string}                           "symbol"
 *   code_w_scope    record {code: string, scope: bytes (a document)}  "code_w_scope"
 *   int32           int                                               -
 *   Timestamp       record {t: long, i: long}, each 0…2^32-1          "timestamp"
 *   int64           long without logicalType                          -
 *   Decimal128      fixed(16), the value's bytes as in BSON           "decimal128"
 *   minKey, maxKey  enum of one symbol                                "minkey", "maxkey"
 *
 * Data of a binary is what follows the subtype byte (for subtype 2 that includes the inner length). Documents
 * in `_raw`, `bson` and `scope` are structurally valid (cra_bson_validate() without flags; text may be no
 * UTF-8): a reader checks that before it hands them on. The fields of records with a "cra.type" stand in the
 * order above and are not nullable. A Decimal128 or ObjectId is recognised by "cra.type", not by its name.
 */

#define CRA_PROFILE_PROPERTY "cra.profile"
#define CRA_PROFILE_TYPED "typed"
#define CRA_PROFILE_RAW "raw"

/* Property of a field: the BSON key, where the field's name is not the key itself. */
#define CRA_NAME_PROPERTY "cra.name"
/* Property of a type: which BSON type lies here. */
#define CRA_TYPE_PROPERTY "cra.type"

/* Field of the root that holds documents whole (typed), and the field of the raw profile. */
#define CRA_PROFILE_RAW_FIELD "_raw"
#define CRA_PROFILE_BSON_FIELD "bson"

/* Values of CRA_TYPE_PROPERTY. */
#define CRA_TYPE_RAW "raw"
#define CRA_TYPE_DOCUMENT "document"
#define CRA_TYPE_ARRAY "array"
#define CRA_TYPE_BINARY "binary"
#define CRA_TYPE_UNDEFINED "undefined"
#define CRA_TYPE_OBJECTID "objectid"
#define CRA_TYPE_DATE "date"
#define CRA_TYPE_NULL "null"
#define CRA_TYPE_REGEX "regex"
#define CRA_TYPE_DBPOINTER "dbpointer"
#define CRA_TYPE_CODE "code"
#define CRA_TYPE_SYMBOL "symbol"
#define CRA_TYPE_CODE_W_SCOPE "code_w_scope"
#define CRA_TYPE_TIMESTAMP "timestamp"
#define CRA_TYPE_DECIMAL128 "decimal128"
#define CRA_TYPE_MINKEY "minkey"
#define CRA_TYPE_MAXKEY "maxkey"

#endif
