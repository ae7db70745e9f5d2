# `cpack` in a build of the library alone: all that it installs as a tar, and where dpkg-shlibdeps is found as a Debian package,
# which depends on the libraries of the system that built it.
set(CPACK_GENERATOR TGZ)
find_program(GSOFA_SHLIBDEPS dpkg-shlibdeps)
if(GSOFA_SHLIBDEPS)
  list(APPEND CPACK_GENERATOR DEB)
endif()
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Exact symbolic LU factorization and fill-reducing orders of sparse matrices")
set(CPACK_PACKAGE_CONTACT "The gSoFa testbed authors")
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)  # and runs ldconfig
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libmetis5")
include(CPack)
