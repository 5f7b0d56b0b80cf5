/*
 * api: the marks around a public header's declarations, after its includes.
 *
 *     TG_API_BEGIN
 *     ...
 *     TG_API_END
 *
 * Functions declared in between can be called from C++, and are the only ones that the shared library
 * exports (everything is compiled with -fvisibility=hidden).  Public are the headers that lib/tg.h
 * includes, all in lib/tg; they are installed.
 */
#ifndef TG_TG_API_H
#define TG_TG_API_H

#define TG_API_VISIBLE _Pragma("GCC visibility push(default)")
#define TG_API_HIDDEN _Pragma("GCC visibility pop")

/* A value of a struct, in C and in C++: (TG_VALUE(tg_dtype){'f', 4}) */
#ifdef __cplusplus
#define TG_VALUE(type) type
#else
#define TG_VALUE(type) (type)
#endif

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
