/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRAWLARCHIVE_H
#define CRAWLARCHIVE_H

/** @file crawlarchive.h
 * Everything: archive, sweep and restore crawl runs between a hot store and Avro in object storage.
 */

#include <crawlarchive/archive.h>
#include <crawlarchive/bson.h>
#include <crawlarchive/codec.h>
#include <crawlarchive/config.h>
#include <crawlarchive/context.h>
#include <crawlarchive/engine.h>
#include <crawlarchive/error.h>
#include <crawlarchive/import.h>
#include <crawlarchive/index.h>
#include <crawlarchive/reader.h>
#include <crawlarchive/restore.h>
#include <crawlarchive/result.h>
#include <crawlarchive/retention.h>
#include <crawlarchive/route.h>
#include <crawlarchive/run.h>
#include <crawlarchive/status.h>
#include <crawlarchive/sweep.h>
#include <crawlarchive/verify.h>
#include <crawlarchive/version.h>

#endif
