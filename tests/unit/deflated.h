/*
 * deflated: archives with compressed members, for the tests of their reader: tg itself
 * writes stored ones only.
 */
#ifndef TG_TESTS_UNIT_DEFLATED_H
#define TG_TESTS_UNIT_DEFLATED_H

/* Rewrite the one archive of the file fd in the canonical form (formats/README.md), with each
 * member deflated that becomes smaller.  fd is at its start afterwards.  A failure ends the
 * program. */
void deflate_archive(int fd);

#endif
