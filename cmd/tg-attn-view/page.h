/*
 * view_page: the files of cmd/tg-attn-view/page/, embedded by the assembler.
 */
#ifndef TG_CMD_VIEW_PAGE_H
#define TG_CMD_VIEW_PAGE_H

#include <stddef.h>

extern const char view_page_html[], view_page_style[], view_page_script[];
extern const size_t view_page_html_size, view_page_style_size, view_page_script_size;

#endif
