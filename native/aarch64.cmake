# Builds for 64-bit ARM on another machine (Debian: g++-aarch64-linux-gnu). Flags belong in CMakeLists.txt: cmake-js drops those set here.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)

# The processor is named: the emulator's default has instructions that no reference board has.
find_program(SPIKED_QEMU_AARCH64 NAMES qemu-aarch64-static qemu-aarch64 NO_CMAKE_FIND_ROOT_PATH)
if(SPIKED_QEMU_AARCH64)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${SPIKED_QEMU_AARCH64} -cpu cortex-a76 -L /usr/aarch64-linux-gnu)
endif()
