/*
 * api: the marks around a public header's declarations, after its includes.
 *
 *     TG_API_BEGIN
 *     ...
 *     TG_API_END
 *
 * Functions declared in between can be called from C++, and are the only ones that the shared library
 * exports (everything is compiled with -fvisibility=hidden).  Public are the headers that lib/tg.h
 * includes, all in lib/tg; they are installed.  tests/layout checks that these and no others have both lines.
 */
#ifndef TG_TG_API_H
#define TG_TG_API_H

#define TG_API_VISIBLE _Pragma("GCC visibility push(default)")
#define TG_API_HIDDEN _Pragma("GCC visibility pop")

/* clang-format off */
#ifdef __cplusplus
#define TG_API_BEGIN TG_API_VISIBLE extern "C" {
#define TG_API_END } TG_API_HIDDEN
#else
#define TG_API_BEGIN TG_API_VISIBLE
#define TG_API_END TG_API_HIDDEN
#endif
/* clang-format on */

#endif
