/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_MAN_PAGE_H
#define CRA_MAN_PAGE_H

/* man(7) macros around plain text: escaped, in lines that the linters like. */

#include <stdio.h>

#include "table.h"

FILE *cra_man_open(const char *folder, const char *name, int section, const char *about);
/* Returns false where the page could not be written whole. */
bool cra_man_close(FILE *page);
void cra_man_section(FILE *page, const char *title);
/* Text of one paragraph, wrapped. */
void cra_man_text(FILE *page, const char *text);
void cra_man_paragraph(FILE *page, const char *text);
/* A tagged paragraph: the tag in bold, behind it (nullable) an argument in italics. */
void cra_man_tag(FILE *page, const char *tag, const char *argument, const char *text);
/* A line as it is typed, behind a line that says what it does. */
void cra_man_example(FILE *page, const char *text, const char *command);
/* Text as it is, without a line's end. */
void cra_man_escaped(FILE *page, const char *text);

/* The pages. */
bool cra_man_main(const char *folder);
bool cra_man_command(const char *folder, cra_cli_command_id command);
bool cra_man_config(const char *folder);
bool cra_man_catalog(const char *folder);

#endif
