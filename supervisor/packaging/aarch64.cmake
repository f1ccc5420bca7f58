# Cross-builds for aarch64 on Debian and Ubuntu: crossbuild-essential-arm64 and the libraries' arm64 packages.
#   cmake -D CMAKE_TOOLCHAIN_FILE=supervisor/packaging/aarch64.cmake ...
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_STRIP aarch64-linux-gnu-strip)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
# So that the tests, and the completions that the program prints, can run here.
find_program(qemu NAMES qemu-aarch64-static qemu-aarch64)
if(qemu)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${qemu})
endif()
# What is found has to be of that machine: nothing of /usr/lib/x86_64-linux-gnu.
set(CMAKE_SYSTEM_LIBRARY_PATH /usr/lib/aarch64-linux-gnu /lib/aarch64-linux-gnu)
set(CMAKE_IGNORE_PATH /usr/lib/x86_64-linux-gnu /lib/x86_64-linux-gnu)
