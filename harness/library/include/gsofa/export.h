#ifndef GSOFA_EXPORT_H
#define GSOFA_EXPORT_H

/* What libgsofa.so exports; all its other symbols are hidden. */
#if defined(__GNUC__)
#define GSOFA_API __attribute__((visibility("default")))
#else
#define GSOFA_API
#endif

#endif
